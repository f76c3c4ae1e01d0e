import CZlib
import NIOCore
import NightjarCoding
import NightjarHTTP
import NightjarTestSupport
import Testing

/// Compression of WebSocket messages. The sections are those of RFC 7692.
@Suite struct MessageDeflateTests {
    private typealias Agreement = WebSocketDeflate.Agreement

    private func deflate(_ codec: MessageDeflate, _ bytes: [UInt8], endsMessage: Bool = true) throws -> [UInt8] {
        var output = ByteBuffer()
        try codec.deflate(ByteBuffer(bytes: bytes), endsMessage: endsMessage, into: &output)
        return Array(output.readableBytesView)
    }

    private func inflate(_ codec: MessageDeflate, _ pieces: [[UInt8]], maximum: Int = 64 * 1024) throws -> [UInt8] {
        var output: [UInt8] = []
        for (index, piece) in pieces.enumerated() {
            var input = ByteBuffer(bytes: piece)
            var isDone = false
            while !isDone {
                var part = ByteBuffer()
                isDone = try codec.inflate(
                    &input, endsMessage: index == pieces.count - 1, into: &part, maximum: maximum)
                #expect(part.readableBytes <= maximum)
                output += part.readableBytesView
            }
            #expect(input.readableBytes == 0)
        }
        return output
    }

    @Test(
        arguments: [0, 1, 100, 5000, 100_000],
        [
            Agreement(), Agreement(serverResetsContext: true, clientResetsContext: true),
            Agreement(serverWindowBits: 8, clientWindowBits: 8), Agreement(serverWindowBits: 9, clientWindowBits: 9),
            Agreement(
                serverWindowBits: 12, clientWindowBits: 12, serverResetsContext: true, clientResetsContext: true),
        ])
    func messagesAreRestored(count: Int, agreement: WebSocketDeflate.Agreement) throws {
        let sender = MessageDeflate(agreement)
        let receiver = MessageDeflate(agreement)
        for seed in 1...5 as ClosedRange<UInt64> {
            let bytes = sample(count, seed: seed)
            let compressed = try deflate(sender, bytes)
            let maximum = seed == 1 ? 1 : seed == 2 ? 7 : 64 * 1024
            #expect(try inflate(receiver, [compressed], maximum: count > 10_000 ? 64 * 1024 : maximum) == bytes)
        }
    }

    /// zlib's smallest window is 512 bytes, but its distances never exceed 256 bytes. Inflated one byte at a time, so
    /// that only the window of the receiver is available.
    @Test func windowOf256BytesIsSufficient() throws {
        let sender = MessageDeflate(Agreement(serverWindowBits: 8, clientWindowBits: 8))
        let receiver = MessageDeflate(Agreement(serverWindowBits: 8, clientWindowBits: 8))
        var random = SeededRandom(seed: 5)
        for _ in 0..<20 {
            // Repetitions at all distances from 1 to 600.
            var bytes = random.bytes(600)
            for _ in 0..<100 {
                let distance = Int(random.next() % 600) + 1
                bytes += bytes[(bytes.count - distance)...].prefix(20)
            }
            let compressed = try deflate(sender, bytes)
            #expect(compressed.count < bytes.count)
            #expect(try inflate(receiver, [compressed], maximum: 1) == bytes)
        }
    }

    @Test func splitsDoNotChangeTheResult() throws {
        let bytes = sample(300)
        let compressed = try deflate(MessageDeflate(Agreement()), bytes)
        for cut in 0...compressed.count {
            let pieces = [Array(compressed[..<cut]), Array(compressed[cut...])]
            try #require(try inflate(MessageDeflate(Agreement()), pieces, maximum: 50) == bytes, "cut at \(cut)")
        }
    }

    @Test func laterMessagesReferToEarlierMessages() throws {
        let bytes = sample(2000)
        let kept = MessageDeflate(Agreement())
        let reset = MessageDeflate(Agreement(clientResetsContext: true))
        let first = try deflate(kept, bytes)
        #expect(try deflate(kept, bytes).count < first.count / 5)
        #expect(try deflate(reset, bytes) == deflate(reset, bytes))
    }

    /// Each piece can be decompressed when it has arrived.
    @Test func piecesAreFlushed() throws {
        let sender = MessageDeflate(Agreement())
        let receiver = MessageDeflate(Agreement())
        for piece in ["one", "two", "", "three"] {
            var input = ByteBuffer(bytes: try deflate(sender, Array(piece.utf8), endsMessage: false))
            var output = ByteBuffer()
            #expect(try receiver.inflate(&input, endsMessage: false, into: &output, maximum: 1000))
            #expect(String(buffer: output) == piece)
        }
        #expect(try inflate(receiver, [try deflate(sender, [])]) == [])
        #expect(try inflate(receiver, [try deflate(sender, Array("next".utf8))]) == Array("next".utf8))
    }

    @Test func outputIsBounded() throws {
        var input = ByteBuffer(bytes: try deflate(MessageDeflate(Agreement()), [UInt8](repeating: 0, count: 1 << 20)))
        let receiver = MessageDeflate(Agreement())
        var output = ByteBuffer()
        #expect(try !receiver.inflate(&input, endsMessage: true, into: &output, maximum: 1000))
        #expect(output.readableBytes == 1000)
    }

    @Test func damagedDataIsAnError() throws {
        let bytes = sample(500)
        let compressed = try deflate(MessageDeflate(Agreement()), bytes)
        for index in compressed.indices {
            for flip: UInt8 in [0x01, 0x80, 0xFF] {
                var damaged = compressed
                damaged[index] ^= flip
                do {
                    _ = try inflate(MessageDeflate(Agreement()), [damaged])
                } catch let error as NightjarError {
                    #expect(error.kind == .decoding)
                }
            }
        }
        for length in 0..<compressed.count - 1 {
            do {
                let output = try inflate(MessageDeflate(Agreement()), [Array(compressed[..<length])])
                // Four more bytes can complete a block by chance, but never the message.
                #expect(output != bytes)
            } catch let error as NightjarError {
                #expect(error.kind == .decoding)
            }
        }
    }
}
