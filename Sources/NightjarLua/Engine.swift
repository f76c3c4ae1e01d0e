import CLua
import DequeModule
import Glibc
import NIOCore
import Nightjar
import NightjarHandles

/// The client side of one Lua state: receives the results of its calls. Belongs to the thread that runs the state,
/// except for ``wake()``.
final class Engine: @unchecked Sendable {
    let queue = CompletionQueue()
    /// Decision requests of the clients about their logins and mocks.
    let questions: Questions
    /// Calls that the script must make for its clients.
    let errands: Errands
    /// The restrictions of a sandboxed script's calls; nil: none.
    var confinement: Confinement?
    /// Observers of the clients that this state's scripts create.
    var observers: [CallObserver] = []
    /// The recording of a session; nil: no session.
    var recording: SessionRecording?
    /// The progress of the calls that a session follows.
    var followed = FollowedCalls()
    /// Outcomes with unreported events, in order; those before `firstEnded` have been reported.
    private var ended: [Outcome] = []
    private var firstEnded = 0
    /// Calls in flight. In a forked child they are failed, because their events never arrive. Each call stores its
    /// index.
    private var underWay: [Outcome] = []
    private let process = getpid()
    let temporaries = Temporaries()
    /// Created on first use.
    private(set) lazy var descriptors = Descriptors(queue)
    private(set) lazy var workers = Workers(queue)
    /// Log lines of this state's clients that were not delivered yet.
    private var lines: Deque<(log: Int64, line: LogLine)> = []
    /// The line that C borrows.
    private var lentLine = ContiguousArray<CChar>()

    init() {
        questions = Questions(queue)
        errands = Errands(queue)
    }

    /// How a call reports events and transfers its bodies.
    struct Wishes {
        /// The response body is streamed.
        var isStreamed = false
        var asksRedirects = false
        var asksRetries = false
        /// The request body can be produced again from its start.
        var restartsBody = false
        /// The script is notified of a background revalidation.
        var hearsOfRefresh = false
        var hearsOfProgress = false
        /// A session shows the progress.
        var isFollowed = false
    }

    func start(
        _ request: consuming Request, on client: Client, for wait: OpaquePointer, _ wishes: Wishes
    ) throws(NightjarError) -> Outcome {
        confine(&request)
        let outcome = Outcome(wait: wait)
        if confinement != nil { outcome.view = Outcome.View(request) }
        var handlers = handlers(of: outcome, mayRefresh: wishes.hearsOfRefresh || client.mayRefresh(request))
        if wishes.isStreamed { receive(outcome, by: &handlers) }
        if case .stream = request.body { send(outcome, restarts: wishes.restartsBody, by: &handlers) }
        if wishes.asksRedirects {
            handlers.redirect = { [self] _, hop in
                outcome.ask(hop)
                tell(outcome)
                return .later
            }
        }
        if wishes.asksRetries {
            handlers.retry = { [self] _, question in
                outcome.retry = question
                tell(outcome)
                return .later
            }
        }
        let isFollowed = wishes.isFollowed && !wishes.isStreamed
        if wishes.hearsOfProgress || isFollowed {
            handlers.progress = { [self] _, progress in
                if isFollowed { followed.update(outcome, progress) }
                // The reader of a streamed response counts its bytes itself.
                guard wishes.hearsOfProgress, outcome.result == nil else { return }
                outcome.note(progress)
                tell(outcome)
            }
        }
        outcome.task = try client.start(request, on: queue, handlers)
        outcome.hold = outcome.task?.hold
        if isFollowed { followed.begin(outcome) }
        add(outcome)
        return outcome
    }

    /// The same for a request with only a method and a target and without options.
    ///
    /// - Returns: nil if the client has not sent this request before.
    func startAgain(
        _ method: UnsafeRawBufferPointer, _ target: UnsafeRawBufferPointer, on client: Client, for wait: OpaquePointer
    ) throws(NightjarError) -> Outcome? {
        guard confinement == nil, let known = client.repeated(method, target) else { return nil }
        let outcome = Outcome(wait: wait)
        outcome.task = try client.start(
            known, on: queue, handlers(of: outcome, mayRefresh: client.mayRefresh(known)))
        add(outcome)
        return outcome
    }

    private func handlers(of outcome: Outcome, mayRefresh: Bool) -> TaskHandlers {
        var handlers = TaskHandlers { [self] task, result in
            if !task.isRefreshing { endRefresh(of: outcome, with: nil) }
            finished(outcome, result)
        }
        if mayRefresh {
            outcome.refreshed = nil
            handlers.refreshed = { [self] result in endRefresh(of: outcome, with: result) }
        }
        return handlers
    }

    /// Restricts the request to what the script is allowed to do.
    func confined(_ request: consuming Request) -> Request {
        confine(&request)
        return request
    }

    private func confine(_ request: inout Request) {
        if let confinement { request.confinement = confinement }
    }

    private func add(_ outcome: Outcome) {
        outcome.place = underWay.count
        underWay.append(outcome)
    }

    // MARK: Caches

    /// Ends with neither response nor error if there is no cache entry.
    func lookUp(_ request: Request, on client: Client, for wait: OpaquePointer) throws(NightjarError) -> Outcome {
        let outcome = Outcome(wait: wait)
        outcome.task = try client.lookUp(confined(request), on: queue) { [self] in completed(outcome, $0) }
        add(outcome)
        return outcome
    }

    /// Ends with neither response nor error after the response is stored.
    func plant(
        _ answer: njl_planted, for request: Request, on client: Client, for wait: OpaquePointer
    ) throws(NightjarError) -> Outcome {
        var headers = Headers()
        for field in UnsafeBufferPointer(start: answer.headers, count: answer.header_count) {
            try headers.add(try field.name.text("a header name"), try field.value.text("a header value"))
        }
        if answer.is_json, headers["Content-Type"] == nil { try headers.add("Content-Type", "application/json") }
        guard answer.body.length <= Configuration.largestBody else {
            throw NightjarError(.invalidRequest, "the body is larger than 2 GiB")
        }
        let outcome = Outcome(wait: wait)
        outcome.task = try client.insert(
            Int(answer.status), headers: headers, body: ByteBuffer(copying: answer.body.buffer, for: "the body"),
            for: confined(request), on: queue
        ) { [self] in completed(outcome, $0.map { nil }) }
        add(outcome)
        return outcome
    }

    /// Returns the background revalidation of the stale response that the call returned.
    ///
    /// - Returns: nil if nothing is revalidated.
    func refresh(of call: Outcome) -> Outcome? {
        switch call.refreshed {
        case .none:
            guard call.task?.isRefreshing ?? true else { return nil }
            let outcome = Outcome()
            call.refreshListeners.append(outcome)
            add(outcome)
            return outcome
        case .some(let result): return result.map { Outcome($0) }
        }
    }

    private func endRefresh(of call: Outcome, with result: Result<Response, NightjarError>?) {
        call.refreshed = .some(result)
        let listeners = call.refreshListeners
        call.refreshListeners = []
        for outcome in listeners {
            switch result {
            case .success(let response): completed(outcome, .success(response))
            case .failure(let error): completed(outcome, .failure(error))
            case nil: completed(outcome, .success(nil))
            }
        }
    }

    // MARK: Logins

    func logIn(_ client: Client, _ scheme: String?, for wait: OpaquePointer) throws(NightjarError) -> Outcome {
        let outcome = Outcome(wait: wait)
        outcome.operation = try client.logIn(
            scheme: scheme, on: queue,
            prompt: { [self] prompt in
                outcome.show(prompt)
                tell(outcome)
            },
            finished: { [self] result in
                forget(outcome)
                outcome.operation = nil
                outcome.endLogin(result)
                tell(outcome)
            })
        add(outcome)
        return outcome
    }

    func signOut(_ client: Client, _ scheme: String?, for wait: OpaquePointer) throws(NightjarError) -> Outcome {
        let outcome = Outcome(wait: wait)
        outcome.operation = try client.signOut(scheme: scheme, on: queue) { [self] result in
            forget(outcome)
            outcome.operation = nil
            outcome.endLogin(result)
            tell(outcome)
        }
        add(outcome)
        return outcome
    }

    // MARK: Endpoints

    /// - Parameter caller: the number of the caller that runs the client's hooks; 0: none.
    func loadCatalog(
        from location: String, _ client: Client, caller: Int64, for wait: OpaquePointer
    ) throws(NightjarError) -> Outcome {
        let outcome = Outcome(wait: wait)
        let sender = ScriptSender(self, client, for: caller)
        outcome.operation = try client.startLoadingCatalog(from: location, on: queue, sender: sender) { [self] result in
            forget(outcome)
            outcome.operation = nil
            switch result {
            case .success(let catalog): outcome.catalog = catalog
            case .failure(let error): outcome.result = .failure(error)
            }
            tell(outcome)
        }
        add(outcome)
        return outcome
    }

    private func receive(_ outcome: Outcome, by handlers: inout TaskHandlers) {
        outcome.incoming = IncomingBody()
        handlers.creditsAreManual = true
        handlers.head = { [self] task, head in
            outcome.result = .success(task.response(head))
            tell(outcome)
        }
        handlers.body = { [self] _, part in
            outcome.incoming?.append(part)
            tell(outcome)
        }
    }

    private func send(_ outcome: Outcome, restarts: Bool, by handlers: inout TaskHandlers) {
        outcome.outgoing = OutgoingBody(restarts: restarts)
        if restarts { handlers.rewindBody = { _ in outcome.outgoing?.rewind() } }
        handlers.provideBody = { [self] _, maximum in
            guard let part = outcome.outgoing?.next(maximum) else { return .failed("the request body was released") }
            if case .later = part { tell(outcome) }
            return part
        }
    }

    // MARK: Work other than calls

    /// Returns an outcome that ``complete(_:)`` ends.
    func pending(for wait: OpaquePointer) -> Outcome {
        let outcome = Outcome()
        outcome.wait = wait
        add(outcome)
        return outcome
    }

    /// Ends the outcome, once. An outcome that was ended or dropped is not changed.
    func complete(_ outcome: Outcome, _ result: Result<WorkValue, NightjarError> = .success(.nothing)) {
        guard outcome.isPending else { return }
        switch result {
        case .success(let value):
            outcome.value = value
            completed(outcome, .success(nil))
        case .failure(let error): completed(outcome, .failure(error))
        }
    }

    /// Discards the outcome: nothing waits for it any more.
    func drop(_ outcome: Outcome) {
        forget(outcome)
        outcome.isPending = false
        outcome.wait = nil
        outcome.abandon = nil
    }

    /// - Throws: `forked` in a forked child, because the threads belong to the parent.
    func checkProcess() throws(NightjarError) {
        guard isForked else { return }
        throw NightjarError(.forked, "this Lua state belongs to the parent process and cannot wait in a forked child")
    }

    /// Whether this is a forked child, where no events arrive.
    var isForked: Bool { getpid() != process }

    /// Makes later polls report events of the outcome to `wait`. Events that occurred in the meantime are reported by
    /// the next poll.
    func await(_ outcome: Outcome, by wait: OpaquePointer) {
        outcome.wait = wait
        if outcome.result != nil || outcome.isEnded || outcome.outgoing?.isAsked == true || outcome.isQuestion {
            tell(outcome)
        }
    }

    /// Makes the next poll report the wait of the outcome.
    private func tell(_ outcome: Outcome) {
        if outcome.wait != nil { ended.append(outcome) }
    }

    private func finished(_ outcome: Outcome, _ result: Result<Response, NightjarError>) {
        completed(outcome, result.map { .some($0) })
    }

    /// - Parameter result: without a response if there is none.
    private func completed(_ outcome: Outcome, _ result: Result<Response?, NightjarError>) {
        forget(outcome)
        followed.end(outcome)
        outcome.task = nil
        outcome.isPending = false
        outcome.abandon = nil
        switch result {
        case .success(let response?): outcome.finish(.success(response))
        case .success(nil): break
        case .failure(let error): outcome.finish(.failure(error))
        }
        tell(outcome)
    }

    private func forget(_ outcome: Outcome) {
        let place = outcome.place
        guard place < underWay.count, underWay[place] === outcome, let last = underWay.popLast() else { return }
        guard last !== outcome else { return }
        underWay[place] = last
        last.place = place
    }

    /// Handles pending events and writes the waits of outcomes with events.
    func poll(timeout: Duration?, into waits: UnsafeMutableBufferPointer<OpaquePointer?>) -> Int {
        if ended.isEmpty, queue.poll(timeout: timeout) == 0, timeout != .zero, getpid() != process { failAfterFork() }
        var count = 0
        while count < waits.count, firstEnded < ended.count {
            let outcome = ended[firstEnded]
            firstEnded += 1
            guard let wait = outcome.wait else { continue }
            outcome.wait = nil
            waits[count] = wait
            count += 1
        }
        if firstEnded == ended.count {
            ended.removeAll(keepingCapacity: true)
            firstEnded = 0
        }
        return count
    }

    /// The threads that would complete these calls exist only in the parent.
    private func failAfterFork() {
        while let outcome = underWay.last {
            finished(outcome, .failure(NightjarError(.forked, "this call belongs to the parent process")))
        }
    }

    // MARK: Logs

    /// - Parameter log: the number under which C identifies the client of the lines.
    func logSink(_ level: LogLevel, _ log: Int64) -> LogSink {
        LogSink(level: level, queue: queue) { [weak self] line in self?.lines.append((log, line)) }
    }

    func nextLine() -> njl_line? {
        guard let (log, line) = lines.popFirst() else { return nil }
        lentLine.removeAll(keepingCapacity: true)
        lentLine.append(contentsOf: line.message.utf8.lazy.map(CChar.init(bitPattern:)))
        // The array does not change until the next line.
        return lentLine.withUnsafeBytes { njl_line(log: log, level: line.level.rawValue, text: njl_bytes($0)) }
    }

    func wake() { queue.wake() }

    func close() {
        temporaries.removeAll()
        if isForked {
            workers.leave()
        } else {
            descriptors.close()
            workers.close()
        }
        queue.close()
        errands.close()
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

@_cdecl("njl_engine_wake") @implementation
public func njl_engine_wake(_ engine: OpaquePointer?) {
    Handle<Engine>.borrow(engine)?.wake()
}
