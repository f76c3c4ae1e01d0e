import Glibc
import NightjarTestSupport
import Testing

/// The steps of a ``ScriptedPeer``, as observed by a plain socket.
@Suite struct ScriptedPeerTests {
    private static let request: Bytes = "GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test func requestIsRecordedAndReceivesTheResponse() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(headers: ["A: b"], body: "hello")]])
        let client = try Socket(connectingTo: peer.port)
        try client.send(Self.request)
        let response = Bytes(try client.receiveToEnd())
        #expect(response == "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\nhello")
        peer.stop()
        #expect(peer.received(0) == Self.request.array)
        #expect(peer.requests(0).map(\.method) == ["GET"])
        #expect(peer.requests(0).first?.target == "/a?b")
        #expect(peer.requests(0).first?["host"] == "x")
        #expect(peer.connectionCount == 1)
        #expect(peer.failures == [])
    }

    @Test func bodiesAreReadByLengthOrChunks() throws {
        let peer = try ScriptedPeer([[.expectRequest, .expectRequest, .respond(), .expectClose]])
        let client = try Socket(connectingTo: peer.port)
        try client.send("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
        try client.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        for byte in "2;x=y\r\nde\r\n1\r\nf\r\n0\r\nT: u\r\n\r\n".utf8 { try client.send([byte]) }
        _ = try client.receive()
        client.close()
        try eventually("the script ended") { peer.endedCount == 1 }
        #expect(peer.requests(0).map(\.bodyText) == ["abc", "def"])
        #expect(peer.requests(0).last?.raw.suffix(8) == Array("T: u\r\n\r\n".utf8)[...])
        #expect(peer.failures == [])
    }

    @Test func connectionIsReset() throws {
        let peer = try ScriptedPeer([[.expectRequest, .send("HTTP/1.1 2"), .reset]])
        let client = try Socket(connectingTo: peer.port)
        try client.send(Self.request)
        #expect(throws: SocketError(call: "recv", code: ECONNRESET)) { try client.receiveToEnd() }
    }

    @Test func connectionIsClosedWithoutAReset() throws {
        let peer = try ScriptedPeer([[.expectHead, .close]])
        let client = try Socket(connectingTo: peer.port)
        try client.send("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nunread")
        #expect(try client.receiveToEnd() == [])
        #expect(peer.failures == [])
    }

    @Test func connectionIsClosedAfterSomeBytes() throws {
        let peer = try ScriptedPeer([[.closeAfter(4, of: "HTTP/1.1 200 OK\r\n")]])
        let client = try Socket(connectingTo: peer.port)
        #expect(Bytes(try client.receiveToEnd()) == "HTTP")
    }

    @Test func halfClosedPeerContinuesReading() throws {
        let peer = try ScriptedPeer([[.halfClose, .expectRequest]])
        let client = try Socket(connectingTo: peer.port)
        #expect(try client.receive() == [])
        try client.send(Self.request)
        try eventually("the request came") { peer.requests(0).count == 1 }
    }

    @Test func peerStallsUntilTheClientDisconnects() throws {
        let peer = try ScriptedPeer([[.stall]])
        let client = try Socket(connectingTo: peer.port)
        #expect(throws: Socket.WaitError.timedOut) { try client.receive(within: .milliseconds(50)) }
        #expect(peer.endedCount == 0)
        client.close()
        try eventually("the script ended") { peer.endedCount == 1 }
        #expect(peer.received(0) == [])
    }

    @Test func stopEndsAStall() throws {
        let peer = try ScriptedPeer([[.stall], [.wait(.seconds(60))], [.expectRequest]])
        let clients = try (0..<3).map { _ in try Socket(connectingTo: peer.port) }
        try eventually("all were accepted") { peer.connectionCount == 3 }
        peer.stop()
        #expect(peer.endedCount == 3)
        #expect(peer.failures == [])
        for client in clients { #expect(try client.receiveToEnd() == []) }
    }

    @Test func bytesAreSentIndividually() throws {
        let peer = try ScriptedPeer([[.sendSlowly("abc", every: .milliseconds(20))]])
        let client = try Socket(connectingTo: peer.port)
        let start = ContinuousClock.now
        #expect(try client.receive() == Array("a".utf8))
        #expect(Bytes(try client.receiveToEnd()) == "bc")
        #expect(ContinuousClock.now - start >= .milliseconds(50))
    }

    @Test func garbageIsDeterministic() throws {
        let peer = try ScriptedPeer([[.garbage(seed: 7, count: 1000)]], repeatsLast: true)
        let first = try Socket(connectingTo: peer.port).receiveToEnd()
        let second = try Socket(connectingTo: peer.port).receiveToEnd()
        #expect(first.count == 1000)
        #expect(first == second)
        #expect(Set(first).count > 200)
    }

    @Test func responsesAreSentWhileConnected() throws {
        let peer = try ScriptedPeer([[.untilClosed([.expectRequest, .respond(body: "x")])]])
        let client = try Socket(connectingTo: peer.port)
        for _ in 0..<3 {
            try client.send(Self.request)
            #expect(Bytes(try client.receive(through: "\r\n\r\nx")).text.hasPrefix("HTTP/1.1 200 OK"))
        }
        client.close()
        try eventually("the script ended") { peer.endedCount == 1 }
        #expect(peer.requests.count == 3)
        #expect(peer.failures == [])
    }

    @Test func peerWaitsForTheTestAndNotifiesIt() throws {
        let (here, go) = (Latch(), Latch())
        let peer = try ScriptedPeer([[.expectRequest, .open(here), .waitFor(go), .respond()]])
        let client = try Socket(connectingTo: peer.port)
        #expect(!here.isOpen)
        try client.send(Self.request)
        try here.wait()
        #expect(throws: Socket.WaitError.timedOut) { try client.receive(within: .milliseconds(30)) }
        go.open()
        #expect(try !client.receive().isEmpty)
    }

    @Test func unmetExpectationIsAFailure() throws {
        let peer = try ScriptedPeer([[.expectBytes(5)]], maximumWait: .milliseconds(100))
        let client = try Socket(connectingTo: peer.port)
        try client.send("abc")
        client.shutdownOutput()
        #expect(try client.receiveToEnd() == [])
        let silent = try Socket(connectingTo: peer.port)
        #expect(throws: SocketError.self) { try silent.receive() }
        #expect(
            peer.failures == [
                "connection 0, step 0: the client closed after 3 of 5 expected bytes",
                "connection 1 came without a script",
            ])
    }

    @Test func releasedPeerEnds() throws {
        var peer: ScriptedPeer? = try ScriptedPeer([[.stall]])
        let client = try Socket(connectingTo: peer?.port ?? 0)
        try eventually("it was accepted") { peer?.connectionCount == 1 }
        peer = nil
        #expect(try client.receive() == [])
    }
}
