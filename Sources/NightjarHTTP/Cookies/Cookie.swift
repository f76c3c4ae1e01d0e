/// A cookie as it is kept. RFC 6265bis section 5.7.
///
/// Times are seconds since 1970 as `Double`, and not as whole seconds: the several cookies of one answer arrive in the
/// same second, yet the order in which they were made decides how they are sent, and which of two programs changed a
/// cookie last decides a merge. A `Double` tells moments of this century apart to a quarter of a microsecond. Every
/// moment here is within ``timeRange``, so it is neither NaN nor infinite and fits an integer.
public struct Cookie: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// With requests that another site caused, is it sent? Section 5.6.7.
    public enum SameSite: String, Sendable, CaseIterable {
        /// Also then.
        case none
        /// Only when the method is safe.
        case lax
        /// Never.
        case strict
        /// The server said nothing or nothing known: as lax.
        case unspecified
    }

    /// What makes two cookies the same, so that the later takes the place of the earlier.
    public struct Identity: Hashable, Sendable {
        public let name: String
        public let domain: String
        public let isHostOnly: Bool
        public let path: String

        public init(name: String, domain: String, isHostOnly: Bool, path: String) {
            self.name = name
            self.domain = domain
            self.isHostOnly = isHostOnly
            self.path = path
        }
    }

    /// Empty for a cookie that is a value alone.
    public let name: String
    public let value: String
    /// In lower case, without a dot in front; an IPv6 address without brackets.
    public let domain: String
    /// Sent to the host of that name alone, and not to those below it.
    public let isHostOnly: Bool
    /// Begins with a slash.
    public let path: String
    /// Nil for a session cookie, which lives as long as its jar.
    public let expires: Double?
    /// Sent by https alone.
    public let isSecure: Bool
    /// Not for scripts in pages. Of no meaning here; kept for those to whom the cookie is exported.
    public let isHTTPOnly: Bool
    public let sameSite: SameSite
    /// When a cookie of this identity was first stored; no two of one jar are equal.
    public internal(set) var created: Double
    /// When it was last stored or sent.
    public internal(set) var lastAccess: Double
    /// When it was last stored, by a clock that never stands still or goes back (``CookieJar/merge(_:at:)``).
    public internal(set) var modified: Double

    /// A cookie from somewhere else than a Set-Cookie field: a program, a file, a database.
    ///
    /// - Parameters:
    ///   - domain: a host name or address; a dot in front is dropped.
    ///   - created, lastAccess, modified: nil is for the jar to fill in.
    /// - Throws: what a jar would refuse in it whoever had sent it.
    public init(
        name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/",
        expires: Double? = nil, isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite = .unspecified,
        created: Double = 0, lastAccess: Double = 0, modified: Double = 0
    ) throws(CookieRefusal) {
        guard !name.isEmpty || !value.isEmpty else { throw .empty }
        // The second "=" of a line would end the name, and a semicolon the pair.
        guard Cookie.isText(name), Cookie.isText(value), Cookie.isText(path), !name.utf8.contains(UInt8(ascii: "=")),
            !(name.utf8.contains(UInt8(ascii: ";")) || value.utf8.contains(UInt8(ascii: ";")))
        else { throw .controlCharacter }
        guard name.utf8.count + value.utf8.count <= Cookie.maximumPair else { throw .tooLarge }
        guard path.utf8.first == UInt8(ascii: "/") else { throw .invalidPath }
        guard path.utf8.count <= Cookie.maximumAttribute else { throw .pathTooLong }
        guard let host = CookieScope.host(domain) else { throw .domainMismatch }
        guard !isHostOnly || CookiePrefix.isKept(name: name, value: value, isSecure: isSecure, isHostOnly: true, path: path)
        else { throw .prefix }
        self.init(
            unchecked: name, value: value, domain: host, isHostOnly: isHostOnly, path: path,
            expires: expires.map(Cookie.moment), isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: sameSite,
            created: Cookie.moment(created), lastAccess: Cookie.moment(lastAccess), modified: Cookie.moment(modified))
    }
}
