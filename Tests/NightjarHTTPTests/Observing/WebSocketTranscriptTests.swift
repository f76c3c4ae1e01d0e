import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct WebSocketTranscriptTests {
    private func piece(_ text: String, starts: Bool = true, ends: Bool = true) -> WebSocketMessage {
        WebSocketMessage(.text, ByteBuffer(string: text), startsMessage: starts, endsMessage: ends)
    }

    @Test func piecesBecomeOneMessage() {
        var transcript = WebSocketTranscript()
        transcript.note(piece("a", ends: false), isSent: false, at: 1)
        transcript.note(piece("sent"), isSent: true, at: 2)
        transcript.note(piece("b", starts: false, ends: false), isSent: false, at: 3)
        transcript.note(piece("c", starts: false), isSent: false, at: 4)
        transcript.note(piece("d"), isSent: false, at: 5)
        #expect(transcript.entries.map { String(buffer: $0.payload) } == ["abc", "sent", "d"])
        #expect(transcript.entries.map(\.length) == [3, 4, 1])
        #expect(transcript.entries.map(\.time) == [1, 2, 5])
        #expect(transcript.entries.map(\.isSent) == [false, true, false])
        #expect(transcript.omittedCount == 0)
    }

    @Test func onlyTheBeginningOfALargeMessageIsKept() {
        var transcript = WebSocketTranscript()
        let part = String(repeating: "x", count: 400_000)
        transcript.note(piece(part, ends: false), isSent: false, at: 1)
        for _ in 0..<3 { transcript.note(piece(part, starts: false, ends: false), isSent: false, at: 2) }
        transcript.note(piece("", starts: false), isSent: false, at: 3)
        // Nothing more is kept, and a message counts once.
        transcript.note(piece("a", ends: false), isSent: false, at: 4)
        transcript.note(piece("b", starts: false), isSent: false, at: 5)
        #expect(transcript.entries.map(\.length) == [1_600_000])
        #expect(transcript.entries.map(\.payload.readableBytes) == [1 << 20])
        #expect(transcript.omittedCount == 1)
    }
}
