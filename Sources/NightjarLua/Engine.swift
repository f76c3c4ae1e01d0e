import CLua
import DequeModule
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarSystem
import NightjarTransport

/// Makes the calls of one Lua state and reports their results to it. Belongs to the thread that runs the state, except
/// for ``wake()``.
final class Engine: @unchecked Sendable {
    let queue = CompletionQueue()
    /// Decision requests and notifications about logins, mocks and pins.
    let callbacks: ScriptCallbacks
    /// Calls that the script must make for its lists and document loads.
    let subrequests: Subrequests
    /// The restrictions of a sandboxed script's calls; nil: none.
    var confinement: Confinement?
    /// Observers of the clients that this state's scripts create.
    var observers: [CallObserver] = []
    /// The recording of a session; nil: no session.
    var recording: SessionRecording?
    /// The progress of the calls that a session follows.
    var followed = TrackedCalls()
    /// Outcomes with events for the next poll, in order. The outcomes before index `firstEnded` have been reported.
    private var ended: [Future] = []
    private var firstEnded = 0
    /// Calls in flight. Each call stores its index. In a forked child the calls fail, because no events arrive there.
    private var inFlight: [Future] = []
    private let process = getpid()
    let temporaries = Temporaries()
    let transferWork = TransferWork()
    let graphQLWork = GraphQLWork()
    let outboxWork = OutboxWork()
    /// Created on first use.
    private(set) lazy var descriptors = Descriptors(queue)
    private(set) lazy var workers = Workers(queue)
    private(set) lazy var waiter = EventWaiter(queue)
    /// Log lines of this state's clients that have not been delivered.
    private var lines: Deque<(log: Int64, line: LogSink.Line)> = []
    /// The line that C borrows.
    private var borrowedLine = ContiguousArray<CChar>()

    init() {
        callbacks = ScriptCallbacks(queue)
        subrequests = Subrequests(queue)
    }

    func add(_ future: Future) {
        future.place = inFlight.count
        inFlight.append(future)
    }

    // MARK: Work other than calls

    /// Returns an outcome that ``complete(_:)`` ends.
    func pending(for wait: OpaquePointer) -> Future {
        let future = Future()
        future.wait = wait
        add(future)
        return future
    }

    /// Ends the outcome. Has no effect if the outcome has already ended or was dropped.
    func complete(_ future: Future, _ result: Result<WorkValue, NightjarError> = .success(.nothing)) {
        guard future.isPending else { return }
        switch result {
        case .success(let value):
            future.value = value
            completed(future, .success(nil))
        case .failure(let error): completed(future, .failure(error))
        }
    }

    /// Discards the outcome, because the script no longer waits for it.
    func drop(_ future: Future) {
        forget(future)
        future.isPending = false
        future.wait = nil
        future.abandon = nil
    }

    /// Throws `forked` in a forked child, because the threads belong to the parent.
    func checkProcess() throws(NightjarError) {
        guard isForked else { return }
        throw NightjarError(.forked, "this Lua state belongs to the parent process and cannot wait in a forked child")
    }

    /// Whether this is a forked child, where no events arrive.
    var isForked: Bool { getpid() != process }

    /// Makes a poll report `wait` when the outcome has events. The next poll does so if events have already occurred.
    func await(_ future: Future, by wait: OpaquePointer) {
        future.wait = wait
        let needsBody = future.outgoingBody.map { $0.isRequested && !$0.hasTask } ?? false
        if future.result != nil || future.isEnded || needsBody || future.needsCallback {
            notify(future)
        }
    }

    /// Makes the next poll report the outcome's wait, if it has one.
    func notify(_ future: Future) {
        if future.wait != nil { ended.append(future) }
    }

    func finished(_ future: Future, _ result: Result<Response, NightjarError>) {
        completed(future, result.map { .some($0) })
    }

    /// Ends the outcome and makes the next poll report it.
    ///
    /// - Parameter result: nil if there is neither a response nor an error.
    func completed(_ future: Future, _ result: Result<Response?, NightjarError>) {
        forget(future)
        followed.end(future)
        // The task refers to this outcome. The rest of the response is kept without it.
        if future.incoming?.exchange != nil { future.incoming?.exchange = future.task?.endedStream.map { .ended($0) } }
        future.callID = future.task?.callID ?? 0
        future.task = nil
        future.isPending = false
        future.abandon = nil
        switch result {
        case .success(let response?): future.finish(.success(response))
        case .success(nil): break
        case .failure(let error): future.finish(.failure(error))
        }
        notify(future)
        notifyBodyWaiters(future)
    }

    func forget(_ future: Future) {
        let place = future.place
        guard place < inFlight.count, inFlight[place] === future, let last = inFlight.popLast() else { return }
        guard last !== future else { return }
        inFlight[place] = last
        last.place = place
    }

    /// Handles pending events. Writes the waits of outcomes that have events to `waits`.
    func poll(timeout: Duration?, into waits: UnsafeMutableBufferPointer<OpaquePointer?>) -> Int {
        if ended.isEmpty, queue.poll(timeout: timeout) == 0, timeout != .zero, getpid() != process { failAfterFork() }
        var count = 0
        while count < waits.count, firstEnded < ended.count {
            let future = ended[firstEnded]
            firstEnded += 1
            guard let wait = future.wait else { continue }
            future.wait = nil
            waits[count] = wait
            count += 1
        }
        if firstEnded == ended.count {
            ended.removeAll(keepingCapacity: true)
            firstEnded = 0
        }
        return count
    }

    /// Whether the next poll reports a wait at once.
    var hasEnded: Bool { firstEnded < ended.count }

    /// Fails the calls in flight in a forked child. The threads that would complete them exist only in the parent.
    private func failAfterFork() {
        while let future = inFlight.last {
            finished(future, .failure(NightjarError(.forked, "this call belongs to the parent process")))
        }
    }

    // MARK: Logs

    /// Returns a sink that stores log lines for the script.
    ///
    /// - Parameter log: the number under which C identifies the client of the lines.
    func logSink(_ level: LogSink.Level, _ log: Int64) -> LogSink {
        LogSink(level: level, queue: queue) { [weak self] line in self?.lines.append((log, line)) }
    }

    func nextLine() -> njl_line? {
        guard let (log, line) = lines.popFirst() else { return nil }
        borrowedLine.removeAll(keepingCapacity: true)
        borrowedLine.append(contentsOf: line.message.utf8.lazy.map(CChar.init(bitPattern:)))
        // The bytes stay in place until the next line is taken.
        return borrowedLine.withUnsafeBytes { njl_line(log: log, level: line.level.rawValue, text: njl_bytes($0)) }
    }

    func wake() { queue.wake() }

    func close() {
        temporaries.removeAll()
        if isForked {
            workers.leave()
            waiter.leave()
        } else {
            descriptors.close()
            workers.close()
            waiter.close()
        }
        queue.close()
        subrequests.close()
        callbacks.close()
        ended = []
        firstEnded = 0
    }
}

@_cdecl("njl_keep_signals") @implementation
public func njl_keep_signals() { HostSignals.keepSIGPIPE() }

@_cdecl("njl_engine_new") @implementation
public func njl_engine_new() -> OpaquePointer? {
    Handle<Engine>.make(Engine())
}

@_cdecl("njl_engine_free") @implementation
public func njl_engine_free(_ engine: OpaquePointer?) {
    Handle<Engine>.borrow(engine)?.close()
    Handle<Engine>.release(engine)
}

@_cdecl("njl_engine_leave") @implementation
public func njl_engine_leave(_ engine: OpaquePointer?) { Handle<Engine>.borrow(engine)?.temporaries.removeAll() }

@_cdecl("njl_engine_poll") @implementation
public func njl_engine_poll(
    _ engine: OpaquePointer?, _ timeout: Double, _ ended: UnsafeMutablePointer<OpaquePointer?>?, _ capacity: Int
) -> Int {
    guard let engine = Handle<Engine>.borrow(engine) else { return 0 }
    // A timeout longer than `Duration` can represent is unlimited.
    let limit = timeout < 0 ? nil : Duration(seconds: timeout)
    return engine.poll(timeout: limit, into: UnsafeMutableBufferPointer(start: ended, count: capacity))
}

@_cdecl("njl_engine_next_line") @implementation
public func njl_engine_next_line(_ engine: OpaquePointer?, _ line: UnsafeMutablePointer<njl_line>?) -> Bool {
    guard let next = Handle<Engine>.borrow(engine)?.nextLine() else { return false }
    line?.pointee = next
    return true
}

@_cdecl("njl_engine_has_ended") @implementation
public func njl_engine_has_ended(_ engine: OpaquePointer?) -> Bool { Handle<Engine>.borrow(engine)?.hasEnded ?? false }

@_cdecl("njl_engine_wake") @implementation
public func njl_engine_wake(_ engine: OpaquePointer?) {
    Handle<Engine>.borrow(engine)?.wake()
}
