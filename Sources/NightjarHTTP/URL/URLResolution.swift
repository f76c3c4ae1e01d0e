/// The resolution of a target, which is an absolute URL or a path relative to a base URL.
struct URLResolution {
    let origin: Origin
    let userInfo: UserInfo?
    /// The encoded path of the base URL. Empty if the target is an absolute URL.
    let basePath: String
    /// The offset in the target at which the path and query begin.
    let rest: Int

    /// Creates a resolution from a URL that is already resolved.
    init(of url: RequestURL) {
        origin = url.origin
        userInfo = url.userInfo
        basePath = ""
        rest = 0
    }

    /// Resolves a target.
    ///
    /// - Parameter known: an origin from an earlier request. If the target has this origin, the origin is not parsed
    ///   again.
    /// - Returns: nil for a relative target without a base.
    /// - Throws: `invalid_url` with the reason. The message quotes no part that may be a password.
    init?(
        _ text: UnsafeRawBufferPointer, base: RequestURL?, known: Origin? = nil
    ) throws(NightjarError) {
        try RequestTarget.checkLength(text.count)
        if let (isTLS, start) = try URLResolution.scheme(text) {
            let authority = URLResolution.authority(text, from: start)
            rest = start + authority.count
            basePath = ""
            // Many absolute targets have the origin of the base URL.
            if let base, base.origin.isWritten(authority, isTLS: isTLS) {
                origin = base.origin
                userInfo = nil
            } else if let known, known.isWritten(authority, isTLS: isTLS) {
                origin = known
                userInfo = nil
            } else {
                let host: String
                let port: Int
                (host, port, userInfo) = try URLResolution.read(
                    authority, defaultPort: Origin.defaultPort(isTLS: isTLS))
                origin = Origin(isTLS: isTLS, host: host, port: port)
            }
        } else {
            guard text.count < 2 || text[0] != UInt8(ascii: "/") || text[1] != UInt8(ascii: "/") else {
                throw NightjarError(
                    .invalidURL,
                    "the target begins with //, which could be a host or a path; write the scheme, or one slash")
            }
            guard let base else { return nil }
            origin = base.origin
            userInfo = base.userInfo
            basePath = base.path
            rest = 0
        }
    }

    /// Returns the scheme and the offset after `://`. Returns nil if `text` is relative.
    private static func scheme(_ text: UnsafeRawBufferPointer) throws(NightjarError) -> (isTLS: Bool, end: Int)? {
        var end = 0
        while end < text.count, isSchemeByte(text[end]) { end += 1 }
        guard end > 0, end < text.count, text[end] == UInt8(ascii: ":") else { return nil }
        let name = UnsafeRawBufferPointer(rebasing: text[..<end])
        let isTLS = ASCII.isCaseless(name, "https")
        let isKnown = isTLS || ASCII.isCaseless(name, "http")
        guard end + 2 < text.count, text[end + 1] == UInt8(ascii: "/"), text[end + 2] == UInt8(ascii: "/") else {
            guard isKnown else { return nil }
            throw NightjarError(
                .invalidURL,
                "the URL has no \"//\" after the scheme \(quoted(name)); write a URL such as https://host/path")
        }
        guard isKnown else {
            throw NightjarError(.invalidURL, "the scheme \(quoted(name)) is not http or https\(hint(for: name))")
        }
        return (isTLS, end + 3)
    }

    /// Returns a hint about a known but unsupported scheme, to append to an error message. Empty for other schemes.
    private static func hint(for scheme: UnsafeRawBufferPointer) -> String {
        if ASCII.isCaseless(scheme, "http+unix") { return "; only base_url can name a socket" }
        if ASCII.isCaseless(scheme, "ws") || ASCII.isCaseless(scheme, "wss") {
            return "; WebSocket is not supported yet"
        }
        return ""
    }

    /// Returns true for the bytes of a scheme. RFC 3986 section 3.1.
    static func isSchemeByte(_ byte: UInt8) -> Bool {
        ASCII.lowercase(byte) &- UInt8(ascii: "a") < 26 || ASCII.isDigit(byte) || byte == UInt8(ascii: "+")
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }

    static func authority(_ text: UnsafeRawBufferPointer, from start: Int) -> UnsafeRawBufferPointer {
        var end = start
        while end < text.count, text[end] != UInt8(ascii: "/"), text[end] != UInt8(ascii: "?"),
            text[end] != UInt8(ascii: "#")
        {
            end += 1
        }
        return UnsafeRawBufferPointer(rebasing: text[start..<end])
    }

    /// Parses an authority.
    ///
    /// - Returns: the host in canonical form, a port from 1 to 65535, and the user info.
    static func read(
        _ authority: UnsafeRawBufferPointer, defaultPort: Int
    ) throws(NightjarError) -> (host: String, port: Int, UserInfo?) {
        if let byte = authority.first(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw PercentEncoding.controlCharacter(byte)
        }
        var userInfo: UserInfo?
        var hostAndPort = authority
        if let at = authority.firstIndex(of: UInt8(ascii: "@")) {
            if at > 0 { userInfo = try readUserInfo(UnsafeRawBufferPointer(rebasing: authority[..<at])) }
            hostAndPort = UnsafeRawBufferPointer(rebasing: authority[(at + 1)...])
        }
        let (host, port) = try splitPort(hostAndPort, defaultPort: defaultPort)
        return (try HostSyntax.canonical(host), port, userInfo)
    }

    private static func readUserInfo(_ text: UnsafeRawBufferPointer) throws(NightjarError) -> UserInfo {
        // A backslash must be rejected, because browsers end the host at a backslash and other parsers do not.
        guard text.allSatisfy(PercentEncoding.isUserInfoByte) else {
            throw NightjarError(
                .invalidURL, "a character of the URL's user name or password must be percent-encoded, like %5C for \\")
        }
        return UserInfo(parsing: text)
    }

    private static func splitPort(
        _ text: UnsafeRawBufferPointer, defaultPort: Int
    ) throws(NightjarError) -> (host: UnsafeRawBufferPointer, port: Int) {
        // The colons of an IPv6 address are inside its brackets. If the closing bracket is missing, HostSyntax rejects
        // the host.
        let isAddress = text.first == UInt8(ascii: "[")
        let hostEnd = isAddress ? text.lastIndex(of: UInt8(ascii: "]")) ?? text.count : 0
        guard let colon = text[hostEnd...].firstIndex(of: UInt8(ascii: ":")) else {
            return (text, defaultPort)
        }
        let host = UnsafeRawBufferPointer(rebasing: text[..<colon])
        let digits = text[(colon + 1)...]
        // An empty port means the default port. RFC 3986 section 3.2.3.
        if digits.isEmpty { return (host, defaultPort) }
        var port = 0
        for digit in digits {
            guard ASCII.isDigit(digit), port <= 65535 else { throw invalidPort }
            port = port * 10 + Int(digit & 0xF)
        }
        guard (1...65535).contains(port) else { throw invalidPort }
        return (host, port)
    }

    /// The error for an invalid port. The port is not quoted, because it may be the beginning of a password that
    /// contains a slash.
    private static var invalidPort: NightjarError {
        NightjarError(
            .invalidURL, "the port is not a number from 1 to 65535; percent-encode / ? # @ in a password")
    }
}
