import NightjarHTTP

/// The place where a login's ``LoginHook`` runs, unless the hook must run on the loop: the queue of the last call that
/// waited for a token or whose token was rejected, or the loop if that call has no queue.
struct LoginHandlerTarget {
    /// Nil if the call has no queue, and after the queue was deallocated.
    private weak var queue: CompletionQueue?
    private var isOnLoop = true

    mutating func follow(_ call: Call) {
        queue = call.eventQueue
        isOnLoop = queue == nil
    }

    /// Posts a call of the hook.
    func notify(_ hook: LoginHook, _ loop: ClientLoop) {
        switch hook.place {
        case .loop: loop.post(.run(hook.call), to: nil)
        case .queues where isOnLoop: loop.post(.run(hook.call), to: nil)
        // Dropped if the queue was deallocated.
        case .queues: if let queue { loop.post(.run(hook.call), to: queue) }
        case .queuesOnly:
            if let queue { return loop.post(.run(hook.call), to: queue) }
            PendingDecision(on: loop, at: hook.place, callback: hook.call).postToAll()
        }
    }
}
