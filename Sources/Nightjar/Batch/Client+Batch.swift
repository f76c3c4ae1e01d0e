import NightjarHTTP
import Synchronization

extension Client {
    /// Sends many requests, so many at a time, and gives their responses in the order of the requests.
    ///
    /// The first failure cancels the rest and is thrown when all that was under way has ended, with its place in
    /// ``NightjarError/batchIndex``. Cancelling the Swift task cancels all.
    ///
    /// - Parameter concurrency: from 1.
    /// - Throws: that failure; `invalid_argument` for a concurrency below 1.
    public func batch(
        _ requests: [Request], concurrency: Int = BatchSchedule.usualConcurrency
    ) async throws(NightjarError) -> [Response] {
        let (end, answers) = try await run(requests, concurrency: concurrency, collectsErrors: false)
        try end.get()
        return try answers.responses()
    }

    /// The same where each request has an end of its own, and no failure means anything for the others. When the Swift
    /// task is cancelled, those that have not ended fail with `cancelled`.
    ///
    /// - Throws: `invalid_argument` for a concurrency below 1, and nothing else.
    public func collect(
        _ requests: [Request], concurrency: Int = BatchSchedule.usualConcurrency
    ) async throws(NightjarError) -> [Result<Response, NightjarError>] {
        try await run(requests, concurrency: concurrency, collectsErrors: true).answers.results()
    }

    /// ``batch(_:concurrency:)`` that waits on this thread, where the handlers of the calls run meanwhile.
    public func batchBlocking(
        _ calls: [BatchCall], concurrency: Int = BatchSchedule.usualConcurrency
    ) throws(NightjarError) -> [Response] {
        let (end, answers) = try runBlocking(calls, concurrency: concurrency, collectsErrors: false)
        try end.get()
        return try answers.responses()
    }

    /// ``collect(_:concurrency:)`` that waits on this thread, where the handlers of the calls run meanwhile.
    public func collectBlocking(
        _ calls: [BatchCall], concurrency: Int = BatchSchedule.usualConcurrency
    ) throws(NightjarError) -> [Result<Response, NightjarError>] {
        try runBlocking(calls, concurrency: concurrency, collectsErrors: true).answers.results()
    }

    /// Starts a batch without waiting.
    ///
    /// - Parameters:
    ///   - calls: their requests are checked when their turn comes; one that cannot be sent fails like any other.
    ///   - concurrency: from 1.
    ///   - collectsErrors: each call has its own end. Otherwise the first failure ends the batch.
    ///   - queue: where the handlers run, of the batch and its calls: never inside this call, though a thread that polls
    ///     the queue may run them before this returns. Nil: on the client's loop thread, where they must not block, and,
    ///     for requests that cannot be sent, inside this call.
    /// - Throws: `invalid_argument` for a concurrency below 1; `closed` for the queue; `forked`.
    @discardableResult
    public func start(
        batch calls: [BatchCall], concurrency: Int = BatchSchedule.usualConcurrency, collectsErrors: Bool = false,
        on queue: CompletionQueue?, _ handlers: BatchHandlers
    ) throws(NightjarError) -> Batch {
        guard !Fork.hasHappened(since: birth) else { throw Client.forked }
        let batch = try makeBatch(calls, concurrency, collectsErrors, on: queue, handlers)
        if let queue, !queue.register(batch) { throw NightjarError(.closed, "the queue is closed") }
        batch.goOn(delivers: queue == nil)
        return batch
    }

    private func makeBatch(
        _ calls: [BatchCall], _ concurrency: Int, _ collectsErrors: Bool, on queue: CompletionQueue?,
        _ handlers: BatchHandlers
    ) throws(NightjarError) -> Batch {
        let schedule = try BatchSchedule(
            count: calls.count, concurrency: concurrency, stopsAtFailure: !collectsErrors)
        return Batch(self, calls, schedule, on: queue, handlers)
    }

    private func run(
        _ requests: [Request], concurrency: Int, collectsErrors: Bool
    ) async throws(NightjarError) -> (end: Result<Void, NightjarError>, answers: BatchAnswers) {
        let answers = BatchAnswers(requests.count)
        let pending = Pending<Batch>()
        let calls = requests.map { BatchCall($0) }
        let end: Result<Result<Void, NightjarError>, NightjarError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let handlers = BatchHandlers(ended: { answers.keep($3, at: $1) }) {
                    continuation.resume(returning: .success($1))
                }
                do throws(NightjarError) {
                    let batch = try makeBatch(calls, concurrency, collectsErrors, on: nil, handlers)
                    pending.set(batch)
                    batch.goOn(delivers: true)
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        } onCancel: {
            pending.cancel()
        }
        return (try end.get(), answers)
    }

    private func runBlocking(
        _ calls: [BatchCall], concurrency: Int, collectsErrors: Bool
    ) throws(NightjarError) -> (end: Result<Void, NightjarError>, answers: BatchAnswers) {
        try checkMayWait()
        let queue = takeQueue()
        let answers = BatchAnswers(calls.count)
        let end = Mutex<Result<Void, NightjarError>?>(nil)
        let handlers = BatchHandlers(ended: { answers.keep($3, at: $1) }) { _, result in end.withLock { $0 = result } }
        let batch = try makeBatch(calls, concurrency, collectsErrors, on: queue, handlers)
        batch.goOn(delivers: true)
        let told = try wait(on: queue) { end.withLock { $0 } }
        keep(queue)
        return (told, answers)
    }
}

/// What the calls of a batch came to, in the order of the requests.
private final class BatchAnswers: Sendable {
    private let kept: Mutex<[Result<Response, NightjarError>?]>

    init(_ count: Int) { kept = Mutex(Array(repeating: nil, count: count)) }

    func keep(_ result: Result<Response, NightjarError>, at index: Int) {
        kept.withLock { $0[index] = result }
    }

    /// Each is there once the batch is over.
    func results() -> [Result<Response, NightjarError>] { kept.withLock { $0.compactMap(\.self) } }

    func responses() throws(NightjarError) -> [Response] {
        var responses: [Response] = []
        for result in results() { responses.append(try result.get()) }
        return responses
    }
}
