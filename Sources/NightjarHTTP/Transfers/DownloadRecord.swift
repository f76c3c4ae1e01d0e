import NIOCore

/// The facts about the part of a file that was downloaded: the content of the state file beside the part, and of
/// ``Download/state``.
package struct DownloadRecord: Sendable, Equatable {
    /// The path of the part.
    package var part = ""
    /// A hash of the URL. A part is continued without a state text only if the URL is the same.
    package var urlHash = ""
    package var validator: StrongValidator?
    /// The length of the whole content in bytes; nil if unknown.
    package var total: Int?
    /// The bytes that the part contains.
    package var received = RangeSet()
    /// The bytes of ``received`` that were synced to the disk. The others are lost if the system stops.
    package var synced = RangeSet()
    /// Whether the part was written from its beginning, without gaps. Its length is then the number of received bytes.
    package var isSequential = true
    /// The boot of the system in which the record was written.
    package var boot = ""
    /// The digest that the server has sent for the whole content.
    package var digest: Checksum?
    /// The time of the last modification, in seconds since 1970.
    package var modified: Int64?
    /// The file name that the server has suggested.
    package var name: String?

    package init() {}

    package var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init(DownloadRecord.version, .integer(1)), .init("part", .string(part)),
            .init("url_hash", .string(urlHash)),
            .init("received", DownloadRecord.json(received)), .init("synced", DownloadRecord.json(synced)),
            .init("boot", .string(boot)), .init("sequential", .bool(isSequential)),
        ]
        if let validator { members.append(.init(validator.kind.rawValue, .string(validator.value))) }
        if let total { members.append(.init("total", .integer(Int64(total)))) }
        if let digest { members.append(.init("digest", .string(digest.description))) }
        if let modified { members.append(.init("modified", .integer(modified))) }
        if let name { members.append(.init("name", .string(name))) }
        return .object(members)
    }

    package var text: String { (try? json.encoded()).map { String(buffer: $0) } ?? "" }

    /// Reads a text that ``text`` has returned.
    ///
    /// - Throws: `invalid_argument` for another text.
    package init(_ text: String) throws(NightjarError) {
        guard let value = try? JSONValue(parsing: text), let record = DownloadRecord(value) else {
            throw NightjarError(.invalidArgument, "resume is not the state of a download; pass a text of state()")
        }
        self = record
    }

    /// Nil for a value of another form, also if the numbers contradict each other.
    private init?(_ value: JSONValue) {
        guard case .object(let members) = value else { return nil }
        func member(_ name: String) -> JSONValue? { members.first { $0.name == name }?.value }
        func text(_ name: String) -> String? {
            if case .string(let text)? = member(name) { text } else { nil }
        }
        guard case .integer(1)? = member(DownloadRecord.version), let part = text("part"), let hash = text("url_hash"),
            let boot = text("boot"), let received = member("received").flatMap(DownloadRecord.ranges),
            let synced = member("synced").flatMap(DownloadRecord.ranges),
            case .bool(let isSequential)? = member("sequential")
        else { return nil }
        guard DownloadRecord.isPath(part) else { return nil }
        self.isSequential = isSequential
        (self.part, urlHash, self.boot, self.received, self.synced) = (part, hash, boot, received, synced)
        if let tag = text(StrongValidator.Kind.entityTag.rawValue) {
            guard StrongValidator.isStrong(tag), FieldSyntax.isValue(tag.utf8) else { return nil }
            validator = StrongValidator(.entityTag, tag)
        } else if let date = text(StrongValidator.Kind.lastModified.rawValue) {
            guard FieldSyntax.isValue(date.utf8) else { return nil }
            validator = StrongValidator(.lastModified, date)
        }
        digest = text("digest").flatMap { try? Checksum($0) }
        if case .integer(let seconds)? = member("modified") { modified = seconds }
        name = text("name").flatMap(FileName.safe)
        if let total = member("total") {
            guard case .integer(let number) = total, number >= 0, received.end <= number else { return nil }
            self.total = Int(number)
        }
    }

    /// Whether a text can be the path of a part. The text may come from elsewhere. The system would end the path at a NUL.
    package static func isPath(_ text: String) -> Bool {
        text.utf8.first == UInt8(ascii: "/") && !text.utf8.contains(0)
    }

    private static func json(_ set: RangeSet) -> JSONValue {
        .array(set.ranges.map { .array([.integer(Int64($0.lowerBound)), .integer(Int64($0.upperBound))]) })
    }

    private static func ranges(_ value: JSONValue) -> RangeSet? {
        guard case .array(let items) = value, items.count <= longest else { return nil }
        var set = RangeSet()
        for item in items {
            guard case .array(let bounds) = item, bounds.count == 2, case .integer(let start) = bounds[0],
                case .integer(let end) = bounds[1], 0 <= start, start < end, end < Int64.max
            else { return nil }
            set.insert(Int(start)..<Int(end))
        }
        return set
    }

    private static let version = "nightjar_download"
    /// The maximum number of ranges that are read. A download has at most one for each connection, and one for each
    /// finished piece.
    private static let longest = 4096
}
