import NightjarHTTP

/// Calls that block the thread.
extension Client {
    /// Sends a request and blocks this thread until the call has completed. The call's callbacks run on this thread,
    /// including `handlers.finished`, but not `handlers.refreshed`.
    public func sendBlocking(_ request: Request, handlers: TaskHandlers? = nil) throws(NightjarError) -> Response {
        try sendBlocking(request, handlers: handlers, inserting: nil)
    }

    func sendBlocking(
        _ request: Request, handlers: TaskHandlers? = nil, inserting insertion: CacheInsertion?
    ) throws(NightjarError) -> Response {
        try checkMayWait()
        guard handlers?.refreshed == nil || handlers?.refreshQueue != nil else {
            throw NightjarError(
                .invalidRequest,
                "a blocking call returns before the background revalidation ends; set refreshQueue to receive its "
                    + "result")
        }
        let queue = takeQueue()
        let outcome = Outcome()
        var taskHandlers = handlers ?? TaskHandlers { _, _ in }
        let finished = taskHandlers.finished
        taskHandlers.finished = { task, result in
            outcome.result = result
            finished(task, result)
        }
        do throws(NightjarError) {
            let (task, response) = try makeTask(request, on: queue, taskHandlers, inserting: insertion)
            if let response {
                task.markFinished()
                taskHandlers.finished(task, .success(response))
            } else {
                guard queue.register(task) else { throw NightjarError(.closed, "the queue is closed") }
                try submit(task)
            }
        } catch {
            keep(queue)
            throw error
        }
        let result = try wait(on: queue) { outcome.result }
        keep(queue)
        return try result.get()
    }

    /// Returns a queue for a blocking call. Return it with ``keep(_:)`` when no task uses it any more.
    func takeQueue() -> CompletionQueue { blockingQueues.withLock { $0.popLast() } ?? CompletionQueue() }

    func keep(_ queue: CompletionQueue) { blockingQueues.withLock { $0.append(queue) } }

    /// Whether the client belongs to the parent of this forked process.
    package var isOfParent: Bool { Fork.hasForked(since: forkGeneration) }

    /// - Throws: `forked` in the child of a fork.
    package func checkProcess() throws(NightjarError) {
        guard !isOfParent else { throw Client.forked }
    }

    /// Checks that this thread may block until a call has ended.
    ///
    /// - Throws: `reentrant` on the client's own thread, which would wait for itself; `forked`.
    func checkMayWait() throws(NightjarError) {
        guard !loop.isOnLoop else {
            throw NightjarError(
                .reentrant,
                "a blocking call on the client's own thread would deadlock; start the "
                    + "call without blocking")
        }
        guard !Fork.hasForked(since: forkGeneration) else { throw Client.forked }
    }

    /// Runs the events of `queue` on this thread until there is a result.
    ///
    /// - Throws: `forked` in the child process if a callback forked, because no event arrives there.
    @inline(__always)
    func wait<Value>(on queue: CompletionQueue, for response: () -> Value?) throws(NightjarError) -> Value {
        while true {
            if let response = response() { return response }
            queue.poll(timeout: nil)
            guard !Fork.hasForked(since: forkGeneration) else { throw Client.forked }
        }
    }
}

/// The result of a blocking call. Used only on the waiting thread.
private final class Outcome: @unchecked Sendable {
    var result: Result<Response, NightjarError>?
}
