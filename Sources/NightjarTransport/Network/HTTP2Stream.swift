import CHTTP2
import NIOCore
import NightjarHTTP

/// One exchange on an HTTP/2 connection. RFC 9113 section 5.1.
///
///     active ──response complete──▶ received ──delivered──▶ ended
///        └─────── reset, failure, cancellation ───────────▶ ended
///
/// While the receiver is paused, the stream holds the received data, at most as much as its window allows.
final class HTTP2Stream: ExchangeCarrier {
    private enum Held {
        case body(ByteBuffer)
        case end(Headers)
        case failure(NightjarError, RequestLoss)
    }

    private let connection: HTTP2Connection
    /// The number of the stream. 0 until the request is submitted, and after the stream was closed.
    var number: Int32 = 0
    /// The index in the connection's list of streams.
    var place = 0
    private(set) var exchange: NetworkExchange?
    let isReused: Bool
    /// Whether the request opens a WebSocket. RFC 8441.
    let opensTunnel: Bool
    private var reader: HTTP2ResponseReader
    private var window = HTTP2Connection.window
    /// The unsent part of the request body; nil if there is none.
    private var outgoing: OutgoingBody?
    /// The rest of a part of the body that did not fit into a frame.
    private var part = ByteBuffer()
    private(set) var requestIsComplete: Bool
    /// Whether a part of a streamed body was requested from the receiver.
    private var bodyWasStarted = false
    /// An upper limit of the position in the connection's output at which the last frame of the body ends.
    private var bodyEnd = 0
    /// Whether the library requests data in this moment.
    private var isReadingBody = false
    /// The events that wait until the receiver resumes.
    private var held: [Held] = []
    /// Copies of small parts of the body that follow ``held``.
    private var heldCopy = ByteBuffer()
    /// Whether the stream counts toward the server's limit of concurrent streams.
    private var hasSlot = true
    var expectation: ExpectContinue?
    var timeout: Scheduled<Void>?

    init(_ exchange: NetworkExchange, on connection: HTTP2Connection, reused: Bool) {
        self.exchange = exchange
        self.connection = connection
        isReused = reused
        let request = exchange.request
        opensTunnel = if case .upgrade = request.body { true } else { false }
        reader = HTTP2ResponseReader(
            method: request.method, opensTunnel: opensTunnel, limits: connection.transport.decoderLimits)
        let body = OutgoingBody(unframed: request.body, request.framing)
        requestIsComplete = body.isComplete
        if !requestIsComplete {
            outgoing = body
            if request.expectsContinue { expectation = ExpectContinue(bodyIsReplayable: request.body.isReplayable) }
        }
    }

    private var receiver: (any ExchangeReceiver)? { exchange?.receiver }

    // MARK: Sending

    /// Stores the next bytes of the body. Returns their number, or a result of `ch2_handler.body`.
    func readBody(
        _ buffer: UnsafeMutablePointer<UInt8>?, _ capacity: Int, _ isLast: UnsafeMutablePointer<Bool>?
    ) -> Int {
        guard exchange != nil, let buffer, let isLast else { return HTTP2Stream.bodyFailed }
        guard expectation?.allowsBody ?? true else { return HTTP2Stream.bodyLater }
        isReadingBody = true
        defer { isReadingBody = false }
        if part.readableBytes == 0, !takePart() {
            return exchange == nil ? HTTP2Stream.bodyFailed : HTTP2Stream.bodyLater
        }
        let count = min(part.readableBytes, capacity)
        part.readWithUnsafeReadableBytes { bytes in
            if let base = bytes.baseAddress { UnsafeMutableRawPointer(buffer).copyMemory(from: base, byteCount: count) }
            return count
        }
        if part.readableBytes == 0, outgoing?.isComplete ?? true {
            requestIsComplete = true
            isLast.pointee = true
        }
        bodyEnd = connection.bytesWritten + HTTP2Output.largestWrite
        receiver?.exchangeProgressed()
        return count
    }

    /// Takes the next part of the body. Returns false if none is available.
    private func takePart() -> Bool {
        while true {
            switch outgoing?.next() ?? .complete {
            case .write(let next):
                part = next
                return true
            case .requestPart(let maximum):
                bodyWasStarted = true
                // The receiver may send the part before this call returns.
                receiver?.exchangeNeedsBody(maximum: maximum)
                guard exchange != nil else { return false }
            case .wait: return false
            case .complete: return true
            }
        }
    }

    func send(_ part: ByteBuffer) {
        changeBody { body throws(NightjarError) in try body.receive(part) }
    }

    func endBody() {
        changeBody { body throws(NightjarError) in try body.end() }
    }

    private func changeBody(_ change: (inout OutgoingBody) throws(NightjarError) -> Void) {
        guard exchange != nil, outgoing != nil else { return }
        do throws(NightjarError) {
            if var body = outgoing.take() {
                defer { outgoing = body }
                try change(&body)
            }
        } catch {
            return fail(error, .internalError)
        }
        if !isReadingBody { resumeBody() }
    }

    private func resumeBody() {
        guard number > 0 else { return }
        connection.session?.resumeBody(number)
        // A WebSocket sends several messages at once. A program may end after its Close frame.
        if opensTunnel { connection.flushNow() } else { connection.scheduleFlush() }
    }

    /// The unacknowledged bytes of the body. Bytes of other streams that were written later do not count, so that the idle
    /// timeout of a stalled stream expires.
    var unsentBytes: Int { connection.unsentBytes(before: bodyEnd) }
    var sentBytes: Int { outgoing?.sentBytes ?? 0 }

    func sendBody() { resumeBody() }
    func dropBody() { outgoing = nil }
    var eventLoop: (any EventLoop)? { connection.context?.eventLoop }

    // MARK: Receiving

    func received(_ section: UnsafePointer<ch2_section>?, endsStream: Bool) {
        guard exchange != nil, let section = section?.pointee else { return }
        receiver?.exchangeProgressed()
        do throws(NightjarError) {
            switch try reader.read(HTTP2Session.section(section), endsStream: endsStream) {
            case .informational(let head):
                receiver?.exchangeReceived(informational: head)
                perform(expectation?.received(status: head.status))
            case .head(let head):
                guard perform(expectation?.received(status: head.status)) else { return }
                let isAccepted = opensTunnel && head.status == 101
                receiver?.exchangeReceived(head: head)
                if opensTunnel { endUpgrade(isAccepted) }
                if endsStream { ended() }
            case .end(let trailers): deliver(.end(trailers))
            }
        } catch {
            fail(error, .protocolError)
        }
    }

    func received(_ bytes: UnsafePointer<UInt8>?, _ count: Int) {
        guard exchange != nil, let bytes, count > 0 else { return }
        receiver?.exchangeProgressed()
        do throws(NightjarError) {
            try reader.received(count)
        } catch {
            return fail(error, .protocolError)
        }
        connection.consumed(count)
        deliver(.body(connection.slice(UnsafeRawPointer(bytes), count)))
    }

    /// Reports the end of the response without trailers.
    func ended() {
        guard exchange != nil else { return }
        do throws(NightjarError) {
            try reader.end()
        } catch {
            return fail(error, .protocolError)
        }
        deliver(.end(Headers()))
    }

    /// After an accepted upgrade, requests the first bytes to send. A refused upgrade leaves a response as any other.
    private func endUpgrade(_ isAccepted: Bool) {
        guard exchange != nil else { return }
        guard isAccepted else { return dropBody() }
        outgoing?.upgraded()
        resumeBody()
    }

    // MARK: Pausing

    var isReading = true {
        didSet { if isReading, !oldValue { deliverHeld() } }
    }

    private func deliver(_ event: Held) {
        if case .body = event {} else { releaseSlot() }
        guard isReading, held.isEmpty, heldCopy.readableBytes == 0 else { return hold(event) }
        handle(event)
    }

    /// Stores an event until the receiver resumes. A small part of a read is copied, because a slice would keep the whole
    /// read in memory, and a server could send many reads with one byte of the body in each.
    private func hold(_ event: Held) {
        if case .body(let bytes) = event, bytes.readableBytes < bytes.storageCapacity / 2 {
            heldCopy.writeImmutableBuffer(bytes)
            if heldCopy.readableBytes >= HTTP2Stream.largestCopy { endCopy() }
        } else {
            endCopy()
            held.append(event)
        }
    }

    private func endCopy() {
        guard heldCopy.readableBytes > 0 else { return }
        held.append(.body(heldCopy))
        heldCopy = ByteBuffer()
    }

    private func deliverHeld() {
        while isReading, exchange != nil {
            if held.isEmpty { endCopy() }
            guard !held.isEmpty else { break }
            handle(held.removeFirst())
        }
        connection.scheduleFlush()
    }

    private func handle(_ event: Held) {
        switch event {
        case .body(let bytes):
            consume(bytes.readableBytes)
            receiver?.exchangeReceived(body: bytes)
        case .end(let trailers): finish(trailers)
        case .failure(let error, let loss): exchange.take()?.connectionFailed(error, loss)
        }
    }

    /// Lets the server send more on this stream, and enlarges the window if it limits the rate.
    private func consume(_ count: Int) {
        guard hasSlot, let session = connection.session else { return }
        session.consume(number, count)
        let now = connection.transport.clock.now.uptimeNanoseconds
        guard window.canGrow, let size = window.consumed(count, at: now, roundTrip: connection.roundTrip) else {
            return
        }
        session.setWindow(number, size)
    }

    // MARK: Ending

    private func finish(_ trailers: Headers) {
        forgetExpectation()
        exchange.take()?.end()?.exchangeFinished(trailers: trailers)
    }

    /// Makes the stream's slot available to another exchange. A request that the server has not read is reset.
    private func releaseSlot(_ error: HTTP2ErrorCode = .noError) {
        guard hasSlot else { return }
        hasSlot = false
        if number > 0, let session = connection.session {
            if !requestIsComplete || error != .noError { session.reset(number, error) }
            session.forget(number)
        }
        connection.remove(self)
        connection.scheduleFlush()
    }

    /// Ends the exchange because the request or the response is invalid.
    private func fail(_ error: NightjarError, _ code: HTTP2ErrorCode) {
        guard exchange != nil else { return }
        forgetExpectation()
        releaseSlot(code)
        lose(error, wasStarted: true)
    }

    private func lose(_ error: NightjarError, _ reason: RequestLoss.Reason = .connection, wasStarted: Bool) {
        let loss = RequestLoss(
            reason, connectionWasReused: isReused, requestWasStarted: wasStarted, bodyWasStarted: bodyWasStarted,
            responseHasStarted: reader.hasHead)
        deliver(.failure(error, loss))
    }

    /// Reports that the connection did not accept the request.
    func refused() {
        hasSlot = false
        connection.remove(self)
        lose(
            NightjarError(.connectionLost, "the connection closed before the request was sent", phase: .send), .goAway,
            wasStarted: false)
    }

    /// Reports that the server does not accept WebSockets over HTTP/2.
    func tunnelRejected() {
        hasSlot = false
        connection.remove(self)
        guard connection.host.versions == .http2 else {
            return lose(
                NightjarError(.connectionLost, "the server accepts WebSockets only over HTTP/1.1", phase: .send),
                .http11Required, wasStarted: false)
        }
        lose(
            NightjarError(
                .protocol,
                "the server does not accept WebSockets over HTTP/2 (RFC 8441), and http.versions excludes HTTP/1.1",
                phase: .send), wasStarted: false)
    }

    /// Reports that a GOAWAY frame excludes the stream.
    func excluded() {
        connection.session?.reset(number, .cancel)
        connection.session?.forget(number)
        closed(.refusedStream)
    }

    /// Reports that the server has reset the stream, or that a GOAWAY frame excludes it.
    func closed(_ code: HTTP2ErrorCode) {
        guard exchange != nil, hasSlot else { return }
        let reason = reason(of: code)
        forgetExpectation()
        number = 0
        releaseSlot()
        let message =
            switch reason {
            case .connection: "the server reset the stream before the end of the response (\(code))"
            case .goAway: "the server closed the connection without processing the request (GOAWAY)"
            case .refused: "the server refused the request without processing it (\(code))"
            case .http11Required: "the server requires HTTP/1.1 for the request (\(code))"
            }
        lose(
            code == .http11Required && reason == .connection
                ? NightjarError(
                    .protocol, "the server requires HTTP/1.1, which http.versions excludes", phase: .receive)
                : NightjarError(.connectionLost, message, phase: .receive), reason, wasStarted: true)
    }

    private func reason(of code: HTTP2ErrorCode) -> RequestLoss.Reason {
        switch code {
        case .refusedStream: connection.excludes(number) ? .goAway : .refused
        case .http11Required: connection.requireHTTP1() ? .http11Required : .connection
        default: .connection
        }
    }

    /// Reports that the connection was lost.
    func connectionFailed(_ error: NightjarError, wasWritten: Bool) {
        guard exchange != nil else { return }
        hasSlot = false
        forgetExpectation()
        lose(error, wasStarted: wasWritten)
    }

    func abandon() {
        exchange = nil
        held = []
        heldCopy = ByteBuffer()
        forgetExpectation()
        releaseSlot(.cancel)
    }

    private static let largestCopy = 64 * 1024
    private static let bodyLater = Int(CH2_BODY_LATER)
    private static let bodyFailed = Int(CH2_BODY_FAILED)
}
