import NightjarHTTP
import Synchronization

/// Work in progress that can be cancelled.
protocol Cancellable: AnyObject, Sendable {
    func cancel()
}

extension ClientWork: Cancellable {}

/// Holds work that may be cancelled before its start function has returned.
final class Pending<Work: Cancellable>: Sendable {
    private let state = Mutex((work: Work?.none, isCancelled: false))

    /// Nil before the work has started.
    var work: Work? { state.withLock { $0.work } }

    func set(_ work: Work) {
        let isCancelled = state.withLock { state in
            state.work = work
            return state.isCancelled
        }
        if isCancelled { work.cancel() }
    }

    func cancel() {
        let work = state.withLock { state in
            state.isCancelled = true
            return state.work
        }
        work?.cancel()
    }
}
