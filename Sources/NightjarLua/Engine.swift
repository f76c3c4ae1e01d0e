import CLua
import Glibc
import Nightjar

/// The client side of one Lua state: where its calls complete. Belongs to the thread that runs the state, save for
/// ``wake()``.
final class Engine: @unchecked Sendable {
    let queue = CompletionQueue()
    /// Calls that have ended and are not reported yet, last first out.
    private var ended: [Outcome] = []
    /// Calls under way, for a forked child that will not hear of them.
    private var underWay: [Outcome] = []
    private let process = getpid()

    func start(_ request: Request, on client: Client, for wait: OpaquePointer) throws(NightjarError) -> Outcome {
        let outcome = Outcome(wait: wait)
        outcome.task = try client.start(
            request, on: queue, TaskHandlers { [unowned self] _, result in finished(outcome, result) })
        outcome.place = underWay.count
        underWay.append(outcome)
        return outcome
    }

    private func finished(_ outcome: Outcome, _ result: Result<Response, NightjarError>) {
        forget(outcome)
        outcome.task = nil
        outcome.result = result
        if outcome.wait != nil { ended.append(outcome) }
    }

    private func forget(_ outcome: Outcome) {
        let place = outcome.place
        guard place < underWay.count, underWay[place] === outcome, let last = underWay.popLast() else { return }
        guard last !== outcome else { return }
        underWay[place] = last
        last.place = place
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
        while let outcome = underWay.last {
            finished(outcome, .failure(NightjarError(.forked, "this call belongs to the parent process")))
        }
    }

    func wake() { queue.wake() }

    func close() {
        queue.close()
        ended = []
    }
}

@_cdecl("njl_keep_signals") @implementation
public func njl_keep_signals() { HostSignals.keepSIGPIPE() }

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
