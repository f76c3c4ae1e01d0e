import CNetworkState
import NightjarHTTP

/// The connection to NetworkManager, which reports metered and captive networks. Used by one thread.
final class NetworkManager {
    private let manager: OpaquePointer
    private(set) var state: ManagerState?

    /// Connects and reads the state. Nil if libdbus or the system bus is not available.
    init?() {
        guard let manager = cns_manager_open() else { return nil }
        self.manager = manager
        read()
    }

    deinit { cns_manager_close(manager) }

    var descriptor: CInt { cns_manager_descriptor(manager) }

    /// Handles the messages that have arrived, and reads the state again if it may have changed.
    ///
    /// - Returns: False if the connection has ended.
    func dispatch() -> Bool {
        // Reading the state may receive further messages, which then do not make the descriptor readable.
        for _ in 0..<NetworkManager.mostReads {
            switch cns_manager_dispatch(manager) {
            case CNS_CHANGED: read()
            case CNS_LOST: return false
            default: return true
            }
        }
        return true
    }

    private func read() {
        var raw = cns_manager_state()
        guard cns_manager_read(manager, &raw) else { return state = nil }
        let type = withUnsafeBytes(of: &raw.type) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        state = ManagerState(metered: raw.metered, connectivity: raw.connectivity, connectionType: type)
    }

    /// The maximum number of reads for one wake-up.
    private static let mostReads = 8
}
