import NIOCore
import Nightjar
import NightjarTestSupport
import Synchronization
import Testing

/// Requests with Expect: 100-continue. RFC 9110 section 10.1.1.
@Suite struct ExpectContinueLoopbackTests {
    private let body = ByteBuffer(string: "the body")
    private static let continueResponse: ScriptedPeer.Step = .send("HTTP/1.1 100 Continue\r\n\r\n")

    private func request(_ expects: Bool? = true) -> Request {
        var request = Request(.post, "/")
        request.body = .bytes(body)
        request.expectsContinue = expects
        return request
    }

    @Test func bodyIsSentAfter100Continue() throws {
        let peer = try ScriptedPeer([
            [
                .expectHead, .wait(.milliseconds(50)), Self.continueResponse, .expectBytes(8), .respond(body: "thanks"),
                .expectRequest, .respond(),
            ]
        ])
        let client = try client(of: peer)
        #expect(try client.sendBlocking(request()).text == "thanks")
        #expect(peer.requests[0]["expect"] == "100-continue")
        // The connection is reused.
        _ = try client.sendBlocking(request(false))
        #expect(peer.connectionCount == 1)
        #expect(peer.requests[1]["expect"] == nil)
        #expect(peer.failures == [])
    }

    @Test func bodyIsSentAfterASecondWithout100Continue() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(), .expectRequest, .respond()]])
        let client = try client(of: peer)
        let started = ContinuousClock.now
        _ = try client.sendBlocking(request())
        let taken = ContinuousClock.now - started
        #expect(taken >= .seconds(1) && taken < .seconds(3))
        _ = try client.sendBlocking(request(false))
        #expect(peer.connectionCount == 1)
    }

    @Test func earlyResponseSuppressesTheBodyAndClosesTheConnection() throws {
        let peer = try ScriptedPeer([
            [.expectHead, .respond("403 Forbidden", body: "no"), .expectClose], [.expectRequest, .respond()],
        ])
        let client = try client(of: peer)
        #expect(try failure(client, request()).kind == .forbidden)
        try eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(peer.received(0).count == peer.requests[0].raw.count)
        _ = try client.sendBlocking(request(false))
        #expect(peer.connectionCount == 2)
        #expect(peer.failures == [])
    }

    @Test func expectationFailedIsRetriedOnceWithoutExpect() throws {
        let rejection: ScriptedPeer.Step = .respond("417 Expectation Failed", body: "what?")
        let peer = try ScriptedPeer([
            [.expectHead, rejection, .expectClose],
            [.expectRequest, .respond(headers: ["Connection: close"], body: "ok")],
            [.expectHead, rejection, .expectClose], [.expectRequest, rejection],
        ])
        let client = try client(of: peer) { $0.transport.connectionsPerHost = 1 }
        #expect(try client.sendBlocking(request()).text == "ok")
        #expect(peer.requests.map { $0["expect"] } == ["100-continue", nil])
        #expect(peer.requests[1].body == Array("the body".utf8))
        let error = try failure(client, request())
        #expect(error.kind == .client && error.status == 417)
        #expect(peer.requests.map { $0["expect"] } == ["100-continue", nil, "100-continue", nil])
        #expect(peer.failures == [])
    }

    /// No byte of the body was sent, so even a stream that cannot be replayed is sent with the second request.
    @Test func expectationFailedDoesNotConsumeAStream() throws {
        let peer = try ScriptedPeer([
            [.expectHead, .respond("417 Expectation Failed"), .expectClose], [.expectRequest, .respond()],
        ])
        let client = try client(of: peer)
        var request = request(nil)
        request.body = .stream(length: nil)
        let requested = Mutex(0)
        var handlers = TaskHandlers { _, _ in }
        handlers.provideBody = { _, _ in
            requested.withLock { $0 += 1 }
            return requested.withLock { $0 } == 1 ? .bytes(ByteBuffer(string: "once")) : .end
        }
        _ = try client.sendBlocking(request, handlers: handlers)
        #expect(peer.requests.map { $0["expect"] } == ["100-continue", nil])
        #expect(peer.requests[1].bodyText == "once")
        #expect(requested.withLock { $0 } == 2)
    }

    @Test func onlyLargeBodiesUseExpectByDefault() throws {
        let peer = try ScriptedPeer([
            [
                .expectRequest, .respond(), .expectHead, Self.continueResponse, .expectBytes(1 << 20), .respond(),
                .expectRequest, .respond(), .expectRequest, .respond(),
            ]
        ])
        let client = try client(of: peer)
        var large = request(nil)
        large.body = .bytes(ByteBuffer(repeating: 1, count: 1 << 20))
        _ = try client.sendBlocking(request(nil))
        _ = try client.sendBlocking(large)
        // By default, Expect is not used with an idle timeout of at most 1 s: it would expire before the body is sent.
        large.timeouts.idle = .milliseconds(900)
        _ = try client.sendBlocking(large)
        var empty = request(true)
        empty.body = .none
        _ = try client.sendBlocking(empty)
        #expect(peer.requests.map { $0["expect"] } == [nil, "100-continue", nil, nil])
        #expect(peer.failures == [])
    }

    @Test func connectionLossWhileWaitingFailsTheCall() throws {
        let peer = try ScriptedPeer([
            [.expectHead, .close], [.expectHead, .send("garbage\r\n\r\n")], [.expectHead, .reset],
        ])
        let client = try client(of: peer)
        #expect(try failure(client, request()).kind == .connectionLost)
        #expect(try failure(client, request()).kind == .protocol)
        #expect(try failure(client, request()).kind == .connectionLost)
    }

    @Test func cancellationWhileWaitingStopsTheTimer() throws {
        let peer = try ScriptedPeer([[.expectHead, .expectClose], [.expectRequest, .respond()]])
        let client = try client(of: peer)
        let queue = CompletionQueue()
        let task = try client.start(request(), on: queue, TaskHandlers { _, _ in })
        try eventually("the head arrived") { peer.requests.count == 1 }
        task.cancel()
        #expect(queue.poll(timeout: .seconds(5)) == 1)
        _ = try client.sendBlocking(request(false))
        client.close()
        #expect(peer.failures == [])
    }
}
