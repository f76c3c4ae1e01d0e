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

/// Starts work, and waits until the work calls its completion. Cancelling the Swift task cancels the work.
///
/// - Parameter start: Starts the work, which must call `completion` exactly once.
func outcome<Value: Sendable, Work: Cancellable>(
    of start: (_ completion: @escaping @Sendable (Result<Value, NightjarError>) -> Void) throws(NightjarError) -> Work
) async throws(NightjarError) -> Value {
    let pending = Pending<Work>()
    let result: Result<Value, NightjarError> = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
            do throws(NightjarError) {
                pending.set(try start { continuation.resume(returning: $0) })
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
    } onCancel: {
        pending.cancel()
    }
    return try result.get()
}
