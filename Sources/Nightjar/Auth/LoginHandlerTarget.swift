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

    /// Posts an event. An event for a queue is dropped if the queue was deallocated.
    func notify(_ event: QueueEvent, onLoop: Bool, _ loop: ClientLoop) {
        if onLoop || isOnLoop {
            loop.post(event, to: nil)
        } else if let queue {
            loop.post(event, to: queue)
        }
    }
}
