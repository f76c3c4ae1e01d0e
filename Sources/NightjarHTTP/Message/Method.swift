/// A request method: a case-sensitive token. RFC 9110 section 9.
public struct Method: Hashable, Sendable, CustomStringConvertible {
    public let name: String

    /// The maximum length in bytes. The longest registered method, UPDATEREDIRECTREF, has 17 bytes.
    private static let maximumLength = 64

    /// Creates a method. Returns nil if `name` is not a token (RFC 9110 section 5.6.2) of at most 64 bytes.
    public init?(_ name: String) {
        guard name.utf8.count <= Method.maximumLength, FieldSyntax.isToken(name.utf8) else { return nil }
        self.name = name
    }

    private init(known name: String) { self.name = name }

    public static let get = Method(known: "GET")
    public static let head = Method(known: "HEAD")
    public static let post = Method(known: "POST")
    public static let put = Method(known: "PUT")
    public static let patch = Method(known: "PATCH")
    public static let delete = Method(known: "DELETE")
    public static let options = Method(known: "OPTIONS")
    public static let trace = Method(known: "TRACE")
    /// Creates a tunnel (RFC 9110 section 9.3.6). Only the transport uses this method.
    static let connect = Method(known: "CONNECT")

    /// True for GET, HEAD, OPTIONS and TRACE, which request no change on the server (RFC 9110 section 9.2.1). False for
    /// other registered safe methods, such as PROPFIND.
    public var isSafe: Bool {
        self == .get || self == .head || self == .options || self == .trace
    }

    /// True for the safe methods of ``isSafe``, PUT and DELETE: repeating such a request has no further effect, so that
    /// it may be retried. RFC 9110 section 9.2.2.
    public var isIdempotent: Bool {
        isSafe || self == .put || self == .delete
    }

    public var description: String { name }
}
