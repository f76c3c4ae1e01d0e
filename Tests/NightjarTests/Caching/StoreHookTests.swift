import NIOCore
import NightjarHTTP
import NightjarStorage
import Synchronization
import Testing

@testable import Nightjar

/// The hook that decides whether the cache stores a response.
@Suite struct StoreHookTests {
    private func response(_ control: String = "max-age=60", _ body: String = "a") -> [ScriptedTransport.Step] {
        [.head(200, [("Cache-Control", control), ("ETag", "\"1\"")]), .body(body), .end]
    }

    @Test(arguments: [true, false])
    func onlyAllowedResponsesAreStored(runsOnLoop: Bool) throws {
        let transport = ScriptedTransport(Array(repeating: response(), count: 4) + [response("no-store")])
        let seen = Mutex<[String]>([])
        let storage = try CacheStorage()
        let client = try client(transport) {
            $0.cache = storage
            $0.hooks = CallHooks(
                runOnLoop: runsOnLoop,
                store: { request, response in
                    let text = "\(request.url.target) \(response.status) \(String(buffer: response.body))"
                    seen.withLock { $0.append(text) }
                    return request.url.path == "/v1/kept"
                })
        }
        #expect(try client.sendBlocking(Request(.get, "/kept")).source == .network)
        #expect(try client.sendBlocking(Request(.get, "/kept")).source == .cache)
        for _ in 0..<2 {
            let response = try client.sendBlocking(Request(.get, "/other"))
            #expect(response.source == .network)
            let reasons = response.decisions.map(\.description)
            #expect(reasons.contains { $0.contains("the program has decided not to store the response") })
            #expect(response.headers["Cache-Status"]?.contains("stored") != true)
        }
        // The hook may also decide against a response that would replace an entry.
        var reload = Request(.get, "/kept")
        reload.cachePolicy = .reload
        _ = try client.sendBlocking(reload)
        // The hook is not called for responses that must not be stored.
        _ = try client.sendBlocking(Request(.get, "/never"))
        client.close()
        #expect(
            seen.withLock { $0 } == [
                "/v1/kept 200 a", "/v1/other 200 a", "/v1/other 200 a", "/v1/kept 200 a",
            ])
    }

    @Test func oldEntryOfARejectedResponseIsRemoved() throws {
        let transport = ScriptedTransport([response(), response("max-age=60", "b"), response("max-age=60", "c")])
        let isStored = Atomic<Bool>(true)
        let storage = try CacheStorage()
        let client = try client(transport) {
            $0.cache = storage
            $0.hooks = CallHooks(store: { _, _ in isStored.load(ordering: .relaxed) })
        }
        _ = try client.sendBlocking(Request(.get, "/x"))
        isStored.store(false, ordering: .relaxed)
        var reload = Request(.get, "/x")
        reload.cachePolicy = .reload
        _ = try client.sendBlocking(reload)
        let last = try client.sendBlocking(Request(.get, "/x"))
        #expect(last.source == .network && String(buffer: last.body) == "c")
        client.close()
    }

    /// Without a decision, the call ends at its total timeout, and the response is not stored.
    @Test func callWaitsForADeferredDecision() throws {
        let pending = Mutex<CallHooks.PendingStore?>(nil)
        let storage = try CacheStorage()
        let client = try client(ScriptedTransport([response(), response(), response()])) {
            $0.cache = storage
            $0.hooks = CallHooks(deferred: nil, store: { decision in pending.withLock { $0 = decision } })
        }
        var limited = Request(.get, "/x")
        limited.timeouts.total = .milliseconds(50)
        let error = try #require(throws: NightjarError.self) { try client.sendBlocking(limited) }
        #expect(error.kind == .timeout)
        pending.withLock { $0 }?.respond(true)

        let queue = CompletionQueue()
        let source = Mutex<Response.Source?>(nil)
        pending.withLock { $0 = nil }
        _ = try client.start(
            Request(.get, "/x"), on: queue,
            TaskHandlers { _, result in source.withLock { $0 = (try? result.get())?.source } })
        while pending.withLock({ $0 == nil }) { queue.poll(timeout: .milliseconds(5)) }
        #expect(source.withLock { $0 } == nil)
        let decision = try #require(pending.withLock { $0 })
        decision.respond(true)
        decision.respond(false)
        while source.withLock({ $0 == nil }) { queue.poll(timeout: .seconds(5)) }
        #expect(source.withLock { $0 } == .network)
        #expect(try client.sendBlocking(Request(.get, "/x")).source == .cache)
        client.close()
    }

    /// A background revalidation without a callback has no queue, so it stores nothing and removes the old entry.
    @Test func revalidationWithoutACallbackStoresNothing() throws {
        let stale = response("max-age=0")
        let calls = Atomic<Int>(0)
        let storage = try CacheStorage()
        let transport = ScriptedTransport([stale, stale, stale])
        let client = try client(transport) {
            $0.cache = storage
            $0.cachePolicy = .offlineFirst
            $0.hooks = CallHooks(
                runOnLoop: false,
                store: { _, _ in
                    calls.add(1, ordering: .relaxed)
                    return true
                })
        }
        #expect(try client.sendBlocking(Request(.get, "/x")).source == .network)
        #expect(try client.sendBlocking(Request(.get, "/x")).source == .stale)
        var sources: [Response.Source] = []
        for _ in 0..<500 where sources.last != .network {
            sources.append(try client.sendBlocking(Request(.get, "/x")).source)
        }
        #expect(sources.last == .network)
        #expect(calls.load(ordering: .relaxed) == 2)
        client.close()
    }

    @Test func streamedResponseIsNotStored() throws {
        let storage = try CacheStorage()
        let transport = ScriptedTransport([response(), response()])
        let client = try client(transport) {
            $0.cache = storage
            $0.hooks = CallHooks(runOnLoop: false, store: { _, response in response.body.readableBytes > 0 })
        }
        for _ in 0..<2 {
            let queue = CompletionQueue()
            let content = Mutex("")
            let source = Mutex<Response.Source?>(nil)
            var handlers = TaskHandlers { _, result in source.withLock { $0 = (try? result.get())?.source } }
            handlers.body = { _, bytes in content.withLock { $0 += String(buffer: bytes) } }
            _ = try client.start(Request(.get, "/x"), on: queue, handlers)
            while source.withLock({ $0 == nil }) { queue.poll(timeout: .seconds(5)) }
            #expect(source.withLock { $0 } == .network && content.withLock { $0 } == "a")
        }
        client.close()
    }
}
