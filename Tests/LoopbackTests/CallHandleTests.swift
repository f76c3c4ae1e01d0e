import NIOCore
import Nightjar
import NightjarDemo
import NightjarTestSupport
import Synchronization
import Testing

/// Calls that return a handle at once.
@Suite(.timeLimit(.minutes(5))) struct CallHandleTests {
    private let stuck: [ScriptedPeer.Step] = [
        .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123"), .expectClose,
    ]

    @Test func everyReaderReceivesTheResponse() async throws {
        let peer = try longLivedPeer([[.expectRequest, .respond(body: "hello")]])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let call = try client.startCall(Request(.get, "/a"))
        #expect(call.url.path == "/a")
        async let other = call.response.text
        #expect(try await call.response.text == "hello")
        #expect(try await other == "hello")
        #expect(call.isFinished)
        #expect(try await call.refreshed == nil)
    }

    @Test func progressEndsWithTheCall() async throws {
        let peer = try longLivedPeer([
            [
                .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n0123"), .wait(.milliseconds(350)),
                .send("4567"),
            ]
        ])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let call = try client.startCall(Request(.get, "/"))
        var received: [Int] = []
        for await progress in call.progress {
            #expect(progress.receivedTotal == 8 || progress.receivedTotal == nil)
            received.append(progress.received)
        }
        #expect(received.last == 8 && received == received.sorted())
        #expect(try await call.response.text == "01234567")
        // A sequence that begins after the end has the last value.
        var last: [Int] = []
        for await progress in call.progress { last.append(progress.received) }
        #expect(last == [8])
    }

    @Test func cancelEndsTheCall() async throws {
        let peer = try longLivedPeer([stuck])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let call = try client.startCall(Request(.get, "/"))
        call.cancel()
        let error = await #expect(throws: NightjarError.self) { try await call.response }
        #expect(error?.kind == .cancelled)
        let late = await #expect(throws: NightjarError.self) { try await call.refreshed }
        #expect(late?.kind == .cancelled)
    }

    @Test func cancellingAReaderEndsTheCall() async throws {
        let peer = try longLivedPeer([stuck])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let call = try client.startCall(Request(.get, "/"))
        let reader = Task { try await call.response }
        try await eventually("the request has arrived") { peer.requests.count == 1 }
        reader.cancel()
        let error = await #expect(throws: NightjarError.self) { try await reader.value }
        #expect(error?.kind == .cancelled)
        try await eventually("the connection is closed") { peer.endedCount == 1 }
    }

    @Test func releasedHandleCancelsTheCall() async throws {
        let peer = try longLivedPeer([stuck])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        var call: CallHandle? = try client.startCall(Request(.get, "/"))
        try await eventually("the request has arrived") { peer.requests.count == 1 }
        #expect(call?.isFinished == false)
        call = nil
        try await eventually("the connection is closed") { peer.endedCount == 1 }
    }

    @Test func invalidRequestFailsAtOnce() throws {
        let client = try Client()
        defer { client.close() }
        let error = #expect(throws: NightjarError.self) { try client.startCall(Request(.get, "/relative")) }
        #expect(error?.kind == .invalidURL)
    }

    @Test func staleResponseIsFollowedByTheFreshOne() async throws {
        let server = DemoServer()
        let client = try LoopbackTests.client(port: try server.start(host: "127.0.0.1", port: 0)) {
            $0.cacheSettings = CacheStorage.Settings()
            $0.timeouts = .long
        }
        defer { client.close() }
        var request = Request(.get, "/cache/handle?control=max-age%3D0&etag=strong")
        request.cachePolicy = .offlineFirst
        #expect(try await client.startCall(request).refreshed == nil)
        _ = try await client.send(Request(.post, "/cache/handle"))
        let call = try client.startCall(request)
        #expect(try await call.response.source == .stale)
        let fresh = try #require(try await call.refreshed)
        #expect(try fresh.source == .network && fresh.json["version"]?.int == 2)
    }

    @Test func decisionsMayWait() async throws {
        let peer = try longLivedPeer([
            [
                .expectRequest, .respond("302 Found", headers: ["Location: /b"]), .expectRequest,
                .respond("503 Service Unavailable"), .expectRequest, .respond(body: "done"),
            ]
        ])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        var decisions = CallHandle.Decisions()
        decisions.redirect = { _ in
            try? await Task.sleep(for: .milliseconds(10))
            return .followTo("/c")
        }
        decisions.retry = { attempt in
            try? await Task.sleep(for: .milliseconds(10))
            return attempt.error.status == 503 ? .again(after: .zero) : .later
        }
        let call = try client.startCall(Request(.get, "/a"), decisions: decisions)
        #expect(try await call.response.text == "done")
        #expect(peer.requests.map(\.target) == ["/a", "/c", "/c"])
    }

    @Test func bodyMayBeASequence() async throws {
        let peer = try longLivedPeer([[.expectRequest, .respond(body: "thanks")]])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let parts = AsyncStream<[UInt8]> { continuation in
            continuation.yield([1, 2])
            continuation.finish()
        }
        let call = try client.startCall(Request(.put, "/"), body: Request.StreamedBody(parts, length: 2))
        #expect(try await call.response.text == "thanks")
        #expect(peer.requests.first?.body == [1, 2])
    }
}
