/// How a request signals the end of its body. RFC 9112 section 6.
public enum BodyFraming: Sendable, Equatable {
    /// No body.
    case absent
    /// A Content-Length field with this many bytes.
    case length(Int)
    /// The chunked transfer coding.
    case chunked
}

extension RequestBody {
    /// - Parameter isCoded: the body is compressed while it is sent, so its encoded length is unknown in advance.
    public func framing(isCoded: Bool = false) -> BodyFraming {
        if case .none = self { return .absent }
        guard !isCoded, let length else { return .chunked }
        return .length(length)
    }
}
