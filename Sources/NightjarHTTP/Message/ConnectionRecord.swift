/// The connection that carried a call, as those may know it who look at the call later. Made once a connection.
public final class ConnectionRecord: Sendable, Equatable {
    /// Tells the connections of a process apart.
    public let number: Int
    /// The address of the other end, or the path of its socket; nil where there is none.
    public let peerAddress: String?
    public let peerPort: Int?
    /// How long the look-up of the host's name took; nil for an address, and for a name that was known.
    public let dns: Duration?
    /// How long the connection took to open, without look-up and TLS.
    public let connect: Duration?
    /// How long the handshake of TLS took.
    public let tls: Duration?

    public init(
        number: Int, peerAddress: String?, peerPort: Int? = nil, dns: Duration? = nil, connect: Duration? = nil,
        tls: Duration? = nil
    ) {
        self.number = number
        self.peerAddress = peerAddress
        self.peerPort = peerPort
        self.dns = dns
        self.connect = connect
        self.tls = tls
    }

    /// Address and port: `127.0.0.1:8080`, `[::1]:443`.
    public var peer: String? {
        guard let peerAddress, let peerPort else { return peerAddress }
        let isVersion6 = peerAddress.utf8.contains(UInt8(ascii: ":"))
        return isVersion6 ? "[\(peerAddress)]:\(peerPort)" : "\(peerAddress):\(peerPort)"
    }

    public static func == (a: ConnectionRecord, b: ConnectionRecord) -> Bool { a === b }
}
