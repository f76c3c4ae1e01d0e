/// A cookie as it is kept. RFC 6265bis section 5.7.
///
/// Times are seconds since 1970 as `Double`, and not as whole seconds: the several cookies of one answer arrive in the
/// same second, yet the order in which they were made decides how they are sent, and which of two programs changed a
/// cookie last decides a merge. A `Double` tells moments of this century apart to a quarter of a microsecond. Every
/// moment here is within ``timeRange``, so it is neither NaN nor infinite and fits an integer.
public struct Cookie: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
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

        /// By their bytes, and not as text, for which two spellings of é are equal.
        public static func == (a: Identity, b: Identity) -> Bool {
            a.isHostOnly == b.isHostOnly && a.domain == b.domain && isSame(a.name, b.name) && isSame(a.path, b.path)
        }

        static func isSame(_ a: String, _ b: String) -> Bool { a.isExactly(b) }
    }

    /// What does not change while the cookie is kept. Shared by copies, which a sort of three thousand makes many of.
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
    /// When a cookie of this identity was first stored; no two of one jar are equal.
    public internal(set) var created: Double
    /// When it was last stored or sent.
    public internal(set) var lastAccess: Double
    /// When it was last stored, by a clock that never stands still or goes back (``CookieJar/merge(_:at:)``).
    public internal(set) var modified: Double

    public var identity: Identity { content.identity }
    /// Empty for a cookie that is a value alone.
    public var name: String { content.identity.name }
    public var value: String { content.value }
    /// In lower case, without a dot in front; an IPv6 address without brackets.
    public var domain: String { content.identity.domain }
    /// Sent to the host of that name alone, and not to those below it.
    public var isHostOnly: Bool { content.identity.isHostOnly }
    /// Begins with a slash.
    public var path: String { content.identity.path }
    /// Nil for a session cookie, which lives as long as its jar.
    public var expires: Double? { content.expires }
    /// Sent by https alone.
    public var isSecure: Bool { content.isSecure }
    /// Not for scripts in pages. Of no meaning here; kept for those to whom the cookie is exported.
    public var isHTTPOnly: Bool { content.isHTTPOnly }
    public var sameSite: SameSite { content.sameSite }

    /// A cookie from somewhere else than a Set-Cookie field: a program, a file, a database.
    ///
    /// - Parameters:
    ///   - domain: a host name or address; a dot in front is dropped.
    ///   - created, lastAccess, modified: of a cookie that was in a jar before; a new one gets them there.
    /// - Throws: what a jar would refuse in it whoever had sent it.
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

    /// What ``CookieJar/store(setCookie:from:at:firstParty:)`` has judged.
    init(judged set: SetCookie, domain: String, isHostOnly: Bool, path: String, expires: Double?) {
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

    /// Never the value: it is a secret more often than not.
    public var description: String {
        var text = "\(quoted(name)) of \(isHostOnly ? "" : ".")\(domain)\(path)"
        if isSecure { text += ", secure" }
        if isHTTPOnly { text += ", httponly" }
        if sameSite != .unspecified { text += ", samesite=\(sameSite.rawValue)" }
        return text
    }

    public var customMirror: Mirror { Mirror(self, children: ["identity": identity]) }

    // MARK: Bounds

    /// Bytes of name and value together. Section 5.6.
    public static let maximumPair = 4096
    /// Bytes of an attribute's value. Section 5.6.
    public static let maximumAttribute = 1024
    /// Seconds: 400 days, from which on a person's consent is thought to have run out. Section 5.5.
    public static let maximumAge: Int64 = 400 * 86400
    /// 1970 to the end of the year 9999.
    public static let timeRange = 0.0...253_402_300_799.0

    /// The nearest moment within ``timeRange``; its beginning for what is no number.
    static func moment(_ seconds: Double) -> Double {
        guard seconds > timeRange.lowerBound else { return timeRange.lowerBound }
        return min(seconds, timeRange.upperBound)
    }

    /// The time of a change, from outside. What cannot be one counts as the oldest: nonsense wins over nothing.
    static func stamp(_ seconds: Double) -> Double {
        timeRange.contains(seconds) ? seconds : timeRange.lowerBound
    }
}

extension Cookie.SameSite {
    /// Section 5.6.7.
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
