import NIOCore
import Nightjar
import NightjarTestSupport
import Synchronization
import Testing

@Suite struct KeepAliveTests {
    @Test func connectionIsReusedForConsecutiveCalls() throws {
        let peer = try ScriptedPeer([[.untilClosed([.expectRequest, .respond(body: "hello")])]])
        let client = try client(of: peer)
        for index in 0..<10 {
            let response = try client.sendBlocking(Request(.get, "/\(index)"))
            #expect(response.text == "hello")
            #expect(response.timing.reusedConnection == (index > 0))
        }
        #expect(peer.requests.map(\.target) == (0..<10).map { "/\($0)" })
        #expect(peer.connectionCount == 1)
        #expect(peer.failures == [])
    }

    @Test func wireFormatIsAsDocumented() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond()]])
        let client = try client(of: peer)
        _ = try client.sendBlocking(Request(.post, "/a b?x=1", body: "hi"))
        let expected =
            "POST /a%20b?x=1 HTTP/1.1\r\nHost: 127.0.0.1:\(peer.port)\r\nUser-Agent: nightjar/0.1.0\r\n"
            + "Accept-Encoding: gzip, deflate, br, zstd\r\nContent-Length: 2\r\n\r\nhi"
        #expect(String(decoding: peer.received(0), as: UTF8.self) == expected)
    }

    @Test(arguments: ["Connection: close", "connection: Close, x"])
    func connectionClosedByTheServerIsNotReused(field: String) throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(headers: [field])]], repeatsLast: true)
        let client = try client(of: peer)
        for _ in 0..<3 { _ = try client.sendBlocking(Request(.get, "/")) }
        #expect(peer.connectionCount == 3)
    }

    /// The server resets the reused connection when it receives the second request.
    @Test func getOnAStaleConnectionIsRetriedOnAnother() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "1"), .expectHead, .reset]], repeatsLast: true)
        let client = try client(of: peer)
        #expect(try client.sendBlocking(Request(.get, "/first")).text == "1")
        let second = try client.sendBlocking(Request(.get, "/second"))
        #expect(second.text == "1")
        #expect(second.attempts == 1)
        #expect(peer.connectionCount == 2)
    }

    @Test func postThatMayHaveBeenProcessedIsNotRepeated() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(), .expectRequest, .reset]], repeatsLast: true)
        let client = try client(of: peer)
        _ = try client.sendBlocking(Request(.get, "/first"))
        let error = try failure(client, Request(.post, "/write", body: "once"))
        #expect(error.kind == .connectionLost)
        #expect(error.requestMayHaveBeenProcessed)
        #expect(error.isRetryable)
        #expect(peer.requests.filter { $0.method == "POST" }.count == 1)
        #expect(peer.connectionCount == 1)
    }

    /// The server recognizes the repeated request by its idempotency key.
    @Test func postWithAnIdempotencyKeyIsSentAgainOnAnotherConnection() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(), .expectRequest, .reset]], repeatsLast: true)
        let client = try client(of: peer)
        _ = try client.sendBlocking(Request(.get, "/first"))
        var write = Request(.post, "/write", body: "once")
        write.idempotencyKey = .generated
        let response = try client.sendBlocking(write)
        #expect(response.status == 200 && response.attempts == 1)
        let writes = peer.requests.filter { $0.method == "POST" }
        #expect(writes.count == 2 && writes[0].raw == writes[1].raw)
        #expect(peer.connectionCount == 2)
    }

    @Test func staleConnectionIsReplacedOnlyOnce() throws {
        let peer = try ScriptedPeer(
            [[.expectRequest, .respond(), .expectHead, .reset], [.expectHead, .reset]], repeatsLast: false)
        let client = try client(of: peer)
        _ = try client.sendBlocking(Request(.get, "/first"))
        #expect(try failure(client, Request(.get, "/second")).kind == .connectionLost)
        #expect(peer.connectionCount == 2)
        #expect(peer.failures == [])
    }

    @Test func failedNewConnectionIsNotReplaced() throws {
        let peer = try ScriptedPeer([[.expectRequest, .reset]])
        let error = try failure(client(of: peer), Request(.get, "/"))
        #expect(error.kind == .connectionLost)
        #expect(peer.failures == [])
    }

    @Test func callsBeyondTheLimitAreQueuedInOrder() throws {
        let peer = try ScriptedPeer([[.untilClosed([.expectRequest, .respond()])]])
        let client = try client(of: peer) { $0.transport.connectionsPerHost = 1 }
        let queue = CompletionQueue()
        let order = Mutex<[String]>([])
        for index in 0..<20 {
            try client.start(
                Request(.get, "/\(index)"), on: queue,
                TaskHandlers { task, _ in order.withLock { $0.append(task.url.path) } })
        }
        while order.withLock({ $0.count }) < 20 { queue.poll(timeout: .seconds(5)) }
        #expect(order.withLock { $0 } == (0..<20).map { "/\($0)" })
        #expect(peer.connectionCount == 1)
        #expect(peer.requests.map(\.target) == (0..<20).map { "/\($0)" })
    }

    @Test func idleConnectionsExpire() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(), .expectClose]], repeatsLast: true)
        let client = try client(of: peer) { $0.transport.idleConnectionLifetime = .milliseconds(30) }
        _ = try client.sendBlocking(Request(.get, "/"))
        try eventually("the idle connection is closed") { peer.endedCount == 1 }
        _ = try client.sendBlocking(Request(.get, "/"))
        #expect(peer.connectionCount == 2)
        #expect(peer.failures == [])
    }

    @Test func closingTheClientClosesItsConnections() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(), .expectClose]])
        let client = try client(of: peer)
        _ = try client.sendBlocking(Request(.get, "/"))
        client.close()
        try eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(peer.failures == [])
    }
}
