import NightjarHTTP
import Synchronization

/// Many calls with bounded concurrency, started by ``Client/start(batch:concurrency:collectsErrors:on:_:)``. Any thread
/// may use a batch. Releasing a batch does not cancel it.
///
/// A batch holds its requests and the calls in progress. Responses are delivered at once and not kept.
package final class Batch: Cancellable {
    private struct State {
        var schedule: BatchSchedule
        /// The calls in progress, by index.
        var tasks: [Int: ClientTask] = [:]
        /// The indexes of calls that ended before `start` returned their task.
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

    /// Cancels the calls in progress and starts no further calls. All callbacks still run. Cancelling again has no
    /// effect.
    package func cancel() {
        // In a forked child, a thread that exists only in the parent may hold the lock.
        guard !client.isOfParent else { return }
        let tasks = state.withLock { $0.schedule.cancel() ? Array($0.tasks.values) : [] }
        for task in tasks { task.cancel() }
    }

    /// Whether all calls have ended. ``BatchHandlers/finished`` has run or is about to run.
    package var isFinished: Bool { client.isOfParent || state.withLock { $0.isFinished } }

    /// Starts as many calls as the concurrency allows. Called at the start of the batch and after each call.
    ///
    /// - Parameter delivers: Whether callbacks may run on this thread now. Otherwise they are posted to the queue.
    func proceed(delivers: Bool) {
        while true {
            switch state.withLock({ $0.schedule.next() }) {
            case .wait: return
            case .finish: return notify(delivers) { $0.finish() }
            case .start(let index):
                do throws(NightjarError) {
                    note(try start(index), index)
                } catch {
                    guard !delivers else {
                        end(index, nil, .failure(error))
                        continue
                    }
                    // The call counts as in progress until the queue has delivered its failure.
                    notify(false) {
                        $0.end(index, nil, .failure(error))
                        $0.proceed(delivers: true)
                    }
                }
            }
        }
    }

    private func notify(_ delivers: Bool, _ body: @escaping @Sendable (Batch) -> Void) {
        guard !delivers, let queue else { return body(self) }
        // A closed queue accepts the event, because the batch is registered with the queue until it has finished.
        var events = [QueueEvent.run { body(self) }]
        queue.post(&events)
    }

    private func start(_ index: Int) throws(NightjarError) -> ClientTask {
        var handlers = calls[index].handlers ?? TaskHandlers { _, _ in }
        let finished = handlers.finished
        handlers.finished = { task, result in
            finished(task, result)
            self.end(index, task, result)
            self.proceed(delivers: true)
        }
        return try client.startNext(try calls[index].request.get(), on: queue, handlers)
    }

    /// Records a call in progress, unless it has already ended on another thread.
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
        client.loop.batchEnded()
        handlers.finished(self, failure.map(Result.failure) ?? .success(()))
    }

    private static let cancelled = NightjarError(.cancelled, "the batch was cancelled")
    private static let unstarted = NightjarError(
        .cancelled, "the call was not started: the batch had already ended after a failure or a cancel")
}
