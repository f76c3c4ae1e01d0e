import NIOCore
import NightjarHTTP
import Synchronization

/// Carries out the actions of a ``PageWalk``: loads pages, waits if the server requests it, and delivers results.
///
/// Members other than `submit` and the members for any thread are used on the client's loop only.
final class PageWalker: @unchecked Sendable {
    private let client: Client
    private let loop: ClientLoop
    private let request: Request
    private let timeout: Duration?
    /// Sends the requests of pages in place of the client, or nil.
    private let sender: (any RequestSender)?
    /// The position after the last page returned, and how the list was detected. Any thread.
    private let told: Mutex<Told>

    private struct Told: Sendable {
        var position: SavedPosition
        var explanation = ""
        var walk = 0
    }

    // Used on the loop:
    private var walk: PageWalk
    private var asks: [PageAsk] = []
    /// Cancels the load in flight.
    private var giveUp: (@Sendable () -> Void)?
    /// The queue for the client's callbacks during loads (hooks, token providers); nil: the loop.
    private var callbacks: CompletionQueue?
    /// The number of the load or wait in flight. Results of earlier ones are ignored.
    private var generation = 0
    private var deadline: NIODeadline?
    private var isOverdue = false
    /// The number of walks started so far. Timeouts and pending results belong to one walk.
    private var walks = 0
    /// How long the page in flight has been delayed because the server requested it.
    private var waited = Duration.zero
    /// Why the caller's last decision could not be carried out.
    private var decisionError: NightjarError?

    init(
        _ client: Client, _ request: Request, _ options: Pagination, resuming state: String?, timeout: Duration?,
        sender: (any RequestSender)?
    ) throws(NightjarError) {
        guard request.body.isReplayable else {
            throw NightjarError(
                .invalidRequest,
                "a list's request body is sent with each page, so it must be replayable; streamed bodies are not")
        }
        var request = request
        request.resolved = nil
        walk = try PageWalk(options, first: client.url(of: request), method: request.method, resuming: state)
        request.parameters = []
        request.query = []
        self.client = client
        self.request = request
        self.timeout = timeout
        self.sender = sender
        loop = client.loop
        told = Mutex(Told(position: walk.position))
    }

    // MARK: Any thread

    var state: String { told.withLock { $0.position }.state }
    var explanation: String { told.withLock { $0.explanation } }

    @discardableResult
    func submit(_ body: @escaping @Sendable (PageWalker) -> Void) -> Bool {
        loop.submit(.run { body(self) })
    }

    /// - Throws: `forked`; `closed` if the queue is closed. The request is then never completed.
    func begin(_ ask: PageAsk) throws(NightjarError) {
        guard !Fork.hasHappened(since: client.birth) else { throw Client.forked }
        if let queue = ask.queue, !queue.register(ask) { throw NightjarError(.closed, "the queue is closed") }
        if !submit({ $0.want(ask) }) { ask.answer(.failure(PageWalker.closed)) }
    }

    // MARK: On the loop

    private func want(_ ask: PageAsk) {
        guard !ask.isCancelled else { return ask.answer(.failure(PageWalker.cancelled)) }
        if let error = decisionError {
            decisionError = nil
            return ask.answer(.failure(error))
        }
        guard !isOverdue else { return ask.answer(.failure(overdue)) }
        guard !loop.isClosing else { return ask.answer(.failure(PageWalker.closed)) }
        watch()
        asks.append(ask)
        carryOut(walk.wantsPage())
    }

    func deliverCallbacks(on queue: CompletionQueue?) { callbacks = queue }

    func withdraw(_ ask: PageAsk) {
        guard let place = asks.firstIndex(where: { $0 === ask }) else { return }
        asks.remove(at: place)
        carryOut(walk.withdraw())
        ask.answer(.failure(PageWalker.cancelled))
    }

    /// Ends the load in flight. All waiting requests fail. The position is kept.
    func cancel(_ error: NightjarError = PageWalker.cancelled) {
        let waiting = asks
        asks = []
        for _ in waiting { carryOut(walk.withdraw()) }
        if waiting.isEmpty { carryOut(walk.withdraw()) }
        for ask in waiting { ask.answer(.failure(error)) }
    }

    func goOn(_ next: NextPage) {
        do throws(NightjarError) {
            let actions = try walk.goOn(next)
            decisionError = nil
            let position = walk.position
            told.withLock { $0.position = position }
            carryOut(actions)
        } catch {
            decisionError = error
        }
    }

    func refresh() {
        decisionError = nil
        let actions = walk.refresh()
        arrived = [:]
        walks += 1
        (deadline, isOverdue) = (nil, false)
        if !asks.isEmpty { watch() }
        let (position, number) = (walk.position, walks)
        told.withLock { $0 = Told(position: position, walk: number) }
        carryOut(actions)
    }

    private func carryOut(_ actions: [PageWalk.Action]) {
        for action in actions {
            switch action {
            case .load(let target):
                waited = .zero
                begin(target)
            case .cancelLoad: endLoad()
            case .give(let page):
                guard let response = arrived.removeValue(forKey: page.number) else { continue }
                let position = page.position(consumed: .max)
                let number = walks
                next()?.answer(.success(Page(response, page))) { [self] in tell(position, of: number) }
            case .end:
                let position = walk.position
                let number = walks
                next()?.answer(.success(nil)) { [self] in tell(position, of: number) }
            case .fail(let error): next()?.answer(.failure(error))
            }
        }
    }

    /// Runs where pages are given, possibly behind a refresh.
    private func tell(_ position: SavedPosition, of number: Int) {
        told.withLock { if $0.walk == number { $0.position = position } }
    }

    private func next() -> PageAsk? { asks.isEmpty ? nil : asks.removeFirst() }

    /// Responses of pages that are still to be returned, by page number.
    private var arrived: [Int: Response] = [:]

    // MARK: Loading

    private func begin(_ target: PageTarget) {
        generation += 1
        let current = generation
        do throws(NightjarError) {
            let sent = try request(for: target)
            let queue = callbacks
            if let sender {
                giveUp = sender.send(sent) { [weak self] result in
                    self?.submit { $0.loaded(result, of: target, current) }
                }
            } else {
                let task = try client.start(
                    sent.request, on: queue,
                    TaskHandlers { [weak self] _, result in
                        guard queue != nil else { return self?.loaded(result, of: target, current) ?? () }
                        self?.submit { $0.loaded(result, of: target, current) }
                    })
                giveUp = { task.cancel() }
            }
            // After the loop has ended, nothing can be submitted to it.
            if queue != nil || sender != nil {
                loop.tellOfClose(self) { [weak self] in self?.cancel(PageWalker.closed) }
            }
        } catch {
            // Not inside the function that started the load.
            guard !submit({ $0.loaded(.failure(error), of: target, current) }), !loop.isClosing else { return }
            // The client is closing, but the loop has not handled that yet.
            loop.tellOfClose(self) { [weak self] in self?.cancel(PageWalker.closed) }
        }
    }

    private func loaded(_ result: Result<Response, NightjarError>, of target: PageTarget, _ number: Int) {
        guard number == generation else { return }
        giveUp = nil
        loop.stopTelling(self)
        switch result {
        case .success(let response):
            waited = .zero
            guard let place = walk.numberInFlight else { return }
            arrived[place] = response
            let actions = walk.answered(
                response.headers, status: response.status, body: response.body, at: response.location)
            let explanation = walk.explanation
            told.withLock { $0.explanation = explanation }
            carryOut(actions)
            if !walk.holds(place) { arrived[place] = nil }
            // Pages for other waiters are no longer loaded.
            if loop.isClosing { cancel(PageWalker.closed) }
        case .failure(let error):
            guard !loop.isClosing else { return cancel(error) }
            if let pause = pause(after: error) { return wait(pause, for: target) }
            carryOut(walk.failed(error))
        }
    }

    private func endLoad() {
        generation += 1
        giveUp?()
        giveUp = nil
        loop.stopTelling(self)
    }

    private func request(for target: PageTarget) throws(NightjarError) -> SentRequest {
        var sent = SentRequest(request)
        sent.request.resolved = target.url
        if let name = target.headerName {
            try sent.request.headers.set(name, target.headerValue)
            try sent.ownFields.set(name, target.headerValue)
        }
        guard !target.carriesCredentials else { return sent }
        guard case .none = request.body else {
            throw NightjarError(
                .invalidRequest,
                "the next page has another origin, and request bodies are not sent there because they could contain "
                    + "credentials")
        }
        client.removeCredentials(from: &sent.request)
        sent.carriesCredentials = false
        return sent
    }

    // MARK: Waiting

    /// How long to wait if the server requests it, beyond the client's own retries.
    private func pause(after error: NightjarError) -> Duration? {
        guard request.respectsRetryAfter ?? client.respectsRetryAfter,
            error.kind == .rateLimited || error.status == 503, let asked = error.retryAfter
        else { return nil }
        let pause = max(asked, PageWalker.shortestPause)
        if let deadline {
            return NIODeadline.now() + .nanoseconds(pause.nanosecondsClamped) < deadline ? pause : nil
        }
        return waited + pause <= PageWalker.longestWait ? pause : nil
    }

    private func wait(_ pause: Duration, for target: PageTarget) {
        generation += 1
        let current = generation
        waited += pause
        loop.tellOfClose(self) { [weak self] in self?.cancel(PageWalker.closed) }
        loop.after(pause) { [weak self] in
            guard let self, current == generation else { return }
            loop.stopTelling(self)
            begin(target)
        }
    }

    /// The timeout of the whole list runs from the first requested page.
    private func watch() {
        guard deadline == nil, let timeout else { return }
        deadline = .now() + .nanoseconds(timeout.nanosecondsClamped)
        let number = walks
        loop.after(timeout) { [weak self] in
            guard let self, number == walks else { return }
            isOverdue = true
            cancel(overdue)
        }
    }

    private var overdue: NightjarError {
        NightjarError(
            .timeout, "the list was not read completely within \(timeout ?? .zero); resume it with its state",
            phase: .total)
    }

    static let cancelled = NightjarError(.cancelled, "the list was cancelled")
    private static let closed = NightjarError(.closed, "the client is closed")
    /// Prevents a tight loop if a server returns Retry-After: 0 repeatedly.
    private static let shortestPause = Duration.milliseconds(100)
    /// The limit without a timeout. Quotas are renewed each minute, hour or day; a longer wait is reported as an error.
    private static let longestWait = Duration.seconds(3600)
}
