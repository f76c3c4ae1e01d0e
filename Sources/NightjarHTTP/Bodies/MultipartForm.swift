import NIOCore

/// A form in the format `multipart/form-data`. RFC 7578. Names and file names are escaped as in browsers (WHATWG HTML,
/// section 4.10.21.8).
///
/// Files are referenced, not read, so a large file takes little memory. Sending the form again produces the same
/// bytes if the files have not changed.
public struct MultipartForm: Sendable {
    /// The content of a part.
    public enum Content: Sendable {
        case bytes(ByteBuffer)
        /// If `length` is nil, the length is determined when the call starts.
        case file(path: String, length: Int?)
    }

    /// A part of a form.
    public struct Part: Sendable {
        public var name: String
        /// The file name that is sent to the server. Nil if the part is not a file.
        public var filename: String?
        /// The Content-Type. If nil, it is derived from the extension of the file name. A part without a file name then
        /// has no Content-Type, which means text/plain.
        public var contentType: String?
        /// Fields besides Content-Disposition and Content-Type.
        public var headers = Headers()
        public var content: Content

        public init(_ name: String, _ text: String) {
            self.init(name, .bytes(ByteBuffer(string: text)))
        }

        /// Creates a part. If the content is a file, the file name is the last component of its path, and the rest of
        /// the path is not sent.
        public init(_ name: String, _ content: Content) {
            self.name = name
            self.content = content
            if case .file(let path, _) = content { filename = String(FileType.lastComponent(path)) }
        }
    }

    public let boundary: String
    /// The length of the whole body in bytes. Nil if the length of a file is unknown.
    public let length: Int?
    let segments: [BodySegment]

    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// - Throws: `invalid_request` for a part without a name, a control character other than CR, LF and tab in a name
    ///   or file name, an invalid content type, a reserved header, a negative length, or a total length that exceeds
    ///   `Int.max`, and if every boundary that was tried occurs in a part.
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

    /// Returns the pieces of the body, from its first byte.
    public func makeBody() -> BodyPieces { BodyPieces(segments) }

    /// Returns a copy in which unknown file lengths are filled in.
    ///
    /// - Parameter length: returns the size of a file in bytes.
    /// - Throws: the errors of `length`; `invalid_request` if the total length exceeds `Int.max`.
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
        guard !part.name.isEmpty else { throw NightjarError(.invalidRequest, "it has no name; set one") }
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
                throw NightjarError(
                    .invalidRequest, "its content type \(quoted(type)) is invalid; use a media type such as text/plain")
            }
            head.writeStaticString("Content-Type: ")
            head.writeString(type)
            head.writeStaticString("\r\n")
        }
        try part.headers.checkLiterals()
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

    /// Returns the reason why a caller cannot set the field, or nil.
    private static func ownField(_ name: UnsafeRawBufferPointer) -> StaticString? {
        if ASCII.isCaseless(name, "content-disposition") { return "it is derived from the name and the file name" }
        if ASCII.isCaseless(name, "content-type") { return "it is derived from the content type of the part" }
        if ASCII.isCaseless(name, "content-length") {
            return "a part has no length field, because it ends at the boundary"
        }
        if ASCII.isCaseless(name, "content-transfer-encoding") {
            return "parts of forms no longer use it (RFC 7578 section 4.7)"
        }
        return nil
    }

    /// Writes `text` in UTF-8. Bytes that would end the quoted string or the line are percent-encoded. A backslash is
    /// written unchanged, because browsers do not use it as an escape character in this field.
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
    /// The length of the boundary in characters. Files are not searched for the boundary, because its 190 random bits
    /// make a collision unlikely.
    private static let boundaryLength = 32
    private static let boundaryBytes = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    /// The maximum number of attempts to find a boundary. One attempt suffices unless the random generator is broken.
    private static let boundaryAttempts = 8

    private static func boundary(
        absentFrom parts: [Part], _ heads: [ByteBuffer], using random: inout some RandomNumberGenerator
    ) throws(NightjarError) -> String {
        for _ in 0..<boundaryAttempts {
            // `randomElement` is not used, because it could loop forever with a broken generator.
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
        throw NightjarError(
            .invalidRequest,
            "every boundary that was tried occurs in a part of the form; the random generator appears to be broken"
        )
    }
}

// MARK: Assembly

/// Joins small pieces into one buffer and keeps large pieces separate.
private struct Assembly {
    /// The maximum size in bytes of a piece that is joined. Copying a small piece costs less than sending it
    /// separately.
    private static let joinedSize = 16 * 1024

    /// The size in bytes from which a joined buffer is complete. Buffers are limited, because their sizes have 32 bits.
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
            throw NightjarError(
                .invalidRequest, "the length of the file \(quoted(path)) must not be negative, got \(length)")
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
    /// Returns the total length. Nil if the length of a file is unknown.
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
            guard !isTooMuch else {
                throw NightjarError(.invalidRequest, "the total length of the form exceeds \(Int.max) bytes")
            }
            total = sum
        }
        return total
    }
}

/// Searches for a byte sequence with Horspool's algorithm, which skips most bytes.
private struct ByteSearch {
    private let pattern: [UInt8]
    /// For each byte value, the number of positions that the pattern can advance if this byte is aligned with the last
    /// byte of the pattern.
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
