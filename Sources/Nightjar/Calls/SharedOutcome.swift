import NightjarHTTP
import Synchronization

/// The end of work, such as a call or a transfer, and the Swift tasks that wait for it.
final class SharedOutcome<Success: Sendable>: Sendable {
    typealias Waiter = CheckedContinuation<Result<Success, NightjarError>, Never>

    private let state = Mutex((result: Result<Success, NightjarError>?.none, waiters: [Waiter]()))

    func end(_ result: Result<Success, NightjarError>) {
        let waiters = state.withLock { state in
            state.result = result
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.resume(returning: result) }
    }

    func add(_ waiter: Waiter) {
        let result = state.withLock { state in
            if state.result == nil { state.waiters.append(waiter) }
            return state.result
        }
        if let result { waiter.resume(returning: result) }
    }
}
