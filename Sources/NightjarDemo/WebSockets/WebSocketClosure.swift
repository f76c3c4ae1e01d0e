import NIOCore

/// The status codes of Close frames that the server sends (RFC 6455 section 7.4.1). The raw value is the code.
enum WebSocketCloseCode: Int {
    case normal = 1000
    case goingAway = 1001
    case protocolError = 1002
    case unsupportedData = 1003
    case invalidData = 1007
    case tooLarge = 1009
    case internalError = 1011
    case tryAgainLater = 1013
    /// A code of the demo: the access token has expired.
    case tokenExpired = 4401
}

/// The payload of a Close frame (RFC 6455 section 5.5.1).
struct WebSocketClosure: Equatable {
    /// Nil if the payload is empty.
    let code: Int?
    /// The reason. Empty if there is none.
    let reason: String

    /// The code that represents a Close frame without a code. Never sent.
    static let noCode = 1005

    /// The maximum size of a reason in bytes.
    private static let reasonLimit = 123

    init(code: Int?, reason: String = "") {
        self.code = code
        self.reason = reason
    }

    /// Parses the payload of a client's Close frame.
    init(_ payload: ByteBuffer) throws(WebSocketViolation) {
        var payload = payload
        guard payload.readableBytes > 0 else {
            self.init(code: nil)
            return
        }
        guard let code = payload.readInteger(as: UInt16.self).map(Int.init) else {
            throw WebSocketViolation(.protocolError, "the payload of the Close frame has one byte")
        }
        guard WebSocketClosure.mayBeSent(code) else {
            throw WebSocketViolation(.protocolError, "the Close frame has the invalid code \(code)")
        }
        guard let reason = String(validating: payload.readableBytesView, as: UTF8.self) else {
            throw WebSocketViolation(.invalidData, "the reason of the Close frame is not UTF-8")
        }
        self.init(code: code, reason: reason)
    }

    /// The payload of a Close frame. The reason is truncated to the size of a control frame.
    var payload: ByteBuffer {
        guard let code else { return ByteBuffer() }
        var payload = ByteBuffer(integer: UInt16(truncatingIfNeeded: code))
        var reason = reason
        while reason.utf8.count > WebSocketClosure.reasonLimit { reason.removeLast() }
        payload.writeString(reason)
        return payload
    }

    /// True for the codes of RFC 6455 section 7.4 and of the IANA registry that an endpoint may send.
    private static func mayBeSent(_ code: Int) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
