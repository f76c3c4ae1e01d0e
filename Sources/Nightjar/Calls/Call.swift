import NIOCore
import NightjarHTTP
import NightjarStorage
import NightjarTransport

/// Drives one call through the stages and the transport, on the client's loop.
///
///     begin ──stages down──▶ exchange ──head──▶ stages up ──body──▶ response ──stages up──▶ finished
///               ▲                                   │                            │
///               └────────────── again ──────────────┴────────────────────────────┘
///
/// Carries out the stages' verdicts. Ends exactly once.
///
/// The client also makes internal calls: token requests, which have a separate chain, and shared exchanges, which begin
/// below the stage that coalesced their calls.
final class Call: @unchecked Sendable {
    enum State {
        /// Between attempts, or in the stages.
        case preparing
        /// Waiting for a connection.
        case waiting
        /// Sent on a connection; no final response head yet.
        case sent
        case receiving
        case finished
    }

    let task: ClientTask
    let loop: ClientLoop
    let chain: Chain
    /// The call passes only the stages below this position. -1: all stages.
    let above: Int
    /// Receives the result of an internal call. Nil for other calls, whose result is posted as an event.
    private let completion: ((Result<Response, NightjarError>) -> Void)?
    let started: NIODeadline
    /// The request to send. Stages may change it.
    var request: PreparedRequest
    var limits: TimeLimits
    var attempts = 0
    /// The decoder of the response body. Nil: the body is not decoded.
    var decoding: BodyDecoding?
    /// The states that the stages keep for this call.
    var states = CallStates()
    /// The redirects so far, in order.
    var redirects: [VisitedURL] = []
    /// The errors of the attempts that were retried, or after which the call waited for the network.
    var failures: [NightjarError] = []
    /// The cache partition of the login whose token was attached to the request. Nil if no token was attached, or if
    /// the token has no partition.
    var loginPartition: CachePartition?
    /// The login that owns the cookies of the response. Nil as for ``loginPartition``.
    var cookieOwner: Cookie.Owner?
    /// Reports progress to the caller. Nil: the caller does not observe progress.
    private(set) var progressWatch: ProgressWatch?
    /// The exchange whose response this call waits for together with other calls, or nil.
    var sharedExchange: Call?
    /// The call that started this shared exchange. Nil for other calls, and after the exchange has ended.
    var branchedFrom: Call?
    /// The call whose cache entry this call revalidates. Set while this call runs and its caller has a `refreshed`
    /// callback.
    var refreshes: Call?
    /// Posts the completion of the background revalidation, which must follow the completion of this call.
    private var postRefreshCompletion: (() -> Void)?
    /// The calls that wait for this shared exchange.
    var waiters: (() -> [Call])?
    /// The decisions that this shared exchange waits for. They are also posted to calls that join the exchange.
    var sharedDecisions: [PendingDecision] = []
    /// Whether a redirect has led to another origin. The credentials of the login are then not sent again, not even to
    /// the first origin.
    var credentialsAreDropped = false
    /// Whether the request carries a password that the caller has provided in response to a challenge, instead of the
    /// credentials of the login.
    var loginIsReplaced = false
    /// Whether the request may carry the credentials of the login.
    var sendsLogin: Bool { !credentialsAreDropped && !loginIsReplaced }
    /// The decisions so far, which explain the course of the call.
    private(set) var decisions: [Decision] = []
    /// The response of the last exchange, and the number of decisions that the response contains.
    var completed: (response: Response, decisions: Int)?
    /// The stage whose verdict the call waits for, and the response or error that was passed to this stage. Nil if the
    /// call does not wait for a stage.
    private var suspension: (stage: Int, responding: Response?, failing: NightjarError?)?
    /// The decision that the call waits for from its caller, or nil.
    var pendingDecision: DecisionRequest?
    /// The position of the last stage whose ``Stage/outgoing(_:)`` or ``Stage/expired(_:_:)`` was called.
    var reachedStage = -1
    /// A verdict that arrived before its stage returned `wait`.
    private var earlyVerdict: Verdict?
    /// Identifies the call in this process. A shared exchange has the number of the call that has started it.
    var number: Int { branchedFrom?.number ?? task.callID }
    /// The index of this call in the loop's list.
    var place = 0
    /// The number of exchanges started so far.
    private var exchanges: UInt32 = 0

    var state = State.preparing {
        didSet {
            guard (state == .sent) != (oldValue == .sent) else { return }
            if state == .sent { loop.eventCoalescer.began() } else { loop.eventCoalescer.ended() }
        }
    }
    /// Whether the server may have processed an earlier attempt: the attempt was sent on a connection, and the server
    /// is not known to have rejected it.
    private var wasSentBefore = false
    /// Whether it is known that the server did not process the current attempt.
    var wasRejectedByLimit = false
    var exchange: (any Exchange)?
    /// The position from which the current response passes up the chain: the stage that replays a stored response, or
    /// the bottom.
    private(set) var entryStage: Int
    /// The source that the response reports.
    private(set) var source = ResponseSource.network
    var head: ResponseHead?
    var content = CollectedBody()
    var timing = Timing()
    /// The content bytes received by the current exchange, before decoding. A coalesced call takes over the number when
    /// its shared exchange ends.
    var receivedBytes = 0
    var sentAt: NIODeadline
    var isPaused = false
    /// Provides a request body that is streamed or read from files. Nil: the body is in memory, or no exchange has
    /// started.
    var feed: BodyFeed?
    /// Whether the body is collected for the response. Otherwise it is delivered as it arrives.
    var collectsBody: Bool
    /// Whether part of the response has been delivered to the caller.
    var responseWasDelivered = false
    /// Whether the total timeout has expired and ``Stage/expired(_:_:)`` of all stages has been called.
    var hasExpired = false

    var options: CallOptions { task.options }
    var isOnConnection: Bool { state == .sent || state == .receiving }
    var isReceiving: Bool { state == .receiving }
    /// Whether an exchange is in progress, or waits for its connection or for a stage below `stage`.
    func isExchanging(below stage: Int) -> Bool {
        suspension.map { $0.stage > stage } ?? (state != .preparing && state != .finished)
    }
    /// Nanoseconds from sending the request to the last progress.
    var delay: Int64 { (limits.lastProgress - sentAt).nanoseconds }
    /// Whether the response in progress comes from the cache.
    var isReplaying: Bool { entryStage < chain.bottom }
    /// Whether this is an internal call of the client.
    var isInner: Bool { completion != nil }
    /// Whether the cookie jar applies to this call. False if the call's options disable cookies, or if the caller sets
    /// the Cookie field.
    private(set) lazy var usesCookies =
        options.usesCookies && (!task.request.ownCookies.isEmpty || !task.request.hasField("Cookie"))

    /// - Parameters:
    ///   - chain: The chain of the call. Nil: the chain in the task's options, or else the client's.
    ///   - above: The call passes only the stages below this position.
    ///   - completion: Receives the result of an internal call.
    init(
        _ task: ClientTask, on loop: ClientLoop, chain: Chain? = nil, below above: Int = -1,
        completion: ((Result<Response, NightjarError>) -> Void)? = nil
    ) {
        self.task = task
        self.loop = loop
        started = loop.clock.now
        self.chain = chain ?? task.options.chain ?? loop.chain
        self.above = above
        self.completion = completion
        entryStage = self.chain.bottom
        request = task.request
        collectsBody = task.handlers.body == nil
        limits = TimeLimits(started: started)
        sentAt = started
    }

    // MARK: Down

    func begin() {
        if task.handlers.progress != nil { progressWatch = ProgressWatch(self) }
        descend(from: above + 1)
    }

    private func descend(from first: Int) {
        // Closing the client ends all calls. The end of one call may resume others, which must not begin. Token
        // requests are an exception.
        guard !loop.isClosing || isInner && branchedFrom == nil else { return }
        state = .preparing
        earlyVerdict = nil
        if let refusal = options.confinement?.refusal(of: request.url) { return ascend(refusal, from: first) }
        for link in chain.outgoing where link.position >= first {
            reachedStage = link.position
            switch link.withStage({ $0.outgoing(self) }) {
            case .proceed: continue
            case let verdict: return perform(verdict, from: link.position)
            }
        }
        attempts += 1
        if attempts > 1 {
            timing = Timing()
            receivedBytes = 0
        }
        entryStage = chain.bottom
        source = .network
        beginExchange {
            loop.transport.begin(request, connectTimeout: options.timeouts.connect, receiver: self)
        }
    }

    private func beginExchange(_ begin: () -> any Exchange) {
        state = .waiting
        exchanges &+= 1
        let number = exchanges
        let didStart = begin()
        // The call may already have ended or started another attempt, or the reader may have fallen behind.
        guard exchanges == number, state == .waiting || isOnConnection else { return didStart.cancel() }
        exchange = didStart
        if isPaused { didStart.pause() }
    }

    /// Delivers a stored response as if it came from a server.
    private func replay(_ stored: any ReplayedExchange, from stage: Int) {
        endAttempt()
        discardResponse()
        receivedBytes = 0
        entryStage = stage
        source = stored.source
        beginExchange {
            stored.begin(for: self)
            return stored
        }
    }

    func perform(_ verdict: Verdict, from stage: Int) {
        switch verdict {
        case .proceed: break
        case .respond(let response): ascend(response, from: stage)
        case .fail(let error): ascend(error, from: stage)
        case .again(let delay): startOver(at: stage, after: delay)
        case .replay(let stored): replay(stored, from: stage)
        case .wait:
            endAttempt()
            suspension = (stage, suspension?.responding, suspension?.failing)
            if let verdict = earlyVerdict.take() { resume(verdict) }
        }
    }

    /// Resumes the call with the verdict of the waiting stage. ``Verdict/proceed`` passes the request, response or
    /// error to the next stage. The verdict may arrive before the stage has returned `wait`.
    func resume(_ verdict: Verdict) {
        guard let suspended = suspension else {
            if state != .finished { earlyVerdict = verdict }
            return
        }
        suspension = nil
        guard case .proceed = verdict else { return perform(verdict, from: suspended.stage) }
        if let response = suspended.responding {
            ascend(response, from: suspended.stage)
        } else if let error = suspended.failing {
            ascend(error, from: suspended.stage)
        } else {
            descend(from: suspended.stage + 1)
        }
    }

    /// Carries out a verdict at once. Ends the current attempt and any wait for a stage or a decision.
    func interrupt(with verdict: Verdict, from stage: Int) {
        endAttempt()
        suspension = nil
        pendingDecision = nil
        perform(verdict, from: stage)
    }

    private func startOver(at stage: Int, after delay: Duration) {
        endAttempt()
        discardResponse()
        if delay <= .zero { return descend(from: stage) }
        let attempt = attempts
        loop.after(delay) { [weak self] in
            guard let self, state == .preparing, attempts == attempt else { return }
            descend(from: stage)
        }
    }

    /// Discards the response of the ended exchange.
    private func discardResponse() {
        head = nil
        content.discard(countedBy: task.reservation)
        collectsBody = task.handlers.body == nil
        decoding = nil
    }

    /// Ends the current attempt because another attempt, a stored response or a wait follows.
    private func endAttempt() {
        let wasOnConnection = isOnConnection
        if wasOnConnection, !wasRejectedByLimit { wasSentBefore = true }
        wasRejectedByLimit = false
        dropExchange()
        state = .preparing
        guard wasOnConnection else { return }
        for link in chain.abandoned where link.position > above { link.withStage { $0.abandoned(self) } }
    }

    private func dropExchange() {
        exchange?.cancel()
        exchange = nil
        isPaused = false
        feed?.attemptEnded()
    }

    // MARK: Up

    func ascend(_ response: Response, from below: Int) {
        earlyVerdict = nil
        for link in chain.responded where link.position < below && link.position > above {
            switch link.withStage({ $0.responded(response, self) }) {
            case .proceed: continue
            case .wait:
                suspension = (link.position, response, nil)
                return perform(.wait, from: link.position)
            case let verdict: return perform(verdict, from: link.position)
            }
        }
        finish(.success(response))
    }

    func ascend(_ error: NightjarError, from below: Int) {
        earlyVerdict = nil
        for link in chain.failed where link.position < below && link.position > above {
            switch link.withStage({ $0.failed(error, self) }) {
            case .proceed: continue
            case .wait:
                suspension = (link.position, nil, error)
                return perform(.wait, from: link.position)
            case let verdict: return perform(verdict, from: link.position)
            }
        }
        finish(.failure(error))
    }

    func cancel() {
        finish(
            .failure(
                NightjarError(.cancelled, "the call was cancelled", requestMayHaveBeenProcessed: isOnConnection)))
    }

    func finish(_ result: Result<Response, NightjarError>) {
        guard state != .finished else { return }
        if let progressWatch = progressWatch.take(), case .success = result { progressWatch.finish() }
        dropExchange()
        state = .finished
        suspension = nil
        pendingDecision = nil
        earlyVerdict = nil
        let finalResult = explained(result)
        for link in chain.ended where link.position > above { link.withStage { $0.ended(finalResult, self) } }
        reportEnd(finalResult)
        loop.forget(self)
        branchedFrom = nil
        waiters = nil
        sharedDecisions = []
        task.call = nil
        task.markFinished()
        if let completion { return completion(finalResult) }
        loop.noteWrite(task, finalResult)
        if let call = refreshes.take(), call.state != .finished {
            let (loop, task) = (loop, task)
            call.postRefreshCompletion = { loop.post(.finished(task, finalResult), to: task.queue) }
            return
        }
        if case .failure = finalResult { task.isRefreshing = false }
        loop.post(.finished(task, finalResult), to: task.queue)
        postRefreshCompletion.take()?()
    }

    private func explained(_ result: Result<Response, NightjarError>) -> Result<Response, NightjarError> {
        switch result {
        case .success(let response):
            let known = completed.map { $0.response === response ? $0.decisions : 0 } ?? 0
            completed = nil
            guard known < decisions.count else { return result }
            return .success(response.explained(response.decisions + decisions[known...]))
        case .failure(var error):
            error = error.of(request, attempts: attempts, on: timing.connection).after(failures, decisions)
            return .failure(wasSentBefore ? error.mayHaveBeenProcessed : error)
        }
    }

    // MARK: Explaining

    /// Records a decision and its reason.
    func decide(_ what: Decision.Kind) {
        decisions.append(
            Decision(what, attempt: attempts, moment: .nanoseconds((loop.clock.now - started).nanoseconds)))
    }

    /// Records a decision unless the call has it already, as when a request is repeated on a new connection.
    func decideOnce(_ what: Decision.Kind) {
        if !decisions.contains(where: { $0.what == what }) { decide(what) }
    }

    /// Writes a log line about this call.
    func note(_ level: LogSink.Level, _ message: String) {
        loop.note(level, message)
    }
}
