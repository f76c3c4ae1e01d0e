import NightjarHTTP

/// Rejects calls on metered or constrained networks if the settings of the call, or else those of the client, exclude
/// these networks. Calls to loopback addresses are not rejected.
final class RestrictNetwork: Stage, @unchecked Sendable {
    override var hooks: StageHooks { .outgoing }
    private let settings: ConnectivitySettings
    private let network: ClientNetwork

    init(_ settings: ConnectivitySettings, _ network: ClientNetwork) {
        self.settings = settings
        self.network = network
    }

    override func outgoing(_ call: Call) -> Verdict {
        let settings = call.options.connectivity ?? settings
        guard settings.isRestricted, !call.request.origin.isLoopback else { return .proceed }
        if let status = network.status { return verdict(settings, status) }
        network.withStatus(call.loop) { [self, weak call] status in call?.resume(verdict(settings, status)) }
        return .wait
    }

    private func verdict(_ settings: ConnectivitySettings, _ status: NetworkStatus) -> Verdict {
        switch settings.refusal(of: status) {
        case .metered:
            .fail(
                NightjarError(
                    offline: .metered, "the network is metered; set allow_metered, or call again on another network"))
        case .constrained:
            .fail(
                NightjarError(
                    offline: .constrained, "the network is constrained; set allow_constrained, or call again later"))
        case .noNetwork, nil: .proceed
        }
    }
}
