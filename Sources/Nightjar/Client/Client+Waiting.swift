import NightjarHTTP

extension Client {
    /// Whether the client belongs to the parent of this forked process.
    package var isOfParent: Bool { Fork.hasHappened(since: birth) }

    /// - Throws: `forked` in the child of a fork.
    package func checkProcess() throws(NightjarError) {
        guard !isOfParent else { throw Client.forked }
    }

    /// - Throws: `reentrant` on the client's own thread, which a wait would keep from what it waits for; `forked`.
    func checkMayWait() throws(NightjarError) {
        guard !loop.isOnLoop else {
            throw NightjarError(.reentrant, "a blocking call on the client's own thread would wait for itself")
        }
        guard !Fork.hasHappened(since: birth) else { throw Client.forked }
    }

    /// Runs what comes to `queue` on this thread until there is an answer.
    ///
    /// - Throws: `forked` where what ran here forked, and this is the child, in which nothing comes any more.
    @inline(__always)
    func wait<Answer>(on queue: CompletionQueue, for answer: () -> Answer?) throws(NightjarError) -> Answer {
        while true {
            if let answer = answer() { return answer }
            queue.poll(timeout: nil)
            guard !Fork.hasHappened(since: birth) else { throw Client.forked }
        }
    }
}
