/// Why a call failed with `offline`.
public enum OfflineReason: String, Sendable, CaseIterable {
    /// The machine has no network, or no route to the host.
    case noNetwork = "none"
    /// The network is metered, and the call does not allow metered networks.
    case metered
    /// The network is constrained, and the call does not allow constrained networks.
    case constrained
}

extension NightjarError {
    /// Creates the error of a call that was not sent.
    package init(offline reason: OfflineReason, _ message: String) {
        var facts = Facts(.offline, message)
        facts.phase = .connect
        facts.offlineReason = reason
        self.init(facts)
    }
}
