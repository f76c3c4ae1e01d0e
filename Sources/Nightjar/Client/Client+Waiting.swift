import NightjarHTTP

extension Client {
    /// Whether the client belongs to the parent of this forked process.
    package var isOfParent: Bool { Fork.hasForked(since: forkGeneration) }

    /// - Throws: `forked` in the child of a fork.
    package func checkProcess() throws(NightjarError) {
        guard !isOfParent else { throw Client.forked }
    }

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
    /// - Throws: `forked` if a callback forked and this process is the child, in which no event arrives.
    @inline(__always)
    func wait<Value>(on queue: CompletionQueue, for response: () -> Value?) throws(NightjarError) -> Value {
        while true {
            if let response = response() { return response }
            queue.poll(timeout: nil)
            guard !Fork.hasForked(since: forkGeneration) else { throw Client.forked }
        }
    }
}
