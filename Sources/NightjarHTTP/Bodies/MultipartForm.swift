import NIOCore

/// A form as `multipart/form-data`. RFC 7578, with names and file names escaped as browsers do (WHATWG HTML, section
/// 4.10.21.8).
///
/// Content of files is only named here, so a form of many gigabytes is some kilobytes. Sent again, it is the same bytes.
public struct MultipartForm: Sendable {
    public enum Content: Sendable {
        case bytes(ByteBuffer)
        /// `length` nil: as much as there is, told when it has been read.
        case file(path: String, length: Int?)
    }

    public struct Part: Sendable {
        public var name: String
        /// What the server is told the file is called; nil: this part is no file.
        public var filename: String?
        /// Nil: for a file the one of its name's ending, for others none, which means text.
        public var contentType: String?
        /// Fields beyond Content-Disposition and Content-Type.
        public var headers = Headers()
        public var content: Content

        public init(_ name: String, _ text: String) {
            self.init(name, .bytes(ByteBuffer(string: text)))
        }

        /// A file's name is the last part of its path, which is no business of the server.
        public init(_ name: String, _ content: Content) {
            self.name = name
            self.content = content
            if case .file(let path, _) = content { filename = String(FileType.lastComponent(path)) }
        }
    }

    public let boundary: String
    /// Bytes of the whole body; nil when the length of a file is not known.
    public let length: Int?
    let segments: [BodySegment]

    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// - Throws: `invalid_request` for what no server could read: a part without a name, a control character in a name
    ///   or type, a header that is the form's own, a negative length, lengths beyond 64 bits together.
    public init(
        _ parts: [Part], using random: inout some RandomNumberGenerator
    ) throws(NightjarError) {
        let heads = try MultipartForm.heads(parts)
        boundary = try MultipartForm.boundary(absentFrom: parts, heads, using: &random)
        var body = Assembly()
        for (part, head) in zip(parts, heads) {
            body.append("--\(boundary)\r\n")
            body.append(head)
            switch part.content {
            case .bytes(let bytes): body.append(bytes)
            case .file(let path, let length): try body.append(file: path, length)
            }
            body.append("\r\n")
        }
        body.append("--\(boundary)--\r\n")
        body.flush()
        segments = body.segments
        length = try BodySegment.length(of: body.segments)
    }

    /// The body from its first byte.
    public func makeBody() -> BodyPieces { BodyPieces(segments) }

    /// The same form with the lengths of those files that have none yet.
    ///
    /// - Parameter length: how many bytes the file of this path has.
    /// - Throws: what `length` throws; `invalid_request` for lengths beyond 64 bits together.
    public func measured(
        by length: (_ path: String) throws(NightjarError) -> Int
    ) throws(NightjarError) -> MultipartForm {
        var measured: [BodySegment] = []
        measured.reserveCapacity(segments.count)
        for segment in segments {
            if case .file(let path, let offset, nil) = segment {
                measured.append(.file(path: path, offset: offset, length: try length(path)))
            } else {
                measured.append(segment)
            }
        }
        return MultipartForm(boundary: boundary, segments: measured, length: try BodySegment.length(of: measured))
    }

    private init(boundary: String, segments: [BodySegment], length: Int?) {
        self.boundary = boundary
        self.segments = segments
        self.length = length
    }
}

// MARK: Heads

extension MultipartForm {
    private static func heads(_ parts: [Part]) throws(NightjarError) -> [ByteBuffer] {
        var heads: [ByteBuffer] = []
        heads.reserveCapacity(parts.count)
        for (index, part) in parts.enumerated() {
            do throws(NightjarError) {
                heads.append(try head(part))
            } catch {
                throw NightjarError(
                    .invalidRequest, "part \(index + 1) of the form, \(quoted(part.name)): \(error.message)")
            }
        }
        return heads
    }

    private static func head(_ part: Part) throws(NightjarError) -> ByteBuffer {
        guard !part.name.isEmpty else { throw NightjarError(.invalidRequest, "it has no name; give it one") }
        var head = ByteBuffer()
        head.writeStaticString("Content-Disposition: form-data; name=\"")
        try writeEscaped(part.name, "name", into: &head)
        if let filename = part.filename {
            head.writeStaticString("\"; filename=\"")
            try writeEscaped(filename, "file name", into: &head)
        }
        head.writeStaticString("\"\r\n")
        if let type = part.contentType ?? part.filename.map(FileType.contentType(of:)) {
            guard !type.isEmpty, FieldSyntax.isValue(type.utf8) else {
                throw NightjarError(.invalidRequest, "its content type \(quoted(type)) is none; write text/plain")
            }
            head.writeStaticString("Content-Type: ")
            head.writeString(type)
            head.writeStaticString("\r\n")
        }
        for index in 0..<part.headers.count {
            if let reason = part.headers.withBytes(at: index, { name, _ in ownField(name) }) {
                throw NightjarError(
                    .invalidRequest, "header \"\(part.headers.name(at: index))\" cannot be set: \(reason)")
            }
            part.headers.withBytes(at: index) { HeadWriter.writeField($0, $1, into: &head) }
        }
        head.writeStaticString("\r\n")
        return head
    }

    /// Why the field of this name is not for a caller to set; nil when it is.
    private static func ownField(_ name: UnsafeRawBufferPointer) -> StaticString? {
        if ASCII.isCaseless(name, "content-disposition") { return "it is written from the name and the file name" }
        if ASCII.isCaseless(name, "content-type") { return "it is written from the content type of the part" }
        if ASCII.isCaseless(name, "content-length") { return "a part ends where the boundary is" }
        if ASCII.isCaseless(name, "content-transfer-encoding") { return "forms have none (RFC 7578 section 4.7)" }
        return nil
    }

    /// UTF-8 as it is; only what would end the quotes or the line is escaped. A backslash escapes nothing here.
    private static func writeEscaped(
        _ text: String, _ role: StaticString, into head: inout ByteBuffer
    ) throws(NightjarError) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): head.writeStaticString("%22")
            case UInt8(ascii: "\r"): head.writeStaticString("%0D")
            case UInt8(ascii: "\n"): head.writeStaticString("%0A")
            case _ where FieldSyntax.isValueByte(byte): head.writeInteger(byte)
            default:
                throw NightjarError(
                    .invalidRequest,
                    "its \(role) contains the control character 0x\(String(byte, radix: 16)); remove it")
            }
        }
    }
}

// MARK: The boundary

extension MultipartForm {
    /// 190 bits: enough for it not to occur in a file that nobody looks through.
    private static let boundaryLength = 32
    private static let boundaryBytes = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    /// One is enough unless chance is broken.
    private static let boundaryAttempts = 8

    private static func boundary(
        absentFrom parts: [Part], _ heads: [ByteBuffer], using random: inout some RandomNumberGenerator
    ) throws(NightjarError) -> String {
        for _ in 0..<boundaryAttempts {
            // Not `randomElement`, which asks again until it likes the number: broken chance would hang it.
            let candidate = (0..<boundaryLength).map { _ in
                boundaryBytes[Int(((random.next() >> 32) * UInt64(boundaryBytes.count)) >> 32)]
            }
            let search = ByteSearch(for: candidate)
            let occurs = zip(parts, heads).contains { part, head in
                if search.occurs(in: head) { return true }
                guard case .bytes(let bytes) = part.content else { return false }
                return search.occurs(in: bytes)
            }
            if !occurs { return String(decoding: candidate, as: UTF8.self) }
        }
        throw NightjarError(.invalidRequest, "no boundary was found that is not inside of a part of the form")
    }
}

// MARK: Assembly

/// Joins what is small into one buffer and leaves what is large where it is.
private struct Assembly {
    /// A copy of this size costs less than a buffer of its own costs all the way down.
    private static let joinedSize = 16 * 1024

    /// A buffer counts in 32 bits, and a form may have any number of parts.
    private static let largestJoint = 1 << 20

    private(set) var segments: [BodySegment] = []
    private var pending = ByteBuffer()

    mutating func append(_ text: String) { pending.writeString(text) }

    mutating func append(_ bytes: ByteBuffer) {
        if bytes.readableBytes <= Assembly.joinedSize {
            pending.writeImmutableBuffer(bytes)
            if pending.readableBytes > Assembly.largestJoint { flush() }
        } else {
            flush()
            segments.append(.bytes(bytes))
        }
    }

    mutating func append(file path: String, _ length: Int?) throws(NightjarError) {
        if let length, length < 0 {
            throw NightjarError(.invalidRequest, "the length of the file \(quoted(path)) is negative: \(length)")
        }
        flush()
        segments.append(.file(path: path, offset: 0, length: length))
    }

    mutating func flush() {
        guard pending.readableBytes > 0 else { return }
        segments.append(.bytes(pending))
        pending = ByteBuffer()
    }
}

extension BodySegment {
    /// Of all together; nil when that of a file is not known.
    fileprivate static func length(of segments: [BodySegment]) throws(NightjarError) -> Int? {
        var total = 0
        for segment in segments {
            let count: Int
            switch segment {
            case .bytes(let bytes): count = bytes.readableBytes
            case .file(_, _, .some(let length)): count = length
            case .file(_, _, nil): return nil
            }
            let (sum, isTooMuch) = total.addingReportingOverflow(count)
            if isTooMuch { throw NightjarError(.invalidRequest, "the parts of the form are longer than 64 bits count") }
            total = sum
        }
        return total
    }
}

/// Looks for one run of bytes (Horspool): most bytes are never read, so that this costs little beside sending them.
private struct ByteSearch {
    private let pattern: [UInt8]
    /// How far the end of the pattern may move on when it is above this byte.
    private var steps: [Int]

    init(for pattern: [UInt8]) {
        self.pattern = pattern
        steps = Array(repeating: max(pattern.count, 1), count: 256)
        for (index, byte) in pattern.dropLast().enumerated() { steps[Int(byte)] = pattern.count - 1 - index }
    }

    func occurs(in buffer: ByteBuffer) -> Bool {
        buffer.withUnsafeReadableBytes { bytes in
            pattern.withUnsafeBytes { pattern in
                var end = pattern.count
                while end <= bytes.count {
                    let start = end - pattern.count
                    if bytes[start..<end].elementsEqual(pattern) { return true }
                    end += steps[Int(bytes[end - 1])]
                }
                return false
            }
        }
    }
}
