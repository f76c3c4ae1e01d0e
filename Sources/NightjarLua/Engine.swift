import CLua
import Glibc
import NIOCore
import Nightjar

/// The client side of one Lua state: where its calls complete. Belongs to the thread that runs the state, save for
/// ``wake()``.
final class Engine: @unchecked Sendable {
    let queue = CompletionQueue()
    /// Calls that have ended and are not reported yet, last first out.
    private var ended: [Outcome] = []
    /// Calls under way, for a forked child that will not hear of them.
    private var underWay: [ObjectIdentifier: Outcome] = [:]
    private let process = getpid()

    /// - Parameter isStreamed: whether the answer's body comes in parts.
    func start(
        _ request: Request, on client: Client, for wait: OpaquePointer, isStreamed: Bool
    ) throws(NightjarError) -> Outcome {
        let outcome = Outcome(wait: wait)
        var handlers = TaskHandlers { [unowned self] _, result in finished(outcome, result) }
        if isStreamed { receive(outcome, by: &handlers) }
        if case .stream = request.body { send(outcome, by: &handlers) }
        outcome.task = try client.start(request, on: queue, handlers)
        underWay[ObjectIdentifier(outcome)] = outcome
        return outcome
    }

    private func receive(_ outcome: Outcome, by handlers: inout TaskHandlers) {
        outcome.incoming = IncomingBody()
        handlers.creditsAreManual = true
        handlers.head = { [unowned self] task, head in
            outcome.result = .success(Response(head: head, body: ByteBuffer(), url: task.url))
            tell(outcome)
        }
        handlers.body = { [unowned self] _, part in
            outcome.incoming?.append(part)
            tell(outcome)
        }
    }

    private func send(_ outcome: Outcome, by handlers: inout TaskHandlers) {
        outcome.outgoing = OutgoingBody()
        handlers.provideBody = { [unowned self] _, maximum in
            guard let part = outcome.outgoing?.next(maximum) else { return .failed("the body has gone") }
            if case .later = part { tell(outcome) }
            return part
        }
    }

    /// Has the next poll name who waits for the outcome.
    private func tell(_ outcome: Outcome) {
        if outcome.wait != nil { ended.append(outcome) }
    }

    private func finished(_ outcome: Outcome, _ result: Result<Response, NightjarError>) {
        underWay.removeValue(forKey: ObjectIdentifier(outcome))
        outcome.task = nil
        outcome.finish(result)
        tell(outcome)
    }

    /// Runs what is due and writes the waits of the calls that have ended.
    func poll(timeout: Duration?, into waits: UnsafeMutableBufferPointer<OpaquePointer?>) -> Int {
        if ended.isEmpty, queue.poll(timeout: timeout) == 0, timeout != .zero, getpid() != process { failAfterFork() }
        var count = 0
        while count < waits.count, let outcome = ended.popLast() {
            guard let wait = outcome.wait else { continue }
            outcome.wait = nil
            waits[count] = wait
            count += 1
        }
        return count
    }

    /// The threads that would complete these calls are the parent's.
    private func failAfterFork() {
        for outcome in underWay.values {
            finished(outcome, .failure(NightjarError(.forked, "this call belongs to the parent process")))
        }
    }

    func wake() { queue.wake() }

    func close() {
        queue.close()
        ended = []
    }
}

@_cdecl("njl_engine_new") @implementation
public func njl_engine_new() -> OpaquePointer? {
    Handle<Engine>.own(Engine())
}

@_cdecl("njl_engine_free") @implementation
public func njl_engine_free(_ engine: OpaquePointer?) {
    Handle<Engine>.borrow(engine)?.close()
    Handle<Engine>.release(engine)
}

@_cdecl("njl_engine_poll") @implementation
public func njl_engine_poll(
    _ engine: OpaquePointer?, _ timeout: Double, _ ended: UnsafeMutablePointer<OpaquePointer?>?, _ capacity: Int
) -> Int {
    guard let engine = Handle<Engine>.borrow(engine) else { return 0 }
    // A wait longer than Duration can tell has no bound that anybody would notice.
    let limit = timeout < 0 ? nil : Duration(seconds: timeout)
    return engine.poll(timeout: limit, into: UnsafeMutableBufferPointer(start: ended, count: capacity))
}

@_cdecl("njl_engine_wake") @implementation
public func njl_engine_wake(_ engine: OpaquePointer?) {
    Handle<Engine>.borrow(engine)?.wake()
}
