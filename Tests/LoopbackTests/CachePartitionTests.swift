import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

/// Cache partitions of the caller.
@Suite struct CachePartitionTests {
    /// A server whose responses are numbered and may be cached.
    private func server(_ count: Int) throws -> ScriptedPeer {
        try ScriptedPeer([
            (1...count).flatMap { number -> [ScriptedPeer.Step] in
                [.expectRequest, .respond(headers: ["Cache-Control: max-age=600"], body: "\(number)")]
            }
        ])
    }

    private func get(_ partition: String?, _ headers: [(String, String)] = []) throws -> Request {
        var request = Request(.get, "/article")
        request.cachePartition = partition
        for (name, value) in headers { try request.headers.set(name, value) }
        return request
    }

    private func cached(_ peer: ScriptedPeer, _ configure: (inout Configuration) -> Void = { _ in }) throws -> Client {
        try client(of: peer) {
            $0.cacheSettings = CacheStorage.Settings()
            configure(&$0)
        }
    }

    @Test func partitionsShareNoResponses() throws {
        let peer = try server(4)
        let api = try cached(peer)
        for _ in 0..<2 {
            #expect(try api.sendBlocking(get("one")).text == "1")
            #expect(try api.sendBlocking(get("two")).text == "2")
            #expect(try api.sendBlocking(get(nil)).text == "3")
            #expect(try api.sendBlocking(get("")).text == "4")
        }
        #expect(peer.requests.count == 4)
        #expect(peer.requests.allSatisfy { $0["cache-partition"] == nil })
    }

    @Test func credentialsStillPartition() throws {
        let peer = try server(3)
        let api = try cached(peer)
        for _ in 0..<2 {
            #expect(try api.sendBlocking(get("one", [("Authorization", "Bearer a")])).text == "1")
            #expect(try api.sendBlocking(get("one", [("Authorization", "Bearer b")])).text == "2")
            #expect(try api.sendBlocking(get("two", [("Authorization", "Bearer a")])).text == "3")
        }
    }

    @Test(arguments: [true, false]) func hookChoosesThePartition(onLoop: Bool) throws {
        let peer = try server(2)
        let tenant = Mutex("one")
        let api = try cached(peer) {
            $0.hooks = CallHooks(
                runOnLoop: onLoop,
                before: { request throws(NightjarError) in request.cachePartition = tenant.withLock { $0 } })
        }
        for _ in 0..<2 {
            tenant.withLock { $0 = "one" }
            #expect(try api.sendBlocking(get(nil)).text == "1")
            tenant.withLock { $0 = "two" }
            #expect(try api.sendBlocking(get("other")).text == "2")
        }
    }

    @Test func partitionsShareNoExchanges() throws {
        let peer = try ScriptedPeer(
            [[.untilClosed([.expectRequest, .respond(body: "reached")])]], repeatsLast: true)
        let api = try client(of: peer) { $0.coalesces = true }
        let (queue, results) = (CompletionQueue(), ChallengedCalls())
        for partition in ["one", "two"] { try api.start(get(partition), on: queue, results.handlers) }
        try results.await(2, on: queue)
        #expect(peer.requests.count == 2)
    }
}
