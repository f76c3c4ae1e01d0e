import NIOCore
import Testing

@testable import NightjarHTTP

/// Lines that end with LF only (RFC 9112 section 2.2), and values that continue on a folded line (section 5.2).
@Suite struct LenientResponseTests {
    private static let lenient: HTTP1ResponseDecoder.Limits = {
        var limits = HTTP1ResponseDecoder.Limits()
        limits.acceptsBareLF = true
        return limits
    }()

    /// Responses and the expected events. Each is tested with CRLF, with LF, and with both line endings mixed.
    private static let wires: [(String, [String])] = [
        ("HTTP/1.1 200 OK\r\nA: 1\r\nEmpty:\r\nContent-Length: 2\r\n\r\nok", ["200 OK", "< ok", "end, reusable"]),
        ("HTTP/1.1 204\r\n\r\n", ["204 ", "end, reusable"]),
        ("HTTP/1.0 200 OK\r\nA: 1\r\n\r\n", ["200 OK"]),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n", ["100 Continue", "204 No", "end, reusable"]),
        ("HTTP/1.1 200 OK\r\nContent-Length:\r\n 1\r\n\r\nx", ["200 OK", "< x", "end, reusable"]),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\n1\r\n!\r\n0\r\nT: 1\r\n 2\r\n\r\n",
            ["200 OK", "< ok!", "+ T: 1 2", "end, reusable"]
        ),
    ]

    @Test(arguments: wires.indices, ["\r\n", "\n", "mixed"])
    func bareLFEndsALineIfAllowed(index: Int, ending: String) {
        let (text, expected) = LenientResponseTests.wires[index]
        var wire: [UInt8] = []
        var lines = 0
        for line in text.split(separator: "\r\n", omittingEmptySubsequences: false) {
            if lines > 0 { wire += ending == "mixed" ? (lines % 2 == 0 ? "\n" : "\r\n").utf8 : ending.utf8 }
            wire += line.utf8
            lines += 1
        }
        for cuts in [[], Array(wire.indices.dropFirst())] + wire.indices.map({ [$0] }) {
            let transcript = Transcript.of(wire, cutAt: cuts, limits: LenientResponseTests.lenient)
            #expect(transcript.matches(expected), "cut at \(cuts): \(transcript.description)")
        }
        let strict = Transcript.of(wire)
        #expect(ending == "\r\n" ? strict.matches(expected) : strict.error?.kind == .protocol)
    }

    /// The option affects only line endings.
    @Test(arguments: [
        "HTTP/1.1 200 OK\nA: 1\rB: 2\n\n", "HTTP/1.1 200 OK\nA: 1\0\n\n", "HTTP/1.1 200 OK\n A: 1\n\n",
        "HTTP/1.1 200 OK\nA : 1\n\n", "HTTP/1.1 20\n\n", "HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 2\n\nx",
        "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n1\nxy\n0\n\n",
        "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n1 \nx\n0\n\n",
    ])
    func otherRulesStayStrict(text: String) {
        let wire = Array(text.utf8)
        for cuts in [[], Array(wire.indices.dropFirst())] + wire.indices.map({ [$0] }) {
            let transcript = Transcript.of(wire, cutAt: cuts, limits: LenientResponseTests.lenient)
            #expect(transcript.error?.kind == .protocol, "cut at \(cuts): \(transcript.description)")
        }
    }

    // MARK: Folds

    /// Returns the fields of a head, after checking that they are the same for each split of the bytes.
    private func fields(_ lines: String) throws -> [String] {
        let wire = Array("HTTP/1.1 204 No Content\r\n\(lines)\r\n".utf8)
        var result: [String]?
        for cuts in [[], Array(wire.indices.dropFirst())] + wire.indices.map({ [$0] }) {
            var decoder = HTTP1ResponseDecoder()
            decoder.expectResponse(to: .get)
            let bounds = [0] + cuts + [wire.count]
            var found: [String]?
            for (start, end) in zip(bounds, bounds.dropFirst()) {
                var buffer = ByteBuffer(bytes: wire[start..<end])
                while let event = try decoder.next(&buffer) {
                    guard case .head(let head) = event else { continue }
                    found = head.headers.map { "\($0.name)|\($0.value)" }
                    for index in 0..<head.headers.count {
                        head.headers.withBytes(at: index) { _, value in
                            #expect(value.baseAddress?.load(fromByteOffset: value.count, as: UInt8.self) == 0)
                        }
                    }
                }
            }
            #expect(found != nil && (result ?? found) == found, "cut at \(cuts): \(String(describing: found))")
            result = found
        }
        return result ?? []
    }

    @Test func obsoleteFoldBecomesOneSpace() throws {
        #expect(try fields("A: 1\r\n 2\r\nB: 3\r\n") == ["A|1 2", "B|3"])
        #expect(try fields("A: 1 \t\r\n \t 2 \r\n\t3\r\n") == ["A|1 2 3"])
        #expect(try fields("A:\r\n 2\r\n") == ["A|2"])
        #expect(try fields("A: 1\r\n \r\n\t\r\nB: 2\r\n 3\r\n") == ["A|1", "B|2 3"])
        #expect(try fields("A: 1\r\n B: 2\r\nC: 3\r\n") == ["A|1 B: 2", "C|3"])
        let words = (0..<200).map { "word\($0)" }
        #expect(try fields("A: " + words.joined(separator: "\r\n ") + "\r\n") == ["A|" + words.joined(separator: " ")])
    }

    @Test func foldsCountTowardsTheHeadLimit() throws {
        var decoder = HTTP1ResponseDecoder()
        decoder.expectResponse(to: .get)
        var start = ByteBuffer(string: "HTTP/1.1 200 OK\r\nA: 1\r\n")
        #expect(try decoder.next(&start) == nil)
        var sent = 0
        let error = #expect(throws: NightjarError.self) {
            while sent < 1 << 22 {
                var more = ByteBuffer(string: String(repeating: " x\r\n", count: 1024))
                sent += more.readableBytes
                _ = try decoder.next(&more)
            }
        }
        #expect(error?.kind == .tooLarge && sent <= 256 * 1024 + 4096)
    }

    // MARK: Limits

    /// For too many interim responses, the error names the limit and not the remaining bytes.
    @Test func tooManyInterimResponsesNameTheLimit() {
        var limits = HTTP1ResponseDecoder.Limits()
        limits.maximumHead = 100
        // Each head of the first case has 28 bytes, so the fourth head exceeds the limit.
        for (interim, final) in [("HTTP/1.1 103 Early Hints\r\n\r\n", ""), ("HTTP/1.1 100 C\r\n\r\n", "A: 1\r\n")] {
            let wire = Array((String(repeating: interim, count: 50) + final).utf8)
            for cuts in [[], Array(wire.indices.dropFirst())] {
                let error = Transcript.of(wire, cutAt: cuts, limits: limits).error
                #expect(error?.kind == .tooLarge)
                #expect(error?.message.contains("limit of 100 bytes") == true, "\(error?.message ?? "")")
            }
        }
        // The status line has 16 bytes, so no byte remains for the fields.
        limits.maximumHead = 28 + 16
        let exact = Array("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 A\r\nB: 1\r\n\r\n".utf8)
        let error = Transcript.of(exact, limits: limits).error
        #expect(error?.message.contains("limit of 44 bytes") == true, "\(error?.message ?? "")")
    }
}
