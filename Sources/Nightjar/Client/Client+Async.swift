import NightjarHTTP
import Synchronization

extension Client {
    /// Sends a request and suspends the Swift task until the response is complete. Cancelling the Swift task cancels
    /// the call.
    public func send(_ request: Request) async throws(NightjarError) -> Response {
        guard middleware.isEmpty else { return try await sendThroughMiddleware(request, nil) }
        return try await send(request, pump: nil)
    }

    /// Sends a request with a body that is produced while it is sent. The body replaces that of the request.
    ///
    /// - Throws: The errors of ``send(_:)-(Request)``; `invalid_request` if the sequence of the body fails.
    public func send(_ request: Request, body: Request.StreamedBody) async throws(NightjarError) -> Response {
        let request = request.with(body)
        guard middleware.isEmpty else { return try await sendThroughMiddleware(request, BodySource(body)) }
        return try await send(request, pump: BodyPump(body))
    }

    /// - Parameter source: The source of the request's body. Nil: the request has its whole body.
    private func sendThroughMiddleware(
        _ request: Request, _ source: BodySource?
    ) async throws(NightjarError) -> Response {
        try await middleware.run(request) { (changed) async throws(NightjarError) in
            try await self.send(changed, pump: try source?.pump(for: changed))
        }
    }

    private func send(_ request: Request, pump: BodyPump?) async throws(NightjarError) -> Response {
        try await outcome { (finished) throws(NightjarError) in
            var handlers = TaskHandlers { finished($1) }
            pump?.connect(to: &handlers)
            return try start(request, on: nil, handlers)
        }
    }

    /// Sends a request and returns when the response head has been received. Read the body from
    /// ``StreamedResponse/body``.
    ///
    /// - Throws: Any error of the call; `cancelled` if the Swift task is cancelled before the head has been received.
    public func stream(_ request: Request) async throws(NightjarError) -> StreamedResponse {
        try await stream(request, pump: nil)
    }

    /// Sends a request with a body that is produced while it is sent, and returns when the response head has been received.
    /// The body replaces that of the request. Its sequence continues until the response has ended.
    ///
    /// - Throws: The errors of ``stream(_:)-(Request)``; `invalid_request` if the sequence of the body fails.
    public func stream(_ request: Request, body: Request.StreamedBody) async throws(NightjarError) -> StreamedResponse {
        try await stream(request.with(body), pump: BodyPump(body))
    }

    private func stream(_ request: Request, pump: BodyPump?) async throws(NightjarError) -> StreamedResponse {
        let content = StreamedContent()
        let pending = Pending<ClientTask>()
        let result: Result<(ClientTask, Response), NightjarError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let first = FirstResult(continuation)
                var handlers = TaskHandlers { task, result in
                    first.resume(result.map { (task, $0) })
                    content.end(task, result)
                }
                handlers.head = { first.resume(.success(($0, $1))) }
                handlers.body = { content.add($1) }
                handlers.creditsAreManual = true
                pump?.connect(to: &handlers)
                do throws(NightjarError) {
                    pending.set(try start(request, on: nil, handlers))
                } catch {
                    first.resume(.failure(error))
                }
            }
        } onCancel: {
            pending.cancel()
        }
        let (task, response) = try result.get()
        return StreamedResponse(response: response, body: .init(StreamReading(task, content)))
    }
}

extension Request {
    /// Returns a copy with a streamed body.
    func with(_ body: Request.StreamedBody) -> Request {
        var request = self
        request.body = .stream(length: body.length)
        return request
    }
}

/// Resumes a continuation with the first value and ignores later values.
private final class FirstResult<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value, Never>?>

    init(_ continuation: CheckedContinuation<Value, Never>) {
        self.continuation = Mutex(continuation)
    }

    func resume(_ value: Value) {
        continuation.withLock { $0.take() }?.resume(returning: value)
    }
}
