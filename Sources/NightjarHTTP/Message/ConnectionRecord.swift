/// The connection that carried a call, as those may know it who look at the call later. Made once a connection.
public final class ConnectionRecord: Sendable, Equatable {
    /// Tells the connections of a client apart.
    public let number: Int
    /// The address and port of the other end: `127.0.0.1:8080`, `[::1]:443`; nil where there is none.
    public let peer: String?
    /// How long the look-up of the host's name took; nil for an address, and for a name that was known.
    public let dns: Duration?
    /// How long the connection took to open, without look-up and TLS.
    public let connect: Duration?
    /// How long the handshake of TLS took.
    public let tls: Duration?

    public init(
        number: Int, peer: String?, dns: Duration? = nil, connect: Duration? = nil, tls: Duration? = nil
    ) {
        self.number = number
        self.peer = peer
        self.dns = dns
        self.connect = connect
        self.tls = tls
    }

    public static func == (a: ConnectionRecord, b: ConnectionRecord) -> Bool { a === b }
}
