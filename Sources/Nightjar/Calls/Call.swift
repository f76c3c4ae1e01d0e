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
/// Carries out the stages' verdicts and decides nothing itself. Ends exactly once.
///
/// The client also makes internal calls: a token refresh, which uses a chain of its own, and an exchange that several
/// calls share, which begins below the stage that coalesced them.
final class Call: ExchangeReceiver, @unchecked Sendable {
    private enum State {
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
    /// The position of the stage above the first stage that this call passes. -1: the call passes all stages.
    private let above: Int
    /// Receives the result of an internal call. Nil for a caller's call, whose queue receives the result.
    private let completion: ((Result<Response, NightjarError>) -> Void)?
    let started: NIODeadline
    /// The request to send. Stages may change it.
    var request: PreparedRequest
    var limits: TimeLimits
    private(set) var attempts = 0
    /// Nil for a body that is not decoded.
    var decoding: BodyDecoding?
    /// The states that the stages keep for this call.
    var states = CallStates()
    /// The redirects so far, in order.
    var redirects: [RedirectPolicy.VisitedURL] = []
    /// The errors of the attempts that were followed by another attempt.
    var failures: [NightjarError] = []
    /// The cache partition of the login whose token the request carries. Nil if it carries none, or if the token has no
    /// partition.
    var loginPartition: CachePartition?
    /// Nil if the caller does not observe progress.
    private var progressWatch: ProgressWatch?
    /// The exchange whose response this call waits for together with other calls, or nil.
    var sharedExchange: Call?
    /// The call that this exchange was started for, while that call lasts.
    private(set) var branchedFrom: Call?
    /// The call whose cache entry this call revalidates. Set while this call runs and its caller has a `refreshed`
    /// callback.
    var refreshes: Call?
    /// Posts the completion of the background call after the completion of this call.
    private var afterwards: (() -> Void)?
    /// The calls that wait for this shared exchange.
    var waiters: (() -> [Call])?
    /// Whether a redirect has led to another origin. Credentials are then never sent again, not even to the first
    /// origin.
    var credentialsAreDropped = false
    /// The decisions so far, which explain the course of the call.
    private(set) var decisions: [Decision] = []
    /// The response of the last exchange, and how many decisions it already contains.
    private var completed: (response: Response, decisions: Int)?
    /// The stage that the call waits for, and the response or error on its way through it. Nil if no stage is waiting.
    private var suspension: (stage: Int, responding: Response?, failing: NightjarError?)?
    /// The decision that the call waits for from its caller, or nil.
    private var pendingDecision: DecisionRequest?
    /// The position of the stage that is running.
    private(set) var reachedStage = -1
    /// A verdict that arrived before its stage returned `wait`.
    private var early: Verdict?
    /// The index of this call in the loop's list.
    var place = 0
    /// The number of exchanges started so far.
    private var exchanges: UInt32 = 0

    private var state = State.preparing {
        didSet {
            guard (state == .sent) != (oldValue == .sent) else { return }
            if state == .sent { loop.eventCoalescer.began() } else { loop.eventCoalescer.ended() }
        }
    }
    /// Whether an earlier attempt was sent on a connection. The server may then have processed the request, even if
    /// this attempt fails.
    private var wasSentBefore = false
    /// Whether it is known that the server did not process the current attempt.
    var wasRejectedByLimit = false
    private var exchange: (any Exchange)?
    /// The position where the current exchange begins: that of the stage that replays a stored response, or the bottom.
    private var entryStage: Int
    /// The source that the response reports.
    private var source = ResponseSource.network
    private var head: ResponseHead?
    private var content = ByteBuffer()
    private(set) var timing = Timing()
    /// The content bytes received by the current exchange, before decoding. A coalesced call takes over the number of
    /// its shared exchange when it ends.
    var receivedBytes = 0
    private var sentAt: NIODeadline
    private var isPaused = false
    /// Nil if the request body is complete in memory.
    private(set) var feed: BodyFeed?
    /// Whether the body is collected for the response. Otherwise it is delivered as it arrives.
    var collectsBody: Bool
    /// Whether part of the response has been delivered to the caller.
    private(set) var responseWasDelivered = false
    /// Whether the total timeout has expired and the stages have been asked for a response instead.
    private var hasExpired = false

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
    /// The queue for callbacks of the program that this call needs, or nil for the loop. For a shared exchange, the
    /// queue of its first waiting call.
    var eventQueue: CompletionQueue? { (waiters?().first ?? self).task.queue }
    /// The queues of all calls that wait for this one.
    var eventQueues: [CompletionQueue?] { waiters.map { $0().map(\.task.queue) } ?? [task.queue] }

    /// - Parameters:
    ///   - chain: The chain, or nil for the chain in the task's options, or else the client's.
    ///   - above: The position of the stage above the first stage that this call passes.
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
        // Closing the client ends all calls. The end of one call may resume others, which must not begin.
        guard !loop.isClosing || isInner && branchedFrom == nil else { return }
        state = .preparing
        early = nil
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
        // Discards what a failed exchange has received.
        head = nil
        dropContent()
        collectsBody = task.handlers.body == nil
        decoding = nil
        receivedBytes = 0
        entryStage = stage
        source = stored.source
        beginExchange {
            stored.begin(for: self)
            return stored
        }
    }

    private func perform(_ verdict: Verdict, from stage: Int) {
        switch verdict {
        case .proceed: break
        case .respond(let response): ascend(response, from: stage)
        case .fail(let error): ascend(error, from: stage)
        case .again(let delay): startOver(at: stage, after: delay)
        case .replay(let stored): replay(stored, from: stage)
        case .wait:
            endAttempt()
            suspension = (stage, suspension?.responding, suspension?.failing)
            if let verdict = early.take() { resume(verdict) }
        }
    }

    /// Resumes the call with the verdict of the waiting stage. ``Verdict/proceed`` passes on what was on its way
    /// through the stage. The verdict may arrive before the stage has returned `wait`.
    func resume(_ verdict: Verdict) {
        guard let suspended = suspension else {
            if state != .finished { early = verdict }
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

    private func startOver(at stage: Int, after delay: Duration) {
        endAttempt()
        head = nil
        dropContent()
        collectsBody = task.handlers.body == nil
        decoding = nil
        if delay <= .zero { return descend(from: stage) }
        let attempt = attempts
        loop.after(delay) { [weak self] in
            guard let self, state == .preparing, attempts == attempt else { return }
            descend(from: stage)
        }
    }

    /// Ends the current attempt because another attempt or a wait follows.
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

    private func ascend(_ response: Response, from below: Int) {
        early = nil
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

    private func ascend(_ error: NightjarError, from below: Int) {
        early = nil
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

    /// Creates an internal call that performs the rest of this call, from below the current stage. It has no total
    /// timeout; the calls that wait for it end it. The caller must begin it.
    func branch(completion: @escaping (Result<Response, NightjarError>) -> Void) -> Call {
        let task = ClientTask(
            request, options.ofSharedExchange, handlers: TaskHandlers { _, _ in }, queue: nil, client: loop,
            hold: task.hold)
        let call = Call(task, on: loop, chain: chain, below: reachedStage, completion: completion)
        call.branchedFrom = self
        call.limits.idle = limits.idle
        loop.take(call)
        return call
    }

    func finish(_ result: Result<Response, NightjarError>) {
        guard state != .finished else { return }
        if let progressWatch = progressWatch.take(), case .success = result { progressWatch.finish() }
        dropExchange()
        state = .finished
        suspension = nil
        pendingDecision = nil
        early = nil
        let finalResult = explained(result)
        for link in chain.ended where link.position > above { link.withStage { $0.ended(finalResult, self) } }
        loop.forget(self)
        branchedFrom = nil
        waiters = nil
        task.call = nil
        task.markFinished()
        if let completion { return completion(finalResult) }
        if let call = refreshes.take(), call.state != .finished {
            let (loop, task) = (loop, task)
            call.afterwards = { loop.post(.finished(task, finalResult), to: task.queue) }
            return
        }
        if case .failure = finalResult { task.isRefreshing = false }
        loop.post(.finished(task, finalResult), to: task.queue)
        afterwards.take()?()
    }

    private func explained(_ result: Result<Response, NightjarError>) -> Result<Response, NightjarError> {
        switch result {
        case .success(let response):
            let known = completed.map { $0.response === response ? $0.decisions : 0 } ?? 0
            completed = nil
            guard known < decisions.count else { return result }
            return .success(response.explained(response.decisions + decisions[known...]))
        case .failure(var error):
            error = error.of(request, attempts: attempts).after(failures, decisions)
            return .failure(wasSentBefore ? error.mayHaveBeenProcessed : error)
        }
    }

    /// Records a decision and its reason.
    func decide(_ what: Decision.Kind) {
        decisions.append(
            Decision(what, attempt: attempts, moment: .nanoseconds((loop.clock.now - started).nanoseconds)))
    }

    // MARK: Events of the caller

    func cancel() {
        finish(
            .failure(
                NightjarError(.cancelled, "the call was cancelled", requestMayHaveBeenProcessed: isOnConnection)))
    }

    func resume() {
        guard isPaused else { return }
        isPaused = false
        limits.progressed(loop.clock.now)
        watchLimits()
        if let decoding { decode(decoding) }
        if !isPaused { exchange?.resume() }
    }

    /// Sends a part of the request body.
    func forward(_ part: BodyPart) {
        limits.progressed(loop.clock.now)
        watchLimits()
        switch part {
        case .bytes(let bytes): exchange?.send(bytes)
        case .end: exchange?.endBody()
        case .later: break
        case .failed(let message): sendingFailed(NightjarError(.invalidRequest, message, phase: .send))
        }
    }

    /// The request body cannot be completed. The server may act on the part that it has received.
    func sendingFailed(_ error: NightjarError) { ascend(error.mayHaveBeenProcessed, from: entryStage) }

    /// Adapts a response that was collected before it was known which call receives it. Adds the call's redirects and
    /// streams the body if the caller requested a streamed body, unless the response becomes an error.
    func settle(_ collected: Response) -> Response {
        let response = collected.after(redirects)
        guard task.handlers.body != nil, options.expectedStatuses.expects(response.status) else {
            return response
        }
        responseWasDelivered = true
        if task.handlers.head != nil { loop.post(.head(task, response.head), to: task.queue) }
        if response.body.readableBytes > 0 {
            _ = task.holdsBack(afterAdding: response.body.readableBytes)
            loop.post(.body(task, response.body), to: task.queue)
        }
        return response.withoutBody
    }

    // MARK: Timeouts

    /// Whether the server has to act next, rather than the caller, the pool or a limit.
    private var waitsForPeer: Bool { isOnConnection && !isPaused && feed?.isAwaited != true }

    func watchLimits() {
        if let next = limits.next(waitsForPeer: waitsForPeer) { loop.watch(until: next) }
    }

    /// Ends the call or its current attempt when a timeout has expired.
    ///
    /// - Returns: The time of the next check. Nil if no timeout is running or the call has ended.
    func checkLimits(_ now: NIODeadline) -> NIODeadline? {
        switch limits.check(now: now, waitsForPeer: waitsForPeer, unsentBytes: exchange?.unsentBytes ?? 0) {
        case .running(let next): return next
        case .totalExpired: return expire(now)
        case .idleExpired:
            ascend(timeoutError(.idle), from: entryStage)
            // If the attempt is retried, the call and its total timeout continue.
            return state == .finished ? nil : limits.next(waitsForPeer: waitsForPeer)
        }
    }

    /// The total timeout has expired. A stage may respond with a stored response, and gets a second to deliver it.
    private func expire(_ now: NIODeadline) -> NIODeadline? {
        let error = timeoutError(.total)
        if !hasExpired, !responseWasDelivered {
            hasExpired = true
            var response: (verdict: Verdict, stage: Int)?
            for link in chain.expired where link.position > above {
                reachedStage = link.position
                let verdict = link.withStage { $0.expired(error, self) }
                if response == nil, !verdict.isProceed { response = (verdict, link.position) }
            }
            if let (verdict, stage) = response {
                limits.total = now + Call.momentAfterExpiry
                endAttempt()
                suspension = nil
                pendingDecision = nil
                perform(verdict, from: stage)
                return state == .finished ? nil : limits.total
            }
        }
        finish(.failure(error))
        return nil
    }

    /// Continues separately from the state of the exchange that this call has shared.
    func adopt(_ exchange: Call) {
        request = exchange.request
        redirects = exchange.redirects
        credentialsAreDropped = exchange.credentialsAreDropped
        attempts = exchange.attempts
    }

    private func timeoutError(_ phase: ErrorPhase) -> NightjarError {
        let limit = phase == .idle ? options.timeouts.idle : options.timeouts.total
        let seconds = limit.map { "\(Double($0.nanosecondsClamped / 1_000_000) / 1000) s" } ?? "the limit"
        let awaited = isReceiving ? "the rest of the response" : "a response"
        let message =
            phase == .idle
            ? "no data was transferred for \(seconds) while waiting for \(awaited); raise timeout.idle, or set it to 0"
            : "no complete response within \(seconds); raise timeout.total, or set it to 0"
        return NightjarError(.timeout, message, phase: phase, requestMayHaveBeenProcessed: isOnConnection)
    }

    /// The time to deliver a response from disk after the total timeout.
    private static let momentAfterExpiry = TimeAmount.seconds(1)

    // MARK: ExchangeReceiver

    func exchangeStarted(on connection: ConnectionRecord?, isReused: Bool) {
        state = .sent
        if request.body.isStreamedFromCaller, feed == nil { feed = BodyFeed(self) }
        feed?.attemptStarted()
        sentAt = loop.clock.now
        limits.attemptStarted(sentAt)
        timing.sent = elapsed(until: sentAt)
        timing.reusedConnection = isReused
        timing.connection = connection
        watchLimits()
    }

    func exchangeProgressed() {
        limits.progressed(loop.clock.now)
    }

    func exchangeReceived(informational: ResponseHead) {}

    func exchangeReceived(head received: consuming ResponseHead) {
        var head = received
        state = .receiving
        progressWatch?.note(sent: exchange?.sentBytes ?? 0)
        timing.firstByte = elapsed(until: limits.lastProgress)
        for link in chain.incoming where link.position > above && link.position < entryStage {
            switch link.withStage({ $0.incoming(&head, self) }) {
            case .proceed: continue
            case let verdict: return perform(verdict, from: link.position)
            }
        }
        if collectsBody {
            do throws(NightjarError) {
                try reserve(head)
            } catch {
                return ascend(error.mayHaveBeenProcessed, from: entryStage)
            }
        } else if task.handlers.head != nil {
            responseWasDelivered = true
            loop.post(.head(task, head), to: task.queue)
        }
        self.head = head
    }

    func exchangeReceived(body: ByteBuffer) {
        receivedBytes &+= body.readableBytes
        guard let decoding else { return take(body) }
        do throws(NightjarError) {
            try decoding.append(body)
        } catch {
            return ascend(error.mayHaveBeenProcessed, from: entryStage)
        }
        decode(decoding)
    }

    /// Decodes the received input until it is consumed or the reader falls behind.
    private func decode(_ decoding: BodyDecoding) {
        do throws(NightjarError) {
            while state == .receiving, !isPaused {
                if let part = try decoding.next() {
                    take(part)
                    continue
                }
                guard let trailers = decoding.trailers else { return }
                try decoding.finish()
                return complete(trailers)
            }
        } catch {
            ascend(error.mayHaveBeenProcessed, from: entryStage)
        }
    }

    /// Handles decoded content.
    private func take(_ body: ByteBuffer) {
        guard state == .receiving else { return }
        guard collectsBody else { return stream(body) }
        guard content.readableBytes + body.readableBytes <= options.maximumBody else {
            return ascend(.tooLarge(options.maximumBody), from: entryStage)
        }
        if let hold = task.hold, !hold.add(body.readableBytes) { return ascend(.noRoom, from: entryStage) }
        do throws(NightjarError) {
            try content.append(body, for: Call.contentPurpose)
        } catch {
            task.hold?.remove(body.readableBytes)
            ascend(error.mayHaveBeenProcessed, from: entryStage)
        }
    }

    private func dropContent() {
        task.hold?.remove(content.readableBytes)
        content = ByteBuffer()
    }

    private func stream(_ body: ByteBuffer) {
        responseWasDelivered = true
        for link in chain.streamed where link.position > above { link.withStage { $0.streamed(body, self) } }
        loop.post(.body(task, body), to: task.queue)
        if task.holdsBack(afterAdding: body.readableBytes) {
            isPaused = true
            exchange?.pause()
        }
    }

    func exchangeFinished(trailers: Headers) {
        progressWatch?.note(sent: exchange?.sentBytes ?? 0)
        exchange = nil
        feed?.attemptEnded()
        guard let decoding else { return complete(trailers) }
        decoding.trailers = trailers
        decode(decoding)
    }

    private func complete(_ trailers: Headers) {
        guard let head = head.take() else { return }
        timing.total = elapsed(until: limits.lastProgress)
        var body = ByteBuffer()
        swap(&body, &content)  // Leaves the response as the only owner, so that appending a NUL needs no copy.
        let response = Response(
            head: head, body: consume body, trailers: trailers, url: request.url, attempts: attempts, timing: timing,
            source: source, redirects: redirects, decisions: decisions, sent: request, hold: task.hold)
        completed = (response, decisions.count)
        ascend(response, from: entryStage)
    }

    func exchangeFailed(_ error: NightjarError) {
        exchange = nil
        feed?.attemptEnded()
        // The stage that replays a stored response is asked too, because it can send a request instead.
        ascend(error, from: entryStage + 1)
    }

    func exchangeNeedsBody(maximum: Int) { feed?.requestPart(maximum) }

    // MARK: State

    /// The progress of the current attempt.
    var progress: TransferProgress {
        var progress = TransferProgress()
        switch request.framing {
        case .absent: progress.sentTotal = 0
        case .length(let length): progress.sentTotal = length
        case .chunked: break
        }
        if let exchange, isOnConnection { progress.sent = max(exchange.sentBytes - exchange.unsentBytes, 0) }
        if let total = progress.sentTotal { progress.sent = min(progress.sent, total) }
        progress.received = receivedBytes
        if request.method != .head { progress.receivedTotal = head?.contentLength }
        return progress
    }

    /// Whether another attempt can send the same body.
    var bodyIsReplayable: Bool { request.body.isReplayable || feed?.canRestart ?? true }

    /// Whether the cookie jar applies to this call. It does not if the caller sets the Cookie field.
    private(set) lazy var usesCookies =
        options.usesCookies && (!task.request.ownCookies.isEmpty || !task.request.hasField("Cookie"))

    /// Posts a decision request to the caller. The current stage continues with the verdict of `request`.
    func request(_ request: DecisionRequest) -> Verdict {
        pendingDecision = request
        loop.post(.decision(task, request), to: task.queue)
        return .wait
    }

    /// Continues with the caller's decision. A decision that the call does not wait for is ignored.
    func decided(_ decision: any Sendable) {
        guard let request = pendingDecision, let verdict = request.verdict(for: decision, self) else { return }
        pendingDecision = nil
        resume(verdict)
    }

    /// Writes a log line about this call.
    func note(_ level: LogLevel, _ message: String) {
        loop.note(level, message)
    }

    /// Reserves memory for the announced body and a trailing NUL. At most 1 MiB is reserved, so a wrong length wastes
    /// little.
    private func reserve(_ head: ResponseHead) throws(NightjarError) {
        guard let announced = head.contentLength, announced > 0 else { return }
        let size = min(announced, options.maximumBody, Call.largestReserve) + 1
        content = loop.bodyBuffers.take(size)
        try content.reserve(size, for: Call.contentPurpose)
    }

    private func elapsed(until moment: NIODeadline) -> Duration {
        .nanoseconds((moment - started).nanoseconds)
    }

    /// The maximum number of bytes reserved before content arrives.
    private static let largestReserve = 1 << 20
    private static let contentPurpose = "the response's body"
}
