import DequeModule
import NIOCore
import NightjarHTTP
import NightjarTesting
import NightjarTransport

/// Degrades a network or a mock according to a profile.
///
/// Used on the client's loop.
final class ThrottledTransport: HTTPTransport, @unchecked Sendable {
    let network: any HTTPTransport
    let loop: any EventLoop
    var link: LinkConditioner

    init(_ profile: NetworkProfile, over network: any HTTPTransport, on loop: any EventLoop) {
        self.network = network
        self.loop = loop
        link = LinkConditioner(profile)
    }

    func begin(
        _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
    ) -> any Exchange {
        let exchange = ThrottledExchange(request, connectTimeout, self, receiver, link.begin(to: request.origin))
        exchange.begin()
        return exchange
    }

    func shutDown() { network.shutDown() }
}

/// An exchange that delivers its events with a delay.
final class ThrottledExchange: Exchange, ExchangeReceiver, @unchecked Sendable {
    private let request: PreparedRequest
    private let connectTimeout: Duration?
    private let transport: ThrottledTransport
    private var receiver: (any ExchangeReceiver)?
    private let plan: LinkConditioner.ConnectionPlan
    private var inner: (any Exchange)?
    private var isPaused = false
    private var innerIsPaused = false
    /// Events that have occurred but have not been delivered.
    private var inTransit = Deque<(due: NIODeadline, event: ExchangeScript.Event)>()
    private var bytesInTransit = 0
    private var lastDue = NIODeadline.uptimeNanoseconds(0)
    /// Whether further events of the inner exchange are ignored, because it has ended or the connection broke.
    private var isOver = false
    /// Bytes of the response body received.
    private var received = 0
    private var timer: Scheduled<Void>?
    private var isDelivering = false
    /// The time when the last part of a streamed request body leaves.
    private var sentBy = NIODeadline.uptimeNanoseconds(0)

    init(
        _ request: PreparedRequest, _ connectTimeout: Duration?, _ transport: ThrottledTransport,
        _ receiver: any ExchangeReceiver, _ plan: LinkConditioner.ConnectionPlan
    ) {
        self.request = request
        self.connectTimeout = connectTimeout
        self.transport = transport
        self.receiver = receiver
        self.plan = plan
    }

    // MARK: Request

    func begin() {
        let origin = request.origin.authority
        guard !transport.link.profile.isOffline else {
            return after(.zero) { exchange in
                exchange.fail(NightjarError(.offline, "the network is offline (network profile \"offline\")"))
            }
        }
        if let limit = connectTimeout, plan.opening > limit {
            return after(limit) { exchange in
                exchange.fail(
                    NightjarError(
                        .timeout, "connecting to \(origin) timed out after \(limit.inSeconds) s (slow network profile)",
                        phase: .connect))
            }
        }
        if plan.breaks == .connecting {
            return after(plan.opening + plan.half) { exchange in
                exchange.fail(
                    NightjarError(
                        .connect, "connecting to \(origin) failed: the connection was lost (lossy network profile)",
                        phase: .connect))
            }
        }
        var size = request.wireHead.readableBytes
        if case .bytes(let bytes) = request.body { size += bytes.readableBytes }
        let ready = NIODeadline.now() + .nanoseconds(plan.opening.nanosecondsClamped)
        let sent = transport.link.send(size, at: ready.uptimeNanoseconds)
        at(NIODeadline.uptimeNanoseconds(sent) + half) { $0.start() }
    }

    private func start() {
        let exchange = transport.network.begin(request, connectTimeout: connectTimeout, receiver: self)
        guard receiver != nil, !isOver else { return exchange.cancel() }
        inner = exchange
        if isPaused { holdBack() }
    }

    func send(_ part: ByteBuffer) {
        let now = NIODeadline.now()
        let sent = transport.link.send(part.readableBytes, at: now.uptimeNanoseconds)
        sentBy = NIODeadline.uptimeNanoseconds(sent)
        // The parts of an upload follow each other without a delay. Each message of a WebSocket has its own.
        var arrival = sentBy
        if case .upgrade = request.body { arrival = arrival + half }
        at(arrival) { $0.inner?.send(part) }
    }

    func endBody() {
        at(max(sentBy, .now())) { $0.inner?.endBody() }
    }

    var unsentBytes: Int { inner?.unsentBytes ?? 0 }
    var sentBytes: Int { inner?.sentBytes ?? 0 }

    // MARK: Response

    func exchangeStarted(on connection: ConnectionRecord?, isReused: Bool, stream: Int32?) {
        receiver?.exchangeStarted(on: connection, isReused: isReused, stream: stream)
    }

    func exchangeRepeated() { receiver?.exchangeRepeated() }
    func exchangeProgressed() {}

    func exchangeConnecting(_ step: ConnectionRecord.Step) { receiver?.exchangeConnecting(step) }
    func exchangeDenied(_ addresses: AddressFilter.Denied) { receiver?.exchangeDenied(addresses) }

    func exchangeChallenged(_ challenge: ConnectionChallenge) -> Bool {
        receiver?.exchangeChallenged(challenge) ?? false
    }

    func exchangeReceived(informational: ResponseHead) {
        arrive(.head(informational), after: ThrottledExchange.headSize)
    }

    func exchangeReceived(head: ResponseHead) {
        guard plan.breaks != .waiting else { return breakOff() }
        arrive(.head(head), after: ThrottledExchange.headSize + head.headers.byteCount)
    }

    func exchangeReceived(body: ByteBuffer) {
        var rest = body
        // A large part is delivered in pieces, about ten a second on a slow network.
        let piece = max((transport.link.profile.down ?? Int.max) / 10, ThrottledExchange.smallestPiece)
        while rest.readableBytes > 0, !isOver, let part = rest.readSlice(length: min(piece, rest.readableBytes)) {
            if case .receiving(let limit)? = plan.breaks, received + part.readableBytes > limit { return breakOff() }
            received += part.readableBytes
            bytesInTransit += part.readableBytes
            arrive(.body(part), after: part.readableBytes)
        }
        holdBack()
    }

    func exchangeFinished(trailers: Headers) {
        inner = nil
        if case .receiving? = plan.breaks { return breakOff() }
        arrive(.finish(trailers: trailers), after: 0)
        isOver = true
    }

    func exchangeFailed(_ error: NightjarError) {
        inner = nil
        arrive(.fail(error), after: 0)
        isOver = true
    }

    func exchangeNeedsBody(maximum: Int) {
        // A part of the body is requested when the previous part has left.
        at(max(sentBy, .now())) { $0.receiver?.exchangeNeedsBody(maximum: min(maximum, ThrottledExchange.bodyPart)) }
    }

    private func breakOff() {
        guard !isOver else { return }
        inner.take()?.cancel()
        arrive(
            .fail(
                NightjarError(
                    .connectionLost,
                    "the connection to \(request.origin.authority) was lost before the response was complete "
                        + "(lossy network profile)", phase: .receive, requestMayHaveBeenProcessed: true)), after: 0)
        isOver = true
    }

    private func arrive(_ event: ExchangeScript.Event, after bytes: Int) {
        guard receiver != nil, !isOver else { return }
        let due = transport.link.receive(bytes, at: NIODeadline.now().uptimeNanoseconds)
        lastDue = max(lastDue, NIODeadline.uptimeNanoseconds(due) + half)
        inTransit.append((lastDue, event))
        deliverNext()
    }

    private func deliverNext() {
        guard !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        while receiver != nil, !isPaused, timer == nil, let (due, event) = inTransit.first {
            guard due <= .now() else {
                timer = transport.loop.scheduleTask(deadline: due) { [self] in
                    timer = nil
                    deliverNext()
                }
                return
            }
            _ = inTransit.popFirst()
            deliverNext(event)
        }
    }

    private func deliverNext(_ event: ExchangeScript.Event) {
        receiver?.exchangeProgressed()
        switch event {
        case .head(let head) where head.status < 200 && head.status != 101:
            receiver?.exchangeReceived(informational: head)
        case .head(let head): receiver?.exchangeReceived(head: head)
        case .body(let bytes):
            bytesInTransit -= bytes.readableBytes
            receiver?.exchangeReceived(body: bytes)
            holdBack()
        case .finish(let trailers): end()?.exchangeFinished(trailers: trailers)
        case .fail(let error): end()?.exchangeFailed(error)
        case .socket: break  // Frames arrive as parts of the body.
        }
    }

    private func fail(_ error: NightjarError) { end()?.exchangeFailed(error) }

    private func end() -> (any ExchangeReceiver)? {
        isOver = true
        inTransit = []
        timer?.cancel()
        timer = nil
        return receiver.take()
    }

    // MARK: Called by the caller

    func cancel() {
        _ = end()
        inner.take()?.cancel()
    }

    func pause() {
        isPaused = true
        holdBack()
    }

    func resume() {
        isPaused = false
        holdBack()
        deliverNext()
    }

    /// Pauses the inner exchange while too much data waits for delivery, or any data while the caller pauses. Otherwise
    /// resumes it.
    private func holdBack() {
        let isFull = bytesInTransit > ThrottledExchange.maximumInTransit || isPaused && bytesInTransit > 0
        guard isFull != innerIsPaused, let inner else { return }
        innerIsPaused = isFull
        isFull ? inner.pause() : inner.resume()
    }

    // MARK: Timers

    private var half: TimeAmount { .nanoseconds(plan.half.nanosecondsClamped) }

    private func after(_ delay: Duration, _ body: @escaping @Sendable (ThrottledExchange) -> Void) {
        at(.now() + .nanoseconds(delay.nanosecondsClamped), body)
    }

    private func at(_ moment: NIODeadline, _ body: @escaping @Sendable (ThrottledExchange) -> Void) {
        transport.loop.scheduleTask(deadline: moment) { [self] in
            if receiver != nil { body(self) }
        }
    }

    // MARK: Bounds

    /// The assumed size of a head without its fields, in bytes.
    private static let headSize = 64
    /// The payload of a full TCP segment on Ethernet, in bytes.
    private static let smallestPiece = 1460
    private static let maximumInTransit = 256 * 1024
    private static let bodyPart = 16 * 1024
}
