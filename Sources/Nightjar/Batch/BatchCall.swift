import NightjarHTTP

/// One call of a batch.
public struct BatchCall: Sendable {
    /// Or why there is none, with which the call fails when its turn comes.
    public var request: Result<Request, NightjarError>
    /// What else is heard of the call; their ``TaskHandlers/finished`` runs just before the batch tells of its end. Nil:
    /// nothing.
    public var handlers: TaskHandlers?

    public init(_ request: Request, handlers: TaskHandlers? = nil) { self.init(.success(request), handlers: handlers) }

    public init(_ request: Result<Request, NightjarError>, handlers: TaskHandlers? = nil) {
        self.request = request
        self.handlers = handlers
    }
}

/// What the one who starts a batch hears of it. They run where its calls deliver, one after the other.
public struct BatchHandlers: Sendable {
    /// Once for each request, as they end: with its index, and the task of the call, which is nil where it could not be
    /// started. Those that are not started any more fail with `cancelled`.
    public var ended: @Sendable (Batch, _ index: Int, ClientTask?, Result<Response, NightjarError>) -> Void
    /// Once, last. The failure that ended the batch, with its ``NightjarError/batchIndex``, or `cancelled`.
    public var finished: @Sendable (Batch, Result<Void, NightjarError>) -> Void

    public init(
        ended: @escaping @Sendable (Batch, _ index: Int, ClientTask?, Result<Response, NightjarError>) -> Void,
        finished: @escaping @Sendable (Batch, Result<Void, NightjarError>) -> Void
    ) {
        self.ended = ended
        self.finished = finished
    }
}
