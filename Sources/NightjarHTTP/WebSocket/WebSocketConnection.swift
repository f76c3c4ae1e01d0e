import NIOCore

/// One WebSocket connection of a client, without I/O. RFC 6455.
///
///     connecting ──opened──▶ open ──close──▶ closing ──Close received──▶ lingering ──end of stream──▶ closed
///         │                   │ └──────Close received, failure──────────────▲  └──────deadline──────────▲
///         └──close, failed────┴─────end of stream, no Pong, no Close in time─────────────────────────────┘
///
/// The owner reports events by the methods that take the time, and then carries out the actions:
///
/// - ``next()`` until it returns nil, while the caller accepts messages. The connection parses and decompresses only
///   there, so its memory is bounded while the caller does not read.
/// - ``write(into:mask:)`` while the transport accepts bytes.
/// - ``deadline``: call ``reached(_:)`` at this time.
///
/// The end of the connection is reported exactly once, as ``Event/closed(_:)``, and the end of the transport exactly
/// once, as ``Event/closeTransport``. Between them, the client waits up to two seconds for the server to close the
/// transport, as section 7.1.1 requires. Times are nanoseconds of a monotonic clock.
package struct WebSocketConnection: ~Copyable {
    package enum Event: Sendable {
        case message(WebSocketMessage)
        /// The server has sent a Ping. The Pong is already queued.
        case ping(ByteBuffer)
        /// The server has sent a Pong that does not belong to a Ping of ``WebSocketConnectionSettings/pingInterval``.
        case pong(ByteBuffer)
        case closed(WebSocketClosure)
        case closeTransport
    }

    enum State {
        case connecting
        case open
        /// The Close frame of the client is queued or written. Messages that the server sent before its own Close frame
        /// are delivered. Section 1.4.
        case closing(deadline: UInt64)
        /// The end was reported. Received bytes are discarded.
        case lingering(deadline: UInt64)
        case closed
    }

    /// The time in which the server must close the transport after the end of the connection.
    static let lingerTime = Duration.seconds(2)

    let settings: WebSocketConnectionSettings
    var state = State.connecting
    var queue: WebSocketSendQueue
    var keepAlive: WebSocketKeepAlive
    /// The time of the last event.
    var now: UInt64
    private var decoder: WebSocketFrameDecoder
    private var assembler: WebSocketMessageAssembler
    /// Received bytes that were not parsed.
    private var input = ByteBuffer()
    private var hasEnded = false
    /// The failure of the transport.
    private var transportError: NightjarError?
    /// The kind of the message in pieces that the caller is sending. Nil between messages.
    var sentKind: WebSocketFrame.Kind?
    var sentText = UTF8Validator()
    private var unsent: [WebSocketMessage] = []
    private var closure: WebSocketClosure?
    private var closesTransport = false

    package init(_ settings: WebSocketConnectionSettings = WebSocketConnectionSettings(), now: UInt64) {
        self.settings = settings
        self.now = now
        queue = WebSocketSendQueue(settings, nil)
        keepAlive = WebSocketKeepAlive(settings, now: now)
        decoder = WebSocketFrameDecoder(allowsCompression: false, maximumMessage: settings.maximumMessage)
        assembler = WebSocketMessageAssembler(settings, nil)
    }

    package var isOpen: Bool { if case .open = state { true } else { false } }

    /// True before the end of an open connection: messages can arrive.
    package var canReceive: Bool {
        switch state {
        case .open, .closing: true
        case .connecting, .lingering, .closed: false
        }
    }

    /// The size of the queued messages and Pings in bytes.
    package var queuedBytes: Int { queue.queuedBytes }

    /// True if ``write(into:mask:)`` would write bytes.
    package var hasOutput: Bool {
        switch state {
        case .connecting, .closed: false
        case .open, .closing, .lingering: !queue.isEmpty
        }
    }

    /// The time of the next call of ``reached(_:)``. Nil if there is none.
    package var deadline: UInt64? {
        switch state {
        case .connecting, .closed: nil
        case .open: keepAlive.deadline
        case .closing(let deadline), .lingering(let deadline): deadline
        }
    }

    // MARK: Events

    /// Reports that the handshake has succeeded.
    ///
    /// - Parameter compressor: the compressor for the negotiated parameters. Nil if messages are not compressed.
    package mutating func opened(_ compressor: (any WebSocketCompressor)?, now: UInt64) {
        guard case .connecting = state else {
            assertionFailure("the connection is opened twice")
            return
        }
        self.now = now
        queue = WebSocketSendQueue(settings, compressor)
        keepAlive.received(now: now)
        decoder = WebSocketFrameDecoder(
            allowsCompression: compressor != nil, maximumMessage: max(settings.maximumMessage, 0))
        assembler = WebSocketMessageAssembler(settings, compressor)
        state = .open
    }

    /// Reports that the handshake has failed.
    package mutating func failed(_ error: NightjarError) {
        guard case .connecting = state else { return }
        lose(error)
    }

    /// Reports bytes of the server, also bytes that arrived together with the response of the handshake. The owner
    /// stops reading while it does not call ``next()``, because the bytes are stored until then.
    package mutating func received(_ bytes: ByteBuffer, now: UInt64) {
        self.now = now
        switch state {
        case .connecting, .open, .closing:
            keepAlive.received(now: now)
            if input.readableBytes == 0 { input = bytes } else { input.writeImmutableBuffer(bytes) }
        case .lingering, .closed: break
        }
    }

    /// Reports that the server closed its side of the transport, or that the transport failed.
    ///
    /// - Parameter error: the failure; nil if the server closed it.
    package mutating func endOfStream(_ error: NightjarError? = nil, now: UInt64) {
        self.now = now
        transportError = error
        switch state {
        case .connecting: lose(lost("during the handshake"))
        // The bytes before the end are processed first.
        case .open, .closing: hasEnded = true
        case .lingering: finish()
        case .closed: break
        }
    }

    /// Reports that ``deadline`` has passed.
    package mutating func reached(_ now: UInt64) {
        self.now = now
        switch state {
        case .open:
            switch keepAlive.reached(now) {
            case .wait: break
            case .ping: queue.addPing(keepAlive.payload)
            case .lost:
                lose(
                    NightjarError(
                        .timeout,
                        "the WebSocket connection is lost: the server sent nothing for \(settings.pongTimeout) after a Ping",
                        phase: .idle, requestMayHaveBeenProcessed: true))
            }
        case .closing(let deadline) where deadline <= now:
            lose(
                NightjarError(
                    .timeout,
                    "closing the WebSocket failed: the server sent no Close frame within \(settings.closeTimeout)",
                    phase: .idle, requestMayHaveBeenProcessed: true))
        case .lingering(let deadline) where deadline <= now: finish()
        case .connecting, .closing, .lingering, .closed: break
        }
    }

    // MARK: Actions

    /// Returns the next event for the owner. Returns nil if more data is needed.
    package mutating func next() -> Event? {
        switch state {
        case .open, .closing:
            if let event = receive() { return event }
        case .connecting, .lingering, .closed: break
        }
        if let closure = closure.take() { return .closed(closure) }
        guard closesTransport else { return nil }
        closesTransport = false
        return .closeTransport
    }

    private mutating func receive() -> Event? {
        do throws(WebSocketFailure) {
            while true {
                if let message = try assembler.next() { return .message(message) }
                switch try decoder.next(&input) {
                case .data(let piece): assembler.add(piece)
                case .ping(let payload):
                    // After its own Close frame, the client sends nothing. Section 1.4.
                    if !queue.isClosed { queue.addPong(ByteBuffer(bytes: payload.readableBytesView)) }
                    return .ping(payload)
                case .pong(let payload) where keepAlive.isResponse(payload): continue
                case .pong(let payload): return .pong(payload)
                case .close(let payload):
                    receivedClose(try WebSocketClosePayload(parsing: payload))
                    return nil
                case nil:
                    // Release the memory of the last read.
                    input = ByteBuffer()
                    if hasEnded { lose(transportError ?? lost("without a Close frame")) }
                    return nil
                }
            }
        } catch {
            fail(error)
            return nil
        }
    }

    /// Appends frames to `output` until its size reaches 64 KiB or nothing is queued. Call ``next()`` afterwards.
    ///
    /// - Parameter mask: returns a new, unpredictable mask key for each frame.
    package mutating func write(into output: inout ByteBuffer, mask: () -> UInt32) {
        switch state {
        case .connecting, .closed: return
        case .open, .closing, .lingering: break
        }
        do throws(NightjarError) {
            try queue.write(into: &output, mask: mask)
        } catch {
            fail(.of(error))
            // Writes the Close frame, which is not compressed.
            try? queue.write(into: &output, mask: mask)
        }
    }

    /// Returns the messages that were queued but not written completely when the connection ended, in order, and
    /// removes them. The server has received none of them. Call it after ``Event/closed(_:)``.
    package mutating func takeUnsent() -> [WebSocketMessage] {
        defer { unsent = [] }
        return unsent
    }

    // MARK: Ends

    private mutating func receivedClose(_ payload: WebSocketClosePayload) {
        let isRequested = !isOpen
        let removed = queue.removeAll()
        if !isRequested { queue.addClose(WebSocketClosePayload(payload.code).bytes) }
        linger(
            WebSocketClosure(
                payload.code ?? .noStatus, reason: payload.reason, isClean: true, isRequested: isRequested),
            unsent: removed)
    }

    /// Sends a Close frame with the code of the failure, and reports the failure. Section 7.1.7.
    private mutating func fail(_ failure: WebSocketFailure) {
        let isRequested = !isOpen
        let removed = queue.removeAll()
        queue.addClose(WebSocketClosePayload(failure.code, reason: failure.reason).bytes)
        linger(
            WebSocketClosure(failure.code, reason: failure.reason, isRequested: isRequested, error: failure.error),
            unsent: removed)
    }

    private mutating func linger(_ closure: WebSocketClosure, unsent: [WebSocketMessage]) {
        self.closure = closure
        self.unsent = unsent
        state = .lingering(deadline: now.later(by: WebSocketConnection.lingerTime))
        release()
        if hasEnded { finish() }
    }

    /// Reports an end without a Close frame of the server. The transport is closed at once.
    mutating func lose(_ error: NightjarError?) {
        let isRequested: Bool
        if case .closing = state { isRequested = true } else { isRequested = error == nil }
        closure = WebSocketClosure(.abnormal, isRequested: isRequested, error: error)
        unsent = queue.removeAll()
        release()
        finish()
    }

    private mutating func finish() {
        state = .closed
        closesTransport = true
    }

    /// Releases the memory of partial input.
    private mutating func release() {
        input = ByteBuffer()
        assembler = WebSocketMessageAssembler(settings, nil)
    }

    private func lost(_ moment: String) -> NightjarError {
        NightjarError(
            .connectionLost, "the server closed the WebSocket connection \(moment)", phase: .receive,
            requestMayHaveBeenProcessed: true)
    }
}
