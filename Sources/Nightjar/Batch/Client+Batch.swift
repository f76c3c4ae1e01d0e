import NightjarHTTP
import Synchronization

extension Client {
    /// The default maximum number of concurrent calls of a batch.
    public static let defaultBatchConcurrency = BatchSchedule.usualConcurrency

    /// Sends requests with bounded concurrency and returns the responses in the order of the requests.
    ///
    /// The first failure cancels the other calls and is thrown when all calls in progress have ended. Its
    /// ``NightjarError/batchIndex`` is the index of the failed request. Cancelling the Swift task cancels all calls.
    ///
    /// - Parameter concurrency: The maximum number of calls in progress, at least 1.
    /// - Throws: The first failure; `cancelled` if the Swift task is cancelled; `invalid_argument` if the concurrency
    ///   is below 1.
    public func batch(
        _ requests: [Request], concurrency: Int = Client.defaultBatchConcurrency
    ) async throws(NightjarError) -> [Response] {
        let (end, collected) = try await run(requests, concurrency: concurrency, collectsErrors: false)
        try end.get()
        return try collected.responses()
    }

    /// Sends requests with bounded concurrency and returns one result for each request. A failure does not affect other
    /// requests. If the Swift task is cancelled, the remaining requests fail with `cancelled`.
    ///
    /// - Throws: Only `invalid_argument`, if the concurrency is below 1.
    public func collect(
        _ requests: [Request], concurrency: Int = Client.defaultBatchConcurrency
    ) async throws(NightjarError) -> [Result<Response, NightjarError>] {
        try await run(requests, concurrency: concurrency, collectsErrors: true).collected.results()
    }

    /// Like ``batch(_:concurrency:)``, but blocks the thread. The calls' callbacks run on this thread.
    package func batchBlocking(
        _ calls: [BatchCall], concurrency: Int = Client.defaultBatchConcurrency
    ) throws(NightjarError) -> [Response] {
        let (end, collected) = try runBlocking(calls, concurrency: concurrency, collectsErrors: false)
        try end.get()
        return try collected.responses()
    }

    /// Like ``collect(_:concurrency:)``, but blocks the thread. The calls' callbacks run on this thread.
    package func collectBlocking(
        _ calls: [BatchCall], concurrency: Int = Client.defaultBatchConcurrency
    ) throws(NightjarError) -> [Result<Response, NightjarError>] {
        try runBlocking(calls, concurrency: concurrency, collectsErrors: true).collected.results()
    }

    /// Starts a batch without blocking.
    ///
    /// - Parameters:
    ///   - calls: The calls. Each request is validated when its call starts. An invalid request counts as a failed
    ///     call.
    ///   - concurrency: The maximum number of calls in progress, at least 1.
    ///   - collectsErrors: If true, a failure does not affect other calls. If false, the first failure ends the batch.
    ///   - queue: Where the callbacks of the batch and its calls run. They never run inside this call, but another
    ///     thread that polls the queue may run them before this method returns. If nil, they run on the client's loop
    ///     thread and must not block; callbacks for calls that cannot be started may run inside this call.
    /// - Throws: `invalid_argument` if the concurrency is below 1; `closed` if the queue is closed; `forked`.
    @discardableResult
    package func start(
        batch calls: [BatchCall], concurrency: Int = Client.defaultBatchConcurrency, collectsErrors: Bool = false,
        on queue: CompletionQueue?, _ handlers: BatchHandlers
    ) throws(NightjarError) -> Batch {
        guard !Fork.hasForked(since: forkGeneration) else { throw Client.forked }
        let batch = try makeBatch(calls, concurrency, collectsErrors, on: queue, handlers)
        if let queue, !queue.register(batch) {
            loop.batchEnded()
            throw NightjarError(.closed, "the queue is closed")
        }
        batch.proceed(delivers: queue == nil)
        return batch
    }

    private func makeBatch(
        _ calls: [BatchCall], _ concurrency: Int, _ collectsErrors: Bool, on queue: CompletionQueue?,
        _ handlers: BatchHandlers
    ) throws(NightjarError) -> Batch {
        let schedule = try BatchSchedule(
            count: calls.count, concurrency: concurrency, stopsAtFailure: !collectsErrors)
        guard loop.batchBegan() else { throw NightjarError(.closed, "the client is closed") }
        return Batch(self, calls, schedule, on: queue, handlers)
    }

    private func run(
        _ requests: [Request], concurrency: Int, collectsErrors: Bool
    ) async throws(NightjarError) -> (end: Result<Void, NightjarError>, collected: BatchResults) {
        let collected = BatchResults(requests.count)
        let calls = requests.map { BatchCall($0) }
        let end: Result<Void, NightjarError> = try await outcome { (finished) throws(NightjarError) in
            let handlers = BatchHandlers(ended: { collected.keep($3, at: $1) }) { finished(.success($1)) }
            let batch = try makeBatch(calls, concurrency, collectsErrors, on: nil, handlers)
            batch.proceed(delivers: true)
            return batch
        }
        return (end, collected)
    }

    private func runBlocking(
        _ calls: [BatchCall], concurrency: Int, collectsErrors: Bool
    ) throws(NightjarError) -> (end: Result<Void, NightjarError>, collected: BatchResults) {
        try checkMayWait()
        let queue = takeQueue()
        let collected = BatchResults(calls.count)
        let end = Mutex<Result<Void, NightjarError>?>(nil)
        let handlers = BatchHandlers(ended: { collected.keep($3, at: $1) }) { _, result in end.withLock { $0 = result }
        }
        let batch = try makeBatch(calls, concurrency, collectsErrors, on: queue, handlers)
        batch.proceed(delivers: true)
        let endResult = try wait(on: queue) { end.withLock { $0 } }
        keep(queue)
        return (endResult, collected)
    }
}

/// The results of a batch's calls, in the order of the requests.
private final class BatchResults: Sendable {
    private let recorded: Mutex<[Result<Response, NightjarError>?]>

    init(_ count: Int) { recorded = Mutex(Array(repeating: nil, count: count)) }

    func keep(_ result: Result<Response, NightjarError>, at index: Int) {
        recorded.withLock { $0[index] = result }
    }

    /// Returns the results. Every result is present after the batch has finished.
    func results() -> [Result<Response, NightjarError>] { recorded.withLock { $0.compactMap(\.self) } }

    func responses() throws(NightjarError) -> [Response] {
        var responses: [Response] = []
        for result in results() { responses.append(try result.get()) }
        return responses
    }
}
