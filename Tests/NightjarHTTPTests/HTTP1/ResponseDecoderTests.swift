import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct ResponseDecoderTests {
    @Test(arguments: ResponseCase.all)
    func splitsDoNotChangeTheResult(_ response: ResponseCase) {
        let wire = response.wire
        let whole = Transcript.of(wire, to: response.methods, closes: response.closes)
        #expect(whole.matches(response.expected), "\(whole.description)")
        let bytewise = Transcript.of(
            wire, cutAt: Array(wire.indices.dropFirst()), to: response.methods, closes: response.closes)
        #expect(bytewise.matches(response.expected), "a byte at a time: \(bytewise.description)")
        for cut in wire.indices {
            let halves = Transcript.of(wire, cutAt: [cut], to: response.methods, closes: response.closes)
            #expect(halves.matches(response.expected), "cut at \(cut): \(halves.description)")
        }
    }

    // MARK: Fields

    @Test(arguments: [0, 30, 60, 61, 62, 63, 90])
    func fieldsKeepTheirOrderAndSpelling(_ cut: Int) throws {
        let wire = Array(
            ("HTTP/1.1 200 OK\r\nServer: nginx\r\nSet-Cookie:a=1\r\nX-Empty:\r\nset-cookie: \t b = 2 \t\r\n"
                + "Content-Length: 0\r\n\r\n").utf8)
        var decoder = HTTP1ResponseDecoder()
        decoder.expectResponse(to: .get)
        var first = ByteBuffer(bytes: wire[..<cut])
        var second = ByteBuffer(bytes: wire[cut...])
        #expect(try decoder.next(&first) == nil)
        let event = try decoder.next(&second)
        guard case .head(let head) = event else {
            Issue.record("expected a head, got \(String(describing: event))")
            return
        }
        #expect(
            head.headers.map { "\($0.name)|\($0.value)" } == [
                "Server|nginx", "Set-Cookie|a=1", "X-Empty|", "set-cookie|b = 2", "Content-Length|0",
            ])
        #expect(head.headers.values("SET-COOKIE") == ["a=1", "b = 2"])
        for index in 0..<head.headers.count {
            head.headers.withBytes(at: index) { name, value in
                #expect(name.baseAddress?.load(fromByteOffset: name.count, as: UInt8.self) == 0)
                #expect(value.baseAddress?.load(fromByteOffset: value.count, as: UInt8.self) == 0)
            }
        }
        #expect(head.version == .http1_1)
    }

    @Test func decodedFieldsCanBeChanged() throws {
        var decoder = HTTP1ResponseDecoder()
        decoder.expectResponse(to: .get)
        var buffer = ByteBuffer(string: "HTTP/1.1 204 No Content\r\nA: 1\r\nB: 2\r\n\r\n")
        guard case .head(var head) = try decoder.next(&buffer) else {
            Issue.record("expected a head")
            return
        }
        let original = head.headers
        head.headers.remove("a")
        try head.headers.add("C", "3")
        #expect(head.headers.map { "\($0.name): \($0.value)" } == ["B: 2", "C: 3"])
        #expect(original.map { "\($0.name): \($0.value)" } == ["A: 1", "B: 2"])
    }

    // MARK: Memory

    /// A head of a few bytes must not retain the read buffer of 64 KiB or the bytes after the head.
    @Test func headIsCopiedAndContentIsNot() throws {
        var decoder = HTTP1ResponseDecoder()
        decoder.expectResponse(to: .get)
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        var buffer = ByteBuffer(string: head + "hello")
        let input = buffer.withUnsafeReadableBytes { $0.baseAddress.map { UInt(bitPattern: $0) } ?? 0 }
        guard case .head(let decoded) = try decoder.next(&buffer), case .body(let content) = try decoder.next(&buffer)
        else {
            Issue.record("expected a head, then content")
            return
        }
        let inHead = decoded.headers.withBytes(at: 0) { _, value in UInt(bitPattern: value.baseAddress) }
        #expect(!(input..<input + UInt(head.utf8.count + 5)).contains(inHead))
        let inContent = content.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
        #expect(inContent == input + UInt(head.utf8.count))
    }

    @Test func remainderOfAReadIsCopied() throws {
        var decoder = HTTP1ResponseDecoder()
        decoder.expectResponse(to: .get)
        var buffer = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Le")
        #expect(try decoder.next(&buffer) == nil)
        #expect(buffer.readableBytes == 0)
        // The storage has no other owner, so writing does not copy it.
        let before = buffer.withVeryUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        buffer.clear()
        buffer.writeString("x")
        #expect(buffer.withVeryUnsafeBytes { UInt(bitPattern: $0.baseAddress) } == before)
    }

    // MARK: Limits

    private func kind(_ wire: String, _ change: (inout HTTP1ResponseDecoder.Limits) -> Void) -> ErrorKind? {
        var limits = HTTP1ResponseDecoder.Limits()
        change(&limits)
        let whole = Transcript.of(Array(wire.utf8), limits: limits)
        for cut in 0..<wire.utf8.count {
            #expect(Transcript.of(Array(wire.utf8), cutAt: [cut], limits: limits) == whole, "cut at \(cut)")
        }
        return whole.error?.kind
    }

    @Test func headIsBounded() {
        let head = "HTTP/1.1 200 OK\r\nA: 12345678\r\n\r\n"
        #expect(kind(head) { $0.maximumHead = head.utf8.count } == nil)
        for limit in 7..<head.utf8.count {
            #expect(kind(head) { $0.maximumHead = limit } == .tooLarge, "\(limit)")
        }
    }

    @Test func endlessLineIsNotBuffered() throws {
        for beginning in ["HTTP/1.1 200 ", "HTTP/1.1 200 OK\r\nA: "] {
            var decoder = HTTP1ResponseDecoder()
            decoder.expectResponse(to: .get)
            var buffer = ByteBuffer(string: beginning)
            #expect(try decoder.next(&buffer) == nil)
            var sent = 0
            let error = #expect(throws: NightjarError.self) {
                while sent < 1 << 24 {
                    var more = ByteBuffer(repeating: UInt8(ascii: "x"), count: 4096)
                    sent += 4096
                    while try decoder.next(&more) != nil {}
                }
            }
            #expect(error?.kind == .tooLarge)
            #expect(sent <= 256 * 1024 + 4096)
        }
    }

    @Test func numberOfFieldsIsBounded() {
        let head = "HTTP/1.1 204 OK\r\nA: 1\r\nB: 2\r\n\r\n"
        #expect(kind(head) { $0.maximumFields = 2 } == nil)
        #expect(kind(head) { $0.maximumFields = 1 } == .tooLarge)
    }

    @Test func interimResponsesShareTheHeadLimit() {
        let interim = String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 10)
        #expect(kind(interim) { $0.maximumHead = 100 } == .tooLarge)
        #expect(kind(interim) { $0.maximumHead = 280 } == nil)
    }

    /// Found by fuzzing. If a status line is invalid only after the limit, the error is too_large for every split.
    @Test func limitIsCheckedBeforeLaterBytes() {
        let interim = "HTTP/1.1 103 Early Hints\r\n\r\n"
        for limit in 28...36 {
            let expected: ErrorKind = limit < 33 ? .tooLarge : .protocol
            #expect(kind(interim + "HTTP1.1 200 OK\r\n\r\n") { $0.maximumHead = limit } == expected, "\(limit)")
        }
    }

    @Test func chunkLinesAndTrailersAreBounded() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(kind(head + "1;abc\r\nx\r\n0\r\n\r\n") { $0.maximumChunkLine = 7 } == nil)
        #expect(kind(head + "1;abc\r\nx\r\n0\r\n\r\n") { $0.maximumChunkLine = 6 } == .tooLarge)
        #expect(kind(head + "000000001\r\nx") { $0.maximumChunkLine = 8 } == .tooLarge)
        #expect(kind(head + "0\r\nA: 1\r\nB: 2\r\n\r\n") { $0.maximumFields = 1 } == .tooLarge)
        let trailers = "0\r\n" + String(repeating: "A: 1\r\n", count: 20)
        #expect(kind(head + trailers) { $0.maximumHead = 80 } == .tooLarge)
    }

    // MARK: Lifetime of a connection

    @Test func errorIsPermanent() throws {
        var decoder = HTTP1ResponseDecoder()
        decoder.expectResponse(to: .get)
        var garbage = ByteBuffer(string: "garbage\r\n")
        let first = #expect(throws: NightjarError.self) { try decoder.next(&garbage) }
        #expect(first?.phase == .receive)
        var good = ByteBuffer(string: "HTTP/1.1 204 OK\r\n\r\n")
        let second = #expect(throws: NightjarError.self) { try decoder.next(&good) }
        let third = #expect(throws: NightjarError.self) { try decoder.endOfStream() }
        #expect(second?.message == first?.message && third?.message == first?.message)
        #expect(!decoder.isIdle && !decoder.connectionIsReusable)
    }

    @Test func decoderIsIdleBetweenResponses() throws {
        var decoder = HTTP1ResponseDecoder()
        var nothing = ByteBuffer()
        #expect(decoder.isIdle)
        #expect(try decoder.next(&nothing) == nil)
        for _ in 0..<3 {
            decoder.expectResponse(to: .get)
            #expect(!decoder.isIdle && !decoder.connectionIsReusable)
            var buffer = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            guard case .head = try decoder.next(&buffer) else {
                Issue.record("expected a head")
                return
            }
            // The end of the response is reported without a further byte.
            #expect(!decoder.isIdle)
            guard case .end = try decoder.next(&buffer) else {
                Issue.record("expected the end")
                return
            }
            #expect(decoder.isIdle && decoder.connectionIsReusable)
        }
        #expect(try decoder.endOfStream() == nil)
        #expect(!decoder.connectionIsReusable)
    }

    @Test func messagesAreBoundedAndEscaped() {
        let wire = Array("HTTP/1.1 200 ".utf8) + [UInt8](repeating: 0x1B, count: 5000) + Array("\r\n".utf8)
        let message = Transcript.of(wire).error?.message ?? ""
        #expect(message.utf8.count < 600)
        #expect(message.unicodeScalars.allSatisfy { $0.value >= 0x20 })
    }

    @Test func decoderIsSmall() {
        // Each connection has its own decoder.
        #expect(MemoryLayout<HTTP1ResponseDecoder>.size <= 768)
    }

    @Test func messagesContainNoFieldValues() {
        let wire = Array("HTTP/1.1 200 OK\r\nSet-Cookie: session=s3cret\0\r\n\r\n".utf8)
        let message = Transcript.of(wire).error?.message ?? ""
        #expect(message.contains("Set-Cookie") && !message.contains("s3cret"))
    }
}
