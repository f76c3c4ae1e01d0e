import DequeModule
import NIOCore
import NightjarHTTP
import Synchronization

/// A response whose body is read in parts.
///
/// The call is cancelled, and its connection is closed, if the iterator of ``body`` is released before the end of the
/// body. The same happens if all copies of this value and of ``body`` are released and no iterator exists.
public struct StreamedResponse: Sendable {
    /// The response as it was when its head was received. Its body is empty: read ``body``.
    public let response: Response
    public let body: Body

    /// The trailer fields. Empty until the whole body has been received.
    public var trailers: Headers { body.reading.content.ended?.trailers ?? Headers() }

    /// Cancels the call and discards unread parts of the body. A reader that has not received the whole body fails with
    /// `cancelled`.
    public func cancel() { body.cancel() }

    /// The response body, for one `for try await` loop. Reading from the network pauses while the reader is behind.
    ///
    /// The loop ends normally only after the whole body. It throws if the call fails, and it throws `cancelled` if the
    /// reading Swift task is cancelled or ``cancel()`` is called. Leaving the loop early cancels the call.
    public struct Body: AsyncSequence, Sendable {
        public typealias Element = ByteBuffer
        public typealias Failure = NightjarError

        let reading: StreamReading

        init(_ reading: StreamReading) { self.reading = reading }

        /// Same as ``StreamedResponse/cancel()``.
        public func cancel() { reading.cancel() }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reading) }

        public final class AsyncIterator: AsyncIteratorProtocol {
            private let reading: StreamReading

            init(_ reading: StreamReading) { self.reading = reading }

            deinit { reading.cancel() }

            func cancel() { reading.cancel() }

            /// Returns the next part, or nil after the last part.
            ///
            /// - Throws: The failure of the call; `cancelled`; `reentrant` while another task waits for a part of the
            ///   same body.
            public func next() async throws(NightjarError) -> ByteBuffer? { try await reading.next(isolation: nil) }

            public func next(isolation actor: isolated (any Actor)?) async throws(NightjarError) -> ByteBuffer? {
                try await reading.next(isolation: actor)
            }
        }
    }
}

/// Reads the body of a call, and cancels the call when no reader is left. The call does not retain this object.
final class StreamReading: Sendable {
    let task: ClientTask
    let content: StreamedContent

    init(_ task: ClientTask, _ content: StreamedContent) {
        self.task = task
        self.content = content
    }

    deinit { cancel() }

    func cancel() {
        content.cancel(task)
        task.cancel()
    }

    func next(isolation actor: isolated (any Actor)?) async throws(NightjarError) -> ByteBuffer? {
        let result = await withTaskCancellationHandler(
            operation: {
                await withCheckedContinuation(isolation: actor) { content.read($0) }
            },
            onCancel: { cancel() }, isolation: actor)
        let part = try result.get()
        if let part { task.consumed(part.readableBytes) }
        return part
    }
}

/// Buffers the body parts that the loop has received and the reader has not. Any thread.
final class StreamedContent: Sendable {
    typealias Reader = CheckedContinuation<Result<ByteBuffer?, NightjarError>, Never>

    private struct State {
        /// Empty while a reader waits.
        var parts = Deque<ByteBuffer>()
        /// The result of the call; nil while it runs.
        var end: Result<Response, NightjarError>?
        var reader: Reader?
        var isCancelled = false
        /// Whether part of the body was discarded. The reader then receives `cancelled`, even if the call succeeds.
        var isIncomplete = false
    }

    private let state = Mutex(State())

    /// The response at the end of the call. Nil if the call has not ended or has failed.
    var ended: Response? {
        state.withLock { state in
            if case .success(let response) = state.end { response } else { nil }
        }
    }

    // MARK: Events of the call

    func add(_ part: ByteBuffer) {
        let reader = state.withLock { state -> Reader? in
            guard !state.isCancelled else {
                state.isIncomplete = true
                return nil
            }
            if let reader = state.reader.take() { return reader }
            state.parts.append(part)
            return nil
        }
        reader?.resume(returning: .success(part))
    }

    func end(_ task: ClientTask, _ result: Result<Response, NightjarError>) {
        let (reader, end) = state.withLock { state in
            let end = state.isIncomplete ? result.flatMap { .failure(StreamedContent.cancelled(task, $0)) } : result
            state.end = end
            return (state.reader.take(), end)
        }
        reader?.resume(returning: end.map { _ in nil })
    }

    // MARK: Events of the reader

    func read(_ reader: Reader) {
        let result = state.withLock { state -> Result<ByteBuffer?, NightjarError>? in
            if let part = state.parts.popFirst() { return .success(part) }
            if let end = state.end { return end.map { _ in nil } }
            guard state.reader == nil else { return .failure(StreamedContent.alreadyRead) }
            state.reader = reader
            return nil
        }
        if let result { reader.resume(returning: result) }
    }

    /// Passes the unread parts to another receiver. If `body` succeeds, readers then receive `cancelled`. Called where the
    /// events are delivered.
    ///
    /// - Throws: `reentrant` while a reader waits; the error of `body`.
    func handOver<Result>(
        _ body: ([ByteBuffer]) throws(NightjarError) -> Result
    ) throws(NightjarError) -> Result {
        let parts = state.withLock { state in
            state.reader == nil ? exchange(&state.parts, with: []) : nil
        }
        guard let parts else { throw StreamedContent.alreadyRead }
        do throws(NightjarError) {
            let result = try body(Array(parts))
            state.withLock { state in
                (state.isCancelled, state.isIncomplete) = (true, true)
                state.end = .failure(NightjarError(.cancelled, "the response has become a download"))
            }
            return result
        } catch {
            state.withLock { $0.parts = parts }
            throw error
        }
    }

    /// Discards unread parts. The caller must also cancel the task. The end of the task then resumes a waiting reader.
    func cancel(_ task: ClientTask) {
        state.withLock { state in
            state.isCancelled = true
            guard !state.parts.isEmpty else { return }
            state.parts.removeAll()
            state.isIncomplete = true
            state.end = state.end.map { $0.flatMap { .failure(StreamedContent.cancelled(task, $0)) } }
        }
    }

    private static func cancelled(_ task: ClientTask, _ response: Response) -> NightjarError {
        NightjarError(
            .cancelled, "the call was cancelled before its response was read to the end",
            requestMayHaveBeenProcessed: true
        ).of(task.request, attempts: response.attempts)
    }

    private static let alreadyRead = NightjarError(
        .reentrant, "another task is already reading this response body; a body can have only one reader")
}
