import NIOCore
import Testing

@testable import NightjarHTTP
@testable import NightjarTesting

@Suite struct CassetteTests {
    static func sample() throws -> Cassette {
        var headers = Headers()
        try headers.add("Content-Type", "application/json")
        try headers.add("Set-Cookie", "a=1")
        try headers.add("Set-Cookie", "b=2")
        var response = RecordedExchange.Response(status: 200)
        response.reason = "OK"
        response.headers = headers
        response.body = RecordedBody(ByteBuffer(string: "{\"a\": [1, 2.5, \"\\n\"], \"b\": {}}"))
        response.delay = .milliseconds(12)
        response.pieces = [.init(after: .microseconds(100), bytes: 10), .init(after: .seconds(2), bytes: 14)]
        var stream = RecordedExchange.Response(status: 206)
        stream.body = RecordedBody(ByteBuffer(bytes: [0xFF, 0x00, 0x41]))
        stream.isTruncated = true
        var upgrade = RecordedExchange.Response(status: 101)
        upgrade.messages = [
            .init(isSent: true, .text(RecordedBody(ByteBuffer(string: "{\"op\":1}"))), after: .zero),
            .init(isSent: false, .text(.none), after: .milliseconds(5)),
            .init(isSent: false, .text(.text("plain")), after: .zero),
            .init(isSent: true, .binary(ByteBuffer()), after: .zero),
            .init(isSent: false, .binary(ByteBuffer(string: "text in a binary message")), after: .zero),
            .init(isSent: false, .close(4000, "bye"), after: .zero), .init(isSent: true, .close(nil, ""), after: .zero),
        ]
        let lost = RecordedExchange.Failure(
            NightjarError(.connectionLost, "gone", phase: .receive, requestMayHaveBeenProcessed: true),
            after: .seconds(1))
        let requested = RecordedExchange.Request(method: .get, url: "http://x/a?b=c")
        return Cassette([
            RecordedExchange(
                .init(method: .post, url: "http://x/a", headers: headers, body: .text("a=1")), response),
            RecordedExchange(requested, stream, lost),
            RecordedExchange(requested, nil, lost), RecordedExchange(requested, upgrade),
            RecordedExchange(
                .init(method: .put, url: "http://x/", body: .omitted), RecordedExchange.Response(status: 204)),
        ])
    }

    private func read(_ text: String) throws -> Cassette {
        try ByteBuffer(string: text).withUnsafeReadableBytes { bytes in try Cassette(parsing: bytes) }
    }

    @Test func cassetteRoundTrips() throws {
        let cassette = try CassetteTests.sample()
        let text = String(buffer: try cassette.encoded())
        #expect(try read(text) == cassette)
        #expect(
            text.hasPrefix("{\n  \"format\": \"nightjar-cassette\",\n  \"version\": 1,\n  \"exchanges\": [\n    {\n"))
        #expect(text.contains("\"Set-Cookie\": [\"a=1\",\"b=2\"]"))
        #expect(text.hasSuffix("]\n}\n"))
        #expect(
            String(buffer: try Cassette().encoded())
                == "{\n  \"format\": \"nightjar-cassette\",\n  \"version\": 1,\n  \"exchanges\": []\n}\n")
    }

    @Test func truncatedFileIsRejected() throws {
        let bytes = try CassetteTests.sample().encoded()
        // The last byte is a line ending.
        for length in 0..<(bytes.readableBytes - 1) {
            let part = try #require(bytes.getSlice(at: 0, length: length))
            let error = #expect(throws: NightjarError.self) {
                try part.withUnsafeReadableBytes { bytes in try Cassette(parsing: bytes) }
            }
            #expect(error?.kind == .decoding)
            #expect(error?.message.isEmpty == false)
        }
    }

    @Test func changedBytesDoNotTrap() throws {
        let bytes = Array(try CassetteTests.sample().encoded().readableBytesView)
        for index in bytes.indices {
            for byte in [UInt8(ascii: "}"), 0, 0xFF, UInt8(ascii: "9")] {
                var other = bytes
                other[index] = byte
                if let cassette = try? read(String(decoding: other, as: UTF8.self)) { _ = try cassette.encoded() }
            }
        }
    }

    @Test(arguments: [
        ("[]", "the document must be an object, found an array"),
        ("{}", "not a cassette: the format is not \"nightjar-cassette\""),
        ("{\"format\": \"nightjar-cassette\", \"exchanges\": []}", "not a cassette: the version is missing"),
        (
            "{\"format\": \"nightjar-cassette\", \"version\": 2, \"exchanges\": []}",
            "unsupported cassette version 2; this library reads version 1"
        ),
        ("{\"format\": \"nightjar-cassette\", \"version\": 1}", "the document has no member \"exchanges\""),
        (
            "{\"format\": \"nightjar-cassette\", \"version\": 1, \"exchanges\": [], \"excanges\": []}",
            "the document has the unknown member \"excanges\"; did you mean \"exchanges\"?"
        ),
    ])
    func invalidDocumentIsReportedWithItsPosition(text: String, message: String) {
        let error = #expect(throws: NightjarError.self) { try read(text) }
        #expect(error?.message == message)
    }

    @Test(arguments: [
        ("{}", "\"exchanges[0]\" has no member \"request\""),
        (
            "{\"request\": {\"method\": \"GET\", \"url\": \"http://x/\"}}",
            "\"exchanges[0]\" has neither \"response\" nor \"failure\""
        ),
        (
            "{\"request\": {\"method\": \"G T\", \"url\": \"http://x/\"}}",
            "\"exchanges[0].request.method\" must be an HTTP method"
        ),
        (
            "{\"request\": {\"method\": \"GET\", \"url\": \"/a\"}}",
            "\"exchanges[0].request.url\" must be an absolute URL"
        ),
        (
            "{\"request\": {\"method\": \"GET\", \"url\": \"http://x/\"}, \"response\": {\"status\": 99}}",
            "\"exchanges[0].response.status\" must be a status from 100 to 999"
        ),
        (
            "{\"request\": {\"method\": \"GET\", \"url\": \"http://x/\"}, \"response\": {\"status\": 200, \"delay\": -1}}",
            "\"exchanges[0].response.delay\" must be a non-negative number of seconds"
        ),
        (
            "{\"request\": {\"method\": \"GET\", \"url\": \"http://x/\", \"text\": \"\", \"json\": 1}, \"response\": {\"status\": 200}}",
            "\"exchanges[0].request\" has more than one body: \"json\", \"text\""
        ),
        (
            "{\"request\": {\"method\": \"GET\", \"url\": \"http://x/\"}, \"failure\": {\"kind\": \"boredom\"}}",
            "\"exchanges[0].failure.kind\" is \"boredom\", which is not an error kind"
        ),
    ])
    func invalidExchangeIsNamed(text: String, message: String) {
        let error = #expect(throws: NightjarError.self) {
            try read("{\"format\": \"nightjar-cassette\", \"version\": 1, \"exchanges\": [\(text)]}")
        }
        #expect(error?.message == message)
    }

    @Test func delayRoundTrips() throws {
        let text = """
            {"format": "nightjar-cassette", "version": 1, "exchanges": [
              {"request": {"method": "GET", "url": "http://x/"}, "response": {"status": 200, "delay": 2.01}}]}
            """
        let cassette = try read(text)
        #expect(cassette.exchanges.first?.response?.delay == .milliseconds(2010))
        #expect(try read(String(buffer: cassette.encoded())) == cassette)
    }

    @Test func bodiesAreWrittenByType() {
        #expect(RecordedBody(ByteBuffer()) == .none)
        #expect(RecordedBody(ByteBuffer(string: " {\"a\" : 1} ")) == .json(.object([.init("a", .integer(1))])))
        // A body that would not be reproduced exactly as JSON is stored as text.
        for text in ["{\"a\": 1.50}", "{\"a\": \"\\u00e4\"}", "{\"a\": ", "hello", "12"] {
            #expect(RecordedBody(ByteBuffer(string: text)) == .text(text))
        }
        #expect(RecordedBody(ByteBuffer(bytes: [0xFF])) == .binary(ByteBuffer(bytes: [0xFF])))
    }

    @Test func replayHasTheSamePiecesAndTimes() throws {
        let exchanges = try CassetteTests.sample().exchanges
        func plan(_ replaysTiming: Bool, _ number: Int = 0) -> [String] {
            exchanges[number].script(replaysTiming: replaysTiming).steps.map { step in
                let delay = step.delay == .zero ? "" : "+\(step.delay.nanosecondsClamped / 1000)us "
                switch step.event {
                case .head(let head): return delay + "head \(head.status) \(head.contentLength ?? -1)"
                case .body(let bytes): return delay + String(buffer: bytes)
                case .finish: return delay + "finish"
                case .fail: return delay + "fail"
                case .socket(.send(let message)): return delay + "send \(String(buffer: message.payload))"
                case .socket(.expect): return delay + "expect"
                case .socket(.close(let code, _)): return delay + "close \(code?.rawValue ?? 0)"
                }
            }
        }
        #expect(plan(false) == ["head 200 25", "{\"a\":[1,2.", "5,\"\\n\"],\"b\":{}}", "finish"])
        #expect(
            plan(true) == [
                "+12000us head 200 25", "+100us {\"a\":[1,2.", "+2000000us 5,\"\\n\"],\"b\":{}}", "finish",
            ])
        #expect(
            plan(true, 3) == [
                "head 101 -1", "expect", "+5000us send ", "send plain", "expect", "send text in a binary message",
                "close 4000",
            ])
    }

    // MARK: Nested bodies

    private func recording(_ body: String) -> Cassette {
        var response = RecordedExchange.Response(status: 200)
        response.body = RecordedBody(ByteBuffer(string: body))
        return Cassette([RecordedExchange(.init(method: .get, url: "http://x/"), response)])
    }

    private func nested(_ levels: Int, _ inner: String = "") -> String {
        String(repeating: "[", count: levels) + inner + String(repeating: "]", count: levels)
    }

    private static func list(_ item: String, _ count: Int) -> String {
        "[" + Array(repeating: item, count: count).joined(separator: ",") + "]"
    }

    private static func levels(_ count: Int, _ inner: String = "") -> String {
        String(repeating: "[", count: count) + inner + String(repeating: "]", count: count)
    }

    /// Many arrays with 180 levels, 100,000 numbers, numbers below many levels, and arrays with so many levels that
    /// they are stored as text.
    static let nestedBodies: [String] = [
        list(levels(180), 500), list("1", 100_000), levels(149, list("1", 1000)), list(levels(1000), 50),
    ]

    @Test(arguments: nestedBodies)
    func sizeIsBoundedForNestedBodies(body: String) throws {
        let cassette = recording(body)
        let text = try cassette.encoded()
        #expect(text.readableBytes <= 5 * body.utf8.count + 2048)
        #expect(try read(String(buffer: text)) == cassette)
        #expect(cassette.exchanges.first?.response?.body.bytes == ByteBuffer(string: body))
    }

    @Test func smallBodyIsIndented() throws {
        let text = String(buffer: try recording("{\"a\":{\"b\":[{\"c\":1}]}}").encoded())
        #expect(
            text.contains("\n          \"a\": {\n            \"b\": [\n              {\n                \"c\": 1\n"))
    }

    @Test(arguments: [1, 199, 200, 201, 1000, 1019, 1020, 1021, 1022, 1023, 1024, 1025])
    func deepBodiesRoundTrip(levels: Int) throws {
        let body = nested(levels, "1")
        let cassette = recording(body)
        let again = try read(String(buffer: try cassette.encoded()))
        #expect(again == cassette)
        #expect(again.exchanges.first?.response?.body.bytes == ByteBuffer(string: body))
        if case .json = cassette.exchanges.first?.response?.body {
            #expect(levels <= 199)
        } else {
            #expect(levels >= 200)
        }
    }

    @Test func secretIsFoundAtEachDepth() throws {
        for levels in [1, 150, 199, 200, 600] {
            let object = String(repeating: "{\"a\":", count: levels - 1) + "{\"access_token\":\"k-12345\"}"
            let body = object + String(repeating: "}", count: levels - 1)
            let exchange = try #require(recording(body).exchanges.first)
            var scrubber = SecretScrubber(CassetteSecrets(), .names(after: 0))
            let scrubbed = Cassette([scrubber.scrub(exchange)])
            #expect(!String(buffer: try scrubbed.encoded()).contains("k-12345"), "at \(levels) levels")
        }
    }

    @Test func unreadableFileIsNotWritten() throws {
        var writer = IndentedJSONWriter(partLevel: 4, maximumSize: 1000)
        let error = #expect(throws: NightjarError.self) {
            try writer.write(.array(Array(repeating: .string("hello"), count: 1000)))
        }
        #expect(error?.kind == .tooLarge)
    }
}
