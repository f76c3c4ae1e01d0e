import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct BodyEncoderTests {
    @Test func chunksAreFramedAndEnded() throws {
        var encoder = HTTP1BodyEncoder(.chunked)
        var wire = ByteBuffer()
        for part in ["hello", "", " a longer part"] {
            try encoder.encode(ByteBuffer(string: part)) { wire.writeImmutableBuffer($0) }
        }
        try encoder.finish { wire.writeImmutableBuffer($0) }
        #expect(String(buffer: wire) == "5\r\nhello\r\ne\r\n a longer part\r\n0\r\n\r\n")
    }

    @Test func announcedLengthIsSent() throws {
        var encoder = HTTP1BodyEncoder(.length(5))
        var wire = ByteBuffer()
        try encoder.encode(ByteBuffer(string: "hel")) { wire.writeImmutableBuffer($0) }
        try encoder.encode(ByteBuffer(string: "lo")) { wire.writeImmutableBuffer($0) }
        try encoder.finish { wire.writeImmutableBuffer($0) }
        #expect(String(buffer: wire) == "hello")
    }

    @Test func excessContentIsRejectedBeforeSending() throws {
        var encoder = HTTP1BodyEncoder(.length(5))
        let error = #expect(throws: NightjarError.self) {
            try encoder.encode(ByteBuffer(string: "hello!")) { _ in Issue.record("unexpected write") }
        }
        #expect(error?.kind == .invalidRequest)
        #expect(throws: NightjarError.self) { try encoder.encode(ByteBuffer(string: "x")) { _ in } }
    }

    @Test func missingContentIsRejectedAtTheEnd() throws {
        var encoder = HTTP1BodyEncoder(.length(5))
        try encoder.encode(ByteBuffer(string: "hell")) { _ in }
        let error = #expect(throws: NightjarError.self) { try encoder.finish { _ in Issue.record("unexpected write") } }
        #expect(error?.message.contains("1 bytes before") == true)
    }

    @Test func encodedBodyIsDecodedUnchanged() throws {
        var encoder = HTTP1BodyEncoder(.chunked)
        var wire = ByteBuffer(string: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try encoder.encode(ByteBuffer(repeating: UInt8(ascii: "x"), count: 5000)) { wire.writeImmutableBuffer($0) }
        try encoder.finish { wire.writeImmutableBuffer($0) }
        let transcript = Transcript.of(Array(wire.readableBytesView))
        #expect(transcript.lines == ["200 OK", "< " + String(repeating: "x", count: 5000), "end, reusable"])
    }
}
