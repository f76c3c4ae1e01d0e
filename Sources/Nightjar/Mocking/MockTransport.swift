import NIOCore
import NightjarCoding
import NightjarHTTP
import NightjarTesting
import NightjarTransport

/// Plays scripted responses instead of using a network. A script is chosen when the request is complete. Requests
/// without a script may pass to the network.
///
/// Used on the client's loop.
final class MockTransport: HTTPTransport, @unchecked Sendable {
    /// The plan for an exchange.
    enum ExchangePlan: Sendable {
        case play(ExchangeScript)
        /// Passes the request to the network.
        case pass
        /// Fails the request before it is sent.
        case refuse(NightjarError)
        /// The plan is passed to ``MockExchange/take(_:)`` later.
        case later
    }

    let network: any HTTPTransport
    let loop: any EventLoop
    let choose: (ArrivedRequest, MockExchange) -> ExchangePlan
    private let whenClosed: () -> Void

    init(
        over network: any HTTPTransport, on loop: any EventLoop,
        choose: @escaping (ArrivedRequest, MockExchange) -> ExchangePlan, whenClosed: @escaping () -> Void = {}
    ) {
        self.network = network
        self.loop = loop
        self.choose = choose
        self.whenClosed = whenClosed
    }

    func begin(
        _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
    ) -> any Exchange {
        let exchange = MockExchange(request, connectTimeout, self, receiver)
        exchange.begin()
        return exchange
    }

    func shutDown() {
        whenClosed()
        network.shutDown()
    }
}

/// One exchange: collects the request body, requests a plan and carries out the plan.
///
///     taking ──complete──▶ choosing ──script──▶ playing ──▶ ended
///                             ├──── pass ───▶ passing ──▶ ended
///                             └─── refuse ──▶ ended
final class MockExchange: Exchange, ExchangeReceiver, @unchecked Sendable {
    private enum State { case taking, choosing, playing, passing, ended }

    private let request: PreparedRequest
    private let connectTimeout: Duration?
    private let transport: MockTransport
    private var receiver: (any ExchangeReceiver)?
    private var state = State.taking
    private var isPaused = false
    private var hasStarted = false
    /// The request body, or the part of a streamed body that has been collected so far.
    private var body = ByteBuffer()
    private var bodyIsWhole = true
    /// The remaining steps of the script.
    private var steps: ArraySlice<ExchangeScript.Step> = []
    private var timer: Scheduled<Void>?
    /// Whether the delay of the next step is over.
    private var hasWaited = false
    /// Whether events are being delivered further up the call stack.
    private var isAdvancing = false
    /// Whether the body has been passed to the connection.
    private var isSent = false
    /// The exchange over the network.
    private var inner: (any Exchange)?
    /// The client's side of a WebSocket. Nil before the head of the response.
    private var socket: MockSocketClient?

    init(
        _ request: PreparedRequest, _ connectTimeout: Duration?, _ transport: MockTransport,
        _ receiver: any ExchangeReceiver
    ) {
        self.request = request
        self.connectTimeout = connectTimeout
        self.transport = transport
        self.receiver = receiver
    }

    // MARK: The request

    /// Whether the request asks for an upgrade to WebSocket.
    private var isUpgrade: Bool { if case .upgrade = request.body { true } else { false } }

    func begin() {
        guard request.body.isStreamedFromCaller, !isUpgrade else {
            // Runs later: otherwise a call that fails at once and is retried would start its next attempt recursively.
            if case .bytes(let bytes) = request.body { body = bytes }
            return transport.loop.execute { [self] in choose() }
        }
        start()
        requestMore()
    }

    private func start() {
        guard !hasStarted else { return }
        hasStarted = true
        receiver?.exchangeStarted(on: nil, isReused: false, stream: nil)
    }

    private func requestMore() {
        transport.loop.execute { [self] in
            if state == .taking { receiver?.exchangeNeedsBody(maximum: MockExchange.bodyPart) }
        }
    }

    func send(_ part: ByteBuffer) {
        if state == .playing { return receive(part) }
        if isUpgrade { return inner?.send(part) ?? () }
        guard state == .taking else { return }
        if body.readableBytes + part.readableBytes <= MockExchange.largestBody {
            body.writeImmutableBuffer(part)
        } else {
            bodyIsWhole = false
        }
        requestMore()
    }

    func endBody() {
        if isUpgrade { return inner?.endBody() ?? () }
        if state == .taking { transport.loop.execute { [self] in choose() } }
    }

    private func choose() {
        guard state == .taking else { return }
        state = .choosing
        let content = Content.decoded(body, request.fields)
        take(transport.choose(ArrivedRequest(request, body: content), self))
    }

    /// Continues after ``MockTransport/ExchangePlan/later``.
    func take(_ plan: MockTransport.ExchangePlan) {
        guard state == .choosing else { return }
        switch plan {
        case .later: break
        case .refuse(let error): end()?.exchangeFailed(error)
        case .pass: pass()
        case .play(let script):
            state = .playing
            if !script.failsBeforeSending { start() }
            steps = script.steps[...]
            advance()
        }
    }

    // MARK: The script

    private func advance() {
        guard !isAdvancing else { return }
        isAdvancing = true
        defer { isAdvancing = false }
        while state == .playing, !isPaused, timer == nil, socket?.isClosing != true, let step = steps.first {
            if case .socket(.expect) = step.event, socket?.messages.isEmpty != false { return }
            if step.delay > .zero, !hasWaited {
                timer = transport.loop.scheduleTask(in: .nanoseconds(step.delay.nanosecondsClamped)) { [self] in
                    timer = nil
                    hasWaited = true
                    advance()
                }
                return
            }
            hasWaited = false
            steps = steps.dropFirst()
            deliverNext(step.event)
        }
    }

    private func deliverNext(_ event: ExchangeScript.Event) {
        receiver?.exchangeProgressed()
        switch event {
        case .head(let head) where head.status < 200 && head.status != 101:
            receiver?.exchangeReceived(informational: head)
        case .head(let head):
            receiver?.exchangeReceived(head: head)
            guard isUpgrade, head.status == 101, state == .playing else { return }
            socket = MockSocketClient()
            requestMoreFrames()
        case .body(let bytes): receiver?.exchangeReceived(body: bytes)
        case .finish(let trailers): end()?.exchangeFinished(trailers: trailers)
        case .fail(let error): end()?.exchangeFailed(error)
        case .socket(let action): perform(action)
        }
    }

    // MARK: A WebSocket

    private func perform(_ action: ExchangeScript.SocketAction) {
        do throws(NightjarError) {
            switch action {
            case .send(let message):
                receiver?.exchangeReceived(body: try WebSocketServerFrames.message(message))
            case .close(let code, let reason):
                socket?.isClosing = true
                receiver?.exchangeReceived(body: try WebSocketServerFrames.close(code, reason: reason))
            case .expect(let expected):
                let wasFull = socket?.isFull == true
                try socket?.take(expected)
                if wasFull, socket?.isFull == false { requestMoreFrames() }
            }
        } catch {
            end()?.exchangeFailed(error)
        }
    }

    private func requestMoreFrames() {
        transport.loop.execute { [self] in
            if state == .playing { receiver?.exchangeNeedsBody(maximum: MockExchange.bodyPart) }
        }
    }

    /// Handles the frames of the client.
    private func receive(_ frames: ByteBuffer) {
        do throws(NightjarError) {
            let hasExpectation = steps.contains { if case .socket(.expect) = $0.event { true } else { false } }
            guard let (responses, hasClosed) = try socket?.receive(frames, keeps: hasExpectation) else { return }
            for response in responses { receiver?.exchangeReceived(body: response) }
            if hasClosed, state == .playing { end()?.exchangeFinished(trailers: Headers()) }
        } catch {
            end()?.exchangeFailed(error)
        }
        guard state == .playing else { return }
        // Otherwise the next frames are requested when the script has taken a message.
        if socket?.isFull == false { requestMoreFrames() }
        advance()
    }

    private func end() -> (any ExchangeReceiver)? {
        state = .ended
        timer?.cancel()
        timer = nil
        steps = []
        body = ByteBuffer()
        socket = nil
        return receiver.take()
    }

    // MARK: Called by the caller

    func cancel() {
        _ = end()
        inner.take()?.cancel()
    }

    func pause() {
        isPaused = true
        inner?.pause()
    }

    func resume() {
        isPaused = false
        inner?.resume()
        advance()
    }

    var unsentBytes: Int { inner?.unsentBytes ?? 0 }
    var sentBytes: Int { inner?.sentBytes ?? 0 }

    // MARK: Over the network

    private func pass() {
        guard bodyIsWhole else {
            end()?.exchangeFailed(
                NightjarError(
                    .invalidRequest,
                    "a request body of more than \(MockExchange.largestBody) bytes cannot be passed to the network "
                        + "through a mock or a cassette; use a client without them"))
            return
        }
        state = .passing
        let exchange = transport.network.begin(request, connectTimeout: connectTimeout, receiver: self)
        guard state == .passing else { return exchange.cancel() }
        inner = exchange
        if isPaused { exchange.pause() }
    }

    func exchangeStarted(on connection: ConnectionRecord?, isReused: Bool, stream: Int32?) {
        isSent = false
        // A streamed body has already been requested; a second start would request it again.
        guard !request.body.isStreamedFromCaller || isUpgrade else { return }
        hasStarted = true
        receiver?.exchangeStarted(on: connection, isReused: isReused, stream: stream)
    }

    func exchangeRepeated() { receiver?.exchangeRepeated() }
    func exchangeProgressed() { receiver?.exchangeProgressed() }
    func exchangeReceived(informational: ResponseHead) { receiver?.exchangeReceived(informational: informational) }
    func exchangeReceived(head: ResponseHead) { receiver?.exchangeReceived(head: head) }
    func exchangeReceived(body: ByteBuffer) { receiver?.exchangeReceived(body: body) }

    func exchangeConnecting(_ step: ConnectionRecord.Step) { receiver?.exchangeConnecting(step) }
    func exchangeDenied(_ addresses: AddressFilter.Denied) { receiver?.exchangeDenied(addresses) }

    func exchangeChallenged(_ challenge: ConnectionChallenge) -> Bool {
        receiver?.exchangeChallenged(challenge) ?? false
    }

    func exchangeFinished(trailers: Headers) {
        inner = nil
        end()?.exchangeFinished(trailers: trailers)
    }

    func exchangeFailed(_ error: NightjarError) {
        inner = nil
        end()?.exchangeFailed(error)
    }

    /// Sends the buffered body as a whole.
    func exchangeNeedsBody(maximum: Int) {
        if isUpgrade { return receiver?.exchangeNeedsBody(maximum: maximum) ?? () }
        let bytes = body
        transport.loop.execute { [self] in
            guard state == .passing, let inner else { return }
            guard !isSent else { return inner.endBody() }
            isSent = true
            bytes.readableBytes > 0 ? inner.send(bytes) : inner.endBody()
        }
    }

    // MARK: Bounds

    /// The maximum size of a streamed request body that is buffered, in bytes.
    static let largestBody = 64 << 20
    private static let bodyPart = 64 * 1024
}

/// The decoded content of a message.
enum Content {
    /// Removes the content codings of a body. Returns the body unchanged if it has none, or if it cannot be decoded.
    static func decoded(_ body: ByteBuffer, _ fields: Headers) -> ByteBuffer {
        guard body.readableBytes > 0, fields.firstIndex(of: "Content-Encoding") != nil else { return body }
        let decoding = try? BodyDecoding(
            fields.values("Content-Encoding"), DecodingLimits(maximumBytes: MockExchange.largestBody))
        guard let decoding else { return body }
        do throws(NightjarError) {
            try decoding.append(body)
            var content = ByteBuffer()
            while let part = try decoding.next() { content.writeImmutableBuffer(part) }
            try decoding.finish()
            return content
        } catch {
            return body
        }
    }
}
