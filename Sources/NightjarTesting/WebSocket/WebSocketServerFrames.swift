import NIOCore
import NightjarHTTP

/// The frames of a mocked server.
package enum WebSocketServerFrames {
    package static func message(_ message: WebSocketMessage) throws(NightjarError) -> ByteBuffer {
        try frame(message.kind == .text ? .text : .binary, message.payload)
    }

    package static func pong(_ payload: ByteBuffer) throws(NightjarError) -> ByteBuffer { try frame(.pong, payload) }

    /// - Parameter code: Nil: a Close frame without a code and a reason.
    package static func close(_ code: WebSocketCloseCode?, reason: String) throws(NightjarError) -> ByteBuffer {
        var payload = ByteBuffer()
        if let code {
            payload.writeInteger(code.rawValue)
            payload.writeString(reason)
        }
        return try frame(.close, payload)
    }

    private static func frame(
        _ opcode: WebSocketFrame.Opcode, _ payload: ByteBuffer
    ) throws(NightjarError) -> ByteBuffer {
        var output = ByteBuffer()
        try WebSocketFrameEncoder.write(opcode, payload, mask: nil, into: &output)
        return output
    }
}
