import NIOCore
import NightjarHTTP

/// Sending over a WebSocket. Messages that are sent while there is no connection are kept for the next one.
extension WebSocketSession {
    // MARK: Any thread

    /// Sends a message, without blocking.
    ///
    /// - Parameter isFirst: Whether it is one of the first messages of the connection; see ``FirstMessages``.
    /// - Returns: False if the send queue is full. The message is then not sent; see ``Handlers/writable``.
    /// - Throws: `invalid_argument` for a text that is not UTF-8; `closed`; `connection_lost` if there is no connection
    ///   and messages are not kept.
    package func send(_ message: WebSocketMessage, isFirst: Bool = false) throws(NightjarError) -> Bool {
        try check(message)
        guard sendLimit.reserve(WebSocketConnection.queuedSize(message)) else { return false }
        guard loop.submit(.run { [self] in accept(message, isFirst: isFirst) }) else { throw WebSocketSession.closed }
        return true
    }

    /// Calls `body` once, on the loop, when the send queue has room for a message, or when the WebSocket has ended.
    package func whenRoom(for message: WebSocketMessage, _ body: @escaping @Sendable () -> Void) {
        let count = WebSocketConnection.queuedSize(message)
        let isSubmitted = loop.submit(
            .run { [self] in
                guard !hasEnded, !sendLimit.hasRoom(for: count) else { return body() }
                // Another sender may have taken the room of the last notification.
                sendLimit.want(count)
                roomWaiters.append(body)
            })
        if !isSubmitted { body() }
    }

    /// Sends a Ping.
    ///
    /// - Parameter completion: Called once, on the loop, with the time until the Pong arrived. Fails with
    ///   `connection_lost` if there is no connection, or if it is lost.
    /// - Throws: `closed`.
    package func ping(
        completion: @escaping @Sendable (Result<Duration, NightjarError>) -> Void
    ) throws(NightjarError) {
        try sendLimit.check()
        guard loop.submit(.run { [self] in sendPing(completion) }) else { throw WebSocketSession.closed }
    }

    private func check(_ message: WebSocketMessage) throws(NightjarError) {
        try sendLimit.check()
        guard message.kind == .binary || message.payload.isUTF8 else {
            throw NightjarError(
                .invalidArgument,
                "sending a WebSocket message failed: the text is not UTF-8; send it as binary, or correct it")
        }
    }

    // MARK: On the loop

    /// Sends a message whose bytes are reserved.
    private func accept(_ message: WebSocketMessage, isFirst: Bool) {
        guard !hasEnded else { return }
        reservedBytes += WebSocketConnection.queuedSize(message)
        let isOpen = link?.isOpen == true
        if let link, isOpen, isFirst || !isOpening { return link.send(message) }
        // The connection may have been lost since the message was accepted.
        if isOpen || settings.keepsUnsent || !wasOpen { kept.append(message) } else { sent() }
    }

    /// Sends the messages that were kept while there was no connection.
    func sendKept() {
        isOpening = false
        guard let link, link.isOpen else { return }
        while let message = kept.popFirst() { link.send(message) }
        closeIfRequested()
    }

    /// Keeps the messages that the last connection has not sent, or discards them.
    func keep(_ unsent: [WebSocketMessage]) {
        kept.prepend(contentsOf: unsent)
        isOpening = false
        if !settings.keepsUnsent { kept = [] }
        sent()
    }

    /// Releases the bytes of the messages that were sent.
    func sent() {
        let left = (link?.queuedBytes ?? 0) + kept.reduce(0) { $0 + WebSocketConnection.queuedSize($1) }
        guard left < reservedBytes else { return }
        sendLimit.release(reservedBytes - left)
        reservedBytes = left
        guard sendLimit.roomIsWanted() else { return }
        notifyRoomWaiters()
        guard let writable = handlers.writable else { return }
        loop.post(.run { [self] in if !isCancelled { writable(self) } }, to: queue)
    }

    func notifyRoomWaiters() {
        for body in exchange(&roomWaiters, with: []) { body() }
    }

    private func sendPing(_ completion: @escaping @Sendable (Result<Duration, NightjarError>) -> Void) {
        lastPing += 1
        guard let link, link.ping(ByteBuffer(integer: lastPing)) else {
            return completion(.failure(WebSocketSession.notConnected))
        }
        pings[lastPing] = Ping(sent: loop.now, completion: completion)
    }

    static let closed = NightjarError(.closed, "the WebSocket is closed; open another one")
    static let notConnected = NightjarError(
        .connectionLost, "the WebSocket is not connected; wait until it is open", phase: .send)
}

extension ByteBuffer {
    fileprivate var isUTF8: Bool {
        var validator = UTF8Validator()
        return validator.accepts(self) && validator.isComplete
    }
}
