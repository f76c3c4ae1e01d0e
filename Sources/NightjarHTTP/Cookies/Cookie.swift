/// A stored cookie. RFC 6265bis section 5.7.
///
/// Times are seconds since 1970. They are `Double` values, because whole seconds would not keep the order of cookies in
/// one response and of changes by two programs. All times are within ``timeRange``, so they are finite and convert to
/// integers.
public struct Cookie: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The reason why a cookie was rejected.
    public typealias Refusal = CookieRefusal

    /// The requests from other sites with which the cookie is sent. Section 5.6.7.
    public enum SameSite: String, Sendable, CaseIterable {
        /// Sent with all requests.
        case none
        /// Sent only with safe methods.
        case lax
        /// Not sent.
        case strict
        /// Not specified or unknown; treated as lax.
        case unspecified
    }

    /// The login whose request has caused a cookie to be set.
    package struct Owner: Equatable, Sendable {
        /// See ``Token/lineage``.
        package let lineage: UInt64
        /// True if the login outlives the process. Otherwise, files do not contain the owner.
        package let isStored: Bool

        package init(lineage: UInt64, isStored: Bool) {
            self.lineage = lineage
            self.isStored = isStored
        }
    }

    /// The key of a cookie. A new cookie replaces the stored cookie with the same identity.
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

        /// Compares bytes. Comparing strings would treat canonically equivalent names as equal.
        public static func == (a: Identity, b: Identity) -> Bool {
            a.isHostOnly == b.isHostOnly && a.domain == b.domain && isSame(a.name, b.name) && isSame(a.path, b.path)
        }

        static func isSame(_ a: String, _ b: String) -> Bool { a.isExactly(b) }
    }

    /// The immutable part of a cookie. Copies share this object, because sorting a jar copies each cookie many times.
    private final class Content: Sendable {
        let identity: Identity
        let value: String
        let expires: Double?
        let isSecure: Bool
        let isHTTPOnly: Bool
        let sameSite: SameSite

        init(
            _ identity: Identity, value: String, expires: Double?, isSecure: Bool, isHTTPOnly: Bool, sameSite: SameSite
        ) {
            self.identity = identity
            self.value = value
            self.expires = expires
            self.isSecure = isSecure
            self.isHTTPOnly = isHTTPOnly
            self.sameSite = sameSite
        }
    }

    private let content: Content
    /// The time at which the cookie was first stored. Kept when the cookie is replaced before it has expired.
    public internal(set) var created: Double
    /// The time at which the cookie was last stored or sent.
    public internal(set) var lastAccess: Double
    /// The time at which the cookie was last stored. Later than all earlier changes in the jar, even if the clock was
    /// set back. See `CookieJar/merge(_:at:)`.
    public internal(set) var modified: Double
    /// The login whose request has received the cookie. Nil for a cookie of a request without a token, and of a program.
    package var owner: Owner?

    public var identity: Identity { content.identity }
    /// The name. Empty for a cookie that has only a value.
    public var name: String { content.identity.name }
    public var value: String { content.value }
    /// The domain in lower case, without a leading dot. IPv6 addresses have no brackets.
    public var domain: String { content.identity.domain }
    /// True if the cookie is sent to this host but not to its subdomains.
    public var isHostOnly: Bool { content.identity.isHostOnly }
    /// The path. Begins with a slash.
    public var path: String { content.identity.path }
    /// The expiry time. Nil for a session cookie, which lasts as long as its jar.
    public var expires: Double? { content.expires }
    /// True if the cookie is sent only over https.
    public var isSecure: Bool { content.isSecure }
    /// True if the cookie is not accessible to scripts in web pages. Has no effect in this client; kept for export.
    public var isHTTPOnly: Bool { content.isHTTPOnly }
    public var sameSite: SameSite { content.sameSite }

    /// Creates a cookie that does not come from a Set-Cookie field, for example from a program or a file.
    ///
    /// - Parameters:
    ///   - domain: a host name or address. A leading dot is removed.
    ///   - created, lastAccess, modified: the times of a cookie that comes from another jar. For a new cookie, the jar
    ///     sets the times.
    /// - Throws: the reason if the cookie is invalid.
    public init(
        name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/",
        expires: Double? = nil, isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite = .unspecified,
        created: Double = 0, lastAccess: Double = 0, modified: Double = 0
    ) throws(CookieRefusal) {
        guard !name.isEmpty || !value.isEmpty else { throw .empty }
        guard FieldSyntax.isValue(name.utf8), FieldSyntax.isValue(value.utf8), FieldSyntax.isValue(path.utf8) else {
            throw .controlCharacter
        }
        guard !name.utf8.contains(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ";") }),
            !value.utf8.contains(UInt8(ascii: ";"))
        else { throw .separator }
        guard name.utf8.count + value.utf8.count <= Cookie.maximumPair else { throw .tooLarge }
        guard path.utf8.first == UInt8(ascii: "/") else { throw .invalidPath }
        guard path.utf8.count <= Cookie.maximumAttribute else { throw .pathTooLong }
        guard let host = CookieScope.host(named: domain) else { throw .domainMismatch }
        guard
            CookiePrefix.isKept(
                name: name, value: value, isSecure: isSecure, isHostOnly: isHostOnly, rootPath: path == "/")
        else { throw .prefix }
        content = Content(
            Identity(name: name, domain: host, isHostOnly: isHostOnly, path: path), value: value,
            expires: expires.map(Cookie.moment), isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: sameSite)
        self.created = Cookie.moment(created)
        self.lastAccess = Cookie.moment(lastAccess)
        self.modified = Cookie.stamp(modified)
    }

    /// Creates a cookie that ``CookieJar/store(setCookie:from:at:firstParty:)`` has evaluated.
    init(evaluated set: SetCookie, domain: String, isHostOnly: Bool, path: String, expires: Double?) {
        content = Content(
            Identity(name: set.name, domain: domain, isHostOnly: isHostOnly, path: path), value: set.value,
            expires: expires, isSecure: set.isSecure, isHTTPOnly: set.isHTTPOnly, sameSite: set.sameSite)
        created = 0
        lastAccess = 0
        modified = 0
    }

    public func isExpired(at now: Double) -> Bool {
        expires.map { $0 <= now } ?? false
    }

    public static func == (a: Cookie, b: Cookie) -> Bool {
        a.created == b.created && a.lastAccess == b.lastAccess && a.modified == b.modified && a.isSameContent(as: b)
    }

    private func isSameContent(as other: Cookie) -> Bool {
        let (a, b) = (content, other.content)
        return a === b
            || a.identity == b.identity && Identity.isSame(a.value, b.value) && a.expires == b.expires
                && a.isSecure == b.isSecure && a.isHTTPOnly == b.isHTTPOnly && a.sameSite == b.sameSite
    }

    /// The cookie without its value, which is usually a secret.
    public var description: String {
        var text = "\(quoted(name)) of \(isHostOnly ? "" : ".")\(domain)\(path)"
        if isSecure { text += ", secure" }
        if isHTTPOnly { text += ", httponly" }
        if sameSite != .unspecified { text += ", samesite=\(sameSite.rawValue)" }
        return text
    }

    public var customMirror: Mirror { Mirror(self, children: ["identity": identity]) }

    // MARK: Limits

    /// The maximum length of name and value together, in bytes. Section 5.6.
    public static let maximumPair = 4096
    /// The maximum length of an attribute value, in bytes. Section 5.6.
    public static let maximumAttribute = 1024
    /// The maximum lifetime in seconds: 400 days. Section 5.5.
    public static let maximumAge: Int64 = 400 * 86400
    /// 1970 to the end of the year 9999, in seconds.
    public static let timeRange = 0.0...253_402_300_799.0

    /// Clamps a time to ``timeRange``. NaN becomes its lower bound.
    static func moment(_ seconds: Double) -> Double {
        guard seconds > timeRange.lowerBound else { return timeRange.lowerBound }
        return min(seconds, timeRange.upperBound)
    }

    /// Returns `seconds`, a modification time from another jar, or the oldest time if `seconds` is outside of
    /// ``timeRange``. A cookie with the oldest time replaces no stored cookie.
    static func stamp(_ seconds: Double) -> Double {
        timeRange.contains(seconds) ? seconds : timeRange.lowerBound
    }
}

extension Cookie.SameSite {
    /// Parses the SameSite attribute. Section 5.6.7.
    init(attribute: UnsafeRawBufferPointer) {
        if ASCII.isCaseless(attribute, "none") {
            self = .none
        } else if ASCII.isCaseless(attribute, "lax") {
            self = .lax
        } else if ASCII.isCaseless(attribute, "strict") {
            self = .strict
        } else {
            self = .unspecified
        }
    }
}
