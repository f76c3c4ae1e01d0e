import NIOCore
import NIOPosix
import NIOSSL
import NightjarHTTP

/// Opens connections: addresses, TCP with fallback between them (RFC 8305, by SwiftNIO), TLS.
final class Connector {
    private let loop: any EventLoop
    private let resolver: AddressResolver
    private let tls: TLSClient

    init(
        loop: any EventLoop, configuration: TransportConfiguration, lookUp: @escaping AddressResolver.LookUp
    ) throws(NightjarError) {
        self.loop = loop
        tls = try TLSClient(configuration)
        resolver = AddressResolver(loop: loop, lookUp: lookUp)
    }

    func shutDown() {
        resolver.shutDown()
    }

    /// - Parameter timeout: for all of it together; nil: the system's.
    func connect(_ connection: HTTP1Connection, to origin: Origin, timeout: Duration?) {
        let patience = TimeAmount.nanoseconds(timeout?.nanosecondsClamped ?? Connector.longestAttempt.nanoseconds)
        connection.connectTimer = loop.assumeIsolated().scheduleTask(in: patience) {
            connection.connectFailed(ConnectFailure.timeout(origin, patience))
        }
        let bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(patience)
            .channelOption(.writeBufferWaterMark, value: .init(low: 128 * 1024, high: 512 * 1024))
        let channel: EventLoopFuture<any Channel>
        var lookUp: LookUpClock?
        if let address = try? SocketAddress(ipAddress: origin.host, port: origin.port) {
            channel = bootstrap.connect(to: address)
        } else {
            let clock = LookUpClock(resolver, origin.host, origin.port)
            lookUp = clock
            channel = bootstrap.resolver(clock).connect(host: origin.host, port: origin.port)
        }
        channel.assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel):
                guard connection.isConnecting else { return channel.close(promise: nil) }
                connection.opening.connected(after: lookUp, usesTLS: origin.isTLS)
                do {
                    if origin.isTLS {
                        try channel.pipeline.syncOperations.addHandler(self.tls.handler(for: origin))
                    }
                    try channel.pipeline.syncOperations.addHandler(connection)
                    if !origin.isTLS { connection.opened(SocketHandle(channel)) }
                } catch {
                    connection.connectFailed(ConnectFailure.describe(error, origin))
                    channel.close(promise: nil)
                }
            case .failure(let error):
                self.resolver.forget(origin.host, origin.port)
                connection.connectFailed(ConnectFailure.describe(error, origin))
            }
        }
    }

    /// An attempt that nobody bounds: the kernel gives up on a silent peer after about this long.
    private static let longestAttempt = TimeAmount.seconds(130)
}
