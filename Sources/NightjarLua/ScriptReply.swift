import CLua
import Nightjar
import NightjarHTTP
import Synchronization

/// Provides the result of a call of a host function that ``ScriptCall/deferResult()`` has deferred. Any thread.
///
/// If the reply is released without a result, the call fails in the script.
public final class ScriptReply: Sendable {
    private let pending: PendingResult

    init(_ pending: PendingResult) { self.pending = pending }

    deinit { pending.end(.failure("the host released the reply to the call without a result")) }

    /// Makes the call return a value. Null becomes `nil`, but nightjar.null inside tables.
    ///
    /// - Throws: `closed` if the call has ended, for example because its task was cancelled; `invalid_request` if a number
    ///   is infinite or NaN.
    public func returnJSON(_ value: JSONValue) throws(NightjarError) {
        let text = try value.encoded()
        try end(.value(text.withUnsafeReadableBytes { ScriptCall.ResultValue(json: $0) }))
    }

    /// Makes the call return a value of JSON, given as text.
    ///
    /// - Throws: `closed` if the call has ended; `decoding` if the text is not JSON.
    package func returnJSON(text: UnsafeRawBufferPointer) throws(NightjarError) {
        try JSONValue.check(text)
        try end(.value(ScriptCall.ResultValue(json: text)))
    }

    /// Makes the call raise an error in the script.
    ///
    /// - Throws: `closed` if the call has ended.
    public func fail(_ message: String) throws(NightjarError) { try end(.failure(message)) }

    private func end(_ outcome: PendingResult.Outcome) throws(NightjarError) {
        guard pending.end(outcome) else {
            throw NightjarError(.closed, "the call has ended: it has a result, or the script no longer waits for it")
        }
    }
}

/// The result of a deferred call, which the host provides once. Any thread.
final class PendingResult: Sendable {
    enum Outcome: Sendable {
        case value(ScriptCall.ResultValue)
        case failure(String)
    }

    private struct State {
        var outcome: Outcome?
        var isClosed = false
        /// Ends the wait of the script.
        var ended: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    var outcome: Outcome? { state.withLock { $0.outcome } }

    /// - Returns: False if the call has a result, or if the script no longer waits for it.
    @discardableResult
    func end(_ outcome: Outcome) -> Bool {
        let (isFirst, ended) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard !state.isClosed else { return (false, nil) }
            state.isClosed = true
            state.outcome = outcome
            return (true, state.ended.take())
        }
        ended?()
        return isFirst
    }

    /// Discards later results.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.ended = nil
        }
    }

    /// Returns an outcome in flight that ends when the host has provided the result. Called once, on the script's thread.
    func await(by wait: OpaquePointer, _ engine: Engine) throws(NightjarError) -> Future {
        try engine.checkProcess()
        let future = engine.pending(for: wait)
        future.abandon = { [weak engine, weak future, self] in
            close()
            if let future { engine?.drop(future) }
        }
        let complete: @Sendable () -> Void = { [weak engine, queue = engine.queue] in
            queue.run { [weak engine] in engine?.complete(future) }
        }
        let hasEnded = state.withLock { state in
            if state.outcome == nil { state.ended = complete }
            return state.outcome != nil
        }
        if hasEnded { engine.complete(future) }
        return future
    }
}
