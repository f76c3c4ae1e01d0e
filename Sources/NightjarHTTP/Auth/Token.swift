/// An access token and what came with it. RFC 6749 section 5.1. Shows its secrets to nobody.
public struct Token: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var access: String
    public var refresh: String?
    /// As the server wrote it, mostly `Bearer`.
    public var type: String
    /// By our clock; nil when the server named no end.
    public var expiry: Timestamp?
    public var scope: String?
    /// The login that it comes of: a number made up when somebody logs in, which each renewal hands on. Nil: not known.
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

    /// The value of Authorization. RFC 6750 section 2.1 writes `Bearer` so, and servers exist that insist on it.
    ///
    /// - Returns: nil for a token or a type that would not be one value of a field.
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
