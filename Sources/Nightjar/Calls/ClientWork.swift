import NightjarHTTP
import Synchronization

/// Cancellable work of a client: a call (``ClientTask``) or an operation (``ClientOperation``).
public class ClientWork: @unchecked Sendable {
    private let isDelivered = Atomic<Bool>(false)

    init() {}

    /// Ends the work with the error `cancelled`. Has no effect if the work has ended or was cancelled before.
    public func cancel() {}

    /// Holds back the callbacks of a call or an event stream, until ``resume()``. Reading from the network stops when the
    /// client has buffered the window of the call. The idle timeout does not run during this time; the total timeout does.
    /// An error ends the pause. Has no effect on other work, and without a queue.
    public func pause() {}

    /// Delivers the callbacks that ``pause()`` has held back, and those that follow. Has no effect without a pause.
    public func resume() {}

    /// Whether the completion callback has been called, or is queued.
    public var isFinished: Bool { true }

    /// Whether the work belongs to the parent of this forked process.
    package var isOfParent: Bool { false }

    /// The queue of the completion callback. Nil: it runs on the client's loop.
    var completionQueue: CompletionQueue? { nil }

    /// Records that the completion callback has returned.
    final func markDelivered() { isDelivered.store(true, ordering: .releasing) }

    /// Runs the events of the work's queue on this thread until the completion callback has returned. Another thread may
    /// poll the queue meanwhile.
    ///
    /// - Parameter timeout: Nil: unlimited. Zero: the events that are pending are run.
    /// - Throws: `timeout`, after which the work continues; `reentrant` inside an event of the queue; `invalid_argument`
    ///   if the work has no queue; `forked`.
    public final func waitBlocking(timeout: Duration?) throws(NightjarError) {
        guard let queue = completionQueue else {
            throw NightjarError(.invalidArgument, "the task has no queue to poll; start it with a queue")
        }
        guard !isOfParent else { throw .forkedClient }
        let wasDelivered = try queue.poll(timeout: timeout) { [self] in isDelivered.load(ordering: .acquiring) }
        guard !wasDelivered else { return }
        guard !isOfParent, let timeout else { throw .forkedClient }
        throw NightjarError(
            .timeout, "the task did not end within \(timeout.rounded) s; it continues until it ends or is cancelled")
    }
}

extension NightjarError {
    static let forkedClient = NightjarError(
        .forked, "this client belongs to the parent process; create a new one after the fork")
}
