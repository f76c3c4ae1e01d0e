import NIOCore

/// An absolute http or https URL in the form in which it goes on the wire. RFC 9110 section 4.2, RFC 3986.
///
/// The fragment is dropped. Dot segments stay as they were written: the server resolves them.
public struct RequestURL: Hashable, Sendable, CustomStringConvertible {
    public let origin: Origin
    /// Path and query, percent-encoded; begins with a slash. The request target of RFC 9112 section 3.2.1.
    public let target: String
    /// What stood before the `@`. Never in ``description``, and never on the wire as part of the URL.
    public let userInfo: UserInfo?

    /// Reads an absolute URL.
    ///
    /// - Throws: `invalid_url`, saying what to do. The message quotes nothing that may be a password.
    public init(_ text: String) throws(NightjarError) {
        guard let split = try RequestURL.splitScheme(text) else {
            throw NightjarError(.invalidURL, "the URL has no scheme; write http://host/path or https://host/path")
        }
        try self.init(isTLS: split.isTLS, afterScheme: split.rest, query: [])
    }

    init(origin: Origin, target: String, userInfo: UserInfo? = nil) {
        self.origin = origin
        self.target = target
        self.userInfo = userInfo
    }

    /// The URL of `target`, which is absolute, or a path put behind this one's with one slash between; then `query`.
    public func joined(
        _ target: String, query: [(name: String, value: String)] = []
    ) throws(NightjarError) -> RequestURL {
        if let split = try RequestURL.splitScheme(target) {
            return try RequestURL(isTLS: split.isTLS, afterScheme: split.rest, query: query)
        }
        try RequestURL.checkRelative(target)
        let joined = try RequestURL.target(target[...], behind: path, query: query)
        return RequestURL(origin: origin, target: joined, userInfo: userInfo)
    }

    public var path: String { String(target.prefix { $0 != "?" }) }

    /// What is behind the `?`, encoded; nil when there is none.
    public var query: String? {
        target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
    }

    /// The URL without user info, and with the values of query items that carry credentials masked.
    public var description: String { redacted }

    // MARK: Reading

    init(
        isTLS: Bool, afterScheme rest: Substring, query: [(name: String, value: String)]
    ) throws(NightjarError) {
        let authority = rest.prefix { !"/?#".contains($0) }
        let (userInfo, hostAndPort) = try RequestURL.splitUserInfo(authority.utf8)
        let (host, port) = try RequestURL.splitPort(hostAndPort, isTLS: isTLS)
        origin = Origin(isTLS: isTLS, host: try HostSyntax.canonical(host), port: port)
        target = try RequestURL.target(rest[authority.endIndex...], behind: "", query: query)
        self.userInfo = userInfo
    }

    /// Whether the scheme is https, and what is behind `://`; nil when `text` is not absolute.
    static func splitScheme(_ text: String) throws(NightjarError) -> (isTLS: Bool, rest: Substring)? {
        // Most targets are paths, so this is all that they cost.
        guard let first = text.utf8.first, first != UInt8(ascii: "/"), first != UInt8(ascii: "?") else { return nil }
        try RequestTarget.checkLength(text.utf8.count)
        let utf8 = text.utf8
        let scheme = utf8.prefix { isSchemeByte($0) }
        let rest = utf8[scheme.endIndex...]
        guard rest.first == UInt8(ascii: ":"), !scheme.isEmpty else { return nil }
        let name = Substring(scheme).lowercased()
        let isKnown = name == "http" || name == "https"
        guard rest.starts(with: "://".utf8) else {
            guard isKnown else { return nil }
            throw NightjarError(.invalidURL, "\"\(name):\" is not followed by //; write \(name)://host/path")
        }
        guard isKnown else {
            throw NightjarError(.invalidURL, "the scheme \(quoted(name)) is not http or https")
        }
        return (name == "https", Substring(rest.dropFirst(3)))
    }

    /// RFC 3986 section 3.1.
    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        ASCII.isDigit(byte) || ASCII.lowercase(byte) &- UInt8(ascii: "a") < 26
            || [UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(byte)
    }

    static func checkRelative(_ target: String) throws(NightjarError) {
        guard !target.utf8.starts(with: "//".utf8) else {
            throw NightjarError(
                .invalidURL, "the target begins with //, which could be a host or a path; write the scheme, or one slash")
        }
    }

    private static func splitUserInfo(
        _ authority: Substring.UTF8View
    ) throws(NightjarError) -> (UserInfo?, Substring.UTF8View) {
        if let byte = authority.first(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw PercentEncoding.controlCharacter(byte)
        }
        guard let at = authority.firstIndex(of: UInt8(ascii: "@")) else { return (nil, authority) }
        let host = authority[authority.index(after: at)...]
        guard !host.contains(UInt8(ascii: "@")) else {
            throw NightjarError(.invalidURL, "the URL has two @ before its path; write %40 in a user name or password")
        }
        // A backslash, above all: browsers end the host there, and others do not.
        guard authority[..<at].allSatisfy(PercentEncoding.isUserInfoByte) else {
            throw NightjarError(
                .invalidURL, "a character of the URL's user name or password must be percent-encoded, like %5C for \\")
        }
        return (UserInfo(parsing: authority[..<at]), host)
    }

    private static func splitPort(
        _ text: Substring.UTF8View, isTLS: Bool
    ) throws(NightjarError) -> (Substring.UTF8View, Int) {
        // The colons of an IPv6 address are inside its brackets; where the second is missing, the host is wrong.
        let isAddress = text.first == UInt8(ascii: "[")
        let afterAddress = text.lastIndex(of: UInt8(ascii: "]")) ?? (isAddress ? text.endIndex : text.startIndex)
        guard let colon = text[afterAddress...].firstIndex(of: UInt8(ascii: ":")) else {
            return (text, Origin.defaultPort(isTLS: isTLS))
        }
        let digits = text[text.index(after: colon)...]
        // An empty port is the default one. RFC 3986 section 3.2.3.
        if digits.isEmpty { return (text[..<colon], Origin.defaultPort(isTLS: isTLS)) }
        guard digits.allSatisfy(ASCII.isDigit), let port = Int(Substring(digits)), (1...65535).contains(port) else {
            // Not quoted: when a password holds a slash, this is the beginning of it.
            throw NightjarError(
                .invalidURL, "the port is not a number from 1 to 65535; if it is part of a password, encode / ? # in it")
        }
        return (text[..<colon], port)
    }

    private static func target(
        _ text: Substring, behind base: String, query: [(name: String, value: String)]
    ) throws(NightjarError) -> String {
        try RequestTarget.checkLength(text.utf8.count)
        var buffer = ByteBufferAllocator().buffer(capacity: base.utf8.count + text.utf8.count + 1)
        try String(text).withRawBytes { bytes throws(NightjarError) in
            try RequestTarget.write(bytes, behind: base, query: query, into: &buffer)
        }
        return String(buffer: buffer)
    }
}

/// User name and password of a URL, decoded. Shows itself to nobody.
public final class UserInfo: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    public let user: String
    /// Nil when there was no colon.
    public let password: String?

    init(parsing text: Substring.UTF8View) {
        let parts = text.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = parts.map { String(decoding: PercentEncoding.decoded($0), as: UTF8.self) }
        user = decoded.first ?? ""
        password = decoded.dropFirst().first
    }

    public static func == (a: UserInfo, b: UserInfo) -> Bool { a.user == b.user && a.password == b.password }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(user)
        hasher.combine(password)
    }

    public var description: String { "***" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
