import NIOCore

/// Serves one WebSocket connection: reads messages, responds to control frames and calls the endpoint.
///
/// The handler is added before the HTTP handlers, which receive no more input.
///
///     open ──close()──▶ closing ──Close frame or timeout──▶ shut ──end of input or timeout──▶ closed
///       └────────Close frame, violation, drop()─────────────▲
final class WebSocketSession: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    enum State {
        case open
        /// The server has sent a Close frame and waits for the Close frame of the client.
        case closing
        /// The server has closed its side of the TCP connection. All input is discarded.
        case shut
        case closed
    }

    /// The time within which the client must respond to a Close frame.
    private static let closeTimeout = TimeAmount.seconds(5)

    /// The time during which the client may continue to send after the server has closed its side. Closing a socket
    /// with unread bytes resets the connection, and the reset could overtake the last frames.
    private static let lingering = TimeAmount.seconds(2)

    let agreement: WebSocketAgreement
    let ledger: Ledger
    private let endpoint: any WebSocketEndpoint
    private var reader: WebSocketReader
    private(set) var context: ChannelHandlerContext?
    private(set) var state = State.open
    var output: WebSocketOutput
    private var isProcessing = false
    /// True if all input is discarded, because the endpoint ignores a Close frame or a violation.
    private var ignoresInput = false
    private var isReadPaused = false
    /// True if a read was requested while reading is paused.
    private var hasHeldRead = false
    /// The payload of the last Ping that was received while the client did not read.
    private var unsentPong: ByteBuffer?
    private var timer: Scheduled<Void>?

    init(_ endpoint: any WebSocketEndpoint, _ agreement: WebSocketAgreement, ledger: Ledger) {
        self.endpoint = endpoint
        self.agreement = agreement
        self.ledger = ledger
        let deflate = agreement.deflate
        reader = WebSocketReader(
            inflater: deflate.flatMap {
                MessageInflater(windowBits: $0.clientWindow, keepsContext: !$0.clientResets)
            })
        output = WebSocketOutput(
            deflater: deflate.flatMap {
                MessageDeflater(windowBits: $0.serverWindow, keepsContext: !$0.serverResets)
            }, fragmentSize: agreement.fragmentSize)
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        ledger.note { statistics in
            statistics.webSockets.opened += 1
            statistics.webSockets.open += 1
        }
        scheduleFlush()
        endpoint.opened(self)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard acceptsInput else { return }
        reader.append(unwrapInboundIn(data))
        process()
    }

    func channelReadComplete(context: ChannelHandlerContext) {}

    func read(context: ChannelHandlerContext) {
        if holdsInput {
            hasHeldRead = true
        } else {
            context.read()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        // Deferred, because the event may occur during a write.
        context.eventLoop.assumeIsolated().execute { [self] in
            if let pong = unsentPong.take(), state == .open, !output.isBroken { write(.pong, pong) }
            if state == .open { endpoint.becameWritable(self) }
            resumeReading()
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ChannelShouldQuiesceEvent else { return }
        if endpoint.sendsControlFrames, !output.isBroken {
            close(.goingAway, "the server stops")
        } else {
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        ended()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { ended() }

    private func ended() {
        guard state != .closed else { return }
        state = .closed
        timer?.cancel()
        context = nil
        ledger.note { $0.webSockets.open -= 1 }
        endpoint.closed(self)
    }

    // MARK: Input

    private var acceptsInput: Bool { !ignoresInput && (state == .open || state == .closing) }

    /// True while received bytes are not processed.
    private var holdsInput: Bool {
        state == .open && (isReadPaused || (endpoint.isPacedByOutput && !isWritable))
    }

    private func process() {
        guard !isProcessing else { return }
        isProcessing = true
        defer { isProcessing = false }
        while acceptsInput, !holdsInput {
            do throws(WebSocketViolation) {
                guard let event = try reader.next() else { return }
                handle(event)
            } catch {
                fail(error)
            }
        }
    }

    private func handle(_ event: WebSocketReader.Event) {
        switch event {
        case .message(let message):
            ledger.note { $0.webSockets.messages += 1 }
            // After its Close frame, the server ignores data (RFC 6455 section 5.5.1).
            if state == .open { endpoint.received(message, self) }
        case .ping(let payload):
            ledger.note { $0.webSockets.pings += 1 }
            guard state == .open, endpoint.sendsControlFrames, !output.isBroken else { return }
            // A server may omit the Pongs of all Pings except the last one (RFC 6455 section 5.5.3).
            if isWritable { write(.pong, payload) } else { unsentPong = payload }
        case .pong(let payload):
            ledger.note { $0.webSockets.pongs += 1 }
            if state == .open { endpoint.receivedPong(payload, self) }
        case .close(let closure):
            ledger.note { $0.webSockets.closes[closure.code ?? WebSocketClosure.noCode, default: 0] += 1 }
            guard endpoint.sendsControlFrames else {
                ignoresInput = true
                return
            }
            if state == .open, !output.isBroken { write(.close, closure.payload) }
            shut()
        }
    }

    private func fail(_ violation: WebSocketViolation) {
        ledger.note { $0.webSockets.violations += 1 }
        guard endpoint.sendsControlFrames else {
            ignoresInput = true
            return
        }
        if state == .open, !output.isBroken {
            let closure = WebSocketClosure(code: violation.code.rawValue, reason: violation.reason)
            write(.close, closure.payload)
        }
        shut()
    }

    /// Stops reading from the socket for some time.
    func pauseReading(for pause: TimeAmount) {
        isReadPaused = true
        after(pause) { [self] in
            isReadPaused = false
            resumeReading()
        }
    }

    private func resumeReading() {
        process()
        guard !holdsInput, hasHeldRead else { return }
        hasHeldRead = false
        context?.read()
    }

    // MARK: Closing

    /// Sends a Close frame and waits for the Close frame of the client.
    ///
    /// - Parameter code: sent even if it is invalid. 1005 sends a Close frame without a code.
    func close(code: Int, reason: String) {
        close(payload: WebSocketClosure(code: code == WebSocketClosure.noCode ? nil : code, reason: reason).payload)
    }

    func close(_ code: WebSocketCloseCode, _ reason: String) { close(code: code.rawValue, reason: reason) }

    /// - Parameter payload: the payload of the Close frame, which can be invalid.
    func close(payload: ByteBuffer) {
        guard state == .open, !output.isBroken else { return }
        state = .closing
        write(.close, payload)
        setTimer(WebSocketSession.closeTimeout)
        // Input that waited for the output may contain the Close frame of the client.
        context?.eventLoop.assumeIsolated().execute { [self] in resumeReading() }
    }

    /// Closes the TCP connection after all previous frames, without a Close frame.
    func drop() { shut() }

    /// Closes the server's side after all previous frames, and waits for the client to close its side.
    private func shut() {
        guard state == .open || state == .closing, let context else { return }
        state = .shut
        flush()
        context.close(mode: .output, promise: nil)
        setTimer(WebSocketSession.lingering)
        resumeReading()
    }

    /// Resets the TCP connection or the HTTP/2 stream. Data that was not sent is lost.
    func reset() { context?.channel.reset() }

    /// Closes the connection after some time, instead of the time set before.
    private func setTimer(_ limit: TimeAmount) {
        timer?.cancel()
        timer = context?.eventLoop.assumeIsolated().scheduleTask(in: limit) { [self] in
            context?.close(promise: nil)
        }
    }

    /// Runs `work` after some time, unless the connection has ended or is being closed.
    func after(_ pause: TimeAmount, _ work: @escaping () -> Void) {
        context?.eventLoop.assumeIsolated().scheduleTask(in: pause) { [self] in
            if state == .open { work() }
        }
    }
}
