import CLua
import Nightjar

/// Starts the calls of the script.
extension Engine {
    /// How a call reports events and transfers its bodies.
    struct CallbackOptions {
        /// Whether the response body is streamed.
        var isStreamed = false
        var decidesRedirects = false
        var decidesRetries = false
        /// Whether the script can produce the request body again from its start.
        var restartsBody = false
        /// Whether the script is notified of a background revalidation.
        var reportsRefresh = false
        var reportsProgress = false
        var reportsWaiting = false
        /// Whether a session shows the progress of the call.
        var isFollowed = false
    }

    func start(
        _ request: consuming Request, on client: Client, for wait: OpaquePointer, _ callbackOptions: CallbackOptions
    ) throws(NightjarError) -> Future {
        confine(&request)
        let future = Future(wait: wait)
        if confinement != nil { future.view = Future.View(request) }
        var handlers = handlers(of: future, mayRefresh: callbackOptions.reportsRefresh || client.mayRefresh(request))
        if callbackOptions.isStreamed { receive(future, by: &handlers) }
        if case .stream = request.body { send(future, callbackOptions, by: &handlers) }
        if callbackOptions.decidesRedirects {
            handlers.redirect = { [self] _, proposed in
                future.requestDecision(proposed)
                notify(future)
                return .later
            }
        }
        if callbackOptions.decidesRetries {
            handlers.retry = { [self] _, failedAttempt in
                future.retry = failedAttempt
                notify(future)
                return .later
            }
        }
        let isFollowed = callbackOptions.isFollowed && !callbackOptions.isStreamed
        if callbackOptions.reportsProgress || isFollowed {
            handlers.progress = { [self] _, progress in
                if isFollowed { followed.update(future, progress) }
                // After the head of a streamed response, the script counts the received bytes itself.
                guard callbackOptions.reportsProgress, future.result == nil else { return }
                future.note(progress)
                notify(future)
            }
        }
        if callbackOptions.reportsWaiting {
            handlers.waiting = { [self] _, reason in
                future.note(waiting: reason)
                notify(future)
            }
        }
        future.task = try client.start(request, on: queue, handlers)
        future.reservation = future.task?.reservation
        if isFollowed { followed.begin(future) }
        add(future)
        return future
    }

    /// Starts a call whose request has only a method and a target, if the client has sent the same request before.
    ///
    /// - Returns: nil if the client does not know the request, or if the script is sandboxed.
    func startAgain(
        _ method: UnsafeRawBufferPointer, _ target: UnsafeRawBufferPointer, on client: Client, for wait: OpaquePointer
    ) throws(NightjarError) -> Future? {
        guard confinement == nil, let known = client.repeated(method, target) else { return nil }
        let future = Future(wait: wait)
        future.task = try client.start(
            known, on: queue, handlers(of: future, mayRefresh: client.mayRefresh(known)))
        add(future)
        return future
    }

    private func handlers(of future: Future, mayRefresh: Bool) -> TaskHandlers {
        var handlers = TaskHandlers { [self] task, result in
            if !task.isRefreshing { endRefresh(of: future, with: nil) }
            finished(future, result)
        }
        if mayRefresh {
            future.refreshed = nil
            handlers.refreshed = { [self] result in endRefresh(of: future, with: result) }
        }
        return handlers
    }

    /// Returns the request with the restrictions of a sandboxed script.
    func confined(_ request: consuming Request) -> Request {
        confine(&request)
        return request
    }

    private func confine(_ request: inout Request) {
        if let confinement { request.confinement = confinement }
    }

    private func receive(_ future: Future, by handlers: inout TaskHandlers) {
        future.incoming = IncomingBody()
        handlers.creditsAreManual = true
        handlers.head = { [self] task, response in
            future.arrived(response)
            future.incoming?.exchange = .running(task)
            notify(future)
            notifyBodyWaiters(future)
        }
        handlers.body = { [self] _, part in
            future.incoming?.append(part)
            notify(future)
        }
    }

    private func send(_ future: Future, _ options: CallbackOptions, by handlers: inout TaskHandlers) {
        let (restarts, hasTask) = (options.restartsBody, options.isStreamed)
        future.outgoingBody = OutgoingBody(restarts: restarts, hasTask: hasTask)
        if restarts { handlers.rewindBody = { _ in future.outgoingBody?.rewind() } }
        handlers.provideBody = { [self] _, maximum in
            guard let part = future.outgoingBody?.next(maximum) else { return .failed("the request body was released") }
            if case .later = part {
                if let waiter = future.bodyWaiters.needed.take() { complete(waiter) }
                if !hasTask { notify(future) }
            }
            return part
        }
    }

    /// Ends the outcomes that wait for the body of a call, if no part of it will be needed.
    func notifyBodyWaiters(_ future: Future) {
        guard !future.sendsBody else { return }
        if let waiter = future.bodyWaiters.needed.take() { complete(waiter) }
        if let waiter = future.bodyWaiters.sent.take() { complete(waiter) }
    }
}
