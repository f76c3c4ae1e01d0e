import NIOCore
import NightjarHTTP
import Synchronization

/// Passes the parts of a ``Request/StreamedBody`` to the connection of its call. Any thread.
///
///     idle ──connection requests a part──▶ wanted ──part of the sequence──▶ idle
///       │                                 └──end or error──▶ ended
///       └──second attempt──▶ idle, with a new sequence and Swift task
final class BodyPump: Sendable {
    typealias BodyPart = TaskHandlers.BodyPart

    private struct State {
        /// The number of the attempt. Events of earlier attempts are ignored.
        var attempt = 0
        /// The Swift task that iterates the sequence of this attempt. Nil before the first part is wanted.
        var task: Task<Void, Never>?
        /// The rest of a part that was larger than the connection wanted.
        var rest = ByteBuffer()
        /// The last part. Nil while the sequence continues.
        var end: BodyPart?
        /// The call and the number of bytes that its connection requests. Nil: no part is wanted.
        var wanted: (task: ClientTask, maximum: Int)?
        /// The Swift task, which waits until a part is wanted.
        var producer: CheckedContinuation<Bool, Never>?
        var isStopped = false
    }

    private let body: Request.StreamedBody
    private let state = Mutex(State())

    init(_ body: Request.StreamedBody) { self.body = body }

    /// Adds the callbacks of the body to the handlers of a call.
    func connect(to handlers: inout TaskHandlers) {
        handlers.provideBody = { [self] task, maximum in provide(task, maximum) }
        if body.isRestartable { handlers.rewindBody = { [self] _ in restart() } }
        let finished = handlers.finished
        handlers.finished = { [self] task, result in
            stop()
            finished(task, result)
        }
    }

    // MARK: Events of the call

    private func provide(_ task: ClientTask, _ maximum: Int) -> BodyPart {
        state.withLock { state in
            if let part = state.rest.readSlice(length: min(maximum, state.rest.readableBytes)), part.readableBytes > 0 {
                return .bytes(part)
            }
            if let end = state.end { return end }
            guard !state.isStopped else { return .later }
            state.wanted = (task, maximum)
            if let producer = state.producer.take() {
                producer.resume(returning: true)
            } else if state.task == nil {
                let attempt = Attempt(pump: self, number: state.attempt)
                state.task = Task { [run = body.run] in await run(attempt) }
            }
            return .later
        }
    }

    private func restart() {
        discard { state in
            state.attempt += 1
            state.rest = ByteBuffer()
            (state.end, state.wanted) = (nil, nil)
        }
    }

    /// Ends the iteration of the sequence.
    func stop() {
        discard { state in
            state.isStopped = true
            state.wanted = nil
        }
    }

    /// Cancels the Swift task, which waits for the call or for its sequence.
    private func discard(_ change: (inout State) -> Void) {
        let (task, producer) = state.withLock { state in
            change(&state)
            return (state.task.take(), state.producer.take())
        }
        task?.cancel()
        producer?.resume(returning: false)
    }

    // MARK: Events of the sequence

    /// The pump, for the Swift task of one attempt.
    struct Attempt: Sendable {
        let pump: BodyPump
        let number: Int

        /// Waits until the connection requests a part. Returns false if the attempt has ended.
        func isWanted() async -> Bool { await withCheckedContinuation { pump.await($0, number) } }
        func deliver(_ part: ByteBuffer) { pump.deliver(part, number) }
        func end(_ end: BodyPart) { pump.end(end, number) }
    }

    private func await(_ producer: CheckedContinuation<Bool, Never>, _ number: Int) {
        let isWanted = state.withLock { state -> Bool? in
            guard number == state.attempt, !state.isStopped else { return false }
            if state.wanted != nil { return true }
            state.producer = producer
            return nil
        }
        if let isWanted { producer.resume(returning: isWanted) }
    }

    private func deliver(_ part: ByteBuffer, _ number: Int) {
        // An empty part would end a chunked body, so the sequence is asked for the next part.
        guard part.readableBytes > 0 else { return }
        // Under the lock, so that a part of an ended attempt arrives before the next attempt, which ignores it.
        state.withLock { state in
            guard number == state.attempt, let wanted = state.wanted.take() else { return }
            state.rest = part
            guard let part = state.rest.readSlice(length: min(wanted.maximum, part.readableBytes)) else { return }
            wanted.task.provide(.bytes(part))
        }
    }

    private func end(_ end: BodyPart, _ number: Int) {
        state.withLock { state in
            guard number == state.attempt else { return }
            state.end = end
            state.wanted.take()?.task.provide(end)
        }
    }
}
