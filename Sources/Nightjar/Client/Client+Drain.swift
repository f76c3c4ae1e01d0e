import NightjarHTTP
import NightjarSystem
import NightjarTransport
import Synchronization

/// The orderly shutdown of a client.
extension Client {
    /// Accepts no new calls, transfers, streams and logins from now on, and calls `finished` when those in flight have
    /// ended. New ones fail with `closed`.
    ///
    /// Calls, batches, downloads, uploads, logins, and the saves of logins and logouts end by themselves. Event streams end
    /// with `closed`. WebSockets are closed with the code 1001. An outbox sends no further entries; they stay in the journal.
    /// A call that its middleware has not sent yet fails with `closed`. Close the client afterwards.
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
        loop.rejectNewWork()
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
        let result: Result<Void, NightjarError>
        do throws(NightjarError) {
            try await outcome { (finished) throws(NightjarError) in
                try drain(within: timeout, on: nil, finished: finished)
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await closeOnThread()
        try result.get()
    }

    /// Closes the client on a thread of its own. The threads of Swift tasks must not wait for it: a token provider may need
    /// them.
    private func closeOnThread() async {
        await withCheckedContinuation { continuation in
            do throws(ThreadFailure) {
                pthread_detach(
                    try startThread("nightjar-close") {
                        self.close()
                        continuation.resume()
                    })
            } catch {
                close()
                continuation.resume()
            }
        }
    }
}
