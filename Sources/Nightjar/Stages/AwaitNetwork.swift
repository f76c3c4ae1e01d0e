import NIOCore
import NightjarHTTP

/// Waits for the network instead of failing with `offline`, as decided by `ConnectivityWait`. The request is sent again
/// after a change of the network.
///
/// Only requests that no server can have received are sent again.
final class AwaitNetwork: Stage, @unchecked Sendable {
    override var hooks: StageHooks { [.failed, .expired] }
    private let states = CallStateKey<ClientNetwork.Waiter>()
    private let settings: ConnectivitySettings
    private let network: ClientNetwork

    init(_ settings: ConnectivitySettings, _ network: ClientNetwork) {
        self.settings = settings
        self.network = network
    }

    override func failed(_ error: NightjarError, _ call: Call) -> Verdict {
        guard let reason = error.offlineReason, !call.responseWasDelivered, call.bodyIsReplayable else {
            return .proceed
        }
        let settings = call.options.connectivity ?? settings
        guard settings.maximumWait > .zero, !error.requestMayHaveBeenProcessed else { return .proceed }
        let waiter = call.states[states] ?? ClientNetwork.Waiter(call, settings)
        call.states[states] = waiter
        guard case .wait(let end) = waiter.wait.failed(now: NIODeadline.now().uptimeNanoseconds) else {
            return .proceed
        }
        call.failures.append(error.of(call.request, attempts: call.attempts).withoutBody)
        call.note(.info, "\(call.request.method) \(call.request.url.redacted) waits for the network: \(error.message)")
        call.reportWaiting(reason)
        network.add(waiter, until: end, on: call.loop)
        return .wait
    }

    override func expired(_ error: NightjarError, _ call: Call) -> Verdict {
        if let waiter = call.states[states] { network.remove(waiter) }
        return .proceed
    }
}
