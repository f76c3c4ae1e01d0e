/// The settings of a WebSocket connection. Sizes are in bytes.
package struct WebSocketConnectionSettings: Sendable, Equatable {
    /// The maximum size of a received message after decompression. A larger message closes the connection with 1009.
    package var maximumMessage = 16 << 20
    /// True to deliver messages in pieces of at most 64 KiB as they arrive, false to deliver whole messages. A piece of a
    /// text is a valid text.
    package var deliversPieces = false
    /// The maximum size of all payloads in the send queue. A larger message is accepted if the queue is empty.
    package var maximumQueued = 1 << 20
    /// The maximum size of the payload of a sent frame. Larger messages are sent in fragments. The default is the limit
    /// of AWS API Gateway.
    package var maximumFrame = 32 * 1024
    /// The minimum size of a sent message that is compressed, if permessage-deflate was negotiated.
    package var smallestCompressed = 64
    /// The time without received bytes after which the client sends a Ping. Nil sends no Pings.
    package var pingInterval: Duration?
    /// The time after a Ping in which bytes must arrive. Otherwise, the connection is considered lost.
    package var pongTimeout = Duration.seconds(20)
    /// The time after ``WebSocketConnection/close(code:reason:now:)`` in which the server must respond with a Close
    /// frame.
    package var closeTimeout = Duration.seconds(10)

    package init() {}

    /// The maximum size of an inflated or delivered piece.
    static let largestPiece = 64 * 1024
}
