/// An access token and its metadata. RFC 6749 section 5.1. Its description contains no secrets.
public struct Token: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var access: String
    public var refresh: String?
    /// The token type as the server wrote it, usually `Bearer`.
    public var type: String
    /// The expiry by the local clock. Nil if unknown.
    public var expiry: Timestamp?
    public var scope: String?
    /// A random number that identifies the login. Not changed by a refresh. Nil if unknown.
    public var lineage: UInt64?

    public init(
        access: String, refresh: String? = nil, type: String = "Bearer", expiry: Timestamp? = nil, scope: String? = nil,
        lineage: UInt64? = nil
    ) {
        self.access = access
        self.refresh = refresh
        self.type = type
        self.expiry = expiry
        self.scope = scope
        self.lineage = lineage
    }

    /// The value of the Authorization field. Nil if the token or its type is not valid in a field value.
    ///
    /// The scheme of a bearer token is always written as `Bearer` (RFC 6750 section 2.1), because some servers compare
    /// schemes case-sensitively. Other token types are written as the server wrote them.
    public var authorization: String? {
        let scheme = ASCII.equalIgnoringCase(type.utf8, "bearer".utf8) ? "Bearer" : type
        guard FieldSyntax.isToken(scheme.utf8), !access.isEmpty,
            access.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else { return nil }
        return "\(scheme) \(access)"
    }

    public var description: String { "token ***" + (expiry.map { ", until \($0)" } ?? "") }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
