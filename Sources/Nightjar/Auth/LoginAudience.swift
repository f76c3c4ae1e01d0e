import NightjarHTTP

/// Where the program's own code runs that a login needs: with the handlers of the call that wanted a token last.
struct LoginAudience {
    /// Nil also when that queue is gone.
    private weak var queue: CompletionQueue?
    private var isOnLoop = true

    mutating func follow(_ call: Call) {
        queue = call.audience
        isOnLoop = queue == nil
    }

    /// Never on the loop what is not meant for it.
    func tell(_ event: QueueEvent, onLoop: Bool, _ loop: ClientLoop) {
        if onLoop || isOnLoop {
            loop.post(event, to: nil)
        } else if let queue {
            loop.post(event, to: queue)
        }
    }
}
