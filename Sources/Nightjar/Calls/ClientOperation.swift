import NIOCore
import NightjarHTTP
import Synchronization

/// Cancellable work of a client: a call (``ClientTask``) or an operation (``ClientOperation``).
public class ClientWork: @unchecked Sendable {
    init() {}

    /// Ends the work with the error `cancelled`. Has no effect if the work has ended or was cancelled before.
    public func cancel() {}

    /// Whether the completion callback has been called, or is queued.
    public var isFinished: Bool { true }

    /// Whether the work belongs to the parent of this forked process.
    package var isOfParent: Bool { false }
}

/// Work of a client that is not one HTTP call: a login, a logout, or loading an API description.
///
/// A subclass does its work on the client's loop, between ``begin()`` and ``end(_:)``. The operation ends once: when
/// the subclass ends it, when its timeout expires, when it is cancelled, or when the client is closed.
public class ClientOperation: ClientWork, @unchecked Sendable {
    let loop: ClientLoop
    /// The queue of the callbacks; nil: the loop.
    let queue: CompletionQueue?
    private let name: String
    private let timeout: Duration?
    private let finished: @Sendable (Result<Void, NightjarError>) -> Void
    private let wasCancelled = Atomic<Bool>(false)
    private let hasFinished = Atomic<Bool>(false)
    /// Used on the loop.
    private(set) var hasEnded = false

    /// - Parameters:
    ///   - name: The operation's name in errors, for example `the login`.
    ///   - timeout: Nil: unlimited.
    ///   - finished: Called once, where the callbacks run.
    init(
        _ name: String, on loop: ClientLoop, queue: CompletionQueue?, timeout: Duration?,
        finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) {
        self.name = name
        self.loop = loop
        self.queue = queue
        self.timeout = timeout
        self.finished = finished
    }

    /// Starts the work, on the loop.
    func begin() {}

    /// Releases the resources of the work, on the loop. Called once, when the operation ends.
    func released() {}

    // MARK: Any thread

    public override func cancel() {
        guard !isFinished, !wasCancelled.exchange(true, ordering: .relaxed) else { return }
        loop.submit(.run { [self] in end(.failure(NightjarError(.cancelled, "\(name) was cancelled"))) })
    }

    public override var isFinished: Bool { hasFinished.load(ordering: .acquiring) }

    package override var isOfParent: Bool { loop.isOfParent }

    var isCancelled: Bool { wasCancelled.load(ordering: .relaxed) }

    /// - Throws: `closed` if the queue or the client is closed.
    func start() throws(NightjarError) {
        if let queue, !queue.register(self) { throw NightjarError(.closed, "the queue is closed") }
        guard loop.submit(.run { [self] in started() }) else {
            queue?.forget(self)
            throw NightjarError(.closed, "the client is closed")
        }
    }

    // MARK: On the loop

    private func started() {
        guard !hasEnded else { return }
        loop.addCloseListener(self) { [self] in
            end(.failure(NightjarError(.cancelled, "the client was closed during \(name)")))
        }
        if let timeout { loop.after(timeout) { [weak self] in self?.expired(timeout) } }
        begin()
    }

    private func expired(_ timeout: Duration) {
        end(
            .failure(
                NightjarError(
                    .timeout, "\(name) did not finish within \(timeout.rounded) s; raise its timeout", phase: .total)))
    }

    /// Ends the operation. The result of a second call is discarded.
    final func end(_ result: Result<Void, NightjarError>) {
        guard !hasEnded else { return }
        hasEnded = true
        loop.removeCloseListener(self)
        released()
        hasFinished.store(true, ordering: .releasing)
        loop.post(
            .run { [self] in
                queue?.forget(self)
                finished(result)
            }, to: queue)
    }
}
