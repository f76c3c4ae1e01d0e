/// The connection that carried an exchange. Each connection has one instance.
public final class ConnectionRecord: Sendable, Equatable {
    /// The connection's number, unique in the process.
    public let number: Int
    /// The IP address of the peer, or the path of the peer's Unix domain socket. Nil if unknown.
    public let peerAddress: String?
    public let peerPort: Int?
    /// The duration of the DNS lookup. Nil if there was no lookup, for example because the name was cached.
    public let dns: Duration?
    /// The time to open the connection, without the DNS lookup and ``tls``. Includes all handshakes with a proxy that
    /// opens a tunnel.
    public let connect: Duration?
    /// The duration of the TLS handshake with the origin, or with the proxy that forwards requests. Nil without TLS.
    public let tls: Duration?
    /// The TLS connection with the origin. Nil without TLS, and for a connection to a proxy that forwards requests.
    public let tlsDetails: TLSDetails?
    /// The version of HTTP in which requests are sent: HTTP/1.1 or HTTP/2.
    public let version: HTTPVersion
    /// Why the connection uses HTTP/1.1, if HTTP/2 is enabled but not possible. Nil if the server has chosen HTTP/1.1.
    public let http1Reason: String?

    public init(
        number: Int, peerAddress: String?, peerPort: Int? = nil, dns: Duration? = nil, connect: Duration? = nil,
        tls: Duration? = nil, tlsDetails: TLSDetails? = nil, version: HTTPVersion = .http1_1, http1Reason: String? = nil
    ) {
        self.number = number
        self.peerAddress = peerAddress
        self.peerPort = peerPort
        self.dns = dns
        self.connect = connect
        self.tls = tls
        self.tlsDetails = tlsDetails
        self.version = version
        self.http1Reason = http1Reason
    }

    /// The peer's address and port: `127.0.0.1:8080`, `[::1]:443`.
    public var peer: String? { ConnectionRecord.peer(peerAddress, peerPort) }

    /// Returns an address and a port as text: `127.0.0.1:8080`, `[::1]:443`.
    public static func peer(_ address: String?, _ port: Int?) -> String? {
        guard let address, let port else { return address }
        let isVersion6 = address.utf8.contains(UInt8(ascii: ":"))
        return isVersion6 ? "[\(address)]:\(port)" : "\(address):\(port)"
    }

    public static func == (a: ConnectionRecord, b: ConnectionRecord) -> Bool { a === b }
}

extension ConnectionRecord {
    /// A step of opening a connection that is complete, and its duration.
    public enum Step: Sendable, Equatable {
        /// The addresses of a host are known.
        case resolved(host: String, Duration)
        /// The socket is connected to this peer. If a proxy opens a tunnel, the tunnel is open, too.
        case connected(peer: String?, Duration)
        /// The TLS handshake is complete.
        case secured(Duration)
    }
}
