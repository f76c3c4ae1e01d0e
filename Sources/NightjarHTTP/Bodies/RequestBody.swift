import NIOCore

/// The body of a request.
public enum RequestBody: Sendable {
    case none
    /// Bytes in memory. Can be sent again.
    case bytes(ByteBuffer)
    /// A body that the caller supplies while it is sent. It can be sent again only if the caller restarts it. If
    /// `length` is nil, the body is chunked (RFC 9112 section 7.1).
    case stream(length: Int?)
    /// A file that is read from `offset` while it is sent. If `length` is nil, the body ends where the file ends when
    /// the call starts.
    case file(path: String, offset: Int = 0, length: Int? = nil)
    /// A multipart form. Its files are read while the form is sent.
    case multipart(MultipartForm)
    /// No body. The request asks the server to upgrade the connection to WebSocket (RFC 6455). After the response 101
    /// (Switching Protocols), both sides send bytes without HTTP framing.
    case upgrade

    /// True if a second attempt can send the same bytes although the caller does not supply them again.
    public var isReplayable: Bool {
        if case .stream = self { false } else { true }
    }

    /// True if there is a body, even an empty one.
    var isPresent: Bool {
        switch self {
        case .none, .upgrade: false
        case .bytes, .stream, .file, .multipart: true
        }
    }

    /// True if the body is a stream, a file or a form, which is supplied or read while it is sent, or if bytes are
    /// supplied after an upgrade.
    public var isStreamedFromCaller: Bool {
        switch self {
        case .none, .bytes: false
        case .stream, .file, .multipart, .upgrade: true
        }
    }

    /// The length in bytes. Nil if the length is not known in advance.
    public var length: Int? {
        switch self {
        case .none, .upgrade: 0
        case .bytes(let bytes): bytes.readableBytes
        case .stream(let length), .file(_, _, let length): length
        case .multipart(let form): form.length
        }
    }

    /// The pieces to read and send, in order. Nil if the body is neither a file nor a form.
    public var pieces: BodyPieces? {
        switch self {
        case .none, .bytes, .stream, .upgrade: nil
        case .file(let path, let offset, let length): BodyPieces(file: path, offset: offset, length: length)
        case .multipart(let form): form.makeBody()
        }
    }
}

extension RequestBody {
    /// Returns the framing of the body.
    ///
    /// - Parameter isCoded: true if the body is compressed while it is sent. Its encoded length is then unknown.
    public func framing(isCoded: Bool = false) -> BodyFraming {
        switch self {
        case .none: return .absent
        case .upgrade: return .upgrade
        case .bytes, .stream, .file, .multipart:
            guard !isCoded, let length else { return .chunked }
            return .length(length)
        }
    }
}
