import NIOCore
import NightjarHTTP
import Testing

@testable import NightjarTesting

/// Reading the messages of one direction of a WebSocket.
@Suite struct WebSocketMessageReaderTests {
    /// Frames of a client: a text in two frames with a Ping between them, empty and large messages, and a Close frame.
    private func conversation() throws -> ByteBuffer {
        var output = ByteBuffer()
        var mask: UInt32 = 0x37FA_213D
        func write(_ opcode: WebSocketFrame.Opcode, _ payload: ByteBuffer, isFinal: Bool = true) throws {
            try WebSocketFrameEncoder.write(opcode, isFinal: isFinal, payload, mask: mask, into: &output)
            mask = mask &* 31 &+ 7
        }
        try write(.text, ByteBuffer(string: "Hel"), isFinal: false)
        try write(.ping, ByteBuffer(string: "are you there?"))
        try write(.continuation, ByteBuffer(string: "lo"))
        try write(.binary, ByteBuffer())
        try write(.pong, ByteBuffer())
        try write(.binary, ByteBuffer(bytes: (0..<300).map { UInt8(truncatingIfNeeded: $0) }))
        try write(.close, ByteBuffer(bytes: [0x03, 0xE8] + Array("bye".utf8)))
        return output
    }

    private func events(_ reader: inout WebSocketMessageReader) throws -> [String] {
        var events: [String] = []
        while let event = try reader.next() {
            switch event {
            case .message(let message):
                events.append(
                    message.kind == .text
                        ? String(buffer: message.payload)
                        : "\(message.payload.readableBytes) bytes, \(message.payload.readableBytesView.last ?? 0)")
            case .ping(let payload): events.append("ping \(String(buffer: payload))")
            case .pong: events.append("pong")
            case .close(let code, let reason): events.append("close \(code?.rawValue ?? 0) \(reason)")
            }
        }
        return events
    }

    private let expected = ["ping are you there?", "Hello", "0 bytes, 0", "pong", "300 bytes, 43", "close 1000 bye"]

    @Test func maskedFramesAreReadHoweverTheyAreSplit() throws {
        let whole = try conversation()
        for size in [1, 2, 3, 5, 7, whole.readableBytes] {
            var reader = WebSocketMessageReader(ofClient: true, maximumMessage: 1000)
            var rest = whole
            var found: [String] = []
            while let part = rest.readSlice(length: min(size, rest.readableBytes)), part.readableBytes > 0 {
                try reader.add(part)
                found += try events(&reader)
            }
            #expect(found == expected)
        }
        for position in 0...whole.readableBytes {
            var reader = WebSocketMessageReader(ofClient: true, maximumMessage: 1000)
            try reader.add(try #require(whole.getSlice(at: 0, length: position)))
            var found = try events(&reader)
            try reader.add(try #require(whole.getSlice(at: position, length: whole.readableBytes - position)))
            found += try events(&reader)
            #expect(found == expected)
        }
    }

    @Test func framesOfAServerAreReadBack() throws {
        var reader = WebSocketMessageReader(ofClient: false, maximumMessage: 1000)
        try reader.add(try WebSocketServerFrames.message(.text("Hello")))
        try reader.add(
            try WebSocketServerFrames.message(WebSocketMessage(.binary, ByteBuffer(repeating: 9, count: 200))))
        try reader.add(try WebSocketServerFrames.pong(ByteBuffer(string: "x")))
        try reader.add(try WebSocketServerFrames.close(nil, reason: ""))
        #expect(try events(&reader) == ["Hello", "200 bytes, 9", "pong", "close 0 "])
    }

    @Test func eachDirectionHasItsMask() throws {
        var server = WebSocketMessageReader(ofClient: false, maximumMessage: 1000)
        try server.add(try conversation())
        #expect { _ = try server.next() } throws: { ($0 as? NightjarError)?.kind == .protocol }
        var client = WebSocketMessageReader(ofClient: true, maximumMessage: 1000)
        try client.add(try WebSocketServerFrames.message(.text("Hello")))
        #expect { _ = try client.next() } throws: { ($0 as? NightjarError)?.kind == .protocol }
    }

    @Test func largeMessageIsRejected() throws {
        var reader = WebSocketMessageReader(ofClient: false, maximumMessage: 10)
        try reader.add(try WebSocketServerFrames.message(.text("0123456789a")))
        #expect { _ = try reader.next() } throws: { ($0 as? NightjarError)?.kind == .tooLarge }
    }
}
