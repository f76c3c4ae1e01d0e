import NIOCore
import NightjarHTTP
import NightjarTesting
import NightjarTransport

/// Passes exchanges to the network and reports them to a recorder.
final class RecordingTransport: HTTPTransport {
    private let recorder: any ExchangeRecorder
    private let network: any HTTPTransport

    init(_ recorder: any ExchangeRecorder, over network: any HTTPTransport) {
        self.recorder = recorder
        self.network = network
    }

    func begin(
        _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
    ) -> any Exchange {
        let exchange = RecordingExchange(request, recorder, receiver)
        exchange.begin(over: network, connectTimeout)
        return exchange
    }

    func shutDown() {
        network.shutDown()
        recorder.close()
    }
}

/// An observed exchange, including secrets.
struct ObservedExchange {
    let request: PreparedRequest
    /// The request body as sent; nil if it exceeds the limit.
    var sent: ByteBuffer? = ByteBuffer()
    var head: ResponseHead?
    var headDelay = Duration.zero
    /// The response body as received; nil if it exceeds the limit.
    var body: ByteBuffer? = ByteBuffer()
    var pieces: [RecordedExchange.Piece] = []
    var trailers = Headers()
    var failure: RecordedExchange.Failure?
    var isTruncated = false
    /// The messages of a WebSocket. Nil for another exchange, and if the messages exceed the limit.
    var messages: [RecordedExchange.SocketMessage]?

    init(_ request: PreparedRequest) { self.request = request }

    /// Whether the server has accepted the upgrade to WebSocket.
    var isUpgraded: Bool { if case .upgrade = request.body { head?.status == 101 } else { false } }

    /// The exchange in cassette form, with secrets; nil if the response is too large.
    var recorded: RecordedExchange? {
        let content = sent.map { Content.decoded($0, request.fields) }
        let url = request.url.origin.description + request.url.target
        let recordedRequest = RecordedExchange.Request(
            method: request.method, url: url, headers: request.fields, body: content.map(RecordedBody.init) ?? .omitted)
        guard let head else { return RecordedExchange(recordedRequest, nil, failure) }
        guard let body, !isUpgraded || messages != nil else { return nil }
        var response = RecordedExchange.Response(status: head.status)
        response.reason = head.reason
        response.headers = head.headers
        let decoded = head.status == 206 || failure != nil || isTruncated ? body : Content.decoded(body, head.headers)
        if decoded != body { response.headers.remove("Content-Encoding") }
        guard decoded.readableBytes <= Cassette.largestBody else { return nil }
        response.body = RecordedBody(decoded)
        response.trailers = trailers
        response.delay = headDelay
        response.pieces = pieces
        response.isTruncated = isTruncated
        response.messages = messages
        return RecordedExchange(recordedRequest, response, failure)
    }
}

/// Observes one exchange without changing it.
final class RecordingExchange: Exchange, ExchangeReceiver {
    private let recorder: any ExchangeRecorder
    /// The value that the recorder returned when the exchange began.
    private let mark: Int
    private var observed: ObservedExchange
    private var receiver: (any ExchangeReceiver)?
    private var inner: (any Exchange)?
    private var last = NIODeadline.now()
    /// The readers of the messages of a WebSocket. Nil before the head of the response.
    private var socket: SocketRecorder?

    init(_ request: PreparedRequest, _ recorder: any ExchangeRecorder, _ receiver: any ExchangeReceiver) {
        self.recorder = recorder
        mark = recorder.begin()
        self.receiver = receiver
        observed = ObservedExchange(request)
        if case .bytes(let bytes) = request.body {
            observed.sent = bytes.readableBytes <= recorder.largestBody ? bytes : nil
        }
    }

    func begin(over network: any HTTPTransport, _ connectTimeout: Duration?) {
        let exchange = network.begin(observed.request, connectTimeout: connectTimeout, receiver: self)
        guard receiver != nil else { return exchange.cancel() }
        inner = exchange
    }

    /// Returns the time since the previous call, or since the exchange began.
    private func split() -> Duration {
        let now = NIODeadline.now()
        defer { last = now }
        return .nanoseconds((now - last).nanoseconds)
    }

    private func end() -> (any ExchangeReceiver)? {
        inner = nil
        guard receiver != nil else { return nil }
        recorder.add(observed, started: mark)
        return receiver.take()
    }

    // MARK: Events of the network

    func exchangeStarted(on connection: ConnectionRecord?, isReused: Bool, stream: Int32?) {
        if observed.request.body.isStreamedFromCaller { observed.sent = ByteBuffer() }
        receiver?.exchangeStarted(on: connection, isReused: isReused, stream: stream)
    }

    func exchangeRepeated() { receiver?.exchangeRepeated() }
    func exchangeProgressed() { receiver?.exchangeProgressed() }
    func exchangeReceived(informational: ResponseHead) { receiver?.exchangeReceived(informational: informational) }
    func exchangeNeedsBody(maximum: Int) { receiver?.exchangeNeedsBody(maximum: maximum) }

    func exchangeConnecting(_ step: ConnectionRecord.Step) { receiver?.exchangeConnecting(step) }
    func exchangeDenied(_ addresses: AddressFilter.Denied) { receiver?.exchangeDenied(addresses) }

    func exchangeChallenged(_ challenge: ConnectionChallenge) -> Bool {
        receiver?.exchangeChallenged(challenge) ?? false
    }

    func exchangeReceived(head: ResponseHead) {
        observed.head = head
        observed.headDelay = split()
        if observed.isUpgraded {
            observed.messages = []
            socket = SocketRecorder(maximumSize: recorder.largestBody)
        }
        receiver?.exchangeReceived(head: head)
    }

    func exchangeReceived(body: ByteBuffer) {
        if observed.isUpgraded {
            record(body, isSent: false)
            receiver?.exchangeReceived(body: body)
            return
        }
        if let length = observed.body?.readableBytes, length + body.readableBytes <= recorder.largestBody {
            add(body, to: &observed.body)
        } else {
            observed.body = nil
        }
        if observed.pieces.count < RecordingExchange.maximumPieces {
            observed.pieces.append(.init(after: split(), bytes: body.readableBytes))
        }
        receiver?.exchangeReceived(body: body)
    }

    func exchangeFinished(trailers: Headers) {
        observed.trailers = trailers
        end()?.exchangeFinished(trailers: trailers)
    }

    func exchangeFailed(_ error: NightjarError) {
        observed.failure = RecordedExchange.Failure(error, after: split())
        end()?.exchangeFailed(error)
    }

    // MARK: Called by the caller

    func cancel() {
        let exchange = inner
        // If the caller stops after the head, for example at a redirect, the recorded part is sufficient for a replay.
        if observed.head != nil {
            observed.isTruncated = true
            _ = end()
        } else if receiver != nil {
            recorder.drop(observed, started: mark)
        }
        receiver = nil
        inner = nil
        exchange?.cancel()
    }

    func pause() { inner?.pause() }
    func resume() { inner?.resume() }

    func send(_ part: ByteBuffer) {
        if observed.isUpgraded {
            record(part, isSent: true)
            inner?.send(part)
            return
        }
        if let length = observed.sent?.readableBytes, length + part.readableBytes <= recorder.largestBody {
            add(part, to: &observed.sent)
        } else {
            observed.sent = nil
        }
        inner?.send(part)
    }

    /// Records the messages of a WebSocket.
    private func record(_ frames: ByteBuffer, isSent: Bool) {
        do throws(NightjarError) {
            for message in try socket?.read(frames, isSent: isSent) ?? [] {
                observed.messages?.append(
                    .init(isSent: message.isSent, message.content, after: split()))
            }
        } catch {
            // The messages cannot be replayed without their rest.
            observed.messages = nil
            socket = nil
        }
    }

    /// If memory is exhausted, the body is recorded as too large.
    private func add(_ part: ByteBuffer, to content: inout ByteBuffer?) {
        if (try? content?.append(part, for: "the recorded body")) == nil { content = nil }
    }

    func endBody() { inner?.endBody() }
    var unsentBytes: Int { inner?.unsentBytes ?? 0 }
    var sentBytes: Int { inner?.sentBytes ?? 0 }

    /// The maximum number of recorded pieces of one body. The rest of the body is replayed with the last piece.
    private static let maximumPieces = 10_000
}
