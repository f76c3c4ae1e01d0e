import NIOCore
import NightjarHTTP
import Synchronization

extension Client {
    /// Sends and suspends the Swift task; cancelling that cancels the call.
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

    /// Sends and returns when the head of the answer is there, the body still to come.
    public func stream(_ request: Request) async throws(NightjarError) -> StreamedResponse {
        let (parts, source) = AsyncThrowingStream<ByteBuffer, any Error>.makeStream()
        let pending = Pending<ClientTask>()
        let result: Result<ResponseHead, NightjarError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let head = OneAnswer(continuation)
                var handlers = TaskHandlers { _, result in
                    switch result {
                    case .success(let response):
                        head.give(.success(response.head))
                        source.finish()
                    case .failure(let error):
                        head.give(.failure(error))
                        source.finish(throwing: error)
                    }
                }
                handlers.head = { head.give(.success($1)) }
                handlers.body = { source.yield($1) }
                handlers.creditsAreManual = true
                do throws(NightjarError) {
                    pending.set(try start(request, on: nil, handlers))
                } catch {
                    head.give(.failure(error))
                }
            }
        } onCancel: {
            pending.cancel()
        }
        return StreamedResponse(head: try result.get(), body: .init(parts: parts, pending: pending))
    }
}

/// An answer whose body comes in parts.
public struct StreamedResponse: Sendable {
    public let head: ResponseHead
    public let body: Body

    /// The content, once. Reading from the network pauses while the consumer is behind; dropping the sequence's
    /// iterator before the end, or cancelling the Swift task, cancels the call.
    public struct Body: AsyncSequence, Sendable {
        public typealias Element = ByteBuffer

        fileprivate let parts: AsyncThrowingStream<ByteBuffer, any Error>
        fileprivate let pending: Pending<ClientTask>

        public final class AsyncIterator: AsyncIteratorProtocol {
            private var parts: AsyncThrowingStream<ByteBuffer, any Error>.AsyncIterator
            private let pending: Pending<ClientTask>

            fileprivate init(_ body: Body) {
                parts = body.parts.makeAsyncIterator()
                pending = body.pending
            }

            deinit { pending.cancel() }

            public func next() async throws -> ByteBuffer? {
                let part = try await parts.next()
                if let part { pending.work?.consumed(part.readableBytes) }
                return part
            }
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
    }
}

/// A continuation that is resumed by whatever comes first.
private final class OneAnswer<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value, Never>?>

    init(_ continuation: CheckedContinuation<Value, Never>) {
        self.continuation = Mutex(continuation)
    }

    func give(_ value: Value) {
        continuation.withLock { $0.take() }?.resume(returning: value)
    }
}
