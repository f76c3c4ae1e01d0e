import Synchronization

/// Cancels an ask that may still be on its way to where it is cancelled.
final class PendingAsk: Sendable {
    private let state = Mutex((ask: PageAsk?.none, isCancelled: false))

    func set(_ ask: PageAsk) {
        let isCancelled = state.withLock { state in
            state.ask = ask
            return state.isCancelled
        }
        if isCancelled { ask.cancel() }
    }

    func cancel() {
        let ask = state.withLock { state in
            state.isCancelled = true
            return state.ask
        }
        ask?.cancel()
    }
}
