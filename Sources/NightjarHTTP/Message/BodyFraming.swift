/// How the end of a request's content is told. RFC 9112 section 6.
public enum BodyFraming: Sendable, Equatable {
    /// There is none.
    case absent
    /// By its length, from the beginning.
    case length(Int)
    /// By its last chunk.
    case chunked
}
