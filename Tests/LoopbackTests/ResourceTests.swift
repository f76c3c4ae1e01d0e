import Glibc
import NIOCore
import Nightjar
import NightjarDemo
import NightjarHTTP
import NightjarTestSupport
import NightjarTesting
import Observation
import Synchronization
import Testing

private struct Value: Codable, Sendable, Equatable {
    var n: Int
}

private func json(_ n: Int, _ fields: String = "") -> Bytes {
    let body = "{\"n\":\(n)}"
    return Bytes(
        Array(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
                .utf8))
}

extension Resource {
    /// Returns the first snapshot that fulfills the condition.
    fileprivate func first(_ condition: (Snapshot) -> Bool) async throws -> Snapshot {
        for await snapshot in changes where condition(snapshot) { return snapshot }
        throw NightjarError(.closed, "the resource was closed")
    }
}

@Suite struct ResourceTests {
    private func mocked(_ routes: String, _ configure: (inout Configuration) -> Void = { _ in }) throws -> Client {
        var configuration = Configuration.loopback
        configuration.timeouts = .long
        configuration.baseURL = "http://api.test"
        configuration.mock = try Mock(json: routes)
        configure(&configuration)
        return try Client(configuration)
    }

    @Test func loadsAndDecodes() async throws {
        let client = try mocked(#"[{"path": "/value", "response": {"json": {"n": 1}}}]"#)
        let resource: Resource<Value> = try client.resource(Request(.get, "/value"))
        let loaded = try await resource.first { $0.phase == .loaded }
        #expect(loaded.data == Value(n: 1))
        #expect(loaded.error == nil && !loaded.isStale && loaded.updatedAt != nil)
        #expect(resource.snapshot.data == Value(n: 1))
        #expect(try await resource.get() == Value(n: 1))
    }

    @Test func aResponseOfAnotherTypeIsAnErrorThatKeepsTheData() async throws {
        let client = try mocked(#"[{"path": "/value", "responses": [{"json": {"n": 1}}, {"json": {"n": "x"}}]}]"#)
        let resource: Resource<Value> = try client.resource(Request(.get, "/value"))
        _ = try await resource.get()
        do {
            try await resource.reload()
            Issue.record("the reload succeeded")
        } catch {
            #expect(error.kind == .decoding)
        }
        let failed = try await resource.first { $0.phase == .failed }
        #expect(failed.data == Value(n: 1) && failed.isStale && failed.error?.kind == .decoding)
    }

    @Test func aLargeResponseIsDecodedOnAnotherThread() async throws {
        let values = Array(repeating: "{\"n\":1}", count: 20_000).joined(separator: ",")
        let client = try mocked(#"[{"path": "/values", "response": {"json": [\#(values)]}}]"#)
        let resource: Resource<[Value]> = try client.resource(Request(.get, "/values"))
        #expect(try await resource.get().count == 20_000)
    }

    @Test func writeInvalidatesTheResourcesWithItsTags() async throws {
        let client = try mocked(
            #"""
            [{"path": "/value", "responses": [{"json": {"n": 1}}, {"json": {"n": 2}}]},
             {"path": "/write", "response": {"status": 204}}, {"path": "/fails", "response": {"status": 422}}]
            """#)
        var settings = ResourceSettings()
        settings.tags = ["values"]
        let resource: Resource<Value> = try client.resource(Request(.get, "/value"), settings)
        #expect(try await resource.get() == Value(n: 1))
        var write = Request(.post, "/fails")
        write.invalidates = ["values", "others"]
        await #expect(throws: NightjarError.self) { try await client.send(write) }
        #expect(resource.snapshot.data == Value(n: 1) && !resource.snapshot.isStale)
        write.target = "/write"
        _ = try await client.send(write)
        _ = try await resource.first { $0.data == Value(n: 2) && !$0.isStale }
    }

    @Test func changesAreObservable() async throws {
        let (isTracked, changed) = (Latch(), Latch())
        let peer = try longLivedPeer([[.expectRequest, .waitFor(isTracked), .send(json(1))]])
        let client = try longLivedClient(of: peer)
        let resource: Resource<Value> = try client.resource(Request(.get, "/value"))
        _ = try await resource.first { $0.phase == .loading }
        withObservationTracking {
            _ = resource.snapshot
        } onChange: {
            changed.open()
        }
        isTracked.open()
        #expect(try await resource.get() == Value(n: 1))
        try changed.wait()
    }

    @Test func anOptimisticValueIsShownAndConfirmed() async throws {
        let client = try mocked(
            """
            [{"path": "/value", "method": "GET", "responses": [{"json": {"n": 1}}, {"json": {"n": 3}}]},
             {"path": "/value", "method": "PUT", "response": {"status": 204, "delay": 0.05}}]
            """)
        let resource: Resource<Value> = try client.resource(Request(.get, "/value"))
        _ = try await resource.get()
        async let response = resource.mutate(Request(.put, "/value"), optimistic: Value(n: 2))
        let saving = try await resource.first { $0.mutation == .saving }
        #expect(saving.data == Value(n: 2))
        #expect(try await response.status == 204)
        let confirmed = try await resource.first { $0.phase == .loaded }
        #expect(confirmed.data == Value(n: 3) && confirmed.mutation == nil)
        #expect(client.mock?.totalUses == 3)
    }

    @Test func aFailedMutationIsRolledBack() async throws {
        let client = try mocked(
            """
            [{"path": "/value", "method": "GET", "response": {"json": {"n": 1}}},
             {"path": "/value", "method": "DELETE", "response": {"status": 409}}]
            """)
        let resource: Resource<Value?> = try client.resource(Request(.get, "/value"))
        _ = try await resource.get()
        do {
            try await resource.mutate(Request(.delete, "/value"), optimistic: .some(nil))
            Issue.record("the mutation succeeded")
        } catch {
            #expect(error.status == 409)
        }
        #expect(try await resource.first { $0.mutation == nil }.data == Value(n: 1))
    }

    @Test func closingTheClientEndsTheChanges() async throws {
        let client = try mocked(#"[{"path": "/value", "response": {"fault": "hang"}}]"#)
        let resource: Resource<Value> = try client.resource(Request(.get, "/value"))
        let changes = resource.changes
        async let last = changes.reduce(nil) { $1 }
        _ = try await resource.first { $0.phase == .loading }
        client.close()
        #expect(await last?.error == nil)
        do {
            _ = try await resource.get()
            Issue.record("the closed resource was loaded")
        } catch {
            #expect(error.kind == .closed)
        }
    }

    @Test func aRequestThatIsNotSafeIsRejected() throws {
        let client = try mocked("[]")
        do {
            let _: Resource<Value> = try client.resource(Request(.post, "/value"))
            Issue.record("the resource was created")
        } catch {
            #expect(error.kind == .invalidRequest)
        }
    }
}

@Suite struct ResourceDeliveryTests {
    /// Receives snapshots on a queue.
    private final class Seen: Sendable {
        let snapshots = Mutex<[ResourceController.Snapshot]>([])
        var count: Int { snapshots.withLock { $0.count } }
        var last: ResourceController.Snapshot? { snapshots.withLock { $0.last } }
    }

    private func resource(_ client: Client, _ queue: CompletionQueue) throws -> ResourceController {
        try client.makeResource(Request(.get, "/value"), ResourceSettings(), callbacks: queue)
    }

    private func poll(_ queue: CompletionQueue, until isDone: () -> Bool) {
        for _ in 0..<200 where !isDone() { queue.poll(timeout: .milliseconds(50)) }
    }

    @Test func manyChangesCauseOneEventWithTheNewest() throws {
        var configuration = Configuration.loopback
        configuration.timeouts = .long
        configuration.baseURL = "http://api.test"
        configuration.mock = try Mock(json: #"[{"path": "/value", "response": {"json": {"n": 1}}}]"#)
        let client = try Client(configuration)
        let queue = CompletionQueue()
        let resource = try resource(client, queue)
        let seen = Seen()
        let observer = resource.observe(on: queue) { snapshot in seen.snapshots.withLock { $0.append(snapshot) } }
        try eventually("the resource is loaded", within: longTimeout) { resource.snapshot.phase == .loaded }
        for _ in 1...20 {
            let mutation = resource.beginMutation(.saving, optimistic: nil)
            resource.endMutation(mutation, .failed(mayHaveBeenProcessed: false))
        }
        let passed = Latch()
        resource.afterEvents { passed.open() }
        try passed.wait()
        queue.poll(timeout: .seconds(5))
        #expect(seen.count == 1)
        #expect(seen.last?.generation == resource.snapshot.generation)
        // A late observer gets the present snapshot.
        let late = Seen()
        let second = resource.observe(on: queue) { snapshot in late.snapshots.withLock { $0.append(snapshot) } }
        poll(queue) { late.count > 0 }
        #expect(late.last?.phase == .loaded && client.mock?.totalUses == 1)
        observer.cancel()
        second.cancel()
        resource.close()
        queue.close()
    }

    @Test func theLastObserverClosesTheConnection() throws {
        let closed = Latch()
        let peer = try longLivedPeer([
            [.expectRequest, .expectClose, .open(closed)], [.expectRequest, .send(json(2))],
        ])
        let client = try longLivedClient(of: peer)
        let queue = CompletionQueue()
        let resource = try resource(client, queue)
        let (first, second) = (Seen(), Seen())
        let observer = resource.observe(on: queue) { snapshot in first.snapshots.withLock { $0.append(snapshot) } }
        try eventually("a request arrived", within: longTimeout) { !peer.requests.isEmpty }
        observer.cancel()
        try closed.wait()
        #expect(resource.snapshot.phase == .idle && resource.snapshot.error == nil)
        let next = resource.observe(on: queue) { snapshot in second.snapshots.withLock { $0.append(snapshot) } }
        poll(queue) { second.last?.phase == .loaded }
        #expect(second.last?.data?.response.body == ByteBuffer(string: "{\"n\":2}"))
        #expect(second.snapshots.withLock { $0.allSatisfy { $0.error == nil } })
        next.cancel()
        resource.close()
        queue.close()
        #expect(peer.failures == [])
    }

    @Test func reloadBypassesTheCache() throws {
        let fields = "Cache-Control: max-age=86400\r\n"
        let peer = try longLivedPeer([
            [.expectRequest, .send(json(1, fields)), .expectRequest, .send(json(2, fields))]
        ])
        let client = try longLivedClient(of: peer) { $0.cacheSettings = .init() }
        let queue = CompletionQueue()
        let numbers = Mutex<[String]>([])
        func load(_ resource: ResourceController, isReload: Bool) throws {
            let before = numbers.withLock { $0.count }
            _ = try resource.load(isReload: isReload, on: queue) { result in
                let text = (try? result.get()).map { String(buffer: $0.response.body) } ?? "failed"
                numbers.withLock { $0.append(text) }
            }
            poll(queue) { numbers.withLock { $0.count } > before }
        }
        let resource = try resource(client, queue)
        try load(resource, isReload: false)
        try load(try self.resource(client, queue), isReload: false)
        try load(resource, isReload: true)
        #expect(numbers.withLock { $0 } == ["{\"n\":1}", "{\"n\":1}", "{\"n\":2}"])
        #expect(peer.requests.count == 2)
        queue.close()
    }

    @Test func aStaleResponseIsShownWhileItIsRevalidated() async throws {
        let peer = try longLivedPeer([
            [
                .expectRequest, .send(json(1, "Cache-Control: max-age=0\r\nETag: \"1\"\r\n")),
                .expectRequest, .send(json(2, "Cache-Control: max-age=0\r\nETag: \"2\"\r\n")),
            ]
        ])
        let client = try longLivedClient(of: peer) {
            $0.cacheSettings = .init()
            $0.cachePolicy = .offlineFirst
        }
        _ = try await client.send(Request(.get, "/value"))
        let resource: Resource<Value> = try client.resource(Request(.get, "/value"))
        var seen: [Int] = []
        for await snapshot in resource.changes {
            if let n = snapshot.data?.n, seen.last != n { seen.append(n) }
            if snapshot.phase == .loaded { break }
        }
        #expect(seen.last == 2)
        #expect(resource.snapshot.error == nil)
    }

    @Test func writesOfTheClientReload() async throws {
        let peer = try longLivedPeer([
            [
                .expectRequest, .send(json(1)), .expectRequest, .send("HTTP/1.1 204 No Content\r\n\r\n"),
                .expectRequest, .send(json(2)),
            ]
        ])
        let client = try longLivedClient(of: peer)
        let resource: Resource<Value> = try client.resource(Request(.get, "/value?page=1"))
        _ = try await resource.get()
        _ = try await client.send(Request(.put, "/value"))
        #expect(try await resource.first { $0.data?.n == 2 }.phase == .loaded)
        #expect(peer.requests.count == 3)
    }
}
