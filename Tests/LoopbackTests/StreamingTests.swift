import NIOCore
import Nightjar
import NightjarDemo
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@Suite struct StreamingTests {
    @Test func pausedConsumerAppliesBackpressure() throws {
        let part = Bytes([UInt8](repeating: 7, count: 1 << 20))
        let total = 64 << 20
        let peer = try ScriptedPeer(
            [
                [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")]
                    + Array(repeating: .send(part), count: 64)
            ], maximumWait: .seconds(30))
        let client = try client(of: peer) { $0.timeouts.idle = .milliseconds(200) }
        let queue = CompletionQueue()
        let received = Mutex(0)
        let result = Mutex<Result<Response, NightjarError>?>(nil)
        var handlers = TaskHandlers { _, outcome in result.withLock { $0 = outcome } }
        handlers.body = { _, bytes in received.withLock { $0 += bytes.readableBytes } }
        handlers.creditsAreManual = true
        let task = try client.start(Request(.get, "/"), on: queue, handlers)
        // Until the consumer reads, the amount of received data stays bounded, and the idle timeout does not expire.
        var last = -1
        while received.withLock({ $0 }) != last {
            last = received.withLock { $0 }
            queue.poll(timeout: .milliseconds(400))
        }
        #expect(last < 2 << 20)
        #expect(!task.isFinished)
        task.consumed(last)
        while result.withLock({ $0 == nil }) {
            let before = received.withLock { $0 }
            queue.poll(timeout: .seconds(5))
            task.consumed(received.withLock { $0 } - before)
        }
        #expect(received.withLock { $0 } == total)
        #expect(throws: Never.self) { try result.withLock { try $0?.get() } }
    }

    @Test func asyncStreamsDeliverEverything() async throws {
        let peer = try ScriptedPeer([
            [
                .expectRequest, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"),
                .send("3\r\ndef\r\n0\r\n\r\n"),
            ]
        ])
        let client = try client(of: peer)
        let streamed = try await client.stream(Request(.get, "/"))
        #expect(streamed.response.status == 200)
        var text = ""
        for try await part in streamed.body { text += String(buffer: part) }
        #expect(text == "abcdef")
    }

    @Test func endingTheIterationCancelsTheCall() async throws {
        let peer = try ScriptedPeer([
            [
                .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123"), .expectClose,
            ]
        ])
        let client = try client(of: peer)
        let response = try await client.stream(Request(.get, "/"))
        for try await _ in response.body { break }
        try await eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(peer.failures == [])
    }

    /// Releasing an unread response closes its connection. The next call waits, because the limit is one connection.
    @Test func droppedResponseReleasesItsConnection() async throws {
        let peer = try ScriptedPeer([
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123"), .expectClose],
            [.expectRequest, .respond(body: "next")],
        ])
        let client = try client(of: peer) { $0.transport.connectionsPerHost = 1 }
        #expect(try await client.stream(Request(.get, "/")).response.status == 200)
        #expect(try await client.send(Request(.get, "/")).text == "next")
        #expect(peer.failures == [])
    }

    @Test(arguments: [nil, 300_000] as [Int?])
    func bodyIsReadAsFastAsItIsSent(length: Int?) throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "thanks")]])
        let client = try client(of: peer)
        var request = Request(.put, "/")
        request.body = .stream(length: length)
        request.expectsContinue = false
        let left = Mutex(300_000)
        var handlers = TaskHandlers { _, _ in }
        handlers.provideBody = { _, maximum in
            left.withLock { left in
                let count = min(left, maximum, 70_000)
                left -= count
                return count == 0 ? .end : .bytes(ByteBuffer(repeating: 9, count: count))
            }
        }
        #expect(try client.sendBlocking(request, handlers: handlers).text == "thanks")
        let received = try #require(peer.requests.first)
        #expect(received.body == [UInt8](repeating: 9, count: 300_000))
        #expect(received["transfer-encoding"] == (length == nil ? "chunked" : nil))
        #expect(received["content-length"] == length.map(String.init))
    }

    @Test func failedSourceDoesNotCompleteTheBody() throws {
        let peer = try ScriptedPeer([[.expectHead, .expectClose]])
        let client = try client(of: peer)
        var request = Request(.post, "/")
        request.body = .stream(length: nil)
        request.expectsContinue = false
        let requested = Mutex(0)
        var handlers = TaskHandlers { _, _ in }
        handlers.provideBody = { _, _ in
            requested.withLock { $0 += 1 }
            return requested.withLock { $0 } == 1 ? .bytes(ByteBuffer(string: "half")) : .failed("the disk is gone")
        }
        let error = #expect(throws: NightjarError.self) { try client.sendBlocking(request, handlers: handlers) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.message == "the disk is gone")
        client.close()
        try eventually("the connection is closed") { peer.endedCount == 1 }
        let sent = String(decoding: peer.received(0), as: UTF8.self)
        #expect(!sent.contains("0\r\n\r\n"))
    }

    /// Each part is sent after the previous one has come back.
    @Test func responseArrivesWhileTheBodyIsSent() throws {
        let server = DemoServer()
        let client = try LoopbackTests.client(port: try server.start(host: "127.0.0.1", port: 0))
        var request = Request(.post, "/duplex")
        request.body = .stream(length: nil)
        struct Turn {
            var received: [String] = []
            var next: TaskHandlers.BodyPart? = .bytes(ByteBuffer(string: "1"))
            var isAwaited = false
        }
        let turn = Mutex(Turn())
        let result = Mutex<Result<Response, NightjarError>?>(nil)
        var handlers = TaskHandlers { _, end in result.withLock { $0 = end } }
        handlers.provideBody = { _, _ in
            turn.withLock { turn in
                turn.isAwaited = turn.next == nil
                return turn.next.take() ?? .later
            }
        }
        handlers.body = { task, part in
            let next = turn.withLock { turn -> TaskHandlers.BodyPart? in
                turn.received.append(String(buffer: part))
                let count = turn.received.count
                turn.next = count < 5 ? .bytes(ByteBuffer(string: String(count + 1))) : .end
                return turn.isAwaited ? turn.next.take() : nil
            }
            if let next { task.provide(next) }
        }
        _ = try client.start(request, on: nil, handlers)
        try eventually("the call has ended") { result.withLock { $0 != nil } }
        #expect(try result.withLock { $0 }?.get().status == 200)
        #expect(turn.withLock { $0.received } == ["1", "2", "3", "4", "5"])
        client.close()
    }

    @Test func earlyResponseEndsTheUpload() throws {
        let peer = try ScriptedPeer([
            [
                .expectHead, .respond("413 Content Too Large", headers: ["Connection: close"], body: "no"),
                .expectClose,
            ]
        ])
        let client = try client(of: peer)
        var request = Request(.post, "/")
        request.body = .stream(length: 1 << 30)
        request.expectsContinue = false
        var handlers = TaskHandlers { _, _ in }
        handlers.provideBody = { _, maximum in .bytes(ByteBuffer(repeating: 1, count: min(maximum, 1024))) }
        let error = #expect(throws: NightjarError.self) { try client.sendBlocking(request, handlers: handlers) }
        #expect(error?.status == 413)
    }

    @Test func largeBodyInMemoryIsSentCompletely() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond()]])
        let client = try client(of: peer)
        var request = Request(.put, "/")
        request.body = .bytes(ByteBuffer(repeating: 3, count: 5_000_000))
        request.expectsContinue = false
        #expect(try client.sendBlocking(request).status == 200)
        #expect(peer.requests.first?.body == [UInt8](repeating: 3, count: 5_000_000))
    }
}
