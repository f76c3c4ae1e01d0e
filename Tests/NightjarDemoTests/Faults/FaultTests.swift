import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

/// Faults that a request can trigger, and the server's counters.
@Suite struct FaultTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    // MARK: Flaky

    @Test func firstRequestsFail() throws {
        let path = "/v1/flaky?key=a&times=2&status=429&retry_after=1.5"
        let first = try demo.curl(path, ["-d", "abc", "-H", "Idempotency-Key: k"])
        #expect(first.status == 429)
        #expect(first["Retry-After"] == "2")
        #expect(try demo.curl(path, ["-X", "PUT"]).status == 429)
        let third = try demo.curl(path, ["-H", "Idempotency-Key: l"])
        #expect(third.status == 200)
        #expect(third["Retry-After"] == nil)
        #expect(try third.json["attempt"] as? Int == 3)
        #expect(try third.json["body_bytes"] as? [Int] == [3, 0, 0])
        let keys = try #require(try third.json["idempotency_keys"] as? [Any])
        #expect(keys.map { $0 as? String } == ["k", nil, "l"])
        #expect(try demo.curl("/v1/flaky?key=b&times=0").status == 200)
        #expect(try demo.curl("/v1/flaky").status == 400)
        let date = try demo.curl("/v1/flaky?key=c&retry_after_date=5")
        #expect(date.status == 503)
        #expect(date["Retry-After"]?.hasSuffix(" GMT") == true)
    }

    @Test func failureClosesWithoutAResponse() throws {
        #expect(try demo.curlStatus("/v1/flaky?key=a&times=1&drop=1", ["-d", "abc"]) == 52)
        #expect(try demo.curl("/v1/flaky?key=a&times=1&drop=1").json["attempt"] as? Int == 2)
        // A connection that the server closed itself does not count as abandoned by the client.
        #expect(demo.server.statistics.abandoned == [:])
    }

    // MARK: Control

    @Test func outageAffectsTheCompleteAPI() throws {
        #expect(try demo.control(#"{"outage":"503"}"#).json["outage"] as? String == "503")
        #expect(try demo.curl("/v1/articles").status == 503)
        #expect(try demo.curl("/v1/nothing").status == 503)
        #expect(try demo.curl("/status/204").status == 204)
        #expect(try demo.control(#"{"outage":"drop"}"#).status == 200)
        #expect(try demo.curlStatus("/v1/articles") == 52)
        #expect(try demo.control(#"{"outage":"none"}"#).status == 200)
        #expect(try demo.curl("/v1/articles").status == 200)
        #expect(demo.server.statistics.outageRequests == 3)
        #expect(try demo.control(#"{"outage":"some"}"#).status == 422)
        #expect(try demo.control(#"{"outages":"none"}"#).status == 422)
    }

    @Test func resetRestoresTheInitialState() throws {
        let login = try demo.send(
            "POST", "/v1/auth/login", json: #"{"email":"ada@example.org","password":"moonlight"}"#)
        let access = try #require(try login.json["access_token"] as? String)
        _ = try demo.curl("/v1/articles/1", ["-X", "DELETE"])
        _ = try demo.curl("/v1/flaky?key=a")
        _ = try demo.curl("/v1/limited?limit=0")
        _ = try demo.control(#"{"outage":"503"}"#)
        #expect(try demo.control(#"{"reset":true}"#).json["outage"] as? String == "none")
        #expect(demo.server.statistics.requests == [:])
        #expect(demo.server.statistics.limited == 0)
        #expect(try demo.curl("/v1/articles/1").status == 200)
        #expect(try demo.curl("/v1/flaky?key=a").status == 503)
        #expect(try demo.curl("/v1/me", ["-H", "Authorization: Bearer \(access)"]).status == 401)
    }

    // MARK: Counting

    @Test func requestsInFlightAndCancelledAreCounted() throws {
        let clients = try (0..<3).map { _ in try demo.connect() }
        for client in clients { try client.send("GET /v1/slow?ms=60000&key=k HTTP/1.1\r\nHost: x\r\n\r\n") }
        try eventually("three requests arrived") { demo.server.statistics.inProgress["/v1/slow?key=k"] == 3 }
        clients[0].reset()
        clients[1].close()
        try eventually("two clients disconnected") { demo.server.statistics.abandoned["/v1/slow?key=k"] == 2 }
        demo.server.resetStatistics()
        #expect(demo.server.statistics.inProgressMax == ["/v1/slow?key=k": 1])
        #expect(try demo.curl("/v1/slow?ms=1&key=l").json["key"] as? String == "l")
        let stats = try demo.curl("/__stats").json
        #expect(stats["in_progress"] as? [String: Int] == ["/v1/slow?key=k": 1])
        #expect(stats["in_progress_max"] as? [String: Int] == ["/v1/slow?key=k": 1, "/v1/slow?key=l": 1])
        #expect(stats["abandoned"] as? [String: Int] == [:])
    }

    @Test func durationsAreCounted() throws {
        for _ in 0..<3 { _ = try demo.curl("/v1/users/1") }
        _ = try demo.curl("/status/204")
        let perSecond = try #require(try demo.curl("/__stats").json["per_second"] as? [Int])
        #expect(perSecond.reduce(0, +) == 3)
        #expect((1...DemoStatistics.retentionSeconds).contains(perSecond.count))
    }

    @Test func countersAreBounded() throws {
        let client = try demo.connect()
        for index in 0..<1100 {
            try client.send("GET /status/204?key=\(Bytes(String(index).utf8).text) HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = try client.receive(through: "\r\n\r\n")
        }
        #expect(demo.server.statistics.inProgressMax.count == 1000)
        #expect(demo.server.statistics.inProgressMax["/status/{code}?key=1099"] == 1)
    }

    @Test func credentialResultsAreCounted() throws {
        let stats = try demo.curl("/__stats").json
        let auth = try #require(stats["auth"] as? [String: Int])
        #expect(
            Set(auth.keys) == [
                "logins", "logouts", "client_credentials", "refreshes", "refresh_replays", "refresh_reuses",
                "revoked_families", "refused",
            ])
        #expect(stats["limited"] as? Int == 0)
        #expect(stats["outage_requests"] as? Int == 0)
        #expect((stats["orders"] as? [String: Int])?["created"] == 0)
    }
}
