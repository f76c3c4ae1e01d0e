/// The settings of a WebSocket.
public struct WebSocketSettings: Sendable {
    /// The subprotocols that the client offers, in order of preference.
    public var protocols: [String] = []
    /// Whether compression of messages is offered (permessage-deflate, RFC 7692).
    public var compresses = true
    /// The maximum size of a received message in bytes, after decompression. A larger one closes the connection with
    /// 1009.
    public var maximumMessage = 16 << 20
    /// Whether messages are delivered in pieces of at most 64 KiB, as they arrive, and not as a whole.
    public var deliversPieces = false
    /// The maximum size of all messages that wait to be sent, in bytes. A larger message is accepted if no other
    /// message waits.
    public var maximumQueued = 1 << 20
    /// The time without received bytes after which the client sends a Ping. Zero: no Pings.
    public var pingInterval = Duration.seconds(20)
    /// The time after a Ping in which bytes must arrive. Otherwise the connection is lost.
    public var pongTimeout = Duration.seconds(20)
    /// The time in which the server must respond to a Close frame.
    public var closeTimeout = Duration.seconds(10)
    /// Whether another connection is opened after the connection was lost.
    public var reconnects = false
    /// The close codes after which another connection is opened, if ``reconnects`` is set. 1006 is a connection that
    /// ended without a Close frame.
    public var reconnectCodes: Set<Int> = [1001, 1006, 1011, 1012, 1013, 1014]
    /// The maximum number of attempts in a row to open another connection. Nil: unlimited.
    public var reconnectAttempts: Int?
    /// Whether messages that were not sent before the connection was lost, and messages that are sent before the
    /// next one is open, are sent over the next connection. Otherwise they are discarded, and sends fail meanwhile.
    public var keepsUnsent = true
    /// The subprotocol whose messages the client handles. Nil: the caller handles them.
    package var subprotocol: (any WebSocketSubprotocol)?

    public init() {}
}

extension WebSocketSettings {
    package static let messageSizes = 1...(1 << 30)
    private static let times = Duration.zero...Duration.seconds(3_153_600_000)
    package static let closeCodes = 1000...4999
    /// The close codes of graphql-transport-ws after which a subscription connects again: the server has waited too long for
    /// the client. After a rejected token, ``WebSocketReconnect/tokenRejected(now:)`` decides.
    package static let subscriptionCodes: Set<Int> = [4408]

    /// - Throws: `invalid_argument`.
    package func check() throws(NightjarError) {
        try check("max_message", maximumMessage)
        try check("max_queued", maximumQueued)
        for (name, time) in [("ping", pingInterval), ("pong_timeout", pongTimeout), ("close_timeout", closeTimeout)] {
            guard Self.times.contains(time) else {
                throw NightjarError(
                    .invalidArgument,
                    "\(name) must be between 0 and 3153600000 seconds, got \(time.inSeconds)")
            }
        }
        if let code = reconnectCodes.first(where: { !Self.closeCodes.contains($0) }) {
            throw NightjarError(.invalidArgument, "reconnect_codes must be between 1000 and 4999, got \(code)")
        }
        guard subprotocol == nil || !deliversPieces else {
            throw NightjarError(.invalidArgument, "pieces cannot be delivered with graphql; remove pieces")
        }
        if let reconnectAttempts, reconnectAttempts < 0 {
            throw NightjarError(
                .invalidArgument, "reconnect_attempts must not be negative, got \(reconnectAttempts)")
        }
    }

    private func check(_ name: String, _ size: Int) throws(NightjarError) {
        guard Self.messageSizes.contains(size) else {
            throw NightjarError(
                .invalidArgument,
                "\(name) must be between 1 and \(Self.messageSizes.upperBound) bytes, got \(size)")
        }
    }

    /// The settings of each connection.
    package var connection: WebSocketConnectionSettings {
        var settings = WebSocketConnectionSettings()
        settings.maximumMessage = maximumMessage
        settings.deliversPieces = deliversPieces
        settings.maximumQueued = maximumQueued
        settings.pingInterval = pingInterval == .zero ? nil : pingInterval
        settings.pongTimeout = pongTimeout
        settings.closeTimeout = closeTimeout
        return settings
    }

    package var reconnection: WebSocketReconnect.Settings {
        var settings = WebSocketReconnect.Settings()
        settings.codes = Set(reconnectCodes.map { WebSocketCloseCode(rawValue: UInt16(clamping: $0)) })
        settings.maximumAttempts = reconnectAttempts
        return settings
    }
}
