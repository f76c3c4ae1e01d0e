import NightjarTestSupport

/// A WebSocket client on a plain socket, independent of the client library. It sends any bytes.
final class RawWebSocket {
    struct Frame: Equatable {
        /// The first byte: the FIN bit, the reserved bits and the opcode.
        let head: UInt8
        let payload: [UInt8]
    }

    private static let mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]

    let response: CurlResponse
    let socket: NightjarTestSupport.Socket

    /// Sends a handshake and receives the head of the response.
    init(_ demo: Demo, _ path: String, _ fields: String = "") throws {
        socket = try demo.connect()
        try socket.send(
            Bytes(
                """
                GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
                Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\(fields)\r\n
                """.utf8))
        let head = try socket.receive(through: "\r\n\r\n")
        // A response with status 101 has no body. CurlResponse would skip it as an interim response.
        response = try CurlResponse(Array(Bytes(head).text.replacing("HTTP/1.1 101", with: "HTTP/1.1 299").utf8))
    }

    var isOpen: Bool { response.status == 299 }

    /// Returns a masked frame.
    ///
    /// - Parameter head: the first byte.
    static func frame(_ head: UInt8, _ payload: [UInt8]) -> [UInt8] {
        var bytes = [head]
        switch payload.count {
        case ..<126: bytes.append(0x80 | UInt8(payload.count))
        case ..<65_536: bytes += [0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            bytes.append(0xFF)
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
        }
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    func send(_ head: UInt8, _ payload: [UInt8]) throws { try socket.send(Bytes(RawWebSocket.frame(head, payload))) }

    func send(text: String) throws { try send(0x81, Array(text.utf8)) }

    func receive() throws -> Frame {
        let head = try take(2)
        var length = Int(head[1])
        if length >= 126 { length = try take(length == 126 ? 2 : 8).reduce(0) { $0 << 8 | Int($1) } }
        return Frame(head: head[0], payload: try take(length))
    }

    /// Receives a text message in one frame.
    func receiveText() throws -> String {
        let frame = try receive()
        guard frame.head == 0x81 else { throw ToolFailure(description: "no text: \(frame)") }
        return String(decoding: frame.payload, as: UTF8.self)
    }

    /// Receives a Close frame and returns its code, or 1005 if it has none.
    func receiveClose() throws -> Int {
        let frame = try receive()
        guard frame.head == 0x88 else { throw ToolFailure(description: "no Close frame: \(frame)") }
        return frame.payload.isEmpty ? 1005 : Int(frame.payload[0]) << 8 | Int(frame.payload[1])
    }

    private func take(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let received = try socket.receive(atMost: count - bytes.count)
            guard !received.isEmpty else { throw ToolFailure(description: "the connection ended") }
            bytes += received
        }
        return bytes
    }
}
