import NIOCore
import NightjarHTTP
import Synchronization

/// Work of a client that is not one HTTP call: a login, a logout, or loading an API description.
///
/// A subclass does its work on the client's loop, between `begin()` and `end(_:)`. The operation ends once: when
/// the subclass ends it, when its timeout expires, when it is cancelled, or when the client is closed.
public class ClientOperation: ClientWork, @unchecked Sendable {
    let loop: ClientLoop
    /// The queue of the callbacks; nil: the loop.
    let queue: CompletionQueue?
    override var completionQueue: CompletionQueue? { queue }
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

    /// Ends the operation soon if it does not end by itself, because the client accepts no new work. On the loop.
    func clientDrains() {}

    /// Whether a draining client waits for this operation. On the loop.
    var isInFlight: Bool { !hasEnded }

    /// Cancels the operation together with the calls of its request. Nil: there is none.
    var canceller: Request.Canceller? { nil }

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
        guard loop.submit(.begin(self)) else {
            queue?.forget(self)
            throw NightjarError(.closed, "the client is closed")
        }
        canceller?.add(self)
    }

    // MARK: On the loop

    func started() {
        guard !hasEnded else { return }
        loop.take(self)
        if let timeout { loop.after(timeout) { [weak self] in self?.expired(timeout) } }
        begin()
    }

    func clientClosed() {
        end(.failure(NightjarError(.cancelled, "the client was closed during \(name)")))
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
        released()
        hasFinished.store(true, ordering: .releasing)
        loop.post(
            .run { [self] in
                queue?.forget(self)
                finished(result)
                markDelivered()
            }, to: queue)
        loop.forget(self)
    }
}
