import NIOCore

/// The behavior of the server on one connection after the handshake. Used only on the server's event loop.
protocol WebSocketEndpoint: AnyObject {
    /// True if received messages wait while the client does not read. An endpoint that sends a response to each message
    /// must return true, so that its output is bounded.
    var isPacedByOutput: Bool { get }

    /// False if the server never sends Pongs and Close frames.
    var sendsControlFrames: Bool { get }

    /// Called once, after the response of the handshake has been written.
    func opened(_ session: WebSocketSession)

    func received(_ message: WebSocketMessage, _ session: WebSocketSession)

    func receivedPong(_ payload: ByteBuffer, _ session: WebSocketSession)

    /// Called when the client accepts more data after ``WebSocketSession/isWritable`` was false.
    func becameWritable(_ session: WebSocketSession)

    /// Called once, after the connection has ended.
    func closed(_ session: WebSocketSession)
}

extension WebSocketEndpoint {
    var isPacedByOutput: Bool { true }
    var sendsControlFrames: Bool { true }
    func opened(_ session: WebSocketSession) {}
    func received(_ message: WebSocketMessage, _ session: WebSocketSession) {}
    func receivedPong(_ payload: ByteBuffer, _ session: WebSocketSession) {}
    func becameWritable(_ session: WebSocketSession) {}
    func closed(_ session: WebSocketSession) {}
}
