/// The reason why a WebSocket connection was closed, as a number. RFC 6455 section 7.4 and the IANA registry.
package struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Returns the code, or one that is not allowed if the number has more than 16 bits.
    package init(clamping number: Int) { rawValue = UInt16(clamping: number) }

    package static let normal = WebSocketCloseCode(rawValue: 1000)
    package static let goingAway = WebSocketCloseCode(rawValue: 1001)
    package static let protocolError = WebSocketCloseCode(rawValue: 1002)
    /// The peer's Close frame has no code. Never sent.
    package static let noStatus = WebSocketCloseCode(rawValue: 1005)
    /// The connection ended without a Close frame of the peer. Never sent.
    package static let abnormal = WebSocketCloseCode(rawValue: 1006)
    /// A message does not match its type, such as a text that is not UTF-8.
    package static let invalidPayload = WebSocketCloseCode(rawValue: 1007)
    package static let tooBig = WebSocketCloseCode(rawValue: 1009)
    package static let internalError = WebSocketCloseCode(rawValue: 1011)
    package static let serviceRestart = WebSocketCloseCode(rawValue: 1012)
    package static let tryAgainLater = WebSocketCloseCode(rawValue: 1013)
    package static let badGateway = WebSocketCloseCode(rawValue: 1014)

    /// True if a Close frame may contain the code: 1000 to 1003, 1007 to 1014, and 3000 to 4999.
    package var isValidOnWire: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

extension WebSocketCloseCode: CustomStringConvertible {
    package var description: String { String(rawValue) }
}

/// A violation of the protocol or of a limit by the server, or a failure of the client, that ends a WebSocket
/// connection. RFC 6455 section 7.1.7.
package struct WebSocketFailure: Error, Sendable {
    /// The code of the Close frame that the client sends.
    package let code: WebSocketCloseCode
    /// The reason in the Close frame that the client sends. It contains no data of the server.
    package let reason: String
    /// The error that the caller receives.
    package let error: NightjarError

    private init(_ code: WebSocketCloseCode, _ reason: String, _ kind: ErrorKind, _ advice: String = "") {
        self.code = code
        self.reason = reason
        error = NightjarError(
            kind, "the WebSocket connection failed: \(reason)\(advice)", phase: .receive,
            requestMayHaveBeenProcessed: true)
    }

    /// - Parameter reason: a noun phrase or sentence of at most 123 bytes.
    static func violation(_ reason: String) -> WebSocketFailure {
        WebSocketFailure(.protocolError, reason, .protocol)
    }

    static func invalidPayload(_ reason: String) -> WebSocketFailure {
        WebSocketFailure(.invalidPayload, reason, .protocol)
    }

    static func tooBig(limit: Int) -> WebSocketFailure {
        WebSocketFailure(
            .tooBig, "a message is larger than \(limit) bytes", .tooLarge,
            "; increase the limit, or receive messages in pieces")
    }

    /// Returns the failure for a compressor or buffer that failed.
    static func of(_ error: NightjarError) -> WebSocketFailure {
        switch error.kind {
        case .decoding: invalidPayload(error.message.limited(to: WebSocketFrame.maximumReason))
        default: WebSocketFailure(.internalError, "the client cannot continue", error)
        }
    }

    private init(_ code: WebSocketCloseCode, _ reason: String, _ error: NightjarError) {
        self.code = code
        self.reason = reason
        self.error = error
    }
}

extension String {
    /// Returns the longest prefix of whole characters that has at most `count` bytes of UTF-8.
    fileprivate func limited(to count: Int) -> String {
        guard utf8.count > count else { return self }
        var text = self
        while text.utf8.count > count { text.removeLast() }
        return text
    }
}
