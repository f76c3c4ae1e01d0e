import NIOCore
import NightjarHTTP
import Testing

@testable import NightjarTransport

@Suite struct OutgoingBodyTests {
    private func body(_ body: RequestBody) -> (OutgoingBody, head: String) {
        var head = ByteBuffer(string: "head")
        let outgoing = OutgoingBody(body, body.framing(), inlinedInto: &head)
        return (outgoing, String(buffer: head))
    }

    @Test func smallContentIsSentWithTheHead() {
        let (outgoing, head) = body(.bytes(ByteBuffer(string: "+body")))
        #expect(outgoing.isComplete)
        #expect(head == "head+body")
    }

    @Test func largeContentIsSplit() {
        let bytes = ByteBuffer(repeating: 7, count: 300_000)
        var (outgoing, head) = body(.bytes(bytes))
        #expect(head == "head")
        var sent = 0
        while case .write(let part) = outgoing.next() {
            #expect(part.readableBytes <= 128 * 1024)
            sent += part.readableBytes
        }
        #expect(sent == 300_000)
        #expect(outgoing.isComplete)
    }

    @Test func sourceIsReadOncePerPart() throws {
        var (outgoing, _) = body(.stream(length: 5))
        guard case .requestPart(maximum: 5) = outgoing.next(), case .wait = outgoing.next() else {
            Issue.record("expected a request for 5 bytes, then a wait")
            return
        }
        try outgoing.receive(ByteBuffer(string: "abc"))
        guard case .write = outgoing.next(), case .requestPart(maximum: 2) = outgoing.next() else {
            Issue.record("expected a write, then a request for 2 bytes")
            return
        }
        try outgoing.receive(ByteBuffer(string: "de"))
        guard case .write = outgoing.next(), case .complete = outgoing.next() else {
            Issue.record("expected a write, then completion without another request")
            return
        }
    }

    @Test func sourceLongerThanAnnouncedFails() {
        var (outgoing, _) = body(.stream(length: 2))
        _ = outgoing.next()
        let error = #expect(throws: NightjarError.self) { try outgoing.receive(ByteBuffer(string: "abc")) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.message == "the request body is at least 1 bytes longer than its declared length")
    }

    @Test func sourceShorterThanAnnouncedFails() {
        var (outgoing, _) = body(.stream(length: 2))
        _ = outgoing.next()
        let error = #expect(throws: NightjarError.self) { try outgoing.end() }
        #expect(error?.message == "the request body ended 2 bytes before its declared length")
    }

    @Test func contentOfUnknownLengthIsChunked() throws {
        var (outgoing, _) = body(.stream(length: nil))
        _ = outgoing.next()
        try outgoing.receive(ByteBuffer(string: "abc"))
        var chunk = ""
        var step = outgoing.next()
        while case .write(let part) = step {
            chunk += String(buffer: part)
            step = outgoing.next()
        }
        #expect(chunk == "3\r\nabc\r\n")
        guard case .requestPart = step else {
            Issue.record("expected a request for the next part")
            return
        }
        try outgoing.end()
        guard case .write(let last) = outgoing.next(), case .complete = outgoing.next() else {
            Issue.record("expected a write of the last chunk, then completion")
            return
        }
        #expect(String(buffer: last) == "0\r\n\r\n")
    }

    @Test func emptyPartIsNotTheLastChunk() throws {
        var (outgoing, _) = body(.stream(length: nil))
        _ = outgoing.next()
        try outgoing.receive(ByteBuffer())
        guard case .requestPart = outgoing.next() else {
            Issue.record("expected another request")
            return
        }
    }
}
