import NIOCore
import NightjarHTTP
import Synchronization

/// What the one who starts a call hears of it. The handlers run where the task delivers: inside
/// `CompletionQueue.poll`, one after the other, in the order in which things happened.
public struct TaskHandlers: Sendable {
    /// The final head, before the body; never for an answer that becomes an error.
    public var head: (@Sendable (ClientTask, ResponseHead) -> Void)?
    /// Content as it comes. When set, the response is not collected and its `body` is empty. Reading from the
    /// network pauses while more than ``ClientTask/window`` bytes are not yet handled.
    public var body: (@Sendable (ClientTask, ByteBuffer) -> Void)?
    /// True: bytes given to `body` count as handled only after ``ClientTask/consumed(_:)``.
    public var creditsAreManual = false
    /// Asked for the next part of a `RequestBody.stream`, of at most so many bytes.
    public var provideBody: (@Sendable (ClientTask, _ maximum: Int) -> BodyPart)?
    /// Exactly once, last.
    public var finished: @Sendable (ClientTask, Result<Response, NightjarError>) -> Void

    public init(finished: @escaping @Sendable (ClientTask, Result<Response, NightjarError>) -> Void) {
        self.finished = finished
    }
}

/// The next part of a streamed request body.
public enum BodyPart: Sendable {
    case bytes(ByteBuffer)
    case end
    /// The source is broken: the call fails as `invalid_request` with this message and the connection is closed, so
    /// that the server cannot take half a body for a whole one.
    case failed(String)
}

/// One call, in progress or finished: what its caller holds. Any thread may use it.
public final class ClientTask: Sendable {
    /// Bytes of a streamed response that may wait for their handler before reading pauses.
    public static let window = 256 * 1024

    let handlers: TaskHandlers
    let queue: CompletionQueue?

    init(handlers: TaskHandlers, queue: CompletionQueue?) {
        self.handlers = handlers
        self.queue = queue
    }

    /// Ends the call with `cancelled` unless it has ended already. Again, or later: nothing happens.
    public func cancel() {}

    /// Tells that `count` bytes of the response are handled, where ``TaskHandlers/creditsAreManual`` is set.
    public func consumed(_ count: Int) {}

    /// Whether ``TaskHandlers/finished`` has been delivered, or is due at its queue.
    public var isFinished: Bool { false }
}
