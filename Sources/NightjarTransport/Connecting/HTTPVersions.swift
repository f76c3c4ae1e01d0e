/// The versions of HTTP that the connections to a host may use.
enum HTTPVersions {
    case http1
    /// The server chooses one with ALPN.
    case negotiated
    case http2

    /// The protocols for ALPN in the format of the extension, by preference. RFC 7301 section 3.1.
    var applicationProtocols: [UInt8] {
        switch self {
        case .http1: HTTPVersions.http1Name
        case .negotiated: HTTPVersions.http2Name + HTTPVersions.http1Name
        case .http2: HTTPVersions.http2Name
        }
    }

    /// Returns whether a connection uses HTTP/2.
    ///
    /// - Parameter chosen: The protocol that the server has chosen with ALPN.
    func isHTTP2(chosen: String?) -> Bool {
        switch self {
        case .http1: false
        case .negotiated: chosen == "h2"
        case .http2: true
        }
    }

    private static let http1Name: [UInt8] = [8] + "http/1.1".utf8
    private static let http2Name: [UInt8] = [2] + "h2".utf8
}
