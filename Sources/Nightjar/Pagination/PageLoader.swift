import NIOCore
import NightjarAPI
import NightjarHTTP
import Synchronization

/// Carries out the actions of a ``PageTraversal``: loads pages, waits if the server requests it, and delivers results.
///
/// Members are used on the client's loop only, except those marked "Any thread".
final class PageLoader: @unchecked Sendable {
    private let client: Client
    private let loop: ClientLoop
    private let request: Request
    /// See ``Pagination/bodyParameter``.
    private let bodyParameter: JSONPointer?
    private let timeout: Duration?
    /// Sends the requests instead of the client; nil: the client sends them.
    private let sender: (any RequestSender)?
    /// The position after the last page returned, and how the pagination was detected. Any thread.
    private let snapshot: Mutex<Snapshot>

    private struct Snapshot: Sendable {
        var position: SavedPosition
        var explanation = ""
        var traversal = 0
    }

    // Used on the loop:
    private var traversal: PageTraversal
    private var waiters: [PageWaiter] = []
    /// Cancels the load in flight.
    private var abandon: (@Sendable () -> Void)?
    /// The queue for the client's callbacks during loads (hooks, token providers); nil: the loop.
    private var callbacks: CompletionQueue?
    /// The number of the load or wait in flight. Results of earlier loads and waits are ignored.
    private var generation = 0
    private var deadline: NIODeadline?
    private var isPastDeadline = false
    /// The number of restarts of the list so far. A timeout or a pending result of an earlier traversal is ignored.
    private var traversals = 0
    /// The total wait that the server has requested for the page in flight.
    private var waited = Duration.zero
    /// The error of the caller's last ``Paginator/setNext(_:)`` that no request for a page has returned yet; nil: none.
    private var decisionError: NightjarError?

    init(
        _ client: Client, _ request: Request, _ options: Pagination, resuming state: String?, timeout: Duration?,
        sender: (any RequestSender)?
    ) throws(NightjarError) {
        guard request.body.isReplayable else {
            throw NightjarError(
                .invalidRequest,
                "the request body of a list is sent again for each page, so it cannot be a stream; send bytes")
        }
        var request = request
        request.resolved = nil
        var content: ByteBuffer?
        if options.bodyParameter != nil {
            guard case .bytes(let bytes) = request.body else {
                throw NightjarError(.invalidArgument, "body_param requires a request with a JSON body")
            }
            content = bytes
        }
        traversal = try PageTraversal(
            options, first: client.url(of: request), method: request.method, body: content, resuming: state)
        bodyParameter = options.bodyParameter
        request.parameters = []
        request.query = []
        self.client = client
        self.request = request
        self.timeout = timeout
        self.sender = sender
        loop = client.loop
        snapshot = Mutex(Snapshot(position: traversal.position))
    }

    // MARK: Any thread

    var state: String { snapshot.withLock { $0.position }.state }
    var explanation: String { snapshot.withLock { $0.explanation } }

    @discardableResult
    func submit(_ body: @escaping @Sendable (PageLoader) -> Void) -> Bool {
        loop.submit(.run { body(self) })
    }

    /// - Throws: `forked`; `closed` if the queue is closed. The waiter is then never completed.
    func begin(_ waiter: PageWaiter) throws(NightjarError) {
        guard !Fork.hasForked(since: client.forkGeneration) else { throw Client.forked }
        if let queue = waiter.queue, !queue.register(waiter) { throw NightjarError(.closed, "the queue is closed") }
        if !loop.acceptsWork || !submit({ $0.enqueue(waiter) }) { waiter.complete(.failure(PageLoader.closed)) }
    }

    // MARK: On the loop

    private func enqueue(_ waiter: PageWaiter) {
        guard !waiter.isCancelled else { return waiter.complete(.failure(PageLoader.cancelled)) }
        if let error = decisionError {
            decisionError = nil
            return waiter.complete(.failure(error))
        }
        guard !isPastDeadline else { return waiter.complete(.failure(deadlineError)) }
        guard !loop.isClosing else { return waiter.complete(.failure(PageLoader.closed)) }
        watch()
        waiters.append(waiter)
        perform(traversal.needsPage())
    }

    func deliverCallbacks(on queue: CompletionQueue?) { callbacks = queue }

    func withdraw(_ waiter: PageWaiter) {
        guard let place = waiters.firstIndex(where: { $0 === waiter }) else { return }
        waiters.remove(at: place)
        perform(traversal.withdraw())
        waiter.complete(.failure(PageLoader.cancelled))
    }

    /// Ends the load in flight. All waiters fail. The position is kept.
    func cancel(_ error: NightjarError = PageLoader.cancelled) {
        let waiting = waiters
        waiters = []
        for _ in waiting { perform(traversal.withdraw()) }
        if waiting.isEmpty { perform(traversal.withdraw()) }
        for waiter in waiting { waiter.complete(.failure(error)) }
    }

    func setNext(_ next: Pagination.NextPage) {
        do throws(NightjarError) {
            let actions = try traversal.setNext(next)
            decisionError = nil
            let position = traversal.position
            snapshot.withLock { $0.position = position }
            perform(actions)
        } catch {
            decisionError = error
        }
    }

    func refresh() {
        decisionError = nil
        let actions = traversal.refresh()
        arrived = [:]
        traversals += 1
        (deadline, isPastDeadline) = (nil, false)
        if !waiters.isEmpty { watch() }
        let (position, number) = (traversal.position, traversals)
        snapshot.withLock { $0 = Snapshot(position: position, traversal: number) }
        perform(actions)
    }

    private func perform(_ actions: [PageTraversal.Action]) {
        for action in actions {
            switch action {
            case .load(let target):
                waited = .zero
                begin(target)
            case .cancelLoad: endLoad()
            case .deliver(let page):
                guard let response = arrived.removeValue(forKey: page.number) else { continue }
                let position = page.position(consumed: .max)
                let number = traversals
                next()?.complete(.success(Page(response, page))) { [self] in notify(position, of: number) }
            case .end:
                let position = traversal.position
                let number = traversals
                next()?.complete(.success(nil)) { [self] in notify(position, of: number) }
            case .fail(let error): next()?.complete(.failure(error))
            }
        }
    }

    /// Records the position of a delivered page, unless the list was restarted. Runs where the page is delivered.
    private func notify(_ position: SavedPosition, of number: Int) {
        snapshot.withLock { if $0.traversal == number { $0.position = position } }
    }

    private func next() -> PageWaiter? { waiters.isEmpty ? nil : waiters.removeFirst() }

    /// Responses whose pages have not been returned yet, by page number.
    private var arrived: [Int: Response] = [:]

    // MARK: Loading

    private func begin(_ target: PageTarget) {
        generation += 1
        let current = generation
        do throws(NightjarError) {
            let sent = try request(for: target)
            let queue = callbacks
            if let sender {
                abandon = sender.send(sent) { [weak self] result in
                    self?.submit { $0.loaded(result, of: target, current) }
                }
            } else {
                let task = try client.start(
                    sent.request, on: queue,
                    TaskHandlers { [weak self] _, result in
                        guard queue != nil else { return self?.loaded(result, of: target, current) ?? () }
                        self?.submit { $0.loaded(result, of: target, current) }
                    })
                abandon = { task.cancel() }
            }
            // After the loop has ended, nothing can be submitted to it.
            if queue != nil || sender != nil {
                loop.addCloseListener(self) { [weak self] in self?.cancel(PageLoader.closed) }
            }
        } catch {
            // Submitted, so that the failure is not handled inside the function that started the load.
            guard !submit({ $0.loaded(.failure(error), of: target, current) }), !loop.isClosing else { return }
            // The client is being closed, but the loop has not handled the close message yet.
            loop.addCloseListener(self) { [weak self] in self?.cancel(PageLoader.closed) }
        }
    }

    private func loaded(_ result: Result<Response, NightjarError>, of target: PageTarget, _ number: Int) {
        guard number == generation else { return }
        abandon = nil
        loop.removeCloseListener(self)
        switch result {
        case .success(let response):
            waited = .zero
            guard let place = traversal.numberInFlight else { return }
            arrived[place] = response
            let actions = traversal.received(
                response.headers, status: response.status, body: response.body, at: response.location)
            let explanation = traversal.explanation
            snapshot.withLock { $0.explanation = explanation }
            perform(actions)
            if !traversal.holds(place) { arrived[place] = nil }
            // A closing client loads no pages for other waiters.
            if loop.isClosing { cancel(PageLoader.closed) }
        case .failure(let error):
            guard !loop.isClosing else { return cancel(error) }
            if let pause = pause(after: error) { return wait(pause, for: target) }
            perform(traversal.failed(error))
        }
    }

    private func endLoad() {
        generation += 1
        abandon?()
        abandon = nil
        loop.removeCloseListener(self)
    }

    private func request(for target: PageTarget) throws(NightjarError) -> SentRequest {
        var sent = SentRequest(request)
        sent.request.resolved = target.url
        if let name = target.headerName {
            try sent.request.headers.set(name, target.headerValue)
            try sent.ownFields.set(name, target.headerValue)
        }
        if let value = target.bodyValue, let bodyParameter, case .bytes(let bytes) = request.body {
            sent.request.body = .bytes(try bodyParameter.setting(value, in: bytes))
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

    /// Returns the wait that the server requested for the page, at least ``shortestPause``, beyond the client's own
    /// retries. Nil if Retry-After is not respected, if the response is not a 429 or 503 with a wait, or if the wait
    /// would be too long.
    private func pause(after error: NightjarError) -> Duration? {
        guard request.respectsRetryAfter ?? client.respectsRetryAfter,
            error.kind == .rateLimited || error.status == 503, let requested = error.retryAfter
        else { return nil }
        let pause = max(requested, PageLoader.shortestPause)
        if let deadline {
            return NIODeadline.now() + .nanoseconds(pause.nanosecondsClamped) < deadline ? pause : nil
        }
        return waited + pause <= PageLoader.longestWait ? pause : nil
    }

    private func wait(_ pause: Duration, for target: PageTarget) {
        generation += 1
        let current = generation
        waited += pause
        loop.addCloseListener(self) { [weak self] in self?.cancel(PageLoader.closed) }
        loop.after(pause) { [weak self] in
            guard let self, current == generation else { return }
            loop.removeCloseListener(self)
            begin(target)
        }
    }

    /// Starts the timeout of the whole list when the first page is requested.
    private func watch() {
        guard deadline == nil, let timeout else { return }
        deadline = .now() + .nanoseconds(timeout.nanosecondsClamped)
        let number = traversals
        loop.after(timeout) { [weak self] in
            guard let self, number == traversals else { return }
            isPastDeadline = true
            cancel(deadlineError)
        }
    }

    private var deadlineError: NightjarError {
        NightjarError(
            .timeout, "the list was not read completely within \(timeout ?? .zero); resume it with its state",
            phase: .total)
    }

    static let cancelled = NightjarError(.cancelled, "the list was cancelled")
    private static let closed = NightjarError(.closed, "the client is closed")
    /// The minimum wait, which prevents a tight loop if a server repeatedly returns Retry-After: 0.
    private static let shortestPause = Duration.milliseconds(100)
    /// The maximum total wait for a page if no timeout is set. A longer wait is reported as an error.
    private static let longestWait = Duration.seconds(3600)
}
