import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

/// The orderly shutdown of a client: the work in flight ends, and new work is rejected.
@Suite struct DrainTests {
    private func kind(_ body: () throws -> Void) -> ErrorKind? {
        do { try body() } catch { return (error as? NightjarError)?.kind }
        return nil
    }

    @Test func callsInFlightEnd() async throws {
        let (busy, free) = (Latch(), Latch())
        let peer = try longLivedPeer([[.expectRequest, .open(busy), .waitFor(free), .respond(body: "late")]])
        let client = try longLivedClient(of: peer)
        let queue = CompletionQueue()
        let text = Mutex<String?>(nil)
        let task = try client.start(
            Request(.get, "/"), on: queue, TaskHandlers { _, result in text.withLock { $0 = try? result.get().text } })
        try await onOwnThread { try busy.wait() }
        let drained = Mutex(false)
        async let drain: Void = {
            try await client.drain(within: nil)
            drained.withLock { $0 = true }
        }()
        let others = CompletionQueue()
        // The drain has started when new calls are rejected.
        while kind({ _ = try client.start(Request(.get, "/new"), on: others, TaskHandlers { _, _ in }) }) == nil {
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(kind { _ = try client.sendBlocking(Request(.get, "/new")) } == .closed)
        let isEarly = drained.withLock { $0 }
        #expect(!isEarly)
        free.open()
        try await drain
        try await onOwnThread { try task.waitBlocking(timeout: longTimeout) }
        #expect(text.withLock { $0 } == "late")
        #expect(peer.requests.allSatisfy { $0.target != "/new" } || peer.connectionCount > 1)
        others.close()
        #expect(kind { try client.drainBlocking(within: nil) } == .closed)
    }

    @Test func idleClientDrainsAtOnce() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "ok"), .expectClose]])
        let client = try client(of: peer)
        #expect(try client.sendBlocking(Request(.get, "/")).text == "ok")
        try client.drainBlocking(within: .seconds(10))
        #expect(kind { _ = try client.sendBlocking(Request(.get, "/")) } == .closed)
    }

    /// A retry belongs to the call in flight.
    @Test func retriesContinue() async throws {
        let peer = try longLivedPeer([
            [.expectRequest, .send("HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n"), .close],
            [.expectRequest, .respond(body: "second")],
        ])
        let client = try longLivedClient(of: peer) { $0.retry.maximumAttempts = 2 }
        async let text = client.send(Request(.get, "/")).text
        while peer.requests.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        try await client.drain(within: longTimeout)
        #expect(try await text == "second")
    }

    @Test func timeoutCancelsTheRest() throws {
        let peer = try ScriptedPeer([[.expectRequest, .expectClose]])
        let client = try client(of: peer)
        let queue = CompletionQueue()
        let result = Mutex<Result<Response, NightjarError>?>(nil)
        let task = try client.start(
            Request(.get, "/"), on: queue, TaskHandlers { _, outcome in result.withLock { $0 = outcome } })
        #expect(kind { try client.drainBlocking(within: .milliseconds(50)) } == .timeout)
        try task.waitBlocking(timeout: longTimeout)
        #expect(kind { _ = try result.withLock { try $0?.get() } } == .cancelled)
    }

    @Test func drainCanBeCancelled() throws {
        let peer = try ScriptedPeer([[.expectRequest, .expectClose]])
        let client = try client(of: peer)
        let queue = CompletionQueue()
        try client.start(Request(.get, "/"), on: queue, TaskHandlers { _, _ in })
        let result = Mutex<Result<Void, NightjarError>?>(nil)
        let drain = try client.drain(within: nil, on: queue) { outcome in result.withLock { $0 = outcome } }
        drain.cancel()
        try drain.waitBlocking(timeout: longTimeout)
        #expect(kind { try result.withLock { try $0?.get() } } == .cancelled)
        #expect(kind { _ = try client.sendBlocking(Request(.get, "/")) } == .closed)
        client.close()
    }

    /// A batch starts its later calls on the thread that polls the queue.
    @Test func batchContinues() throws {
        let peer = try ScriptedPeer(
            [[.untilClosed([.expectRequest, .wait(.milliseconds(5)), .respond(body: "ok")])]], repeatsLast: true)
        let client = try client(of: peer)
        let queue = CompletionQueue()
        let results = Mutex((succeeded: 0, ended: false))
        let handlers = BatchHandlers(
            ended: { _, _, _, result in
                if case .success = result { results.withLock { $0.succeeded += 1 } }
            },
            finished: { _, _ in results.withLock { $0.ended = true } })
        let requests = (0..<20).map { BatchCall(Request(.get, "/\($0)")) }
        try client.start(batch: requests, concurrency: 2, on: queue, handlers)
        let drained = Mutex<Bool?>(nil)
        let drain = try client.drain(within: longTimeout, on: queue) { _ in
            drained.withLock { $0 = results.withLock { $0.ended } }
        }
        #expect(kind { try client.start(batch: requests, on: queue, handlers) } == .closed)
        try drain.waitBlocking(timeout: longTimeout)
        let end = (results.withLock { $0 }, drained.withLock { $0 })
        #expect(end.0.succeeded == 20 && end.1 == true)
    }

    /// A download requests its parts while the client is draining.
    @Test func transferContinues() throws {
        let folder = try TemporaryDirectory()
        let content = [UInt8](repeating: 97, count: 100_000)
        let peer = try ScriptedPeer([
            [
                .expectRequest,
                .send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nETag: \"a\"\r\nAccept-Ranges: bytes\r\n\r\n"),
                .send(Bytes(Array(content.prefix(30_000)))), .wait(.milliseconds(50)), .closeWithoutNotice,
            ],
            [
                .expectRequest,
                .send(
                    "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 30000-99999/100000\r\nContent-Length: 70000\r\nETag: \"a\"\r\n\r\n"
                ), .send(Bytes(Array(content.suffix(70_000)))),
            ],
        ])
        let client = try client(of: peer) { $0.retry.base = .milliseconds(1) }
        let queue = CompletionQueue()
        let result = Mutex<Result<Void, NightjarError>?>(nil)
        let path = folder.file("file")
        var settings = DownloadSettings()
        settings.connections = 1
        _ = try client.startDownload(Request(.get, "/"), to: path, settings, on: queue) { _, outcome in
            result.withLock { $0 = outcome.map { _ in } }
        }
        while peer.requests.isEmpty { queue.poll(timeout: .milliseconds(1)) }
        let drain = try client.drain(within: longTimeout, on: queue) { _ in }
        try drain.waitBlocking(timeout: longTimeout)
        #expect(kind { try result.withLock { try $0?.get() } } == nil && result.withLock { $0 != nil })
    }
}
