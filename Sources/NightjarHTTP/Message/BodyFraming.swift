/// The way in which a request signals the end of its body. RFC 9112 section 6.
public enum BodyFraming: Sendable, Equatable {
    /// No body.
    case absent
    /// A Content-Length field with this many bytes.
    case length(Int)
    /// The chunked transfer coding.
    case chunked
    /// No body, and the fields that request an upgrade to WebSocket. RFC 6455 section 4.1.
    case upgrade
}
