/// A proxy: how it is spoken to, where it is, who we are to it.
public struct ProxyAddress: Hashable, Sendable, CustomStringConvertible {
    public enum Kind: String, Hashable, Sendable {
        /// http targets in absolute form, https targets through CONNECT. RFC 9112 sections 3.2.2 and 3.2.3.
        case http
        /// The same inside TLS.
        case https
        /// RFC 1928; names are looked up here.
        case socks5
        /// RFC 1928; the proxy looks names up.
        case socks5h
    }

    public let kind: Kind
    /// In lower case; an IPv6 address without brackets.
    public let host: String
    /// 1 to 65535.
    public let port: Int
    /// Nil for a proxy that asks nobody.
    public let userInfo: UserInfo?

    /// Reads `[scheme://][user[:password]@]host[:port]` as curl does: without a scheme it is http, the default port is 443
    /// for https and 1080 for all others, and a path is ignored.
    ///
    /// - Throws: `invalid_url`, saying what to do. The message quotes nothing that may be a password.
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
                .invalidURL, "its scheme \(quoted(name)) is none of http, https, socks5 and socks5h")
        }
        throw NightjarError(
            .invalidURL, "its scheme \"\(name)\" means SOCKS 4, which is not supported; write socks5h:// if it can that"
        )
    }

    /// Host and port.
    public var authority: String { (host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host) + ":\(port)" }

    /// `http://proxy.example:3128`, without user and password.
    public var description: String { "\(kind.rawValue)://\(authority)" }
}
