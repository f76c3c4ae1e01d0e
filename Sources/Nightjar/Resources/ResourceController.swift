import NIOCore
import NightjarHTTP
import Synchronization

/// Carries out the actions of a ``ResourceMachine`` on the client's loop: sends requests, sets timers and passes
/// snapshots to observers.
///
/// Each fetch is a call of the client. Without a cache, it shares the exchange of an equal call in flight, unless it must
/// begin after an event. A shared call does not report the revalidation of a stale response.
package final class ResourceController: @unchecked Sendable {
    package typealias Snapshot = ResourceSnapshot<ResourceContent>
    typealias Machine = ResourceMachine<ResourceContent>

    package let client: Client
    let loop: ClientLoop
    let settings: ResourceSettings
    /// The queue of hooks and decisions; nil: the loop.
    let callbacks: CompletionQueue?
    private let sender: (any RequestSender)?
    private let decode: ResourceContent.Decoder?
    private let shared: Mutex<Shared>
    private let lastMutation = Atomic<Int>(0)

    private struct Shared: Sendable {
        var snapshot: Snapshot
        /// The newest request, which the loop may not use yet.
        var request: Request
        /// The URL of ``request``.
        var url: RequestURL
    }

    // Used on the loop:
    private var machine: Machine
    private var request: Request
    /// The URL of ``request``.
    private var url: RequestURL
    /// The request that ``ResourceMachine/Action/useKey`` adopts.
    private var newest: (request: Request, url: RequestURL)?
    /// Closures that cancel the fetches in flight.
    private var fetches: [Int: @Sendable () -> Void] = [:]
    private var observers: [ObjectIdentifier: ResourceObserver] = [:]
    private var loads: [Int: ResourceLoad] = [:]
    private var lastLoad = 0
    private lazy var network = ResourceNetwork(self)
    private lazy var timers = ResourceTimers<Machine.Timer>(loop) { [weak self] timer, number in
        // Another thread may be releasing the last reference.
        guard let self else { return }
        perform(machine.expired(timer, number))
    }
    private var isClosed = false

    /// - Parameters:
    ///   - callbacks: The queue of hooks and decisions; nil: the loop.
    ///   - sender: Sends the requests instead of the client; nil: the client.
    init(
        _ client: Client, _ request: Request, _ settings: ResourceSettings, callbacks: CompletionQueue?,
        sender: (any RequestSender)?, decode: ResourceContent.Decoder?
    ) throws(NightjarError) {
        try client.checkProcess()
        try settings.check()
        url = try ResourceController.check(request, client)
        self.client = client
        self.request = request
        self.settings = settings
        self.callbacks = callbacks
        self.sender = sender
        self.decode = decode
        loop = client.loop
        machine = Machine(settings)
        shared = Mutex(Shared(snapshot: machine.snapshot, request: request, url: url))
        guard submit({ $0.opened() }) else { throw ResourceController.closed }
    }

    private static func check(_ request: Request, _ client: Client) throws(NightjarError) -> RequestURL {
        guard request.method.isSafe, case .none = request.body else {
            throw NightjarError(
                .invalidRequest,
                "a resource is loaded again and again, so its request must be safe and without a body, such as GET; "
                    + "got \(request.method)")
        }
        return try client.url(of: request)
    }

    static let closed = NightjarError(.closed, "the resource or its client is closed")

    // MARK: Any thread

    /// The newest snapshot. In a forked child, where the parent's threads may hold locks, an empty one.
    package var snapshot: Snapshot { isOfParent ? Snapshot() : shared.withLock { $0.snapshot } }

    /// Whether the resource belongs to the parent of this forked process.
    package var isOfParent: Bool { client.isOfParent }

    /// - Throws: `forked`.
    package func checkProcess() throws(NightjarError) { try client.checkProcess() }

    /// The URL of the newest request.
    var newestURL: RequestURL { shared.withLock { $0.url } }

    @discardableResult
    func submit(_ body: @escaping @Sendable (ResourceController) -> Void) -> Bool {
        loop.submit(.run { body(self) })
    }

    /// Changes the request. The resource uses the change after the debounce time.
    ///
    /// - Throws: the error of an invalid request. Nothing is then changed.
    package func change(
        _ body: (inout Request) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        try client.checkProcess()
        var request = shared.withLock { $0.request }
        request.resolved = nil
        try body(&request)
        let (changed, url) = (request, try ResourceController.check(request, client))
        // Under the lock, so that the loop uses concurrent changes in the same order.
        shared.withLock { shared in
            (shared.request, shared.url) = (changed, url)
            submit {
                $0.newest = (changed, url)
                $0.perform($0.machine.keyChanged())
            }
        }
    }

    /// Adds an observer, which receives the present snapshot at once. The resource holds it until it is cancelled.
    ///
    /// - Parameter closed: Called on the loop if the resource is closed before the observer is cancelled.
    package func observe(
        on queue: CompletionQueue?, closed: @escaping @Sendable () -> Void = {},
        _ handler: @escaping ResourceObserver.Handler
    ) -> ResourceObserver {
        let observer = ResourceObserver(self, on: queue, closed: closed, handler)
        if !submit({ $0.add(observer) }) { closed() }
        return observer
    }

    func remove(_ observer: ResourceObserver) {
        submit {
            guard $0.observers.removeValue(forKey: ObjectIdentifier(observer)) != nil else { return }
            $0.perform($0.machine.leave())
        }
    }

    /// Starts to wait for data.
    ///
    /// - Parameter isReload: Whether the data is loaded again, past the cache, even if it is current.
    package func load(
        isReload: Bool, on queue: CompletionQueue?,
        finished: @escaping @Sendable (Result<ResourceContent, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientWork {
        try client.checkProcess()
        let load = ResourceLoad(self, isReload: isReload, on: queue, finished)
        try load.start()
        return load
    }

    /// Begins a mutation whose request the caller sends.
    ///
    /// - Returns: The number for ``endMutation(_:_:)``.
    package func beginMutation(
        _ phase: ResourceMutationPhase, optimistic: ResourceContent?
    ) -> Int {
        let number = lastMutation.add(1, ordering: .relaxed).newValue
        submit { $0.perform($0.machine.mutationBegan(number, phase, optimistic: optimistic)) }
        return number
    }

    package func endMutation(_ number: Int, _ end: ResourceMachine<ResourceContent>.MutationEnd) {
        submit { $0.perform($0.machine.mutationEnded(number, end)) }
    }

    /// Runs `body` after the events so far have changed the snapshot: on the loop, or at once if the client is closed.
    package func afterEvents(_ body: @escaping @Sendable () -> Void) {
        if !submit({ _ in body() }) { body() }
    }

    /// Cancels the load in progress. Observers receive nothing more, and pending reloads fail with `closed`.
    package func close() { submit { $0.shutDown() } }

    // MARK: On the loop

    private func opened() {
        guard !loop.isClosing else { return shutDown() }
        loop.addCloseListener(self) { [weak self] in self?.shutDown() }
        loop.addWriteListener(self) { [weak self] in self?.handle($0) }
    }

    private func shutDown() {
        guard !isClosed else { return }
        isClosed = true
        loop.removeCloseListener(self)
        loop.removeWriteListener(self)
        let remaining = observers.values
        observers = [:]
        perform(machine.close(ResourceController.closed))
        for observer in remaining { observer.closed() }
    }

    func post(_ body: @escaping @Sendable () -> Void, to queue: CompletionQueue?) { loop.post(.run(body), to: queue) }

    private func add(_ observer: ResourceObserver) {
        guard !isClosed else { return observer.closed() }
        observers[ObjectIdentifier(observer)] = observer
        let actions = machine.observe()
        // The actions may change the snapshot, which is then published once.
        perform(actions)
        observer.publish(machine.snapshot)
    }

    func begin(_ load: ResourceLoad, isReload: Bool) {
        guard !isClosed else { return load.end(with: .failure(ResourceController.closed)) }
        lastLoad += 1
        load.number = lastLoad
        loads[lastLoad] = load
        perform(isReload ? machine.reload(lastLoad) : machine.load(lastLoad))
    }

    /// Handles the end of a load for any reason.
    func ended(_ load: ResourceLoad) {
        if loads.removeValue(forKey: load.number) != nil { perform(machine.cancelReload(load.number)) }
    }

    private func handle(_ write: Write) {
        let isMeant = write.tags.contains { settings.tags.contains($0) }
        let isChanged = write.urls.contains {
            url.isChanged(by: $0, includingChildren: settings.includesChildren)
        }
        if isMeant || isChanged { perform(machine.invalidate()) }
    }

    /// Whether the last load has failed because there was no network.
    var isOffline: Bool { machine.error?.kind == .offline }

    func networkReturned() { perform(machine.networkReturned()) }

    /// Whether the settings of the resource and the client permit a network with this status.
    func permits(_ status: NetworkStatus) -> Bool {
        status.isOnline && client.connectivity.refusal(of: status) == nil
    }

    private func perform(_ actions: [Machine.Action]) {
        var publishes = false
        for action in actions {
            switch action {
            case .fetch(let number, let freshness): fetch(number, freshness)
            case .cancel(let number): fetches.removeValue(forKey: number)?()
            case .wait(let timer, let number, let duration): timers.set(timer, number, after: duration)
            case .complete(let numbers, let error): complete(numbers, error)
            case .useKey: if let newest = newest.take() { (request, url) = newest }
            case .publish: publishes = true
            }
        }
        if publishes { publish() }
        network.isWanted(machine.observers > 0 && settings.reloadsOnNetwork && !isClosed)
    }

    private func publish() {
        let snapshot = machine.snapshot
        shared.withLock { $0.snapshot = snapshot }
        for observer in observers.values { observer.publish(snapshot) }
    }

    private func complete(_ numbers: [Int], _ error: NightjarError?) {
        // The callback finds the snapshot of the same event.
        let (snapshot, data) = (machine.snapshot, machine.data)
        shared.withLock { $0.snapshot = snapshot }
        for number in numbers {
            guard let load = loads.removeValue(forKey: number) else { continue }
            if error == nil, let data { load.end(with: .success(data)) }
            load.end(with: .failure(error ?? ResourceController.closed))
        }
    }

    // MARK: Fetching, on the loop

    private func fetch(_ number: Int, _ freshness: Machine.Freshness) {
        var request = request
        request.prepare(for: freshness, shares: client.cache == nil)
        if let sender {
            var sent = SentRequest(request)
            sent.isOfResource = true
            fetches[number] = sender.send(sent) { [weak self] result in
                self?.submit { $0.ended(number, result) }
            }
            return
        }
        var handlers = TaskHandlers { [weak self] task, result in
            self?.ended(number, result, refreshes: task.isRefreshing)
        }
        handlers.decisionQueue = callbacks
        if client.mayRefresh(request) { handlers.refreshed = { [weak self] in self?.ended(number, $0) } }
        do throws(NightjarError) {
            let task = try client.start(request, on: nil, handlers)
            fetches[number] = { task.cancel() }
        } catch {
            // Later, because this method may run while the actions of an event are carried out.
            submit { $0.ended(number, .failure(error)) }
        }
    }

    /// - Parameter refreshes: Whether the response comes from the cache, and another one follows.
    private func ended(_ number: Int, _ result: Result<Response, NightjarError>, refreshes: Bool = false) {
        if !refreshes { fetches[number] = nil }
        switch result {
        case .failure(let error): perform(machine.failed(number, error))
        case .success(let response):
            decoded(response) { [self] decoded in
                switch decoded {
                case .failure(let error): perform(machine.failed(number, error.about(response)))
                case .success(let content):
                    let now = WallClock.now()
                    perform(
                        refreshes
                            ? machine.received(number, stale: content, at: now)
                            : machine.responded(number, content, isStale: response.source == .stale, at: now))
                }
            }
        }
    }

    /// Decodes a response: a large one on a worker thread, if one can be started.
    private func decoded(
        _ response: Response, then: @escaping @Sendable (Result<ResourceContent, NightjarError>) -> Void
    ) {
        guard let decode else { return then(.success(ResourceContent(response, nil))) }
        let work: @Sendable () throws(NightjarError) -> ResourceContent = { () throws(NightjarError) in
            ResourceContent(response, try decode(response))
        }
        guard response.body.readableBytes > ResourceController.longestInline else {
            return then(Result(catching: work))
        }
        loop.checkers.run("decoding the response", work, then: then)
    }

    /// A body of this size is decoded in about a millisecond.
    private static let longestInline = 64 * 1024
}

extension Request {
    /// Sets how a fetch of a resource uses the cache. The policy `cache_only` is kept.
    fileprivate mutating func prepare(for freshness: ResourceController.Machine.Freshness, shares: Bool) {
        guard freshness != .standard else {
            coalesces = coalesces ?? shares
            return
        }
        // The exchange of an equal call may have started before the event that caused the fetch.
        coalesces = false
        if cachePolicy != .cacheOnly { cachePolicy = freshness == .reload ? .reload : .revalidate }
    }
}
