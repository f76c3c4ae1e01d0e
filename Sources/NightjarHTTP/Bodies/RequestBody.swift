import NIOCore

/// The content of a request.
public enum RequestBody: Sendable {
    case none
    /// In memory; can be sent again.
    case bytes(ByteBuffer)
    /// Pulled from the caller while it is sent; sent at most once. `length` nil: chunked (RFC 9112 section 7.1).
    case stream(length: Int?)
    /// Read while it is sent, from `offset` on; `length` nil: as much as there is when the call begins.
    case file(path: String, offset: Int = 0, length: Int? = nil)
    /// A form, its files read while it is sent.
    case multipart(MultipartForm)

    /// Whether a second attempt can send the same bytes.
    public var isReplayable: Bool {
        if case .stream = self { false } else { true }
    }

    /// Whether there is a body, be it empty.
    var isPresent: Bool {
        if case .none = self { false } else { true }
    }

    /// Whether its bytes come while it is sent, rather than lying ready.
    public var isPulled: Bool {
        switch self {
        case .none, .bytes: false
        case .stream, .file, .multipart: true
        }
    }

    /// Bytes of content; nil where that shows when it has been sent.
    public var length: Int? {
        switch self {
        case .none: 0
        case .bytes(let bytes): bytes.readableBytes
        case .stream(let length), .file(_, _, let length): length
        case .multipart(let form): form.length
        }
    }

    /// What to read and send, from the first byte; nil for what needs no reading.
    public var pieces: BodyPieces? {
        switch self {
        case .none, .bytes, .stream: nil
        case .file(let path, let offset, let length): BodyPieces(file: path, offset: offset, length: length)
        case .multipart(let form): form.makeBody()
        }
    }
}

extension RequestBody {
    /// - Parameter isCoded: a coding is put on while it is sent, so that nobody knows its length before.
    public func framing(isCoded: Bool = false) -> BodyFraming {
        if case .none = self { return .absent }
        guard !isCoded, let length else { return .chunked }
        return .length(length)
    }
}
