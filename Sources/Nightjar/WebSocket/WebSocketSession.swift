import DequeModule
import NIOCore
import NightjarHTTP
import Synchronization

/// The state of a WebSocket.
public enum WebSocketState: String, Sendable {
    /// The first connection, or another one, is being opened.
    case connecting
    case open
    /// The connection was lost. Another one is opened after a wait.
    case waiting
    /// The closing handshake is in progress.
    case closing
    case closed
}

/// A WebSocket that connects again after its connection was lost, if its settings say so.
///
///     connecting ──opened──▶ open ──close()──▶ closing ──▶ closed
///      ▲    └──failure──┐      └──end──┐
///      │                ▼              ▼
///      └─time passed── waiting, or closed
///
/// Any thread sends; see `WebSocketSession+Sending.swift`. The callbacks run on the queue, or on the loop without one.
package final class WebSocketSession: ClientOperation, @unchecked Sendable {
    /// The callbacks of a WebSocket. They run one at a time, in order, and before `finished`.
    package struct Handlers: Sendable {
        /// Called before each connection but the first one, which waits for ``WebSocketSession/connect(with:)``. Nil: all
        /// connections have the same request.
        package var prepare: (@Sendable (WebSocketSession) -> Void)?
        /// Called when a connection is open.
        package var opened: (@Sendable (WebSocketSession) -> Void)?
        /// The messages that are sent before those that were kept while there was no connection.
        package var firstMessages = FirstMessages.none
        package var message: @Sendable (WebSocketSession, WebSocketMessage) -> Void
        /// Called when the send queue has room for a message again after ``WebSocketSession/send(_:isFirst:)`` has
        /// returned false.
        package var writable: (@Sendable (WebSocketSession) -> Void)?
        /// If true, a message counts as consumed only after ``WebSocketSession/consumed(_:)``.
        package var creditsAreManual = false

        package init(message: @escaping @Sendable (WebSocketSession, WebSocketMessage) -> Void) {
            self.message = message
        }
    }

    /// The messages that are sent over a new connection before all others, such as subscriptions.
    package enum FirstMessages: Sendable {
        case none
        /// The messages that ``Handlers/opened`` sends.
        case ofCallback
        /// The messages that are sent as first ones until ``WebSocketSession/sendKeptMessages()`` is called.
        case untilCalled
    }

    /// The properties that any thread can read.
    struct Snapshot: Sendable {
        var history = StreamHistory(WebSocketState.connecting)
        var response: Response?
        var subprotocol: String?
        var closure: WebSocketClosure?
    }

    let client: Client
    let settings: WebSocketSettings
    private let handshake: WebSocketHandshake
    private let ownCanceller: Request.Canceller?
    let handlers: Handlers
    private let snapshot = Mutex(Snapshot())
    private let start = ContinuousClock.now
    /// The bytes that were delivered and not consumed.
    private let unconsumedBytes = Atomic<Int>(0)
    private let isHeldBack = Atomic<Bool>(false)
    let sendLimit: WebSocketSendLimit

    // Used on the loop:
    /// The request of the next connection.
    private var request: Request
    private(set) var state = WebSocketState.connecting
    var link: WebSocketLink?
    var reconnect: WebSocketReconnect
    var subprotocolState: (any WebSocketSubprotocol)?
    private var random = SystemRandomNumberGenerator()
    /// The messages to send when a connection is open and its first messages were sent.
    var kept = Deque<WebSocketMessage>()
    /// Whether the first messages of the connection are being sent.
    var isOpening = false
    private(set) var wasOpen = false
    /// Whether a message, or a piece of one, was dropped while the WebSocket is closing. All later ones are dropped too,
    /// so that no message with a hole is delivered.
    private var dropsMessages = false
    /// The close that follows the kept messages when the WebSocket is open.
    private var pendingClose: (code: WebSocketCloseCode?, reason: String)?
    /// The bytes that are reserved for messages that this object has received and not sent.
    var reservedBytes = 0
    var pings: [UInt64: Ping] = [:]
    var lastPing: UInt64 = 0
    var roomWaiters: [@Sendable () -> Void] = []

    struct Ping {
        let sent: UInt64
        let completion: @Sendable (Result<Duration, NightjarError>) -> Void
    }

    /// - Throws: `invalid_argument` for invalid settings.
    init(
        _ client: Client, _ request: Request, _ settings: WebSocketSettings, on queue: CompletionQueue?,
        _ handlers: Handlers, finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) {
        try settings.check()
        var settings = settings
        // The messages of a subprotocol belong to one connection.
        if settings.subprotocol != nil { settings.keepsUnsent = false }
        self.client = client
        self.request = request
        ownCanceller = request.canceller
        self.settings = settings
        self.handlers = handlers
        handshake = try WebSocketHandshake(
            protocols: settings.subprotocol.map { [$0.name] } ?? settings.protocols, sensitive: client.sensitiveNames,
            deflate: settings.compresses && !client.isRecording ? WebSocketDeflate.Offer() : nil)
        reconnect = WebSocketReconnect(settings.reconnection)
        subprotocolState = settings.subprotocol
        sendLimit = WebSocketSendLimit(settings.maximumQueued)
        super.init("the WebSocket", on: client.loop, queue: queue, timeout: nil, finished: finished)
    }

    // MARK: Any thread

    package var currentState: WebSocketState { snapshot.withLock { $0.history.state } }
    /// The changes of the state and their reasons, one per line: at most the last 100.
    package var explanation: String { snapshot.withLock { $0.history.explanation } }
    /// The response to the last handshake that the server has accepted.
    package var response: Response? { snapshot.withLock { $0.response } }
    /// The subprotocol that the server has selected.
    package var subprotocol: String? { snapshot.withLock { $0.subprotocol } }
    /// The end of the last connection. Nil before the first one has ended.
    package var closure: WebSocketClosure? { snapshot.withLock { $0.closure } }

    /// Whether the server has ended the last connection, which was open. Its messages may wait to be read.
    package var wasEndedByServer: Bool { closure.map { !$0.isRequested } ?? false }

    /// Reports a message as consumed. Call it only if ``Handlers/creditsAreManual`` is set.
    package func consumed(_ message: WebSocketMessage) { credit(WebSocketSession.cost(of: message)) }

    func credit(_ count: Int) {
        let left = unconsumedBytes.subtract(count, ordering: .sequentiallyConsistent).newValue
        if left <= ClientTask.window / 2, isHeldBack.exchange(false, ordering: .sequentiallyConsistent) {
            loop.submit(.run { [self] in link?.resume() })
        }
    }

    /// Starts the closing handshake. Messages that were sent before are sent first. The callbacks end when the server
    /// has responded, or after the close timeout. Messages that arrive meanwhile may be discarded.
    ///
    /// - Parameters:
    ///   - code: 1000 to 1003, 1007 to 1014, or 3000 to 4999. Nil: a Close frame without a code.
    ///   - reason: At most 123 bytes of UTF-8.
    /// - Throws: `invalid_argument`.
    package func close(code: WebSocketCloseCode? = .normal, reason: String = "") throws(NightjarError) {
        try WebSocketClosePayload.check(code, reason: reason)
        sendLimit.end(WebSocketSession.closed)
        loop.submit(.run { [self] in beginClosing(code, reason) })
    }

    /// Opens a connection for which ``Handlers/prepare`` was called.
    package func connect(with request: Request) {
        loop.submit(
            .run { [self] in
                guard !hasEnded, state == .connecting, link == nil else { return }
                self.request = request
                makeLink()
            })
    }

    /// Sends the kept messages. See ``FirstMessages/untilCalled``.
    package func sendKeptMessages() { loop.submit(.run { [self] in sendKept() }) }

    /// Ends the WebSocket at once, because the caller cannot continue.
    package func fail(_ error: NightjarError) {
        loop.submit(.run { [self] in if !hasEnded { finish(.failure(error), error.message) } })
    }

    // MARK: On the loop: connecting

    override func begin() { connect() }

    override var canceller: Request.Canceller? { ownCanceller }

    override func clientDrains() {
        sendLimit.end(WebSocketSession.closed)
        beginClosing(.goingAway, "")
    }

    override func released() {
        sendLimit.end(WebSocketSession.closed)
        link.take()?.abandon()
        change(to: .closed, isCancelled ? "the caller cancelled it" : "the client was closed")
        kept = []
        failPings(WebSocketSession.closed)
        notifyRoomWaiters()
    }

    private func connect() {
        change(to: .connecting, "the wait is over")
        guard wasOpen, let prepare = handlers.prepare else { return makeLink() }
        loop.post(.run { [self] in if !isCancelled { prepare(self) } }, to: queue)
    }

    private func makeLink() {
        let link = WebSocketLink(self, handshake, settings.connection)
        self.link = link
        do throws(NightjarError) {
            try link.connect(client, request)
        } catch {
            self.link = nil
            finish(.failure(error), error.message)
        }
    }

    private func change(to new: WebSocketState, _ reason: String) {
        state = new
        let time = start.duration(to: .now)
        snapshot.withLock { $0.history.note(new, reason, at: time) }
    }

    // MARK: On the loop: events of the connection

    /// Whether the connection should deliver messages. While the caller closes the WebSocket, messages are not held
    /// back, because the server's Close frame arrives after them.
    var acceptsMessages: Bool { state == .closing || !isHeldBack.load(ordering: .relaxed) }

    func opened(_ response: Response, _ subprotocol: String?) {
        wasOpen = true
        reconnect.opened(now: loop.now)
        snapshot.withLock { ($0.response, $0.subprotocol) = (response, subprotocol) }
        change(to: .open, "the server accepted the handshake")
        sendLimit.accept()
        if settings.subprotocol != nil { return begin(subprotocol, response.request?.headers["Authorization"]) }
        guard let opened = handlers.opened else {
            // Wakes a thread that polls the queue until the WebSocket is open.
            loop.post(.wake, to: queue)
            return sendKept()
        }
        isOpening = handlers.firstMessages != .none
        if !isOpening { sendKept() }
        loop.post(
            .run { [self] in
                if !isCancelled { opened(self) }
                if handlers.firstMessages == .ofCallback { sendKeptMessages() }
            }, to: queue)
    }

    func received(_ message: WebSocketMessage) {
        guard subprotocolState == nil else { return perform(subprotocolState?.received(message) ?? []) }
        accept(message)
    }

    /// Delivers a message of the server.
    func accept(_ message: WebSocketMessage) {
        let cost = WebSocketSession.cost(of: message)
        if state == .closing, unconsumedBytes.load(ordering: .relaxed) > ClientTask.window { dropsMessages = true }
        if dropsMessages { return }
        let unconsumed = unconsumedBytes.add(cost, ordering: .sequentiallyConsistent).newValue
        if unconsumed > ClientTask.window {
            isHeldBack.store(true, ordering: .sequentiallyConsistent)
            // The callback may have consumed messages before the flag was set.
            if unconsumedBytes.load(ordering: .sequentiallyConsistent) <= ClientTask.window / 2 {
                isHeldBack.store(false, ordering: .sequentiallyConsistent)
            }
        }
        loop.post(.run { [self] in deliver(message, cost) }, to: queue)
    }

    private func deliver(_ message: WebSocketMessage, _ cost: Int) {
        if !isCancelled {
            handlers.message(self, message)
            if handlers.creditsAreManual { return }
        }
        credit(cost)
    }

    func received(pong payload: ByteBuffer) {
        guard let number = payload.getInteger(at: payload.readerIndex, as: UInt64.self),
            let ping = pings.removeValue(forKey: number)
        else { return }
        ping.completion(.success(.nanoseconds(Int64(clamping: loop.now - ping.sent))))
    }

    /// Handles the end of the connection.
    func closed(_ closure: WebSocketClosure, unsent: [WebSocketMessage]) {
        let token = link.take()?.token
        let isFirst = !wasOpen
        if !isFirst || closure.isRequested { snapshot.withLock { $0.closure = closure } }
        failPings(WebSocketSession.lost)
        // The listener of the client's end reports a better error.
        if hasEnded || loop.isClosing { return }
        var closure = closure
        // A connection that the server has not accepted would fail again.
        if let subprotocolState, closure.error == nil, let error = subprotocolState.error(closure) {
            closure.error = error
            if subprotocolState.rejectsToken(closure), let token { return rejected(token, closure) }
            guard subprotocolState.isReady else {
                return finish(closure.result(isRequested: state == .closing, notSent), closure.summary)
            }
        }
        keep(unsent)
        switch verdict(closure) {
        case .again(let wait): reconnect(after: wait, closure)
        case .stop:
            finish(closure.result(isRequested: state == .closing, notSent), closure.summary + notSent)
        }
    }

    func reconnect(after wait: Duration, _ closure: WebSocketClosure) {
        if !settings.keepsUnsent { sendLimit.refuse(WebSocketSession.notConnected) }
        change(to: .waiting, closure.summary)
        loop.after(wait) { [weak self] in
            guard let self, state == .waiting, !hasEnded else { return }
            connect()
        }
    }

    /// Whether another connection is opened after this one, if its end permits it.
    var mayReconnect: Bool { settings.reconnects && wasOpen && state != .closing && pendingClose == nil }

    private func verdict(_ closure: WebSocketClosure) -> WebSocketReconnect.Verdict {
        guard mayReconnect else { return .stop(.closedByCaller) }
        guard state == .connecting, let error = closure.error else {
            return reconnect.closed(closure, now: loop.now, using: &random)
        }
        return reconnect.failed(error, using: &random)
    }

    func finish(_ result: Result<Void, NightjarError>, _ reason: String) {
        change(to: .closed, reason)
        end(result)
    }

    // MARK: On the loop: closing

    func beginClosing(_ code: WebSocketCloseCode?, _ reason: String) {
        guard !hasEnded, state != .closing, pendingClose == nil else { return }
        if state == .connecting, !kept.isEmpty {
            pendingClose = (code, reason)
            return
        }
        let isConnected = link?.isOpen == true
        if isOpening { sendKept() }
        change(to: .closing, "the caller closed it")
        guard isConnected, let link else {
            self.link.take()?.abandon()
            let closure = WebSocketClosure(.abnormal, isRequested: true)
            snapshot.withLock { $0.closure = closure }
            return finish(closure.result(isRequested: kept.isEmpty, notSent), "there was no open connection" + notSent)
        }
        link.close(code, reason: reason)
    }

    /// Closes the WebSocket after the kept messages, if the caller has closed it before it was open.
    func closeIfRequested() {
        guard let (code, reason) = pendingClose.take() else { return }
        beginClosing(code, reason)
    }

    /// The end of an error message if messages are lost.
    private var notSent: String {
        switch kept.count {
        case 0: ""
        case 1: "; 1 message was not sent"
        case let count: "; \(count) messages were not sent"
        }
    }

    private func failPings(_ error: NightjarError) {
        for ping in exchange(&pings, with: [:]).values { ping.completion(.failure(error)) }
    }

    private static let lost = NightjarError(
        .connectionLost, "the WebSocket connection was lost before its Pong arrived", phase: .receive,
        requestMayHaveBeenProcessed: true)

    /// The bytes that a message counts while it is not consumed.
    private static func cost(of message: WebSocketMessage) -> Int {
        message.payload.readableBytes + ClientTask.partCost
    }
}
