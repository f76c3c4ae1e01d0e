import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Testing

extension ScriptedPeer.Step {
    fileprivate static func response(_ status: String, _ fields: [String] = [], _ body: String = "") -> Self {
        let head = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + fields
        return .send(Bytes((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8))
    }
}

/// The requests of an outbox. The servers' responses are scripted.
@Suite struct OutboxTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func outbox(
        _ peer: ScriptedPeer, _ change: (inout Outbox.Settings) -> Void = { _ in }
    ) throws -> (client: Client, outbox: Outbox) {
        let client = try longLivedClient(of: peer) { $0.journalPath = folder.file("journal.db") }
        var settings = Outbox.Settings()
        settings.retryDelay = .milliseconds(1)
        change(&settings)
        return (client, try client.outbox(settings))
    }

    private func put(_ target: String = "/a", _ body: String = "mine") -> Request { Request(.put, target, body: body) }

    /// Returns the values of a field in all requests.
    private func fields(_ peer: ScriptedPeer, _ name: String) -> [String?] { peer.requests.map { $0[name] } }

    @Test func lostResponseIsRepeatedWithTheSameKeyAndCondition() async throws {
        let peer = try longLivedPeer([
            [.expectRequest, .close], [.expectRequest, .response("503 Service Unavailable"), .close],
            [.expectRequest, .response("201 Created", [#"ETag: "2""#], "made")],
        ])
        let (client, outbox) = try outbox(peer)
        try outbox.record(Request(.post, "/a", body: "mine"), id: "one", ifMatch: #""1""#)
        let entry = try await outbox.wait("one")
        #expect(entry.state == .done && entry.status == 201 && entry.etag == #""2""# && entry.attempts == 3)
        #expect(entry.responseBody == ByteBuffer(string: "made"))
        let keys = fields(peer, "Idempotency-Key")
        #expect(keys.count == 3 && keys[0] != nil && Set(keys).count == 1)
        #expect(fields(peer, "If-Match") == [#""1""#, #""1""#, #""1""#])
        client.close()
    }

    @Test func retryOfAWriteThatMayHaveBeenProcessedKeepsItsKey() async throws {
        let peer = try longLivedPeer([
            [.expectRequest, .close],
            [
                .expectRequest, .response("403 Forbidden"), .expectRequest, .response("403 Forbidden"), .expectRequest,
                .response("201 Created"),
            ],
        ])
        let (client, outbox) = try outbox(peer)
        try outbox.record(Request(.post, "/a", body: "mine"), id: "one")
        for _ in 0..<2 {
            let error = await #expect(throws: NightjarError.self) { try await outbox.wait("one") }
            #expect(error?.status == 403)
            try outbox.retry("one")
        }
        #expect(try await outbox.wait("one").status == 201)
        #expect(Set(fields(peer, "Idempotency-Key")).count == 1)
        client.close()
    }

    @Test func anotherClientSendsTheEntriesOfAClosedOne() async throws {
        let peer = try longLivedPeer([
            [.expectRequest, .stall], [.expectRequest, .response("200 OK"), .expectRequest, .response("200 OK")],
        ])
        let first = try outbox(peer)
        try first.outbox.record(put("/a"), id: "one", key: "k")
        try first.outbox.record(put("/b"), id: "two", key: "k")
        try await eventually("a request arrived", within: longTimeout) { !peer.requests.isEmpty }
        first.client.close()
        let (client, outbox) = try outbox(peer)
        try await outbox.wait("two")
        #expect(peer.requestLines == ["PUT /a", "PUT /a", "PUT /b"])
        #expect(Set(fields(peer, "Idempotency-Key").prefix(2)).count == 1)
        #expect(try outbox.count() == 0)
        client.close()
        #expect(throws: NightjarError.self) { try client.outbox() }
    }

    @Test func conflictIsResolvedWithTheOtherETagAndANewKey() async throws {
        let peer = try longLivedPeer([
            [
                .expectRequest, .response("412 Precondition Failed"), .expectRequest,
                .response("200 OK", [#"ETag: "2""#, "Set-Cookie: secret=1"], "theirs"), .expectRequest,
                .response("204 No Content"),
            ]
        ])
        let (client, outbox) = try outbox(peer)
        try outbox.record(put(), id: "one", ifMatch: #""1""#)
        for await change in outbox.changes {
            if change.state == .done { break }
            #expect(change.state == .conflict && change.theirStatus == 200 && change.theirETag == #""2""#)
            #expect(change.theirBody == ByteBuffer(string: "theirs") && change.body == ByteBuffer(string: "mine"))
            #expect(!change.json.contains("secret"))
            try outbox.resolve("one", ByteBuffer(string: "merged"))
            #expect(throws: NightjarError.self) { try outbox.resolve("one", nil) }
        }
        #expect(peer.requestLines == ["PUT /a", "GET /a", "PUT /a"])
        #expect(fields(peer, "If-Match") == [#""1""#, nil, #""2""#])
        #expect(fields(peer, "Cache-Control") == [nil, "no-cache", nil])
        let keys = fields(peer, "Idempotency-Key")
        #expect(keys[1] == nil && keys[0] != keys[2])
        #expect(peer.requests[2].bodyText == "merged")
        client.close()
    }

    @Test func redirectThatChangesTheMethodIsNotFollowed() async throws {
        let peer = try longLivedPeer([
            [
                .expectRequest, .response("307 Temporary Redirect", ["Location: /b"]), .expectRequest,
                .response("302 Found", ["Location: /c"]),
            ]
        ])
        let (client, outbox) = try outbox(peer)
        try outbox.record(Request(.post, "/a", body: "mine"), id: "one")
        let error = await #expect(throws: NightjarError.self) { try await outbox.wait("one") }
        #expect(error?.status == 302)
        #expect(try outbox.entry("one")?.state == .parked)
        #expect(peer.requestLines == ["POST /a", "POST /b"])
        client.close()
    }

    @Test func lostPostWithoutAKeyIsInDoubtAlsoForALaterProcess() async throws {
        let peer = try longLivedPeer([[.expectRequest, .stall], [.expectRequest, .response("201 Created")]])
        let first = try outbox(peer)
        try first.outbox.record(Request(.post, "/a", body: "mine"), id: "one", usesIdempotencyKey: false)
        try await eventually("a request arrived", within: longTimeout) { !peer.requests.isEmpty }
        first.client.close()
        let (client, outbox) = try outbox(peer)
        let error = await #expect(throws: NightjarError.self) { try await outbox.wait("one") }
        #expect(error?.requestMayHaveBeenProcessed == true)
        #expect(try outbox.entries(.inDoubt).map(\.id) == ["one"])
        // The program has found out that the write was not processed.
        try outbox.retry("one")
        #expect(try await outbox.wait("one").status == 201)
        #expect(fields(peer, "Idempotency-Key") == [nil, nil])
        client.close()
    }

    @Test func fieldThatTheClientDeclaresAsSensitiveIsNotRecorded() throws {
        let peer = try longLivedPeer([])
        let client = try longLivedClient(of: peer) {
            $0.journalPath = folder.file("journal.db")
            $0.sensitiveHeaders = ["X-Tenant"]
        }
        let outbox = try client.outbox()
        var write = put()
        try write.headers.set("x-tenant", "secret")
        let error = #expect(throws: NightjarError.self) { try outbox.record(write) }
        #expect(error?.kind == .invalidArgument && error?.message.contains("x-tenant") == true)
        #expect(try outbox.count() == 0)
        client.close()
    }

    /// Also if an earlier attempt was processed and its response was lost.
    @Test func entryInvalidatesTheResourcesWithItsTags() async throws {
        let value = ["Content-Type: application/json"]
        let peer = try longLivedPeer([
            [.expectRequest, .response("200 OK", value, "1"), .expectRequest, .close],
            [
                .expectRequest, .response("404 Not Found"), .expectRequest, .response("200 OK", value, "2"),
                .expectRequest, .response("200 OK"), .expectRequest, .response("200 OK", value, "3"),
            ],
        ])
        let (client, outbox) = try outbox(peer)
        var settings = ResourceSettings()
        settings.tags = ["values"]
        let resource: Resource<Int> = try client.resource(Request(.get, "/value"), settings)
        #expect(try await resource.get() == 1)
        var write = Request(.delete, "/a")
        write.invalidates = ["values"]
        try outbox.record(write, id: "one")
        #expect(try await outbox.wait("one").status == 404)
        for await snapshot in resource.changes where snapshot.data == 2 && !snapshot.isStale { break }
        #expect(throws: NightjarError.self) { try outbox.record(Request(.delete, "/a"), id: "one") }
        write.method = .put
        try outbox.record(write, id: "two")
        for await snapshot in resource.changes where snapshot.data == 3 && !snapshot.isStale { break }
        #expect(peer.requestLines == ["GET /value", "DELETE /a", "DELETE /a", "GET /value", "PUT /a", "GET /value"])
        client.close()
    }

    @Test func entryThatIsTooOldIsParkedUntilTheProgramRetriesIt() async throws {
        let peer = try longLivedPeer([[.expectRequest, .response("200 OK")]])
        let first = try outbox(peer) { $0.name = "other" }
        first.outbox.close()
        try first.outbox.record(put(), id: "one")
        let client = try longLivedClient(of: peer) { $0.journalPath = folder.file("journal.db") }
        var settings = Outbox.Settings()
        (settings.name, settings.maximumAge) = ("other", .seconds(3600))
        let outbox = try Outbox(client, settings, clock: { Outbox.wallClock() + 3601 })
        let error = await #expect(throws: NightjarError.self) { try await outbox.wait("one") }
        #expect(error?.message.contains("max_age (3600.0 s)") == true)
        try outbox.retry("one")
        #expect(try await outbox.wait("one").state == .done)
        client.close()
    }

    @Test func outboxThatDoesNotSendRecordsAndDecides() async throws {
        let peer = try longLivedPeer([
            [.expectRequest, .response("400 Bad Request")], [.expectRequest, .response("200 OK")],
        ])
        let quiet = try outbox(peer) { $0.sends = false }
        try quiet.outbox.record(put(), id: "one")
        try await Task.sleep(for: .milliseconds(100))
        #expect(peer.requests.isEmpty)
        let (client, outbox) = try outbox(peer)
        await #expect(throws: NightjarError.self) { try await outbox.wait("one") }
        let entry = try #require(try quiet.outbox.entry("one"))
        #expect(entry.state == .parked && entry.json.contains(#""mine":{"body":"mine"}"#))
        client.close()
        try quiet.outbox.retry("one")
        #expect(try quiet.outbox.entry("one")?.state == .pending)
        let second = try self.outbox(peer)
        #expect(try await second.outbox.wait("one").state == .done)
        second.client.close()
        quiet.client.close()
    }

    @Test func entriesSurviveAnUnreachableServer() async throws {
        let closed = try longLivedPeer([])
        let port = closed.port
        let client = try client(port: port) { $0.journalPath = folder.file("journal.db") }
        let outbox = try client.outbox()
        for number in 0..<20 { try outbox.record(put("/\(number)"), id: "\(number)") }
        // The peer resets each connection, so that an attempt has failed when there is a second connection.
        try await eventually("a write was repeated", within: longTimeout) { closed.connectionCount > 1 }
        #expect(try outbox.entries().allSatisfy { !$0.state.isSettled })
        #expect(try outbox.count() == 20)
        client.close()
    }

    @Test func invalidWritesAreRejected() async throws {
        let peer = try longLivedPeer([])
        let (client, outbox) = try outbox(peer)
        var secret = put()
        try secret.headers.set("Authorization", "Bearer token")
        var file = put()
        file.body = .file(path: "/etc/hostname")
        for request in [Request(.get, "/a"), secret, file, put("http://user:password@a.test/")] {
            let error = #expect(throws: NightjarError.self) { try outbox.record(request) }
            #expect(error?.kind == .invalidArgument && error?.message.contains("Bearer") == false)
        }
        #expect(throws: NightjarError.self) { try outbox.record(put(), ifMatch: "a\r\nb: c") }
        #expect(throws: NightjarError.self) { try outbox.retry("none") }
        try outbox.remove("none")
        #expect(try outbox.entries().isEmpty)
        client.close()
    }
}
