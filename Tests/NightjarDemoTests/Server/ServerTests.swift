import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

@Suite struct ServerTests {
    // MARK: Statistics

    @Test func requestsAreCounted() throws {
        let demo = try Demo()
        _ = try demo.curl("/v1/articles/1")
        _ = try demo.curl("/v1/articles/2", ["-X", "PURGE"])
        _ = try demo.curl("/nothing?token=x")
        _ = try demo.send("POST", "/v1/users", json: "{}")
        let stats = try demo.curl("/__stats").json
        #expect(
            stats["requests"] as? [String: Int] == [
                "GET /v1/articles/{id}": 1, "PURGE /v1/articles/{id}": 1, "GET *": 1, "POST /v1/users": 1,
            ])
        #expect(stats["statuses"] as? [String: Int] == ["200": 1, "404": 1, "405": 1, "422": 1])
        let log = try #require(stats["log"] as? [[String: Any]])
        try #require(log.count == 4)
        #expect(log.map { $0["method"] as? String } == ["GET", "PURGE", "GET", "POST"])
        #expect(log[2]["target"] as? String == "/nothing?token=x")
        #expect(log[3]["body"] as? String == "{}")
        #expect(log[3]["status"] as? Int == 422)
        #expect((log[3]["headers"] as? [[String]])?.contains(["Content-Type", "application/json"]) == true)
        #expect((stats["connections"] as? [String: Int])?["opened"] == 5)

        #expect(try demo.curl("/__stats/reset", ["-X", "POST"]).status == 204)
        let fresh = demo.server.statistics
        #expect(fresh.requests == [:])
        #expect(fresh.exchanges.isEmpty)
    }

    @Test func requestToAnUnknownControlPathIsNotCounted() throws {
        let demo = try Demo()
        #expect(try demo.curl("/__foo?token=x").status == 404)
        #expect(try demo.curl("/__stats/foo", ["-X", "POST"]).status == 404)
        #expect(try demo.curl("/__control").status == 405)
        var statistics = demo.server.statistics
        #expect(statistics.requests.isEmpty && statistics.statuses.isEmpty && statistics.paths.isEmpty)
        #expect(statistics.exchanges.isEmpty)
        #expect(try demo.curl("/foo/__foo").status == 404)
        statistics = demo.server.statistics
        #expect(statistics.requests == ["GET *": 1] && statistics.statuses == [404: 1])
    }

    @Test func bytesAndConnectionsAreCounted() throws {
        let demo = try Demo()
        let client = try demo.connect()
        let request: Bytes = "GET /status/204 HTTP/1.1\r\nHost: x\r\n\r\n"
        try client.send(request)
        let response = try client.receive(through: "\r\n\r\n")
        #expect(demo.server.statistics.bytesIn == request.array.count)
        #expect(demo.server.statistics.bytesOut == response.count)
        #expect(demo.server.statistics.connectionsOpen == 1)
        client.reset()
        try eventually("the connection ended") { demo.server.statistics.connectionsOpen == 0 }
        #expect(demo.server.statistics.connectionsOpened == 1)
    }

    @Test func logIsBounded() throws {
        let demo = try Demo()
        let client = try demo.connect()
        for index in 0..<(DemoStatistics.maximumExchanges + 5) {
            try client.send("GET /status/204?\(Bytes(String(index).utf8).text) HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = try client.receive(through: "\r\n\r\n")
        }
        let body = [UInt8](repeating: 0x61, count: DemoStatistics.maximumBody + 100)
        _ = try demo.curl("/upload", ["-H", "Expect:", "--data-binary", "@-"], input: Bytes(body))
        let exchanges = demo.server.statistics.exchanges
        #expect(exchanges.count == DemoStatistics.maximumExchanges)
        #expect(exchanges.first?.target == "/status/204?6")
        #expect(exchanges.last?.body.count == DemoStatistics.maximumBody)
        #expect(exchanges.last?.bodyLength == body.count)
        #expect(exchanges.last?.isComplete == true)
    }

    // MARK: Starting and stopping

    @Test func serverStopsAndReportsIt() throws {
        let server = DemoServer()
        let port = try server.start()
        #expect(throws: DemoServer.StartError.startedBefore) { try server.start() }
        let waiting = Latch()
        Thread.detachNewThread {
            server.waitUntilStopped()
            waiting.open()
        }
        let idle = try Socket(connectingTo: port)
        try eventually("the connection was accepted") { server.statistics.connectionsOpen == 1 }
        server.stop()
        try waiting.wait()
        server.stop()
        server.waitUntilStopped()
        #expect(try idle.receive() == [])
        #expect(throws: SocketError.self) { try Socket(connectingTo: port) }
        #expect(throws: DemoServer.StartError.startedBefore) { try server.start() }
        #expect(server.statistics.connectionsOpened == 1)
    }

    @Test func responseInFlightCompletesBeforeTheServerStops() throws {
        let demo = try Demo()
        let client = try demo.connect()
        try client.send("GET /drip?bytes=5&delay=0.05 HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = try client.receive(through: "\r\n\r\n")
        demo.server.stop()
        #expect(try client.receiveToEnd() == (0..<5).map(DemoContent.byte(at:)))
    }

    @Test func endlessResponseDoesNotDelayTheStop() throws {
        let demo = try Demo()
        let client = try demo.connect()
        try client.send("GET /delay/60 HTTP/1.1\r\nHost: x\r\n\r\n")
        try eventually("the request arrived") { demo.server.statistics.requestCount == 1 }
        let start = ContinuousClock.now
        demo.server.stop()
        #expect(ContinuousClock.now - start < .seconds(3))
        #expect(demo.server.statistics.connectionsOpen == 0)
    }

    @Test func portInUseIsAnError() throws {
        let demo = try Demo()
        let other = DemoServer()
        #expect(throws: (any Error).self) { try other.start(port: demo.port) }
        #expect(try other.start() != demo.port)
        other.stop()
    }
}
