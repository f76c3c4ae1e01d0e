import NightjarHTTP
import Synchronization

/// Many calls, a few at a time: what the caller of ``Client/start(batch:concurrency:collectsErrors:on:_:)`` holds. Any
/// thread may use it; letting go of it does not cancel.
///
/// Of each call only what is under way is kept beside its request: answers go to the handlers at once.
public final class Batch: Cancellable {
    private struct State {
        var schedule: BatchSchedule
        /// Under way, by index.
        var tasks: [Int: ClientTask] = [:]
        /// Those that ended before `start` had returned their task.
        var early: Set<Int> = []
        var failure: NightjarError?
        var isFinished = false
    }

    private let client: Client
    private let calls: [BatchCall]
    private let queue: CompletionQueue?
    private let handlers: BatchHandlers
    private let state: Mutex<State>

    init(
        _ client: Client, _ calls: [BatchCall], _ schedule: BatchSchedule, on queue: CompletionQueue?,
        _ handlers: BatchHandlers
    ) {
        self.client = client
        self.calls = calls
        self.queue = queue
        self.handlers = handlers
        state = Mutex(State(schedule: schedule))
    }

    /// Cancels what is under way and starts nothing more; each request and the batch still have their end. Again, or
    /// later: nothing happens.
    public func cancel() {
        // In the child of a fork the lock may be held by a thread that does not exist there.
        guard !client.isOfParent else { return }
        let tasks = state.withLock { $0.schedule.cancel() ? Array($0.tasks.values) : [] }
        for task in tasks { task.cancel() }
    }

    /// Whether all calls have ended: ``BatchHandlers/finished`` has run, or does so now.
    public var isFinished: Bool { client.isOfParent || state.withLock { $0.isFinished } }

    /// Starts what may be started: at the beginning, and after each end.
    ///
    /// - Parameter delivers: whether handlers may run on this thread, here and now; otherwise the queue runs them.
    func goOn(delivers: Bool) {
        while true {
            switch state.withLock({ $0.schedule.next() }) {
            case .wait: return
            case .finish: return tell(delivers) { $0.finish() }
            case .start(let index):
                do throws(NightjarError) {
                    note(try start(index), index)
                } catch {
                    guard !delivers else {
                        end(index, nil, .failure(error))
                        continue
                    }
                    // Its place stays taken until the queue has told it.
                    tell(false) {
                        $0.end(index, nil, .failure(error))
                        $0.goOn(delivers: true)
                    }
                }
            }
        }
    }

    private func tell(_ delivers: Bool, _ body: @escaping @Sendable (Batch) -> Void) {
        guard !delivers, let queue else { return body(self) }
        // A closed queue takes it too, for the batch is registered there until it has finished.
        var events = [QueueEvent.run { body(self) }]
        queue.post(&events)
    }

    private func start(_ index: Int) throws(NightjarError) -> ClientTask {
        var handlers = calls[index].handlers ?? TaskHandlers { _, _ in }
        let finished = handlers.finished
        handlers.finished = { task, result in
            finished(task, result)
            self.end(index, task, result)
            self.goOn(delivers: true)
        }
        return try client.start(try calls[index].request.get(), on: queue, handlers)
    }

    /// The call is under way, unless it has ended already, on another thread.
    private func note(_ task: ClientTask, _ index: Int) {
        let mustCancel = state.withLock { state in
            guard state.early.remove(index) == nil else { return false }
            state.tasks[index] = task
            return state.schedule.isClosing
        }
        if mustCancel { task.cancel() }
    }

    private func end(_ index: Int, _ task: ClientTask?, _ result: Result<Response, NightjarError>) {
        let result = result.mapError { $0.inBatch(at: index) }
        handlers.ended(self, index, task, result)
        let others = state.withLock { state in
            if task != nil, state.tasks.removeValue(forKey: index) == nil { state.early.insert(index) }
            guard case .failure(let error) = result else {
                _ = state.schedule.ended(index, failed: false)
                return [ClientTask]()
            }
            guard state.schedule.ended(index, failed: true) else { return [] }
            state.failure = error
            return Array(state.tasks.values)
        }
        for other in others { other.cancel() }
    }

    private func finish() {
        let (unstarted, failure) = state.withLock { state in
            state.isFinished = true
            let failure = state.failure ?? (state.schedule.wasCancelled ? Batch.cancelled : nil)
            return (state.schedule.unstarted, failure)
        }
        for index in unstarted {
            handlers.ended(self, index, nil, .failure(Batch.unstarted.inBatch(at: index)))
        }
        queue?.forget(self)
        handlers.finished(self, failure.map(Result.failure) ?? .success(()))
    }

    private static let cancelled = NightjarError(.cancelled, "the batch was cancelled")
    private static let unstarted = NightjarError(
        .cancelled, "the call was not started: the batch had ended, by a failure or a cancel")
}
