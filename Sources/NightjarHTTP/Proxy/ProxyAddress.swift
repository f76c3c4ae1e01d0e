/// The address, protocol and credentials of a proxy.
public struct ProxyAddress: Hashable, Sendable, CustomStringConvertible {
    /// The user and the password of a URL.
    public typealias UserInfo = NightjarHTTP.UserInfo

    /// The protocol of a proxy.
    public enum Kind: String, Hashable, Sendable {
        /// An HTTP proxy: absolute form for http targets, CONNECT for https targets. RFC 9112 sections 3.2.2 and 3.2.3.
        case http
        /// An HTTP proxy over TLS.
        case https
        /// SOCKS 5 (RFC 1928). The client resolves host names.
        case socks5
        /// SOCKS 5 (RFC 1928). The proxy resolves host names.
        case socks5h
    }

    public let kind: Kind
    /// The host in lower case. IPv6 addresses have no brackets.
    public let host: String
    /// The port, 1 to 65535.
    public let port: Int
    /// The credentials. Nil if the URL contains none.
    public let userInfo: UserInfo?

    /// Parses `[scheme://][user[:password]@]host[:port]` as curl does. The default scheme is http. The default port is
    /// 443 for https and 1080 for all others. A path is ignored.
    ///
    /// - Throws: `invalid_url` with the reason. The message quotes no part that may be a password.
    public init(_ text: String) throws(NightjarError) {
        self = try text.withRawBytes { bytes throws(NightjarError) in
            do throws(NightjarError) {
                return try ProxyAddress(parsing: bytes)
            } catch {
                throw NightjarError(error.kind, "the proxy cannot be used: " + error.message)
            }
        }
    }

    private init(parsing text: UnsafeRawBufferPointer) throws(NightjarError) {
        try RequestTarget.checkLength(text.count)
        let scheme = text.prefix(while: URLResolution.isSchemeByte)
        var rest = 0
        if text[scheme.endIndex...].starts(with: "://".utf8) {
            kind = try ProxyAddress.kind(UnsafeRawBufferPointer(rebasing: scheme))
            rest = scheme.endIndex + 3
        } else {
            kind = .http
        }
        let authority = URLResolution.authority(text, from: rest)
        (host, port, userInfo) = try URLResolution.read(authority, defaultPort: kind == .https ? 443 : 1080)
    }

    private static func kind(_ scheme: UnsafeRawBufferPointer) throws(NightjarError) -> Kind {
        let name = String(decoding: scheme.map(ASCII.lowercase), as: UTF8.self)
        if let kind = Kind(rawValue: name) { return kind }
        guard name == "socks" || name == "socks4" || name == "socks4a" else {
            throw NightjarError(
                .invalidURL, "its scheme \(quoted(name)) is not http, https, socks5 or socks5h")
        }
        throw NightjarError(
            .invalidURL,
            "its scheme \"\(name)\" means SOCKS 4, which is not supported; use socks5h:// if the proxy supports it"
        )
    }

    /// The host and port. An IPv6 address is in brackets.
    public var authority: String { (host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host) + ":\(port)" }

    /// The proxy as `http://proxy.example:3128`, without user name and password.
    public var description: String { "\(kind.rawValue)://\(authority)" }
}
