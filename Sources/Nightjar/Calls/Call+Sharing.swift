import NightjarHTTP

/// Calls that share one exchange.
extension Call {
    /// The queue on which the callbacks of this call run, or nil for the loop. For a shared exchange, the queue of the
    /// first call that waits for it.
    var eventQueue: CompletionQueue? { (waiters?().first ?? self).task.decisionQueue }
    /// The queues of all calls that wait for this shared exchange. For another call, only the queue of this call.
    var eventQueues: [CompletionQueue?] { waiters.map { $0().map(\.task.decisionQueue) } ?? [task.decisionQueue] }

    /// Creates an internal call that passes the stages below the current stage of this call. The internal call has no
    /// total timeout; the calls that wait for its response end it. Start the internal call with ``begin()``.
    func branch(completion: @escaping (Result<Response, NightjarError>) -> Void) -> Call {
        let task = ClientTask(
            request, options.ofSharedExchange, handlers: TaskHandlers { _, _ in }, queue: nil, client: loop,
            reservation: task.reservation)
        let call = Call(task, on: loop, chain: chain, below: reachedStage, completion: completion)
        call.branchedFrom = self
        call.limits.idle = limits.idle
        loop.take(call)
        return call
    }

    /// Copies the state of a shared exchange, so that this call can continue without the other calls.
    func adopt(_ exchange: Call) {
        request = exchange.request
        redirects = exchange.redirects
        credentialsAreDropped = exchange.credentialsAreDropped
        loginIsReplaced = exchange.loginIsReplaced
        attempts = exchange.attempts
    }

    /// Adds the call's redirects to a collected response. If the caller streams the body and expects the status, posts
    /// the head and the body and returns the response without its body.
    func settle(_ collected: Response) -> Response {
        let response = collected.after(redirects)
        guard task.handlers.body != nil, options.expectedStatuses.expects(response.status) else {
            return response
        }
        responseWasDelivered = true
        if task.handlers.head != nil { loop.post(.head(task, response.withoutBody), to: task.queue) }
        if response.body.readableBytes > 0 {
            _ = task.holdsBack(afterAdding: response.body.readableBytes)
            loop.post(.body(task, response.body), to: task.queue)
        }
        return response.withoutBody
    }
}
