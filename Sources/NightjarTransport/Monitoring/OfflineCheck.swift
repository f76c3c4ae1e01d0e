import NightjarHTTP
import NightjarSystem

/// Recognizes failures to connect on a machine without a network.
enum OfflineCheck {
    /// Returns `offline` in place of `error` if the machine has no network and `error` can be a consequence, such as a
    /// temporary failure of a lookup or a connect timeout. Otherwise returns `error`.
    static func explained(_ error: NightjarError) -> NightjarError {
        guard isSuspect(error), NetlinkSocket.readTables()?.isOnline == false else { return error }
        return NightjarError(
            .offline, "\(error.message) (no network interface has an address and a default route)",
            phase: error.phase, code: error.code)
    }

    private static func isSuspect(_ error: NightjarError) -> Bool {
        switch error.kind {
        case .dns: error.code == 0 || error.code == EAI_AGAIN
        case .connect: [EHOSTUNREACH, EADDRNOTAVAIL].contains(error.code)
        case .timeout: error.phase == .connect
        default: false
        }
    }
}
