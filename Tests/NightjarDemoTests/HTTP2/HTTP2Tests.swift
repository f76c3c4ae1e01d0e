import NightjarDemo
import NightjarTestSupport
import Testing

/// HTTP/2 with prior knowledge, tested with curl.
@Suite struct HTTP2Tests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func curl(_ path: String, _ arguments: [String] = [], input: Bytes = "") throws -> CurlResponse {
        try demo.curl(path, ["--http2-prior-knowledge"] + arguments, input: input)
    }

    private func status(_ path: String, _ arguments: [String] = []) throws -> Int32 {
        try demo.curlStatus(path, ["--http2-prior-knowledge"] + arguments)
    }

    /// curl's exit status for a stream that was reset.
    private static let streamError: Int32 = 92

    @Test func versionIsReportedAndCounted() throws {
        let echo = try curl("/echo", ["-d", "hi", "-b", "a=1"]).json
        #expect(echo["version"] as? String == "2")
        #expect(echo["stream"] as? Int == 1)
        #expect(echo["body"] as? String == "hi")
        let fields = echo["headers"] as? [[String]]
        #expect(fields?.contains { $0[0] == "host" && $0[1].hasPrefix("127.0.0.1") } == true)
        #expect(fields?.contains { $0[0].hasPrefix(":") || $0[0] == "transfer-encoding" } == false)
        #expect(try demo.curl("/echo").json["version"] as? String == "1.1")
        let statistics = demo.server.statistics
        #expect(statistics.versions == ["2": 1, "1.1": 1])
        #expect(statistics.http2.connectionsOpened == 1 && statistics.http2.streamsOpened == 1)
        #expect(statistics.exchanges.map(\.version) == ["2", "1.1"])
        #expect(statistics.exchanges.map(\.stream) == [1, nil])
    }

    @Test func methodsThatBeginLikeThePrefaceAreHTTP11() throws {
        for method in ["PROPFIND", "PUT", "POST"] {
            #expect(try demo.curl("/echo", ["-X", method]).json["version"] as? String == "1.1")
        }
        // The detector waits for the rest of a preface.
        let client = try demo.connect()
        try client.send("PRI * HT")
        try client.send("TP/1.1\r\nHost: x\r\n\r\n")
        #expect(Bytes(try client.receive(through: "\r\n")).text.hasPrefix("HTTP/1.1 "))
    }

    @Test func responsesWithoutABodyEndWithTheHead() throws {
        let client = try RawHTTP2(demo)
        for (index, path) in ["/status/204", "/status/304"].enumerated() {
            try client.request(2 * index + 1, path)
            #expect(try client.receive(RawHTTP2.Kind.headers)?.endsStream == true)
        }
        try client.request(5, "/v1/articles/1", method: "HEAD")
        #expect(try client.receive(RawHTTP2.Kind.headers)?.endsStream == true)
        // A body ends with its last DATA frame.
        try client.request(7, "/v1/articles/1")
        let frames = try client.receive { $0.endsStream }
        #expect(frames.map(\.kind) == [RawHTTP2.Kind.headers, RawHTTP2.Kind.data])
        #expect(frames.last?.payload.isEmpty == false)
    }

    @Test func interimResponsesAndTrailersAreSent() throws {
        #expect(try curl("/informational?count=2").interim == [103, 103])
        let expected = try curl("/expect", ["-H", "Expect: 100-continue", "-d", "hi"])
        #expect(expected.interim == [100])
        #expect(try expected.json["bytes"] as? Int == 2)
        #expect(try curl("/trailers?bytes=10").text.lowercased().contains("x-length: 10"))
    }

    @Test func bodiesAreStreamedInBothDirections() throws {
        let body = Bytes((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let duplex = try curl("/duplex", ["-X", "POST", "-T", "-"], input: body)
        #expect(duplex.body == body.array)
        #expect(try curl("/upload", ["-T", "-"], input: body).json["bytes"] as? Int == body.array.count)
        #expect(try curl("/bytes/3000000").body.count == 3_000_000)
        let events = try curl("/events?count=3")
        #expect(events.text.contains("id: 3\n"))
    }

    @Test func slowUploadIsPaced() throws {
        let body = Bytes([UInt8](repeating: 1, count: 200_000))
        let start = ContinuousClock.now
        #expect(try curl("/upload?rate=400000", ["-T", "-"], input: body).json["bytes"] as? Int == 200_000)
        #expect(ContinuousClock.now - start > .milliseconds(400))
    }

    @Test func largeHeadHasContinuationFrames() throws {
        for fields in [1, 300] {
            let response = try curl("/headers/large?bytes=60000&fields=\(fields)")
            #expect(response.headers.filter { $0.name.hasPrefix("x-large-") }.count == fields)
            #expect(response.headers.reduce(0) { $0 + $1.value.utf8.count } > 60_000)
        }
        // The compression of the following responses is not affected.
        let client = try RawHTTP2(demo)
        try client.request(1, "/headers/large?bytes=40000")
        let frames = try client.receive { $0.endsStream }.filter { $0.kind != RawHTTP2.Kind.settings }
        let continuation = RawHTTP2.Kind.continuation
        #expect(frames.map(\.kind) == [RawHTTP2.Kind.headers, continuation, continuation, RawHTTP2.Kind.data])
        #expect(frames.prefix(3).map(\.flags) == [0, 0, RawHTTP2.endHeaders])
    }

    @Test func earlyResponseStopsTheUpload() throws {
        let client = try RawHTTP2(demo)
        try client.request(1, "/v1/users", method: "POST", [("content-length", "9999999")], ends: false)
        let frames = try client.receive { $0.kind == RawHTTP2.Kind.reset }
        #expect(frames.contains { $0.endsStream })
        #expect(frames.last?.number(at: 0) == 0)
        // The connection can be used for further requests.
        try client.request(3, "/status/204")
        #expect(try client.receive(RawHTTP2.Kind.headers)?.stream == 3)
    }

    @Test(arguments: ["/lines/100?cut=50", "/v1/flaky?key=x&drop=1&times=9"])
    func faultsEndOnlyTheStream(path: String) throws {
        let client = try RawHTTP2(demo)
        try client.request(1, path)
        // INTERNAL_ERROR does not state that the request was not processed.
        #expect(try client.receive(RawHTTP2.Kind.reset)?.number(at: 0) == 2)
        try client.request(3, "/status/204")
        #expect(try client.receive(RawHTTP2.Kind.headers)?.stream == 3)
        #expect(try status(path) == HTTP2Tests.streamError)
    }

    @Test func truncatedBodyHasAWrongContentLength() throws {
        let client = try RawHTTP2(demo)
        try client.request(1, "/cut-short")
        let frames = try client.receive { $0.endsStream }
        #expect(frames.reduce(0) { $0 + ($1.kind == RawHTTP2.Kind.data ? $1.payload.count : 0) } == 512)
        #expect(try status("/cut-short") == HTTP2Tests.streamError)
    }

    @Test func expectationFailsBeforeTheBody() throws {
        let client = try RawHTTP2(demo)
        let fields = [("expect", "100-continue"), ("content-length", "2")]
        try client.request(1, "/expect?response=417", method: "POST", fields, ends: false)
        let frames = try client.receive { $0.kind == RawHTTP2.Kind.reset }
        #expect(frames.contains { $0.endsStream } && frames.last?.number(at: 0) == 0)
        #expect(demo.server.statistics.statuses == [417: 1])
    }

    @Test func bodyWithAnotherLengthIsAnError() throws {
        let client = try RawHTTP2(demo)
        try client.request(1, "/echo", method: "POST", [("content-length", "5")], ends: false)
        try client.send(RawHTTP2.Kind.data, RawHTTP2.endStream, 1, [1, 2, 3])
        #expect(try client.receive(RawHTTP2.Kind.reset)?.number(at: 0) == 1)
    }

    @Test func manyResetsAndPingsKeepTheConnection() throws {
        let client = try RawHTTP2(demo)
        for index in 0..<2000 {
            try client.request(2 * index + 1, "/delay/60")
            try client.send(RawHTTP2.Kind.reset, 2 * index + 1, number: 8)
            try client.send(RawHTTP2.Kind.ping, 0, 0, [0, 0, 0, 0, 0, 0, 0, 1])
        }
        try client.request(4001, "/status/204")
        #expect(try client.receive(RawHTTP2.Kind.headers)?.stream == 4001)
        let statistics = demo.server.statistics
        #expect(statistics.http2.resets == 2000 && statistics.http2.pings == 2000)
        #expect(statistics.abandoned == ["/delay/{seconds}": 2000])
        try eventually("the streams ended") { demo.server.statistics.http2.streamsOpen == 0 }
        try eventually("the requests ended") { demo.server.statistics.inProgress.isEmpty }
    }

    @Test func stopEndsIdleConnectionsAndCompletesStreams() throws {
        let idle = try RawHTTP2(demo)
        let busy = try RawHTTP2(demo)
        try idle.request(1, "/status/204")
        #expect(try idle.receive(RawHTTP2.Kind.headers) != nil)
        try busy.request(1, "/drip?bytes=5&delay=0.05")
        #expect(try busy.receive(RawHTTP2.Kind.headers) != nil)
        demo.server.stop()
        #expect(try idle.receiveToEnd().last?.kind == RawHTTP2.Kind.goAway)
        let frames = try busy.receiveToEnd()
        #expect(frames.contains { $0.kind == RawHTTP2.Kind.goAway })
        #expect(frames.reduce(0) { $0 + ($1.kind == RawHTTP2.Kind.data ? $1.payload.count : 0) } == 5)
    }
}
