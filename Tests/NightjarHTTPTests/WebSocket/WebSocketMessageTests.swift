import NIOCore
import NightjarCoding
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// Messages of the server: limits, pieces, memory and compression.
@Suite struct WebSocketMessageTests {
    private typealias Conversation = WebSocketConversation

    private func settings(_ change: (inout WebSocketConnectionSettings) -> Void) -> WebSocketConnectionSettings {
        var settings = WebSocketConnectionSettings()
        change(&settings)
        return settings
    }

    private func compressed(
        _ payload: [UInt8], _ codec: MessageDeflate = MessageDeflate(WebSocketDeflate.Agreement())
    ) throws -> [UInt8] {
        var output = ByteBuffer()
        try codec.deflate(ByteBuffer(bytes: payload), endsMessage: true, into: &output)
        return Array(output.readableBytesView)
    }

    // MARK: Limits

    @Test(arguments: [true, false]) func limitAppliesToWholeMessages(isFragmented: Bool) {
        let frames = { (count: Int) in
            ServerFrame.fragments(of: 2, [UInt8](repeating: 1, count: count), size: isFragmented ? 7 : 1000)
        }
        let conversation = Conversation(settings { $0.maximumMessage = 100 })
        conversation.receive(frames(100).flatMap(\.wire) + frames(100).flatMap(\.wire))
        #expect(conversation.messages.map(\.payload.readableBytes) == [100, 100])
        conversation.receive(frames(101).flatMap(\.wire))
        #expect(conversation.closure?.code == .tooBig)
        #expect(conversation.closure?.error?.kind == .tooLarge)
        #expect(
            conversation.closure?.error?.message
                == "the WebSocket connection failed: a message is larger than 100 bytes; increase the limit, or receive "
                + "messages in pieces")
    }

    @Test func limitAppliesToInflatedMessages() throws {
        let deflate = WebSocketDeflate.Agreement()
        for (count, isAccepted) in [(99, true), (100, true), (101, false), (100_000, false)] {
            let conversation = Conversation(settings { $0.maximumMessage = 100 }, deflate: deflate)
            let payload = try compressed([UInt8](repeating: 1, count: count))
            conversation.receive(ServerFrame(opcode: 2, payload: payload, reserved: 4))
            #expect(conversation.messages.count == (isAccepted ? 1 : 0))
            #expect(conversation.closure?.code == (isAccepted ? nil : .tooBig))
        }
    }

    @Test func compressionBombTakesBoundedMemory() throws {
        let bomb = try compressed([UInt8](repeating: 0, count: 64 << 20))
        let conversation = Conversation(settings { $0.maximumMessage = 1 << 20 }, deflate: WebSocketDeflate.Agreement())
        conversation.receive(ServerFrame(opcode: 2, payload: bomb, reserved: 4))
        #expect(conversation.closure?.code == .tooBig)
        #expect(conversation.messages.isEmpty)
    }

    // MARK: Pieces

    @Test func piecesAreDeliveredAsTheyArrive() {
        let conversation = Conversation(settings { $0.deliversPieces = true })
        let text = Array("a \u{20AC} text".utf8)
        let wire = ServerFrame.fragments(of: 1, text, size: 5).flatMap(\.wire)
        for byte in wire { conversation.receive([byte]) }
        #expect(conversation.messages.flatMap { Array($0.payload.readableBytesView) } == text)
        #expect(conversation.messages.first?.startsMessage == true)
        #expect(conversation.messages.filter(\.startsMessage).count == 1)
        #expect(conversation.messages.last?.endsMessage == true)
        #expect(conversation.messages.filter(\.endsMessage).count == 1)
    }

    @Test(arguments: 1...9) func piecesOfATextEndWithCompleteCodePoints(partSize: Int) {
        let text = "a\u{E9}\u{20AC}\u{1F600}b\u{10FFFF}"
        for frameSize in 1...text.utf8.count {
            let conversation = Conversation(settings { $0.deliversPieces = true })
            let wire = ServerFrame.fragments(of: 1, Array(text.utf8), size: frameSize).flatMap(\.wire)
            for start in stride(from: 0, to: wire.count, by: partSize) {
                conversation.receive(Array(wire[start..<min(start + partSize, wire.count)]))
            }
            let pieces = conversation.messages.map { String(validating: $0.payload.readableBytesView, as: UTF8.self) }
            #expect(!pieces.contains(nil))
            #expect(pieces.compactMap { $0 }.joined() == text)
            #expect(conversation.messages.map(\.startsMessage) == pieces.indices.map { $0 == 0 })
            #expect(conversation.messages.map(\.endsMessage) == pieces.indices.map { $0 == pieces.count - 1 })
        }
    }

    @Test(arguments: [false, true]) func piecesAreAtMost64KiB(isCompressed: Bool) throws {
        let text = Array(("a" + String(repeating: "\u{20AC}", count: 100_000)).utf8)
        let conversation = Conversation(
            settings { $0.deliversPieces = true }, deflate: isCompressed ? WebSocketDeflate.Agreement() : nil)
        conversation.receive(
            isCompressed
                ? ServerFrame(opcode: 1, payload: try compressed(text), reserved: 4)
                : ServerFrame(opcode: 1, payload: text))
        #expect(conversation.messages.flatMap { Array($0.payload.readableBytesView) } == text)
        #expect(conversation.messages.allSatisfy { $0.payload.readableBytes <= 64 * 1024 })
        #expect(conversation.messages.count == 5)
    }

    @Test func anInvalidPieceFailsAfterTheValidOnes() {
        let conversation = Conversation(settings { $0.deliversPieces = true })
        conversation.receive([0x01, 0x06] + Array("ab".utf8) + [0xE2, 0x82])
        #expect(conversation.takeLog() == [#"text begin "ab""#])
        conversation.receive([0x41])
        #expect(conversation.takeLog() == ["closed 1007", "sent close 1007"])
    }

    @Test func emptyMessageIsOnePiece() {
        let conversation = Conversation(settings { $0.deliversPieces = true })
        conversation.receive(.text("", isFinal: false), .continuation("", isFinal: false), .continuation(""))
        #expect(conversation.takeLog() == [#"text """#])
    }

    @Test func piecesOfABombAreBounded() throws {
        let bomb = try compressed([UInt8](repeating: 0, count: 8 << 20))
        let conversation = Conversation(
            settings {
                $0.deliversPieces = true
                $0.maximumMessage = .max
            }, deflate: WebSocketDeflate.Agreement())
        conversation.receive(ServerFrame(opcode: 2, payload: bomb, reserved: 4))
        #expect(conversation.messages.map(\.payload.readableBytes).reduce(0, +) == 8 << 20)
        #expect(conversation.messages.allSatisfy { $0.payload.readableBytes <= 64 * 1024 })
    }

    @Test func invalidTextFailsBeforeItsEnd() {
        let conversation = Conversation()
        conversation.receive([0x01, 0x7E, 0x10, 0x00] + Array("abc".utf8))
        #expect(conversation.takeLog() == [])
        conversation.receive([0xC0])
        #expect(conversation.takeLog() == ["closed 1007", "sent close 1007"])
    }

    // MARK: Memory

    /// A message in one read is a slice of the read.
    @Test func wholeMessageIsNotCopied() {
        var connection = WebSocketConnection(now: 0)
        connection.opened(nil, now: 0)
        let input = ByteBuffer(bytes: ServerFrame.text("Hello").wire)
        let start = input.withUnsafeReadableBytes { $0.baseAddress.map { UInt(bitPattern: $0) } ?? 0 }
        connection.received(input, now: 0)
        guard case .message(let message) = connection.next() else {
            Issue.record("expected a message")
            return
        }
        #expect(message.payload.withUnsafeReadableBytes { $0.baseAddress.map { UInt(bitPattern: $0) } } == start + 2)
    }

    // MARK: Compression

    /// The examples of RFC 7692 section 7.2.3.
    @Test(arguments: [
        // Section 7.2.3.1: one block; the same message in two fragments.
        [ServerFrame(opcode: 1, payload: [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], reserved: 4)],
        [
            ServerFrame(opcode: 1, payload: [0xF2, 0x48, 0xCD], isFinal: false, reserved: 4),
            ServerFrame(opcode: 0, payload: [0xC9, 0xC9, 0x07, 0x00]),
        ],
        // Section 7.2.3.3: a block without compression.
        [
            ServerFrame(
                opcode: 1, payload: [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00], reserved: 4)
        ],
        // Section 7.2.3.4: a block with BFINAL.
        [ServerFrame(opcode: 1, payload: [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00], reserved: 4)],
        // The same without the byte that completes it.
        [ServerFrame(opcode: 1, payload: [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], reserved: 4)],
        // Section 7.2.3.5: two blocks.
        [
            ServerFrame(
                opcode: 1, payload: [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00],
                reserved: 4)
        ],
    ])
    func examplesOfTheSpecificationAreRead(frames: [ServerFrame]) {
        let wire = frames.flatMap(\.wire)
        for cut in 0...wire.count {
            let conversation = Conversation(deflate: WebSocketDeflate.Agreement())
            conversation.receive(Array(wire[..<cut]))
            conversation.receive(Array(wire[cut...]) + ServerFrame.text("plain").wire)
            #expect(conversation.takeLog() == [#"text "Hello""#, #"text "plain""#])
        }
    }

    /// Section 7.2.3.2: the second message refers to the first.
    @Test func contextIsKept() {
        let conversation = Conversation(deflate: WebSocketDeflate.Agreement())
        conversation.receive(
            ServerFrame(opcode: 1, payload: [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], reserved: 4),
            ServerFrame(opcode: 1, payload: [0xF2, 0x00, 0x11, 0x00, 0x00], reserved: 4))
        #expect(conversation.takeLog() == [#"text "Hello""#, #"text "Hello""#])
    }

    /// The context is also kept after a block with BFINAL.
    @Test func contextIsKeptAfterTheLastBlock() {
        let conversation = Conversation(deflate: WebSocketDeflate.Agreement())
        conversation.receive(
            ServerFrame(opcode: 1, payload: [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00], reserved: 4),
            ServerFrame(opcode: 1, payload: [0xF2, 0x00, 0x11, 0x00, 0x00], reserved: 4))
        #expect(conversation.takeLog() == [#"text "Hello""#, #"text "Hello""#])
    }

    @Test func referenceToADiscardedContextIsAnError() {
        let conversation = Conversation(deflate: WebSocketDeflate.Agreement(serverResetsContext: true))
        conversation.receive(
            ServerFrame(opcode: 1, payload: [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], reserved: 4),
            ServerFrame(opcode: 1, payload: [0xF2, 0x00, 0x11, 0x00, 0x00], reserved: 4))
        #expect(conversation.takeLog() == [#"text "Hello""#, "closed 1007", "sent close 1007"])
    }

    /// Section 7.2.3.6: an empty message.
    @Test func emptyCompressedMessageIsRead() {
        let conversation = Conversation(deflate: WebSocketDeflate.Agreement())
        conversation.receive(
            ServerFrame(opcode: 1, payload: [0x00], reserved: 4),
            ServerFrame(opcode: 1, payload: [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], reserved: 4))
        #expect(conversation.takeLog() == [#"text """#, #"text "Hello""#])
    }

    @Test(arguments: [[], [0xF2], [0xF2, 0x48, 0xCD], [0x00, 0x05], [0x06, 0xFF], [0xFF, 0xFF]] as [[UInt8]])
    func incompleteDataIsAnError(payload: [UInt8]) {
        let conversation = Conversation(deflate: WebSocketDeflate.Agreement())
        conversation.receive(ServerFrame(opcode: 1, payload: payload, reserved: 4))
        #expect(conversation.closure?.code == .invalidPayload)
        #expect(conversation.closure?.error?.message.contains("not valid deflate data") == true)
    }

    // MARK: Sending compressed messages

    @Test func shortMessagesAreNotCompressed() throws {
        let conversation = Conversation(deflate: WebSocketDeflate.Agreement())
        #expect(try conversation.send(.text(String(repeating: "a", count: 63))))
        #expect(try conversation.send(.text(String(repeating: "a", count: 64))))
        conversation.drain()
        #expect(conversation.sentFrames.map(\.reserved) == [0, 4])
        #expect(conversation.sentFrames[1].payload.count < 20)
    }

    @Test func onlyTheFirstFrameIsMarked() throws {
        let conversation = Conversation(settings { $0.maximumFrame = 100 }, deflate: WebSocketDeflate.Agreement())
        var random = SeededRandom(seed: 3)
        let message = WebSocketMessage(.binary, ByteBuffer(bytes: random.bytes(1000)))
        #expect(try conversation.send(message))
        conversation.drain()
        #expect(conversation.sentFrames.count > 10)
        #expect(
            conversation.sentFrames.map(\.reserved) == [4]
                + .init(repeating: 0, count: conversation.sentFrames.count - 1))
        #expect(conversation.takeLog() == ["sent binary \(Conversation.shown(message.payload.readableBytesView))"])
    }

    @Test func piecesAreFlushed() throws {
        let conversation = Conversation(deflate: WebSocketDeflate.Agreement())
        let pieces = ["", "Hello", "", ", ", "world!", ""]
        for (index, text) in pieces.enumerated() {
            let piece = WebSocketMessage(
                .text, ByteBuffer(string: text), startsMessage: index == 0, endsMessage: index == pieces.count - 1)
            #expect(try conversation.send(piece))
            conversation.drain()
        }
        #expect(try conversation.send(.text(String(repeating: "next ", count: 20))))
        conversation.drain()
        let next = Conversation.shown(Array(String(repeating: "next ", count: 20).utf8))
        #expect(conversation.takeLog() == [#"sent text "Hello, world!""#, "sent text \(next)"])
    }
}
