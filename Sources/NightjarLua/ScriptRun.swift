import CLua
import Nightjar
import NightjarHTTP
import NightjarHandles
import Synchronization

/// A run that proceeds in events of a queue.
///
/// Each event makes one step of the run, on the thread that polls the queue. If the script waits, a thread of the library
/// waits for the next event of the script or for its next deadline, and then posts the next step. This thread runs neither
/// Lua nor functions of the host.
///
/// ```
/// step ──ready──▶ step
/// step ──waits──▶ waiting thread ──event, deadline or cancellation──▶ step
/// step ──ended──▶ finished
/// ```
final class ScriptRun: @unchecked Sendable {
    typealias Finished = @Sendable (ClientWork, Result<ScriptText, NightjarError>) -> Void

    /// Nil after the end. Locked, so that the last owner of the script is not a thread that cancels the run.
    private let script: Mutex<Script?>
    private let queue: CompletionQueue
    /// The code, which only the first step reads.
    private var chunk: ScriptChunk
    // Used in the events of the queue. Released at the end, so that the waiting thread releases no objects of the host.
    private var engine: Engine?
    private var finished: Finished?
    private var isFirst = true
    /// The error that ended the run early.
    private var failure: NightjarError?
    /// Set before the first event.
    private var work: QueueWork?

    private init(
        _ script: Script, _ engine: Engine, _ chunk: ScriptChunk, _ queue: CompletionQueue,
        _ finished: @escaping Finished
    ) {
        self.script = Mutex(script)
        self.engine = engine
        self.chunk = chunk
        self.queue = queue
        self.finished = finished
    }

    /// - Throws: `reentrant` if the script is running; `closed` if the queue is closed; `forked`.
    static func start(
        _ chunk: ScriptChunk, of script: Script, on queue: CompletionQueue, finished: @escaping Finished
    ) throws(NightjarError) -> QueueWork {
        guard let engine = Handle<Engine>.borrow(njl_script_engine(script.state)) else { throw Engine.closedClient }
        try engine.checkProcess()
        let run = ScriptRun(script, engine, chunk, queue, finished)
        let work = QueueWork(on: queue) { [weak run] in run?.interrupt() }
        try work.begin()
        do throws(NightjarError) {
            try script.begin(work)
        } catch {
            work.end()
            throw error
        }
        // The start of the run has discarded an earlier interrupt.
        if work.isCancelled { script.interrupt() }
        run.work = work
        run.post()
        return work
    }

    /// Any thread.
    private func interrupt() { script.withLock { $0?.interrupt() } }

    private func post() { queue.run { [self] in step() } }

    private func step() {
        guard let script = script.withLock({ $0 }) else { return }
        var wait = 0.0
        var (results, message): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
        let status = chunk.withC(wantsResults: true) {
            njl_script_step(script.state, $0, isFirst, &wait, &results, &message)
        }
        if isFirst { chunk.discard() }
        isFirst = false
        guard status == NJL_WAITS else { return end(script, results, message) }
        if wait == 0 { post() } else { self.wait(wait < 0 ? nil : Duration(seconds: wait)) }
    }

    /// Makes the next step after the next event of the script.
    private func wait(_ timeout: Duration?) {
        guard let engine else { return }
        do throws(NightjarError) {
            try engine.waiter.wait(timeout) { [self] in post() }
        } catch {
            failure = error
            interrupt()
            post()
        }
    }

    private func end(
        _ script: Script, _ results: UnsafeMutablePointer<CChar>?, _ message: UnsafeMutablePointer<CChar>?
    ) {
        guard let work, let finished = finished.take() else { return }
        let result: Result<ScriptText, NightjarError>
        do throws(NightjarError) {
            result = .success(try ScriptText(results, or: message))
        } catch {
            let cancelled = NightjarError(.cancelled, "the run of the script was cancelled")
            result = .failure(failure ?? (work.isCancelled ? cancelled : error))
        }
        engine = nil
        script.end()
        self.script.withLock { $0 = nil }
        work.end { finished(work, result) }
    }
}

extension Script {
    /// Starts a chunk without blocking. The script runs in events of the queue: its code and the functions of the host run
    /// on the thread that polls the queue. A script that computes without waiting blocks the poll, at most until it
    /// reaches ``ScriptLimits/burst``.
    ///
    /// Until the end of the run, only the thread that polls the queue may use the script, except for ``interrupt()``.
    ///
    /// - Parameter finished: called once by a poll of the queue, with the results as for ``evaluate(_:name:)``. The error
    ///   is `cancelled` if the work was cancelled or the queue was closed.
    /// - Returns: The run. Cancelling it ends the run as ``interrupt()`` does.
    /// - Throws: `reentrant` if the script is running; `closed` if the queue is closed; `forked`.
    @discardableResult
    public func startRun(
        _ source: String, name: String = "script", on queue: CompletionQueue,
        finished: @escaping @Sendable (Result<JSONValue, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientWork {
        try start(ScriptChunk(Array(source.utf8), name: name), on: queue) { finished(Script.value($1)) }
    }

    /// Calls a global function without blocking, as ``startRun(_:name:on:finished:)`` runs a chunk.
    ///
    /// - Throws: also `invalid_request` if a number is infinite or NaN. If there is no such function, the run fails.
    @discardableResult
    public func startInvoke(
        _ function: String, _ arguments: (any ParameterValue)?..., on queue: CompletionQueue,
        finished: @escaping @Sendable (Result<JSONValue, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientWork {
        try start(ScriptChunk(function: function, arguments.map { JSONValue($0) }), on: queue) {
            finished(Script.value($1))
        }
    }

    package func start(
        _ chunk: ScriptChunk, on queue: CompletionQueue,
        finished: @escaping @Sendable (ClientWork, Result<ScriptText, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientWork {
        try ScriptRun.start(chunk, of: self, on: queue, finished: finished)
    }

    private static func value(_ result: Result<ScriptText, NightjarError>) -> Result<JSONValue, NightjarError> {
        do throws(NightjarError) { return .success(try result.get().value()) } catch { return .failure(error) }
    }
}
