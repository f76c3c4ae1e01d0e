import NIOCore
import NightjarHTTP

/// The steps of a call, for its observers. A client without such observers only checks that it has none.
extension Call {
    /// Reports a step. After the end of a call, a shared exchange that it has started reports no steps.
    func report(_ kind: @autoclosure () -> ClientTask.Step.Kind) {
        guard !loop.stepReceivers.isEmpty, reported.state != .finished else { return }
        post(kind())
    }

    func reportStart() {
        guard !loop.stepReceivers.isEmpty, branchedFrom == nil else { return }
        post(.started(request.method, url: request.url.redacted))
    }

    func reportEnd(_ result: Result<Response, NightjarError>) {
        guard !loop.stepReceivers.isEmpty, branchedFrom == nil else { return }
        post(.init(result))
    }

    private func post(_ kind: ClientTask.Step.Kind) {
        let time = Duration.nanoseconds((loop.clock.now - reported.started).nanoseconds)
        let step = ClientTask.Step(kind, callID: number, attempt: attempts, time: time)
        for receiver in loop.stepReceivers { receiver.post(step, from: loop) }
    }

    /// The call whose steps this call reports: the call that has started a shared exchange, or else this call.
    private var reported: Call { branchedFrom?.reported ?? self }
}
