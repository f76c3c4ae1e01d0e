import NightjarHTTP

/// Where the callbacks of a login run: on the queue of the call that last needed a token.
struct LoginHandlerTarget {
    /// Nil also after that queue is gone.
    private weak var queue: CompletionQueue?
    private var isOnLoop = true

    mutating func follow(_ call: Call) {
        queue = call.eventQueue
        isOnLoop = queue == nil
    }

    /// Posts an event. An event that is not meant for the loop is dropped if its queue is gone.
    func notify(_ event: QueueEvent, onLoop: Bool, _ loop: ClientLoop) {
        if onLoop || isOnLoop {
            loop.post(event, to: nil)
        } else if let queue {
            loop.post(event, to: queue)
        }
    }
}
