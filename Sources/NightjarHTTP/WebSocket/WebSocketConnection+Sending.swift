import NIOCore

extension WebSocketConnection {
    /// Queues a message, or a piece of a message.
    ///
    /// - Returns: false if the send queue is full. The message is then not queued. The caller waits until
    ///   ``queuedBytes`` is smaller, or fails.
    /// - Throws: `invalid_argument` if a text is not UTF-8, if a piece does not continue the message in progress, or if
    ///   the connection is not open yet. `closed` after the end of the connection or ``close(code:reason:now:)``.
    package mutating func send(_ message: WebSocketMessage) throws(NightjarError) -> Bool {
        try requireOpen("sending a WebSocket message")
        guard message.startsMessage == (sentKind == nil), sentKind == nil || sentKind == message.kind else {
            throw NightjarError(
                .invalidArgument,
                sentKind == nil
                    ? "sending a WebSocket message failed: a later piece follows no first piece"
                    : "sending a WebSocket message failed: another message is in progress; send its last piece first")
        }
        guard hasRoom(for: message.payload) else { return false }
        if message.kind == .text {
            var text = message.startsMessage ? UTF8Validator() : sentText
            guard text.accepts(message.payload), text.isComplete || !message.endsMessage else {
                throw NightjarError(
                    .invalidArgument,
                    "sending a WebSocket message failed: the text is not UTF-8; send it as binary, or correct it")
            }
            sentText = text
        }
        sentKind = message.endsMessage ? nil : message.kind
        queue.add(message)
        return true
    }

    /// Queues a Ping.
    ///
    /// - Returns: false if the send queue is full.
    /// - Throws: `invalid_argument` if the payload has more than 125 bytes or the connection is not open yet, `closed`
    ///   as for ``send(_:)``.
    package mutating func ping(_ payload: ByteBuffer = ByteBuffer()) throws(NightjarError) -> Bool {
        try requireOpen("sending a Ping")
        guard payload.readableBytes <= WebSocketFrame.maximumControl else {
            throw NightjarError(
                .invalidArgument,
                "the payload of a Ping must have at most \(WebSocketFrame.maximumControl) bytes, "
                    + "got \(payload.readableBytes)")
        }
        guard hasRoom(for: payload) else { return false }
        queue.addPing(payload)
        return true
    }

    /// Starts the closing handshake: queued messages are sent, then a Close frame. The server must respond within
    /// ``WebSocketConnectionSettings/closeTimeout``. Does nothing if the connection is closing or closed.
    ///
    /// - Parameters:
    ///   - code: nil sends a Close frame without a code.
    ///   - reason: at most 123 bytes of UTF-8.
    /// - Throws: `invalid_argument` if the code or reason is invalid.
    package mutating func close(
        code: WebSocketCloseCode? = .normal, reason: String = "", now: UInt64
    ) throws(NightjarError) {
        let payload = try WebSocketClosePayload.checked(code, reason: reason)
        self.now = now
        switch state {
        case .connecting: lose(nil)
        case .open:
            queue.addClose(payload.bytes)
            state = .closing(deadline: now.later(by: settings.closeTimeout))
        case .closing, .lingering, .closed: break
        }
    }

    /// Reports that the owner stops or resumes reading from the transport. While it does not read, no Pong can arrive,
    /// so no Ping is sent.
    package mutating func setReading(_ isReading: Bool, now: UInt64) {
        self.now = now
        if isReading { keepAlive.resume(now: now) } else { keepAlive.pause() }
    }

    /// The bytes that a message adds to ``queuedBytes``.
    package static func queuedSize(_ message: WebSocketMessage) -> Int { WebSocketSendQueue.size(message.payload) }

    /// A message that is larger than the limit is accepted if the queue is empty.
    private func hasRoom(for payload: ByteBuffer) -> Bool {
        queuedBytes == 0 || queuedBytes + WebSocketSendQueue.size(payload) <= settings.maximumQueued
    }

    private func requireOpen(_ operation: String) throws(NightjarError) {
        switch state {
        case .open: break
        case .connecting:
            throw NightjarError(
                .invalidArgument, "\(operation) failed: the WebSocket is not open yet; wait until it is")
        case .closing, .lingering, .closed:
            throw NightjarError(.closed, "\(operation) failed: the WebSocket is closed; open another WebSocket")
        }
    }
}
