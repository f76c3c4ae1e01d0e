import NightjarHTTP

/// Calls that share one exchange.
extension Call {
    /// The queue for callbacks of the program that this call needs, or nil for the loop. For a shared exchange, the
    /// queue of its first waiting call.
    var eventQueue: CompletionQueue? { (waiters?().first ?? self).task.queue }
    /// The queues of all calls that wait for this one.
    var eventQueues: [CompletionQueue?] { waiters.map { $0().map(\.task.queue) } ?? [task.queue] }

    /// Creates an internal call that performs the rest of this call, from below the current stage. It has no total
    /// timeout; the calls that wait for it end it. The caller must begin it.
    func branch(completion: @escaping (Result<Response, NightjarError>) -> Void) -> Call {
        let task = ClientTask(
            request, options.ofSharedExchange, handlers: TaskHandlers { _, _ in }, queue: nil, client: loop,
            hold: task.hold)
        let call = Call(task, on: loop, chain: chain, below: reachedStage, completion: completion)
        call.branchedFrom = self
        call.limits.idle = limits.idle
        loop.take(call)
        return call
    }

    /// Continues separately from the state of the exchange that this call has shared.
    func adopt(_ exchange: Call) {
        request = exchange.request
        redirects = exchange.redirects
        credentialsAreDropped = exchange.credentialsAreDropped
        attempts = exchange.attempts
    }

    /// Adapts a response that was collected before it was known which call receives it. Adds the call's redirects and
    /// streams the body if the caller requested a streamed body, unless the response becomes an error.
    func settle(_ collected: Response) -> Response {
        let response = collected.after(redirects)
        guard task.handlers.body != nil, options.expectedStatuses.expects(response.status) else {
            return response
        }
        responseWasDelivered = true
        if task.handlers.head != nil { loop.post(.head(task, response.head), to: task.queue) }
        if response.body.readableBytes > 0 {
            _ = task.holdsBack(afterAdding: response.body.readableBytes)
            loop.post(.body(task, response.body), to: task.queue)
        }
        return response.withoutBody
    }
}
