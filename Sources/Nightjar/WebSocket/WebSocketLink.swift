import NIOCore
import NightjarCoding
import NightjarCrypto
import NightjarHTTP

/// One connection of a WebSocket: a call of the client that is upgraded. Used on the client's loop.
///
/// Calls its session until the connection has ended. It then waits by itself for the server to close the transport.
final class WebSocketLink: @unchecked Sendable {
    private let loop: ClientLoop
    private let handshake: WebSocketHandshake
    private let settings: WebSocketConnectionSettings
    private var connection: WebSocketConnection
    /// Nil after the end of the connection.
    private weak var session: WebSocketSession?
    private var task: ClientTask?
    /// The token that the handshake was sent with. Nil before the connection is open, and without a login.
    private(set) var token: SentToken?
    /// The failure of the handshake, which ends the call as cancelled.
    private var refusal: NightjarError?
    /// The end of the connection that was not reported yet.
    private var closure: WebSocketClosure?
    /// The received bytes that the call counts as unconsumed.
    private var uncredited = 0
    /// Whether the transport waits for bytes to send.
    private var isAwaited = false
    private var isFlushScheduled = false
    /// The time of the earliest scheduled timer.
    private var timer: UInt64?
    private var masks = MaskKeys()
    private var keepsMessages = false
    /// The messages of this connection, if an observer keeps them.
    private var transcript: MessageTranscript?

    /// A token of a login.
    struct SentToken {
        let manager: TokenManager
        let version: TokenRefresh.Version

        /// Nil if the call was sent without a token.
        init?(_ call: Call, _ client: Client) {
            guard let manager = client.sessions[call.options.login], let version = manager.sentVersion(of: call) else {
                return nil
            }
            (self.manager, self.version) = (manager, version)
        }

        /// Lets the next call wait for another token.
        func reject() { manager.rejected(version) }
    }

    init(_ session: WebSocketSession, _ handshake: WebSocketHandshake, _ settings: WebSocketConnectionSettings) {
        self.session = session
        loop = session.loop
        self.handshake = handshake
        self.settings = settings
        var unlimited = settings
        // The session limits the queue.
        unlimited.maximumQueued = .max
        connection = WebSocketConnection(unlimited, now: session.loop.now)
    }

    var isOpen: Bool { connection.isOpen }
    var queuedBytes: Int { connection.queuedBytes }

    // MARK: Events of the session

    /// Starts the call.
    func connect(_ client: Client, _ request: Request) throws(NightjarError) {
        keepsMessages = client.keepsMessages
        var request = request
        request.body = .upgrade
        for (name, value) in handshake.fields { try request.headers.set(name, value) }
        // The handshake checks other statuses, because its errors say more.
        request.expectedStatuses = [Request.StatusRange(101), Request.StatusRange(200, 299)]
        request.prepareForLongExchange()
        var handlers = TaskHandlers { [self] _, result in ended(result) }
        handlers.head = { [self] _, response in opened(response) }
        handlers.body = { [self] _, part in received(part) }
        handlers.creditsAreManual = true
        handlers.decisionQueue = session?.queue
        handlers.provideBody = { [self] _, _ in nextPart() }
        task = try client.start(request, on: nil, handlers)
    }

    /// Sends a message of which the session has checked the content.
    func send(_ message: WebSocketMessage) {
        do throws(NightjarError) {
            _ = try connection.send(message)
            transcript?.note(message, isSent: true)
        } catch {
            assertionFailure("a message was rejected: \(error.message)")
        }
        flushSoon()
    }

    /// Sends a Ping. Returns false if the connection is not open.
    func ping(_ payload: ByteBuffer) -> Bool {
        guard (try? connection.ping(payload)) == true else { return false }
        flushSoon()
        return true
    }

    /// Starts the closing handshake, or ends a connection that is not open yet.
    func close(_ code: WebSocketCloseCode?, reason: String) {
        try? connection.close(code: code, reason: reason, now: loop.now)
        proceed()
    }

    /// Closes the transport at once. Nothing is reported any more.
    func abandon() {
        session = nil
        task?.cancel()
    }

    /// Delivers the messages that were received while the session accepted none.
    func resume() { proceed() }

    // MARK: Events of the call

    private func opened(_ response: Response) {
        do throws(NightjarError) {
            let agreement = try handshake.check(status: response.status, response.headers)
            connection.opened(agreement.deflate.map { MessageDeflate($0) }, now: loop.now)
            if keepsMessages {
                transcript = MessageTranscript()
                task?.call?.states[MessageTranscript.key] = transcript
            }
            if let session, let call = task?.call { token = SentToken(call, session.client) }
            session?.opened(response, agreement.subprotocol)
            proceed()
        } catch {
            refusal = error.about(response)
            task?.cancel()
        }
    }

    private func received(_ part: ByteBuffer) {
        uncredited += part.readableBytes
        connection.received(part, now: loop.now)
        proceed()
    }

    private func nextPart() -> TaskHandlers.BodyPart {
        isAwaited = true
        if connection.hasOutput { flushSoon() }
        return .later
    }

    private func ended(_ result: Result<Response, NightjarError>) {
        task = nil
        var failure: NightjarError?
        if case .failure(let error) = result { failure = error }
        // These have no effect on a connection that is open, or that has ended.
        if let error = refusal ?? failure { connection.failed(error) }
        connection.endOfStream(failure, now: loop.now)
        proceed()
    }

    // MARK: Actions

    /// Carries out the actions of the connection.
    private func proceed() {
        repeat { handleEvents() } while flush()
        reportClosure()
        if connection.canReceive { connection.setReading(session?.acceptsMessages != false, now: loop.now) }
        watch()
    }

    private func handleEvents() {
        while session?.acceptsMessages != false || !connection.canReceive {
            guard let event = connection.next() else { return creditReceived() }
            switch event {
            case .message(let message):
                transcript?.note(message, isSent: false)
                session?.received(message)
            case .ping: break
            case .pong(let payload): session?.received(pong: payload)
            case .closed(let closure): self.closure = closure
            case .closeTransport: task?.cancel()
            }
        }
    }

    /// Reports the end of the connection after the Close frame was written, because the program may then exit.
    private func reportClosure() {
        guard !connection.hasOutput || task == nil, let closure = closure.take() else { return }
        session.take()?.closed(closure, unsent: connection.takeUnsent())
    }

    /// Lets the transport read on, because all received bytes were processed.
    private func creditReceived() {
        guard uncredited > 0 else { return }
        task?.consumed(uncredited)
        uncredited = 0
    }

    /// Sends the queued frames when the loop has finished its current work, so that several messages need one system
    /// call.
    private func flushSoon() {
        guard isAwaited, !isFlushScheduled else { return }
        isFlushScheduled = true
        loop.eventLoop.assumeIsolated().execute { [self] in
            isFlushScheduled = false
            proceed()
        }
    }

    /// Returns whether frames were sent.
    private func flush() -> Bool {
        guard isAwaited, connection.hasOutput else { return false }
        isAwaited = false
        var frames = ByteBuffer()
        connection.write(into: &frames) { masks.next() }
        session?.sent()
        task?.call?.feed?.send(.bytes(frames))
        return true
    }

    private func watch() {
        guard let deadline = connection.deadline, deadline < timer ?? .max else { return }
        timer = deadline
        let now = loop.now
        loop.after(.nanoseconds(Int64(clamping: deadline > now ? deadline - now : 0))) { [self] in
            guard timer == deadline else { return }
            timer = nil
            connection.reached(loop.now)
            proceed()
        }
    }
}

/// Mask keys for frames, which must be unpredictable. RFC 6455 section 5.3.
private struct MaskKeys {
    private var bytes: [UInt8] = []

    mutating func next() -> UInt32 {
        if bytes.isEmpty { bytes = SecureRandom.bytes(MaskKeys.batch * MemoryLayout<UInt32>.size) }
        let key = bytes.suffix(MemoryLayout<UInt32>.size).reduce(0) { $0 << 8 | UInt32($1) }
        bytes.removeLast(MemoryLayout<UInt32>.size)
        return key
    }

    /// The number of keys that are generated at once.
    private static let batch = 64
}
