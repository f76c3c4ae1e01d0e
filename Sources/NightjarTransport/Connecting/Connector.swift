import NIOCore
import NIOPosix
import NightjarHTTP

/// What the attempts to connect of one client have in common: addresses that are known, and how TLS trusts.
final class Connector {
    let loop: any EventLoop
    let resolver: AddressResolver
    let tls: TLSClient
    let userAgent: String?

    init(
        loop: any EventLoop, configuration: TransportConfiguration, lookUp: @escaping AddressResolver.LookUp
    ) throws(NightjarError) {
        self.loop = loop
        userAgent = configuration.userAgent
        tls = try TLSClient(configuration)
        resolver = AddressResolver(loop: loop, lookUp: lookUp)
    }

    func shutDown() {
        resolver.shutDown()
    }

    /// - Parameter timeout: for all of it together; nil: the system's.
    func connect(_ connection: HTTP1Connection, timeout: Duration?) {
        let patience = TimeAmount.nanoseconds(timeout?.nanosecondsClamped ?? Connector.longestAttempt.nanoseconds)
        let origin = connection.host.origin
        let proxy = connection.host.route.proxy
        connection.connectTimer = loop.assumeIsolated().scheduleTask(in: patience) {
            connection.connectFailed(ConnectFailure.timeout(origin, through: proxy, patience))
        }
        ConnectionAttempt(self, connection, patience: patience).begin()
    }

    /// An attempt that nobody bounds: the kernel gives up on a silent peer after about this long.
    private static let longestAttempt = TimeAmount.seconds(130)
}
