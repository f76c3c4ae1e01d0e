import NIOCore

/// The properties by which a file is recognized when its upload is continued.
package struct FileIdentity: Sendable, Equatable {
    /// The length in bytes.
    package var size: Int
    /// The time of the last modification, in nanoseconds since 1970.
    package var modified: Int64
    package var inode: UInt64
    package var device: UInt64

    package init(size: Int, modified: Int64, inode: UInt64, device: UInt64) {
        (self.size, self.modified, self.inode, self.device) = (size, modified, inode, device)
    }
}

/// The facts that a later upload needs to continue: the content of the state text. The URL of an upload is often enough
/// to write to it; therefore, the text must be protected like a password.
package struct UploadRecord: Sendable, Equatable {
    package var uploadProtocol: UploadProtocol
    /// Nil: the content is a stream.
    package var identity: FileIdentity?
    /// The URL of the upload. For S3, the URL of the object.
    package var url: String
    /// The identifier of a multipart upload of S3.
    package var id: String?
    /// The size of the parts of S3.
    package var partSize: Int?
    /// The digest of the content, if it is known.
    package var digest: Checksum?

    /// Whether the completion was sent, so that the upload may be complete.
    package var isCompleting = false
    /// Whether the last bytes were sent, so that the server may have processed the content.
    package var mayBeProcessed = false

    package init(_ uploadProtocol: UploadProtocol, url: String) {
        (self.uploadProtocol, self.url) = (uploadProtocol, url)
    }

    package var text: String {
        var members: [JSONValue.Member] = [
            .init(UploadRecord.version, .integer(1)), .init("protocol", .string(uploadProtocol.rawValue)),
            .init("url", .string(url)),
        ]
        if let identity {
            members.append(
                .init(
                    "file",
                    .array([
                        .integer(Int64(identity.size)), .integer(identity.modified),
                        .integer(Int64(bitPattern: identity.inode)), .integer(Int64(bitPattern: identity.device)),
                    ])))
        }
        if let id { members.append(.init("id", .string(id))) }
        if let partSize { members.append(.init("part_size", .integer(Int64(partSize)))) }
        if isCompleting { members.append(.init("completing", .bool(true))) }
        if mayBeProcessed { members.append(.init("may_be_processed", .bool(true))) }
        if let digest { members.append(.init("digest", .string(digest.description))) }
        return (try? JSONValue.object(members).encoded()).map { String(buffer: $0) } ?? ""
    }

    /// Reads a text that ``text`` has returned.
    ///
    /// - Throws: `invalid_argument` for another text.
    package init(_ text: String) throws(NightjarError) {
        guard let value = try? JSONValue(parsing: text), let record = UploadRecord(value) else {
            throw NightjarError(.invalidArgument, "resume is not the state of an upload; pass a text of state()")
        }
        self = record
    }

    private init?(_ value: JSONValue) {
        guard case .object(let members) = value else { return nil }
        func member(_ name: String) -> JSONValue? { members.first { $0.name == name }?.value }
        func text(_ name: String) -> String? {
            if case .string(let text)? = member(name) { text } else { nil }
        }
        guard case .integer(1)? = member(UploadRecord.version),
            let uploadProtocol = text("protocol").flatMap(UploadProtocol.init), let url = text("url")
        else { return nil }
        (self.uploadProtocol, self.url, id) = (uploadProtocol, url, text("id"))
        if let file = member("file") {
            guard case .array(let items) = file, items.count == 4, case .integer(let size) = items[0],
                case .integer(let modified) = items[1], case .integer(let inode) = items[2],
                case .integer(let device) = items[3], size >= 0
            else { return nil }
            identity = FileIdentity(
                size: Int(size), modified: modified, inode: UInt64(bitPattern: inode),
                device: UInt64(bitPattern: device))
        }
        if let size = member("part_size") {
            guard case .integer(let size) = size, size > 0, size <= UploadSettings.chunkSizes.upperBound else {
                return nil
            }
            partSize = Int(size)
        }
        if case .bool(true)? = member("completing") { isCompleting = true }
        if case .bool(true)? = member("may_be_processed") { mayBeProcessed = true }
        digest = text("digest").flatMap { try? Checksum($0) }
        if uploadProtocol == .s3, id == nil || partSize == nil { return nil }
    }

    private static let version = "nightjar_upload"
}
