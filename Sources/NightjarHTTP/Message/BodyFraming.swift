/// How the end of a request's content is told. RFC 9112 section 6.
public enum BodyFraming: Sendable, Equatable {
    /// There is none.
    case absent
    /// By its length, from the beginning.
    case length(Int)
    /// By its last chunk.
    case chunked
}

extension RequestBody {
    /// - Parameter isCoded: a coding is put on while it is sent, so that nobody knows its length before.
    public func framing(isCoded: Bool = false) -> BodyFraming {
        if case .none = self { return .absent }
        guard !isCoded, let length else { return .chunked }
        return .length(length)
    }
}
