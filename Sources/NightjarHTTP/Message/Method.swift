/// A request method: a token, compared by case. RFC 9110 section 9.
public struct Method: Hashable, Sendable, CustomStringConvertible {
    public let name: String

    /// Bytes of a method's name. The longest registered one has 17 (UPDATEREDIRECTREF); servers stop soon behind that.
    private static let maximumLength = 64

    /// - Returns: nil when `name` is not a token (RFC 9110 section 5.6.2) of at most 64 bytes.
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
    /// Makes tunnels (RFC 9110 section 9.3.6): the transport's, never a caller's.
    static let connect = Method(known: "CONNECT")

    /// Asks for nothing to change at the server. RFC 9110 section 9.2.1.
    public var isSafe: Bool {
        self == .get || self == .head || self == .options || self == .trace
    }

    /// Twice is as good as once, so a request that may have been seen can be sent again. RFC 9110 section 9.2.2.
    public var isIdempotent: Bool {
        isSafe || self == .put || self == .delete
    }

    public var description: String { name }
}
