import CLua
import DequeModule
import Glibc
import NIOCore
import Nightjar
import NightjarHandles

/// The client side of one Lua state: where its calls complete. Belongs to the thread that runs the state, save for
/// ``wake()``.
final class Engine: @unchecked Sendable {
    let queue = CompletionQueue()
    /// What its clients ask of their logins.
    let questions: Questions
    /// What they want the script to send.
    let errands: Errands
    /// The restrictions of a sandboxed script's calls; nil: none.
    var confinement: Confinement?
    /// Of the clients that this state's scripts make.
    var observers: [CallObserver] = []
    /// What the clients of a session have done; nil: this is none.
    var recording: SessionRecording?
    /// How far the calls have come that a session follows.
    var followed = FollowedCalls()
    /// Outcomes with something to tell, in the order in which it happened; those before `firstEnded` have been told.
    private var ended: [Outcome] = []
    private var firstEnded = 0
    /// Calls under way, for a forked child that will not hear of them. Each knows its place.
    private var underWay: [Outcome] = []
    private let process = getpid()
    let temporaries = Temporaries()
    /// Made when they are used first.
    private(set) lazy var descriptors = Descriptors(queue)
    private(set) lazy var workers = Workers(queue)
    /// Lines of the logs of this state's clients that no function has got yet.
    private var lines: Deque<(log: Int64, line: LogLine)> = []
    /// The one that C borrows.
    private var lentLine = ContiguousArray<CChar>()

    init() {
        questions = Questions(queue)
        errands = Errands(queue)
    }

    /// What a call is asked about on its way, and how its bodies come.
    struct Wishes {
        /// The answer's body comes in parts.
        var isStreamed = false
        var asksRedirects = false
        var asksRetries = false
        /// The request's body can be had again from its start.
        var restartsBody = false
        /// A stored answer that is fetched anew meanwhile is told.
        var hearsOfRefresh = false
        var hearsOfProgress = false
        /// A session shows how far it has come.
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
                // Who reads a streamed answer counts for himself.
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

    /// The same for a request that says its method and target, and no more, and without wishes.
    ///
    /// - Returns: nil where the client has not made it before.
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

    /// The request, that goes nowhere but where the script may.
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

    /// Ends with neither response nor error where nothing is stored.
    func lookUp(_ request: Request, on client: Client, for wait: OpaquePointer) throws(NightjarError) -> Outcome {
        let outcome = Outcome(wait: wait)
        outcome.task = try client.lookUp(confined(request), on: queue) { [self] in completed(outcome, $0) }
        add(outcome)
        return outcome
    }

    /// Ends with neither response nor error where it is stored.
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

    /// What comes of fetching anew the stored answer that the call was given.
    ///
    /// - Returns: nil where nothing is fetched.
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

    /// - Parameter caller: the number of what has the client's hooks; 0: it has none.
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
            guard let part = outcome.outgoing?.next(maximum) else { return .failed("the body has gone") }
            if case .later = part { tell(outcome) }
            return part
        }
    }

    // MARK: What is no call

    /// One that ``complete(_:)`` ends.
    func pending(for wait: OpaquePointer) -> Outcome {
        let outcome = Outcome()
        outcome.wait = wait
        add(outcome)
        return outcome
    }

    /// Once; what has ended, or was dropped, stays as it is.
    func complete(_ outcome: Outcome, _ result: Result<WorkValue, NightjarError> = .success(.nothing)) {
        guard outcome.isPending else { return }
        switch result {
        case .success(let value):
            outcome.value = value
            completed(outcome, .success(nil))
        case .failure(let error): completed(outcome, .failure(error))
        }
    }

    /// Nobody waits for it any more, and nobody will hear of it.
    func drop(_ outcome: Outcome) {
        forget(outcome)
        outcome.isPending = false
        outcome.wait = nil
        outcome.abandon = nil
    }

    /// - Throws: `forked` in a forked child, whose threads are the parent's.
    func checkProcess() throws(NightjarError) {
        guard isForked else { return }
        throw NightjarError(.forked, "this Lua state belongs to the parent process, which alone can wait in it")
    }

    /// Whether this is a forked child, where nothing comes any more.
    var isForked: Bool { getpid() != process }

    /// From here on `wait` is told of what happens. What happened while nobody waited is told by the next poll.
    func await(_ outcome: Outcome, by wait: OpaquePointer) {
        outcome.wait = wait
        if outcome.result != nil || outcome.isEnded || outcome.outgoing?.isAsked == true || outcome.isQuestion {
            tell(outcome)
        }
    }

    /// Has the next poll name who waits for the outcome.
    private func tell(_ outcome: Outcome) {
        if outcome.wait != nil { ended.append(outcome) }
    }

    private func finished(_ outcome: Outcome, _ result: Result<Response, NightjarError>) {
        completed(outcome, result.map { .some($0) })
    }

    /// - Parameter result: without a response where there is none to have.
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

    /// Runs what is due and writes the waits of the calls that have ended.
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

    /// The threads that would complete these calls are the parent's.
    private func failAfterFork() {
        while let outcome = underWay.last {
            finished(outcome, .failure(NightjarError(.forked, "this call belongs to the parent process")))
        }
    }

    // MARK: Logs

    /// - Parameter log: the number by which C knows whose lines they are.
    func logSink(_ level: LogLevel, _ log: Int64) -> LogSink {
        LogSink(level: level, queue: queue) { [weak self] line in self?.lines.append((log, line)) }
    }

    func nextLine() -> njl_line? {
        guard let (log, line) = lines.popFirst() else { return nil }
        lentLine.removeAll(keepingCapacity: true)
        lentLine.append(contentsOf: line.message.utf8.lazy.map(CChar.init(bitPattern:)))
        // The array stays as it is until the next line.
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
    // A wait longer than Duration can tell has no bound that anybody would notice.
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
