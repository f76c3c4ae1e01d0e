import NIOCore
import Nightjar
import NightjarDemo
import NightjarTestSupport
import Synchronization
import Testing

/// Request bodies from asynchronous sequences, and streamed responses that are collected.
@Suite(.timeLimit(.minutes(5))) struct StreamedBodyTests {
    /// A sequence that counts its requests, and whose iteration notes its end.
    private struct Parts: AsyncSequence, Sendable {
        let log = Log()
        var parts: [[UInt8]] = []
        var failure: NightjarError?
        /// Waits after the last part until the iteration is cancelled.
        var stalls = false

        final class Log: Sendable {
            let requested = Atomic<Int>(0)
            let wasCancelled = Atomic<Bool>(false)
        }

        struct AsyncIterator: AsyncIteratorProtocol {
            let sequence: Parts
            var position = 0

            mutating func next() async throws -> [UInt8]? {
                sequence.log.requested.add(1, ordering: .relaxed)
                defer { position += 1 }
                if position < sequence.parts.count { return sequence.parts[position] }
                if let failure = sequence.failure { throw failure }
                guard sequence.stalls else { return nil }
                do {
                    try await Task.sleep(for: .seconds(900))
                } catch {
                    sequence.log.wasCancelled.store(true, ordering: .relaxed)
                    throw error
                }
                return nil
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(sequence: self) }
    }

    private func put(_ target: String = "/") -> Request {
        var request = Request(.put, target)
        request.expectsContinue = false
        return request
    }

    @Test(arguments: [nil, 300_000] as [Int?]) func sequenceBecomesTheBody(length: Int?) async throws {
        let peer = try longLivedPeer([[.expectRequest, .respond(body: "thanks")]])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let parts = Parts(parts: [[], [UInt8](repeating: 1, count: 100_000), [], [UInt8](repeating: 2, count: 200_000)])
        let response = try await client.send(put(), body: Request.StreamedBody(parts, length: length))
        #expect(response.text == "thanks")
        let received = try #require(peer.requests.first)
        #expect(received.body == parts.parts.flatMap(\.self))
        #expect(received["content-length"] == length.map(String.init))
    }

    @Test func buffersAreParts() async throws {
        let peer = try longLivedPeer([[.expectRequest, .respond()]])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let parts = AsyncStream<ByteBuffer> { continuation in
            for text in ["a", "b", "c"] { continuation.yield(ByteBuffer(string: text)) }
            continuation.finish()
        }
        _ = try await client.send(put(), body: Request.StreamedBody(parts))
        #expect(peer.requests.first?.body == Array("abc".utf8))
    }

    @Test func slowServerSlowsTheSequenceDown() async throws {
        let latch = Latch()
        let peer = try longLivedPeer([[.expectHead, .waitFor(latch), .close]])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let parts = Parts(parts: Array(repeating: [UInt8](repeating: 7, count: 1 << 20), count: 200))
        let call = Task { try await client.send(put(), body: Request.StreamedBody(parts)) }
        var last = -1
        while parts.log.requested.load(ordering: .relaxed) != last || last == 0 {
            last = parts.log.requested.load(ordering: .relaxed)
            try await Task.sleep(for: .milliseconds(500))
        }
        #expect(last < 100)
        latch.open()
        await #expect(throws: NightjarError.self) { try await call.value }
    }

    @Test func errorOfTheSequenceEndsTheCall() async throws {
        let peer = try longLivedPeer([[.expectHead, .expectClose]])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let parts = Parts(parts: [[1]], failure: NightjarError(.storage, "the disk is gone"))
        let error = await #expect(throws: NightjarError.self) {
            try await client.send(put(), body: Request.StreamedBody(parts))
        }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.message == "the sequence of the request's body failed: the disk is gone")
        try await eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(!String(decoding: peer.received(0), as: UTF8.self).hasSuffix("0\r\n\r\n"))
    }

    @Test func cancellingTheCallCancelsTheSequence() async throws {
        let peer = try longLivedPeer([[.expectHead, .expectClose]])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let parts = Parts(parts: [[1]], stalls: true)
        let call = Task { try await client.send(put(), body: Request.StreamedBody(parts)) }
        try await eventually("the sequence stalls") { parts.log.requested.load(ordering: .relaxed) == 2 }
        call.cancel()
        let error = await #expect(throws: NightjarError.self) { try await call.value }
        #expect(error?.kind == .cancelled)
        try await eventually("the sequence was cancelled") { parts.log.wasCancelled.load(ordering: .relaxed) }
    }

    /// A response without the whole body ends the sequence, too.
    @Test func earlyResponseEndsTheSequence() async throws {
        let stalled = Latch()
        let peer = try longLivedPeer([
            [
                .expectHead, .waitFor(stalled),
                .respond("413 Content Too Large", headers: ["Connection: close"], body: "no"), .expectClose,
            ]
        ])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let parts = Parts(parts: [[1]], stalls: true)
        let call = Task { try await client.send(put(), body: Request.StreamedBody(parts)) }
        try await eventually("the sequence stalls") { parts.log.requested.load(ordering: .relaxed) == 2 }
        stalled.open()
        let error = await #expect(throws: NightjarError.self) { try await call.value }
        #expect(error?.status == 413)
        try await eventually("the sequence was cancelled") { parts.log.wasCancelled.load(ordering: .relaxed) }
    }

    // MARK: Further attempts

    private func redirectingPeer() throws -> ScriptedPeer {
        try longLivedPeer([
            [
                .expectRequest, .respond("307 Temporary Redirect", headers: ["Location: /b"]), .expectRequest,
                .respond(body: "done"),
            ]
        ])
    }

    @Test func factoryStartsTheBodyAgain() async throws {
        let peer = try redirectingPeer()
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let made = Mutex(0)
        let body = Request.StreamedBody {
            made.withLock { $0 += 1 }
            return Parts(parts: [[1], [2]])
        }
        #expect(body.isRestartable)
        #expect(try await client.send(put("/a"), body: body).text == "done")
        #expect(peer.requests.map(\.body) == [[1, 2], [1, 2]])
        #expect(made.withLock { $0 } == 2)
    }

    @Test func sequenceIsSentOnlyOnce() async throws {
        let peer = try redirectingPeer()
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let body = Request.StreamedBody(Parts(parts: [[1], [2]]))
        #expect(!body.isRestartable)
        await #expect(throws: NightjarError.self) { try await client.send(put("/a"), body: body) }
        #expect(peer.requests.map(\.body) == [[1, 2]])
    }

    // MARK: Streamed responses

    @Test func streamedResponseFollowsAStreamedBody() async throws {
        let server = DemoServer()
        let client = try LoopbackTests.client(port: try server.start(host: "127.0.0.1", port: 0)) {
            $0.timeouts = .long
        }
        defer { client.close() }
        let response = try await client.stream(
            Request(.post, "/duplex"), body: Request.StreamedBody(Parts(parts: [[65], [66]])))
        #expect(try await response.collect(upTo: 10).text == "AB")
    }

    @Test func endpointsAreStreamedAndDownloaded() async throws {
        let peer = try longLivedPeer([
            [.expectRequest, .respond(body: "[1]"), .expectRequest, .respond(body: "[1,2]")]
        ])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let endpoint = Endpoint<[Int]>.get("/numbers/{id}", ["id": 7])
        #expect(try await client.stream(endpoint).collect(upTo: 100).json == [1])
        let folder = try TemporaryDirectory()
        #expect(try await client.download(endpoint, to: folder.path + "/numbers.json").size == 5)
        #expect(peer.requests.map(\.target) == ["/numbers/7", "/numbers/7"])
        let invalid = Endpoint<[Int]>.get("/numbers/{id}")
        let error = await #expect(throws: NightjarError.self) { try await client.stream(invalid) }
        #expect(error?.kind == .invalidRequest && peer.requests.count == 2)
    }

    @Test func trailersFollowTheBody() async throws {
        let chunked: ScriptedPeer.Step = .send(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n")
        let peer = try longLivedPeer([[.expectRequest, chunked, .expectRequest, chunked]])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let response = try await client.stream(.get("/"))
        for try await _ in response.body {}
        #expect(response.trailers["x-sum"] == "7")
        let whole = try await client.stream(.get("/")).collect(upTo: 100)
        #expect(whole.trailers["x-sum"] == "7" && whole.text == "abc")
    }

    @Test(arguments: [6, 5]) func collectedBodyIsLimited(limit: Int) async throws {
        let peer = try longLivedPeer([
            [
                .expectRequest, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\n"),
                .send("3\r\n 2]\r\n0\r\n\r\n"),
            ]
        ])
        let client = try longLivedClient(of: peer)
        defer { client.close() }
        let response = try await client.stream(Request(.get, "/"))
        guard limit < 6 else {
            let whole = try await response.collect(upTo: limit)
            #expect(try whole.status == 200 && whole.json == [1, 2])
            return
        }
        let error = await #expect(throws: NightjarError.self) { try await response.collect(upTo: limit) }
        #expect(error?.kind == .tooLarge && error?.status == 200)
        #expect(
            error?.message
                == "the response body is larger than 5 bytes; raise the limit of collect(upTo:), or read the body in parts"
        )
    }
}
