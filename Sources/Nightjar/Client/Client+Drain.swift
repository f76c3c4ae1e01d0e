import NightjarHTTP
import Synchronization

/// The orderly shutdown of a client.
extension Client {
    /// Accepts no new calls, transfers, streams and logins from now on, and calls `finished` when those in flight have
    /// ended. New ones fail with `closed`.
    ///
    /// Calls, downloads, uploads and logins end by themselves. Event streams end with `closed`. WebSockets are closed
    /// with the code 1001. An outbox sends no further entries; they stay in the journal. Close the client afterwards.
    ///
    /// - Parameters:
    ///   - queue: Where `finished` is called, as for a call.
    ///   - timeout: Nil: unlimited.
    ///   - finished: Receives `timeout` if something is still in flight. It continues until the client is closed.
    /// - Returns: The operation. Cancelling it ends the wait; the client stays closed for new work.
    /// - Throws: `closed`; `forked`.
    @discardableResult
    public func drain(
        within timeout: Duration?, on queue: CompletionQueue?,
        finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientOperation {
        let drain = Drain(loop, queue: queue, timeout: timeout, finished: finished)
        try start(drain)
        // The loop rejects calls; cached responses must not bypass it.
        fresh?.close()
        return drain
    }

    /// Drains the client as ``drain(within:on:finished:)`` does, blocks this thread meanwhile, and closes the client. The
    /// queues of the calls must be polled by other threads.
    ///
    /// - Throws: `timeout`, after which the remaining work is cancelled; `closed`; `reentrant`; `forked`.
    public func drainBlocking(within timeout: Duration?) throws(NightjarError) {
        try checkMayWait()
        let queue = CompletionQueue()
        let outcome = Mutex<Result<Void, NightjarError>?>(nil)
        try drain(within: timeout, on: queue) { result in outcome.withLock { $0 = result } }
        let result = try wait(on: queue) { outcome.withLock { $0 } }
        close()
        try result.get()
    }

    /// Drains the client as ``drain(within:on:finished:)`` does, and closes it. Cancelling the Swift task ends the wait, and
    /// cancels what is in flight.
    ///
    /// - Throws: `timeout`, after which the remaining work is cancelled; `cancelled`; `closed`; `forked`.
    public func drain(within timeout: Duration?) async throws(NightjarError) {
        defer { close() }
        try await outcome { (finished) throws(NightjarError) in
            try drain(within: timeout, on: nil, finished: finished)
        }
    }
}
