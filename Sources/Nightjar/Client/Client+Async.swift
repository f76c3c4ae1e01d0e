import NightjarHTTP
import Synchronization

extension Client {
    /// Sends a request and suspends the Swift task until the response is complete. Cancelling the Swift task cancels
    /// the call.
    public func send(_ request: Request) async throws(NightjarError) -> Response {
        let pending = Pending<ClientTask>()
        let result: Result<Response, NightjarError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                do throws(NightjarError) {
                    let task = try start(request, on: nil, TaskHandlers { continuation.resume(returning: $1) })
                    pending.set(task)
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        } onCancel: {
            pending.cancel()
        }
        return try result.get()
    }

    /// Sends a request and returns when the response head has been received. Read the body from
    /// ``StreamedResponse/body``.
    ///
    /// - Throws: Any error of the call; `cancelled` if the Swift task is cancelled before the head has been received.
    public func stream(_ request: Request) async throws(NightjarError) -> StreamedResponse {
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
