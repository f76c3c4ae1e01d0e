import NightjarDemo
import NightjarTestSupport
import Testing

/// The faults of `/h2` and the options of `/__http2`, frame by frame.
@Suite struct HTTP2FaultTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private typealias Kind = RawHTTP2.Kind

    /// Receives the frames without acknowledgements of settings and without window updates.
    private func relevant(_ frames: [RawHTTP2.Frame]) -> [RawHTTP2.Frame] {
        frames.filter { $0.kind != Kind.settings && $0.kind != Kind.windowUpdate }
    }

    // MARK: GOAWAY

    @Test func streamsInProgressEndAfterGoAway() throws {
        let client = try RawHTTP2(demo)
        try client.request(1, "/delay/0.2")
        try client.request(3, "/h2/goaway")
        let frames = relevant(try client.receiveToEnd())
        #expect(frames.first?.kind == Kind.goAway)
        #expect(frames.first?.number(at: 0) == 3 && frames.first?.number(at: 4) == 0)
        #expect(frames.filter { $0.endsStream }.map(\.stream) == [3, 1])
    }

    @Test func goAwayCanExcludeStreamsInProgress() throws {
        let client = try RawHTTP2(demo)
        try client.request(1, "/delay/0.2")
        try client.request(3, "/delay/0.2")
        try client.request(5, "/h2/goaway?last=1&code=enhance_your_calm")
        let frames = relevant(try client.receiveToEnd())
        #expect(frames.first?.number(at: 0) == 1 && frames.first?.number(at: 4) == 11)
        #expect(frames.filter { $0.endsStream }.map(\.stream) == [1])
    }

    @Test func requestIsProcessedAfterTheFaultsOfItsKey() throws {
        for _ in 0..<2 {
            let client = try RawHTTP2(demo)
            try client.request(1, "/h2/goaway?last=before&key=a&times=2")
            let frames = relevant(try client.receiveToEnd())
            #expect(frames.map(\.kind) == [Kind.goAway])
            #expect(frames.first?.number(at: 0) == 0)
        }
        let client = try RawHTTP2(demo)
        try client.request(1, "/h2/goaway?last=before&key=a&times=2")
        #expect(relevant(try client.receive { $0.endsStream }).map(\.kind) == [Kind.headers, Kind.data])
    }

    @Test func goAwayCanBeAnnounced() throws {
        let client = try RawHTTP2(demo)
        try client.request(1, "/h2/goaway?notice=0.1&delay=0.3")
        let frames = relevant(try client.receiveToEnd())
        #expect(frames.map(\.kind) == [Kind.goAway, Kind.goAway, Kind.headers, Kind.data])
        #expect(frames.prefix(2).map { $0.number(at: 0) } == [0x7FFF_FFFF, 1])
    }

    @Test func closeSendsGoAway() throws {
        let client = try RawHTTP2(demo)
        try client.request(1, "/close")
        #expect(relevant(try client.receiveToEnd()).map(\.kind) == [Kind.goAway, Kind.headers, Kind.data])
    }

    @Test(arguments: ["close", "reset"])
    func connectionIsAborted(mode: String) throws {
        let client = try RawHTTP2(demo)
        try client.request(1, "/h2/abort?mode=\(mode)")
        let frames = try? client.receiveToEnd()
        #expect(relevant(frames ?? []).isEmpty)
        try eventually("the connection ended") { demo.server.statistics.connectionsOpen == 0 }
    }

    // MARK: RST_STREAM

    @Test(arguments: [("refused_stream", 7), ("8", 8), ("http_1_1_required", 13)])
    func streamIsResetBeforeTheHead(code: String, number: Int) throws {
        let client = try RawHTTP2(demo)
        try client.request(1, "/h2/reset?code=\(code)")
        let frames = relevant(try client.receive { $0.kind == Kind.reset })
        #expect(frames.map(\.kind) == [Kind.reset])
        #expect(frames.last?.number(at: 0) == number)
    }

    @Test func streamIsResetBeforeTheBodyOfTheRequest() throws {
        let client = try RawHTTP2(demo)
        try client.request(1, "/h2/reset?at=request&code=refused_stream", method: "POST", ends: false)
        #expect(try client.receive(Kind.reset)?.number(at: 0) == 7)
        // The rest of the request is ignored.
        try client.send(Kind.data, RawHTTP2.endStream, 1, [1])
        try client.request(3, "/status/204")
        #expect(try client.receive(Kind.headers)?.stream == 3)
    }

    @Test func streamIsResetInsideTheBody() throws {
        let client = try RawHTTP2(demo)
        try client.request(1, "/h2/reset?at=body&bytes=20000&code=cancel")
        let frames = relevant(try client.receive { $0.kind == Kind.reset })
        #expect(frames.reduce(0) { $0 + ($1.kind == Kind.data ? $1.payload.count : 0) } == 20_000)
        #expect(frames.first?.kind == Kind.headers && frames.last?.number(at: 0) == 8)
    }

    // MARK: Settings and windows

    @Test func optionsApplyToNewConnections() throws {
        let before = try RawHTTP2(demo)
        #expect(before.settings == [3: 250, 4: 262_144, 6: 262_144, 8: 1])
        let path = "/__http2?max_concurrent_streams=2&initial_window_size=1000&connect_protocol=0"
        #expect(try demo.curl(path, ["-X", "POST"]).json["max_concurrent_streams"] as? Int == 2)
        let after = try RawHTTP2(demo)
        #expect(after.settings == [3: 2, 4: 1000, 6: 262_144, 8: 0])
        // A stream above the limit is an error of the connection (RFC 9113 section 5.1.2 also allows REFUSED_STREAM).
        for stream in [1, 3, 5] { try after.request(stream, "/delay/0.3") }
        #expect(try after.receive(Kind.goAway)?.number(at: 4) == 1)
        _ = try demo.control(#"{"reset":true}"#)
        #expect(try RawHTTP2(demo).settings[3] == 250)
    }

    @Test func serverWithoutHTTP2RejectsThePreface() throws {
        _ = try demo.curl("/__http2?enabled=0", ["-X", "POST"])
        #expect(try demo.curlStatus("/echo", ["--http2-prior-knowledge"]) != 0)
        #expect(try demo.curl("/echo").json["version"] as? String == "1.1")
    }

    @Test func settingsChangeOnAnOpenConnection() throws {
        let client = try RawHTTP2(demo)
        try client.request(1, "/h2/settings?max_concurrent_streams=1&initial_window_size=70000")
        let settings = try client.receive { $0.kind == Kind.settings && $0.flags == 0 }.last
        #expect(settings?.settings == [3: 1, 4: 70_000])
        // The response is sent after the acknowledgement.
        try client.send(Kind.settings, RawHTTP2.acknowledged, 0)
        let body = try client.receive { $0.kind == Kind.data && $0.payload.count > 0 }.last
        #expect(body?.text.contains(#""acknowledged":true"#) == true)
    }

    @Test func pingIsSentAndItsAcknowledgementReported() throws {
        let client = try RawHTTP2(demo)
        try client.request(1, "/h2/ping")
        let ping = try #require(try client.receive(Kind.ping))
        #expect(ping.flags == 0)
        try client.send(Kind.ping, RawHTTP2.acknowledged, 0, ping.payload)
        #expect(try client.receive { $0.endsStream }.last?.stream == 1)
    }

    @Test func pingsCanStayUnacknowledged() throws {
        let client = try RawHTTP2(demo)
        try client.send(Kind.ping, 0, 0, [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(try client.receive(Kind.ping)?.payload == [1, 2, 3, 4, 5, 6, 7, 8])
        try client.request(1, "/h2/omit?ping_acks=0")
        _ = try client.receive { $0.endsStream }
        try client.send(Kind.ping, 0, 0, [1, 2, 3, 4, 5, 6, 7, 8])
        try client.request(3, "/status/204")
        #expect(try client.receive { $0.endsStream }.contains { $0.kind == Kind.ping } == false)
        #expect(demo.server.statistics.http2.pings == 2)
    }

    @Test(arguments: ["/__http2?window_updates=0", "/h2/omit?window_updates=0"])
    func windowUpdatesCanBeOmitted(path: String) throws {
        if path.hasPrefix("/__") { _ = try demo.curl(path, ["-X", "POST"]) }
        let client = try RawHTTP2(demo)
        if path.hasPrefix("/h2") {
            try client.request(1, path)
            _ = try client.receive { $0.endsStream }
        }
        try client.request(3, "/duplex", method: "POST", ends: false)
        let piece = [UInt8](repeating: 1, count: 15_000)
        for _ in 0..<4 { try client.send(Kind.data, 0, 3, piece) }
        try client.send(Kind.ping, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0])
        let frames = try client.receive { $0.kind == Kind.ping }
        #expect(!frames.contains { $0.kind == Kind.windowUpdate })
    }

    @Test func stalledRequestGetsNoWindow() throws {
        _ = try demo.curl("/__http2?initial_window_size=65535", ["-X", "POST"])
        let client = try RawHTTP2(demo)
        try client.request(1, "/h2/stall?bytes=1&seconds=0.3", method: "POST", ends: false)
        let piece = [UInt8](repeating: 1, count: 13_107)
        let start = ContinuousClock.now
        for _ in 0..<5 { try client.send(Kind.data, 0, 1, piece) }
        try client.send(Kind.data, RawHTTP2.endStream, 1, [])
        let body = try client.receive { $0.kind == Kind.data }.last
        #expect(ContinuousClock.now - start > .milliseconds(250))
        #expect(body?.text == #"{"bytes":65535}"#)
        // The window of a stalled stream is exhausted although the client sends all that it may.
        try client.request(3, "/h2/stall", method: "POST", ends: false)
        var (window, sent) = (65_535, 0)
        while window > 0, sent < 1 << 20 {
            let count = min(window, piece.count)
            try client.send(Kind.data, 0, 3, [UInt8](repeating: 1, count: count))
            try client.send(Kind.ping, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0])
            (window, sent) = (window - count, sent + count)
            for frame in try client.receive(until: { $0.kind == Kind.ping })
            where frame.kind == Kind.windowUpdate && frame.stream == 3 {
                window += frame.number(at: 0)
            }
        }
        #expect(sent < 200_000)
    }

    @Test func faultsNeedHTTP2() throws {
        #expect(try demo.curl("/h2/ping").status == 400)
        #expect(try demo.curl("/h2/reset").status == 400)
        #expect(try demo.curl("/h2/stall?seconds=0", ["-d", "hi"]).json["bytes"] as? Int == 2)
    }

    // MARK: WebSocket

    @Test func webSocketIsOpenedByExtendedConnect() throws {
        let client = try RawHTTP2(demo)
        let fields = [(":protocol", "websocket"), ("sec-websocket-version", "13")]
        try client.request(1, "/ws/echo?deflate=0", method: "CONNECT", fields, ends: false)
        #expect(try client.receive(Kind.headers)?.endsStream == false)
        try client.send(Kind.data, 0, 1, RawWebSocket.frame(0x81, Array("hello".utf8)))
        #expect(try client.receive(Kind.data)?.payload == [0x81, 5] + Array("hello".utf8))
        #expect(demo.server.statistics.webSockets.open == 1)
        // The Close frame ends the stream.
        try client.send(Kind.data, 0, 1, RawWebSocket.frame(0x88, [0x03, 0xE8]))
        let frames = try client.receive { $0.endsStream }
        #expect(frames.flatMap(\.payload) == [0x88, 2, 0x03, 0xE8])
        try client.send(Kind.data, RawHTTP2.endStream, 1)
        try eventually("the stream ended") { demo.server.statistics.http2.streamsOpen == 0 }
        #expect(demo.server.statistics.webSockets.open == 0)
        // Other requests use the same connection.
        try client.request(3, "/status/204")
        #expect(try client.receive(Kind.headers)?.stream == 3)
    }

    @Test func otherTunnelsAreRejected() throws {
        let client = try RawHTTP2(demo)
        try client.request(1, "/ws/echo", method: "CONNECT", [(":protocol", "connect-udp")], ends: false)
        #expect(try client.receive { $0.kind == Kind.reset }.contains { $0.kind == Kind.headers })
        try client.request(3, "/v1/articles/1", method: "CONNECT", [(":protocol", "websocket")], ends: false)
        #expect(try client.receive { $0.kind == Kind.reset }.last?.stream == 3)
        #expect(demo.server.statistics.statuses == [501: 1, 200: 1])
    }
}
