import CNetworkState
import NightjarHTTP

/// The services that report metered and captive networks: NetworkManager, and the desktop portal if NetworkManager is
/// not reachable, for example in a sandbox. Used by one thread.
struct NetworkServices {
    private var manager: NetworkService?
    private var portal: NetworkService?

    /// Nil if no service reports the state.
    var state: ServiceState? { manager?.state ?? portal?.state }

    /// The descriptors that become readable when messages arrive. -1 for a service without a connection.
    var descriptors: [CInt] { [manager, portal].map { $0?.descriptor ?? -1 } }

    /// Connects to the services that are needed and not connected. Waits up to three seconds for each of them.
    mutating func connect() {
        if manager == nil { manager = NetworkService(CNS_NETWORK_MANAGER) }
        choose()
    }

    /// Handles the messages that have arrived, and reads the states again that may have changed.
    mutating func dispatch() {
        if manager?.dispatch() == false { manager = nil }
        // A bus that closes each connection would otherwise keep the thread busy. The next change of the network connects
        // again.
        if portal?.dispatch() == false { return portal = nil }
        choose()
    }

    /// Connects to the portal when NetworkManager becomes unreachable, and disconnects when NetworkManager is back.
    private mutating func choose() {
        if manager?.state != nil {
            portal = nil
        } else if portal == nil {
            portal = NetworkService(CNS_PORTAL)
        }
    }
}

/// A connection to a service that reports metered and captive networks.
private final class NetworkService {
    private let source: cns_source
    private let service: OpaquePointer
    /// Nil if the service is not running or does not respond.
    private(set) var state: ServiceState?

    /// Connects and reads the state. Nil if libdbus or the bus is not available.
    init?(_ source: cns_source) {
        guard let service = cns_service_open(source) else { return nil }
        self.source = source
        self.service = service
        read()
    }

    deinit { cns_service_close(service) }

    var descriptor: CInt { cns_service_descriptor(service) }

    /// Handles the messages that have arrived, and reads the state again if it may have changed.
    ///
    /// - Returns: False if the connection has ended.
    func dispatch() -> Bool {
        // Reading the state may receive further messages, which then do not make the descriptor readable.
        for _ in 0..<NetworkService.mostReads {
            switch cns_service_dispatch(service) {
            case CNS_CHANGED: read()
            case CNS_LOST: return false
            default: return true
            }
        }
        return true
    }

    private func read() {
        var raw = cns_service_state()
        guard cns_service_read(service, &raw) else { return state = nil }
        if source == CNS_PORTAL {
            state = ServiceState(available: raw.available, metered: raw.metered, connectivity: raw.connectivity)
        } else {
            let type = withUnsafeBytes(of: &raw.type) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            state = ServiceState(metered: raw.metered, connectivity: raw.connectivity, connectionType: type)
        }
    }

    /// The maximum number of reads for one wake-up.
    private static let mostReads = 8
}
