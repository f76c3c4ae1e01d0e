import NIOCore

/// The end of a WebSocket connection. RFC 6455 sections 7.1.5 to 7.1.7.
package struct WebSocketClosure: Sendable {
    /// The code of the server's Close frame, the code that the client sent after a violation, or
    /// ``WebSocketCloseCode/noStatus`` or ``WebSocketCloseCode/abnormal``, which are never sent.
    package var code: WebSocketCloseCode
    package var reason: String
    /// True if both sides have sent a Close frame, so neither side lost a message.
    package var isClean: Bool
    /// True if the caller closed the connection before it ended.
    package var isRequested: Bool
    /// The failure. Nil if the server's Close frame ended the connection, or if the caller closed it.
    package var error: NightjarError?

    package init(
        _ code: WebSocketCloseCode, reason: String = "", isClean: Bool = false, isRequested: Bool = false,
        error: NightjarError? = nil
    ) {
        self.code = code
        self.reason = reason
        self.isClean = isClean
        self.isRequested = isRequested
        self.error = error
    }
}

/// The payload of a Close frame. Section 5.5.1.
package struct WebSocketClosePayload {
    /// Nil if the payload is empty.
    var code: WebSocketCloseCode?
    var reason = ""

    init(_ code: WebSocketCloseCode?, reason: String = "") {
        self.code = code
        self.reason = reason
    }

    init(parsing payload: ByteBuffer) throws(WebSocketFailure) {
        var payload = payload
        guard payload.readableBytes > 0 else { return }
        guard let number = payload.readInteger(as: UInt16.self) else {
            throw .violation("a Close frame has a payload of one byte")
        }
        let code = WebSocketCloseCode(rawValue: number)
        guard code.isValidOnWire else { throw .violation("a Close frame has the code \(number), which is not allowed") }
        guard let reason = String(validating: payload.readableBytesView, as: UTF8.self) else {
            throw .invalidPayload("the reason in a Close frame is not UTF-8")
        }
        self.code = code
        self.reason = reason
    }

    /// Checks a code and reason of the caller.
    ///
    /// - Throws: `invalid_argument` if the code cannot be sent or the reason is too long.
    static func checked(_ code: WebSocketCloseCode?, reason: String) throws(NightjarError) -> WebSocketClosePayload {
        guard let code else {
            guard reason.isEmpty else {
                throw NightjarError(
                    .invalidArgument, "a reason to close a WebSocket needs a code; set one, such as 1000")
            }
            return WebSocketClosePayload(nil)
        }
        guard code.isValidOnWire else {
            throw NightjarError(
                .invalidArgument,
                "a WebSocket close code must be between 1000 and 1003, 1007 and 1014, or 3000 and 4999, got \(code)")
        }
        guard reason.utf8.count <= WebSocketFrame.maximumReason else {
            throw NightjarError(
                .invalidArgument,
                "the reason to close a WebSocket must have at most \(WebSocketFrame.maximumReason) bytes of UTF-8, "
                    + "got \(reason.utf8.count)")
        }
        return WebSocketClosePayload(code, reason: reason)
    }

    /// - Throws: `invalid_argument` if the code cannot be sent or the reason is too long.
    package static func check(_ code: WebSocketCloseCode?, reason: String) throws(NightjarError) {
        _ = try checked(code, reason: reason)
    }

    var bytes: ByteBuffer {
        var bytes = ByteBuffer()
        if let code {
            bytes.writeInteger(code.rawValue)
            bytes.writeString(reason)
        }
        return bytes
    }
}
