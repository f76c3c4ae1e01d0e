import NightjarHTTP

/// One call of a batch.
package struct BatchCall: Sendable {
    /// The request, or the error with which the call fails when the batch starts it.
    package var request: Result<Request, NightjarError>
    /// Further callbacks of the call, or nil. If the call was started, ``TaskHandlers/finished`` runs immediately
    /// before ``BatchHandlers/ended``.
    package var handlers: TaskHandlers?

    package init(_ request: Request, handlers: TaskHandlers? = nil) { self.init(.success(request), handlers: handlers) }

    package init(_ request: Result<Request, NightjarError>, handlers: TaskHandlers? = nil) {
        self.request = request
        self.handlers = handlers
    }
}

/// The callbacks of a batch. They run where the callbacks of the batch's calls run: one at a time if the batch has a
/// queue. Without a queue, callbacks for calls that cannot be started may run concurrently with other callbacks.
package struct BatchHandlers: Sendable {
    /// Called once for each request as it ends, with the request's index and its task. The task is nil if the call
    /// could not be started. Calls that were not started because the batch ended fail with `cancelled`.
    package var ended: @Sendable (Batch, _ index: Int, ClientTask?, Result<Response, NightjarError>) -> Void
    /// Called once, after all other callbacks of the batch. The error is the failure that ended the batch, with its
    /// ``NightjarError/batchIndex``, or `cancelled`.
    package var finished: @Sendable (Batch, Result<Void, NightjarError>) -> Void

    package init(
        ended: @escaping @Sendable (Batch, _ index: Int, ClientTask?, Result<Response, NightjarError>) -> Void,
        finished: @escaping @Sendable (Batch, Result<Void, NightjarError>) -> Void
    ) {
        self.ended = ended
        self.finished = finished
    }
}
