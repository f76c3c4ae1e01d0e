import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct WebSocketConnectionTests {
    private typealias Conversation = WebSocketConversation
    private static let second: UInt64 = 1_000_000_000

    private func settings(_ change: (inout WebSocketConnectionSettings) -> Void) -> WebSocketConnectionSettings {
        var settings = WebSocketConnectionSettings()
        change(&settings)
        return settings
    }

    // MARK: Opening

    @Test func bytesAfterTheHandshakeAreKept() {
        var connection = WebSocketConnection(now: 0)
        connection.received(ByteBuffer(bytes: ServerFrame.text("early").wire), now: 0)
        let early = connection.next()
        #expect(early == nil)
        connection.opened(nil, now: 1)
        guard case .message(let message) = connection.next() else {
            Issue.record("expected a message")
            return
        }
        #expect(message == .text("early"))
    }

    @Test func nothingIsSentBeforeTheHandshake() {
        var connection = WebSocketConnection(now: 0)
        var output = ByteBuffer()
        for attempt in 0..<2 {
            do throws(NightjarError) {
                _ = try attempt == 0 ? connection.send(.text("early")) : connection.ping()
                Issue.record("it is queued")
            } catch {
                #expect(error.kind == .invalidArgument)
            }
        }
        connection.write(into: &output) { 0 }
        let deadline = connection.deadline
        #expect(output.readableBytes == 0 && deadline == nil)
    }

    @Test func failedHandshakeIsReported() {
        var connection = WebSocketConnection(now: 0)
        connection.failed(NightjarError(.unauthorized, "no"))
        guard case .closed(let closure) = connection.next(), case .closeTransport = connection.next() else {
            Issue.record("expected the end")
            return
        }
        #expect(closure.code == .abnormal && closure.error?.kind == .unauthorized && !closure.isRequested)
        let later = connection.next()
        #expect(later == nil)
    }

    @Test func handshakeCanBeCancelled() throws {
        var connection = WebSocketConnection(now: 0)
        try connection.close(now: 0)
        guard case .closed(let closure) = connection.next(), case .closeTransport = connection.next() else {
            Issue.record("expected the end")
            return
        }
        #expect(closure.isRequested && closure.error == nil)
    }

    // MARK: Sending

    @Test func messagesAreSentInOrder() throws {
        let conversation = Conversation()
        #expect(try conversation.send(.text("one")))
        #expect(try conversation.send(WebSocketMessage(.binary, ByteBuffer(bytes: [1, 2]))))
        #expect(try conversation.send(.text("")))
        conversation.drain()
        #expect(conversation.takeLog() == [#"sent text "one""#, "sent binary \"\\u{01}\\u{02}\"", #"sent text """#])
        #expect(conversation.queuedBytes == 0)
        #expect(!conversation.hasOutput)
    }

    @Test(arguments: [1, 4, 5, 6, 100]) func messageIsFragmented(size: Int) throws {
        let conversation = Conversation(settings { $0.maximumFrame = size })
        #expect(try conversation.send(.text("Hello, world!")))
        conversation.drain()
        #expect(conversation.takeLog() == [#"sent text "Hello, world!""#])
        #expect(conversation.sentFrames.count == (13 + size - 1) / size)
        #expect(
            conversation.sentFrames.map(\.opcode) == [1]
                + [UInt8](repeating: 0, count: conversation.sentFrames.count - 1)
        )
    }

    @Test func controlFramesPassBetweenFragments() throws {
        let conversation = Conversation(settings { $0.maximumFrame = 40_000 })
        #expect(try conversation.send(WebSocketMessage(.binary, ByteBuffer(repeating: 1, count: 200_000))))
        // One write ends after two frames.
        conversation.flush()
        conversation.connection.received(ByteBuffer(bytes: ServerFrame.ping("now").wire), now: 0)
        while conversation.connection.next() != nil {}
        while conversation.hasOutput { conversation.flush() }
        #expect(conversation.sentFrames.map(\.opcode) == [2, 0, 10, 0, 0, 0])
    }

    @Test func piecesAreFragments() throws {
        let conversation = Conversation()
        #expect(try conversation.send(piece("Hel", isFirst: true)))
        conversation.drain()
        #expect(conversation.sentFrames.count == 1)
        #expect(throws: NightjarError.self) { try conversation.send(.text("other")) }
        #expect(throws: NightjarError.self) {
            try conversation.send(WebSocketMessage(.binary, ByteBuffer(), startsMessage: false))
        }
        #expect(try conversation.send(piece("lo", isLast: true)))
        #expect(try conversation.send(.text("next")))
        conversation.drain()
        #expect(conversation.takeLog() == [#"sent text "Hello""#, #"sent text "next""#])
        #expect(throws: NightjarError.self) { try conversation.send(piece("lo", isLast: true)) }
    }

    private func piece(_ text: Bytes, isFirst: Bool = false, isLast: Bool = false) -> WebSocketMessage {
        WebSocketMessage(.text, ByteBuffer(bytes: text.array), startsMessage: isFirst, endsMessage: isLast)
    }

    @Test func textThatIsNotUTF8IsNotSent() throws {
        let conversation = Conversation()
        let error = #expect(throws: NightjarError.self) {
            try conversation.send(piece([0x41, 0xFF], isFirst: true, isLast: true))
        }
        #expect(error?.kind == .invalidArgument)
        // A code point may be split between pieces, but must be complete at the end.
        #expect(try conversation.send(piece([0xE2, 0x82], isFirst: true)))
        #expect(throws: NightjarError.self) { try conversation.send(piece([], isLast: true)) }
        #expect(throws: NightjarError.self) { try conversation.send(piece([0x41], isLast: true)) }
        #expect(try conversation.send(piece([0xAC], isLast: true)))
        conversation.drain()
        #expect(conversation.takeLog() == ["sent text \"\u{20AC}\""])
    }

    @Test func queueIsBounded() throws {
        let conversation = Conversation(settings { $0.maximumQueued = 1000 })
        let message = WebSocketMessage(.binary, ByteBuffer(repeating: 1, count: 400))
        #expect(try conversation.send(message))
        #expect(try conversation.send(message))
        #expect(try !conversation.send(message))
        #expect((800...1000).contains(conversation.queuedBytes))
        conversation.drain()
        // A message above the limit is accepted if nothing else is queued.
        #expect(try conversation.send(WebSocketMessage(.binary, ByteBuffer(repeating: 1, count: 2000))))
        #expect(try !conversation.send(.text("")))
        #expect(try !conversation.ping())
    }

    @Test func emptyMessagesAreBounded() throws {
        let conversation = Conversation(settings { $0.maximumQueued = 1000 })
        var count = 0
        while try conversation.send(.text("")) { count += 1 }
        #expect((10...100).contains(count))
    }

    // MARK: Pings

    /// The Pongs of a flood are bounded, and the last Ping gets one. Section 5.5.3.
    @Test func floodOfPingsIsBounded() {
        let conversation = Conversation()
        let flood = (0..<10_000).flatMap { ServerFrame.ping(Bytes("\($0)".utf8)).wire }
        conversation.connection.received(ByteBuffer(bytes: flood), now: 0)
        while conversation.connection.next() != nil {}
        conversation.flush()
        let log = conversation.takeLog()
        #expect(log.count == WebSocketSendQueue.maximumPongs)
        #expect(log.last == #"sent pong "9999""#)
    }

    @Test func silentConnectionIsPinged() throws {
        let conversation = Conversation(
            settings {
                $0.pingInterval = .seconds(20)
                $0.pongTimeout = .seconds(5)
            })
        #expect(conversation.deadline == 20 * Self.second)
        try conversation.reachDeadline()
        #expect(conversation.takeLog() == ["sent ping \"\\0\\0\\0\\u{01}\""])
        #expect(conversation.deadline == 25 * Self.second)
        conversation.now += Self.second
        conversation.receive(.pong([0, 0, 0, 1]))
        #expect(conversation.takeLog() == [])
        #expect(conversation.deadline == 41 * Self.second)
        try conversation.reachDeadline()
        try conversation.reachDeadline()
        #expect(conversation.takeLog() == ["sent ping \"\\0\\0\\0\\u{02}\"", "closed 1006", "close transport"])
        #expect(conversation.closure?.error?.kind == .timeout)
        #expect(conversation.deadline == nil)
    }

    @Test func anyByteShowsThatTheServerIsAlive() throws {
        let conversation = Conversation(settings { $0.pingInterval = .seconds(20) })
        try conversation.reachDeadline()
        conversation.now += Self.second
        conversation.receive([0x82])
        #expect(conversation.deadline == 41 * Self.second)
    }

    @Test func clientThatDoesNotReadIsNotPinged() {
        let conversation = Conversation(settings { $0.pingInterval = .seconds(20) })
        conversation.connection.setReading(false, now: 0)
        #expect(conversation.deadline == nil)
        conversation.connection.setReading(true, now: 100 * Self.second)
        #expect(conversation.deadline == 120 * Self.second)
    }

    @Test func pingOfTheCallerIsSent() throws {
        let conversation = Conversation()
        #expect(try conversation.ping(ByteBuffer(string: "are you there")))
        conversation.drain()
        conversation.receive(.pong("are you there"))
        #expect(conversation.takeLog() == [#"sent ping "are you there""#, #"pong "are you there""#])
        let error = #expect(throws: NightjarError.self) {
            try conversation.ping(ByteBuffer(repeating: 0, count: 126))
        }
        #expect(error?.message == "the payload of a Ping must have at most 125 bytes, got 126")
    }

    // MARK: Closing

    @Test func callerCloses() throws {
        let conversation = Conversation()
        #expect(try conversation.send(.text("last")))
        try conversation.close(code: .goingAway, reason: "bye")
        #expect(throws: NightjarError.self) { try conversation.send(.text("late")) }
        conversation.drain()
        #expect(conversation.takeLog() == [#"sent text "last""#, "sent close 1001"])
        // The server may send messages until it has received the Close frame. Section 1.4.
        conversation.receive(.text("crossing"), .ping("ignored"))
        #expect(conversation.takeLog() == [#"text "crossing""#, #"ping "ignored""#])
        conversation.receive(.close(1001))
        #expect(conversation.takeLog() == ["closed 1001 clean"])
        #expect(conversation.closure?.isRequested == true)
        conversation.receive(.text("forbidden"))
        conversation.endOfStream()
        #expect(conversation.takeLog() == ["close transport"])
    }

    @Test func closeWaitsForTheServer() throws {
        let conversation = Conversation()
        try conversation.close()
        conversation.drain()
        #expect(conversation.deadline == 10 * Self.second)
        try conversation.reachDeadline()
        #expect(conversation.takeLog() == ["sent close 1000", "closed 1006", "close transport"])
        #expect(conversation.closure?.isRequested == true && conversation.closure?.error?.kind == .timeout)
    }

    @Test func transportIsClosedIfTheServerDoesNot() throws {
        let conversation = Conversation()
        conversation.receive(.close(1000))
        #expect(conversation.takeLog() == ["closed 1000 clean", "sent close 1000"])
        #expect(conversation.deadline == 2 * Self.second)
        try conversation.reachDeadline()
        #expect(conversation.takeLog() == ["close transport"])
        try conversation.close()
        conversation.endOfStream()
        conversation.drain()
        #expect(conversation.takeLog() == [])
    }

    @Test func violationEndsTheConnectionAtOnce() throws {
        let conversation = Conversation()
        #expect(try conversation.send(.text("queued")))
        conversation.connection.received(ByteBuffer(bytes: [0xFF, 0x00] + ServerFrame.text("later").wire), now: 0)
        guard case .closed(let closure) = conversation.connection.next() else {
            Issue.record("expected the end")
            return
        }
        #expect(closure.code == .protocolError && !closure.isClean && closure.error?.kind == .protocol)
        conversation.drain()
        conversation.receive(.text("later"))
        #expect(conversation.takeLog() == ["sent close 1002"])
        #expect(conversation.takeUnsent() == [.text("queued")])
        #expect(conversation.takeUnsent() == [])
    }

    @Test func endWithoutCloseIsAnError() {
        let conversation = Conversation()
        conversation.connection.received(ByteBuffer(bytes: ServerFrame.text("last").wire), now: 0)
        conversation.connection.endOfStream(now: 0)
        conversation.drain()
        #expect(conversation.takeLog() == [#"text "last""#, "closed 1006", "close transport"])
        #expect(conversation.closure?.error?.kind == .connectionLost)
        #expect(conversation.closure?.error?.isRetryable == true)
    }

    @Test func endWhileClosingIsNotClean() throws {
        let conversation = Conversation()
        try conversation.close()
        conversation.drain()
        conversation.endOfStream()
        #expect(conversation.takeLog() == ["sent close 1000", "closed 1006", "close transport"])
        #expect(conversation.closure?.isRequested == true)
    }

    @Test(arguments: [999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 0] as [UInt16])
    func codeThatIsNotAllowedIsRejected(code: UInt16) {
        let conversation = Conversation()
        let error = #expect(throws: NightjarError.self) {
            try conversation.close(code: WebSocketCloseCode(rawValue: code))
        }
        #expect(error?.message.hasSuffix("got \(code)") == true)
        #expect(conversation.isOpen)
    }

    @Test func reasonIsLimited() throws {
        let conversation = Conversation()
        let reason = String(repeating: "\u{E9}", count: 62)
        let error = #expect(throws: NightjarError.self) { try conversation.close(reason: reason) }
        #expect(
            error?.message == "the reason to close a WebSocket must have at most 123 bytes of UTF-8, got 124")
        #expect(throws: NightjarError.self) { try conversation.close(code: nil, reason: "x") }
        try conversation.close(code: nil)
        conversation.drain()
        #expect(conversation.takeLog() == ["sent close"])
    }

    // MARK: Unsent messages

    @Test func messagesThatWereNotWrittenAreReturned() throws {
        let conversation = Conversation(settings { $0.maximumFrame = 30_000 })
        let large = WebSocketMessage(.binary, ByteBuffer(repeating: 1, count: 200_000))
        for message in [.text("sent"), large, .text("waiting")] {
            #expect(try conversation.send(message))
        }
        conversation.flush()
        conversation.connection.endOfStream(now: 0)
        while conversation.connection.next() != nil {}
        // The large message was written in part, so the server cannot have received it.
        #expect(conversation.takeUnsent() == [large, .text("waiting")])
    }

    @Test func startedPiecesAreNotReturned() throws {
        let conversation = Conversation()
        #expect(try conversation.send(piece("a", isFirst: true)))
        conversation.flush()
        #expect(try conversation.send(piece("b")))
        #expect(try conversation.send(piece("c", isLast: true)))
        #expect(try conversation.send(.text("next")))
        conversation.endOfStream()
        #expect(conversation.takeUnsent() == [])
        let other = Conversation()
        #expect(try other.send(piece("a", isFirst: true)))
        other.flush()
        #expect(try other.send(piece("b", isLast: true)))
        #expect(try other.send(.text("next")))
        other.connection.endOfStream(now: 0)
        while other.connection.next() != nil {}
        #expect(other.takeUnsent() == [.text("next")])
    }
}
