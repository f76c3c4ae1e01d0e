import NIOCore
import NIOEmbedded
import NightjarHTTP

@testable import NightjarTransport

/// One connection of the client, and the server at its other end.
final class Server {
    let channel: EmbeddedChannel
    let connection: HTTP2Connection
    /// The frames that the client receives with the next read.
    var pending = ByteBuffer()
    /// The bytes that the client has received.
    private(set) var receivedBytes = 0
    /// The bytes of DATA for each stream.
    private var offsets: [UInt32: Int] = [:]
    private var output = ByteBuffer()
    private var hasPreface = false
    private var lastStream: UInt32 = 0
    /// The size of the client's frames without the payload of DATA frames, and the size of these payloads.
    private(set) var frameBytes = 0
    private(set) var dataBytes = 0

    init?(_ attempt: ConnectionAttempt, _ transport: NetworkTransport, _ loop: EmbeddedEventLoop) {
        let record = ConnectionRecord(number: 1, peerAddress: nil, version: .http2)
        connection = HTTP2Connection(transport: transport, host: attempt.host, record: record, socket: nil, tls: nil)
        channel = EmbeddedChannel(loop: loop)
        guard let address = try? SocketAddress(ipAddress: "127.0.0.1", port: 1) else { return nil }
        channel.connect(to: address, promise: nil)
        try? channel.pipeline.syncOperations.addHandler(connection)
        require(connection.session != nil, "libnghttp2 is missing")
        guard attempt.end() else { return nil }
        transport.connected(attempt, connection)
    }

    // MARK: To the client

    /// Passes the pending frames to the client in one read.
    func deliver() {
        let bytes = pending
        pending = ByteBuffer()
        guard bytes.readableBytes > 0, channel.isActive else { return }
        receivedBytes += bytes.readableBytes
        _ = try? channel.writeInbound(bytes)
    }

    func frame(_ type: UInt8, flags: UInt8, stream: UInt32, _ payload: ByteBuffer) {
        let length = payload.readableBytes
        pending.writeBytes([UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags])
        pending.writeInteger(stream)
        pending.writeImmutableBuffer(payload)
        if pending.readableBytes > 64 * 1024 { deliver() }
    }

    /// Sends DATA whose bytes depend on their position in the body.
    func data(_ count: Int, padding: UInt8?, endsStream: Bool, stream: UInt32) {
        let offset = offsets[stream, default: 0]
        offsets[stream] = offset + count
        var payload = ByteBuffer()
        if let padding { payload.writeInteger(padding) }
        payload.writeImmutableBuffer(Server.body(from: offset, count))
        if let padding { payload.writeRepeatingByte(0, count: Int(padding)) }
        frame(0, flags: (endsStream ? 1 : 0) | (padding == nil ? 0 : 8), stream: stream, payload)
    }

    /// Returns a part of each body.
    static func body(from offset: Int, _ count: Int) -> ByteBuffer {
        pattern.getSlice(at: offset % period, length: count) ?? ByteBuffer()
    }

    private static let period = 251
    private static let pattern = ByteBuffer(bytes: (0..<period + 20_000).map { UInt8($0 % period) })

    // MARK: From the client

    /// Checks the frames that the client has sent.
    func readOutput() {
        while let part = try? channel.readOutbound(as: ByteBuffer.self) { output.writeImmutableBuffer(part) }
        if !hasPreface, let preface = output.readString(length: Server.preface.utf8.count) {
            require(preface == Server.preface, "the client's preface is invalid")
            hasPreface = true
        }
        while hasPreface, readFrame() {}
    }

    private func readFrame() -> Bool {
        let start = output.readerIndex
        guard let head = output.getInteger(at: start, as: UInt32.self),
            let type = output.getInteger(at: start + 3, as: UInt8.self),
            let stream = output.getInteger(at: start + 5, as: UInt32.self)
        else { return false }
        let length = Int(head >> 8)
        require(length <= 1 << 24 && type <= 9 && type != 5, "the client sent an invalid frame: \(type), \(length)")
        guard output.readSlice(length: 9 + length) != nil else { return false }
        output.discardReadBytes()
        if type == 1 {
            require(stream % 2 == 1 && stream > lastStream, "the client opened stream \(stream) after \(lastStream)")
            lastStream = stream
        }
        frameBytes += type == 0 ? 9 : 9 + length
        if type == 0 { dataBytes += length }
        return true
    }

    private static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
}
