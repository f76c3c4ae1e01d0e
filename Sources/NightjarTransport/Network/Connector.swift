import NIOCore
import NIOPosix
import NightjarHTTP

/// Opens the connections of one client, with its resolver and its TLS configuration. Used on the loop.
final class Connector: @unchecked Sendable {
    let loop: any EventLoop
    let resolver: AddressResolver
    let addresses: AddressRules
    private let localEnd: LocalEnd?
    let tls: TLSClient
    let userAgent: String?
    /// Whether the caller decides challenges of TLS handshakes.
    let requestsDecisions: Bool
    /// Whether waiting exchanges receive the steps of opening a connection.
    let reportsSteps: Bool
    /// Whether the caller resolves names.
    let requestsNames: Bool
    /// Whether the caller decides about the addresses of hosts.
    let requestsAddresses: Bool
    /// The channels that are open or connecting.
    private var channels: [ObjectIdentifier: any Channel] = [:]

    init(
        loop: any EventLoop, configuration: TransportConfiguration, lookUp: @escaping AddressResolver.LookUp
    ) throws(NightjarError) {
        self.loop = loop
        userAgent = configuration.userAgent
        requestsDecisions = configuration.tls.requestsDecisions
        reportsSteps = configuration.reportsSteps
        requestsNames = configuration.requestsNames
        requestsAddresses = configuration.requestsAddresses
        addresses = try AddressRules(configuration)
        localEnd = try LocalEnd(configuration)
        tls = try TLSClient(configuration.tls, on: loop)
        resolver = AddressResolver(loop: loop, entries: configuration.resolve, lookUp: lookUp)
    }

    func shutDown() {
        resolver.shutDown()
        tls.shutDown()
        for channel in channels.values { channel.close(promise: nil) }
    }

    /// Binds the socket of a new TCP channel to the configured interface and local address.
    func bind(_ channel: any Channel) throws(NightjarError) { try localEnd?.bind(channel) }

    /// Registers a channel, even one that is still connecting, to be closed by ``shutDown()``. Called on the loop.
    func watch(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        channels[id] = channel
        channel.closeFuture.assumeIsolated().whenComplete { [weak self] _ in self?.channels[id] = nil }
    }
}
