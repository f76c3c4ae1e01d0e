import NightjarHTTP

/// Waits until the calls and operations of a client have ended, while the client accepts no new ones.
final class Drain: ClientOperation, @unchecked Sendable {
    init(
        _ loop: ClientLoop, queue: CompletionQueue?, timeout: Duration?,
        finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) {
        super.init("the drain", on: loop, queue: queue, timeout: timeout, finished: finished)
    }

    override func begin() { loop.drain { [weak self] in self?.end(.success(())) } }

    override var isInFlight: Bool { false }
}
