import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

/// The WebSocket endpoints on the wire, tested with a plain socket.
@Suite struct WebSocketTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func open(_ path: String, _ fields: String = "") throws -> RawWebSocket {
        let client = try RawWebSocket(demo, path, fields)
        try #require(client.isOpen, "\(client.response.status)")
        return client
    }

    // MARK: Handshake

    @Test func handshakeIsAccepted() throws {
        let client = try open(
            "/ws/echo?protocols=b,c",
            "Sec-WebSocket-Protocol: a, c\r\nSec-WebSocket-Extensions: permessage-deflate\r\n")
        // The example of RFC 6455 section 1.3.
        #expect(client.response["Sec-WebSocket-Accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(client.response["Upgrade"] == "websocket")
        #expect(client.response["Connection"] == "Upgrade")
        #expect(client.response["Sec-WebSocket-Protocol"] == "c")
        #expect(client.response["Sec-WebSocket-Extensions"] == "permessage-deflate")
        #expect(demo.server.statistics.statuses == [101: 1])
    }

    @Test func requestWithoutUpgradeReceives426() throws {
        for path in ["/ws/echo", "/ws/chat", "/ws/broadcast/a", "/ws/violation/masked", "/ws/handshake/slow"] {
            let response = try demo.curl(path)
            #expect(response.status == 426)
            #expect(response["Upgrade"] == "websocket")
            #expect(response["Content-Type"] == "application/problem+json")
        }
        #expect(try RawWebSocket(demo, "/ws/chat").response.status == 401)
        #expect(try RawWebSocket(demo, "/ws/count?n=x").response.status == 400)
        #expect(try RawWebSocket(demo, "/ws/violation/x").response.status == 404)
        #expect(try RawWebSocket(demo, "/ws/echo", "Content-Length: 1\r\n\r\nx").response.status == 400)
        #expect(try RawWebSocket(demo, "/ws/echo", "Sec-WebSocket-Version: 8\r\n").response.status == 426)
    }

    @Test func rejectedUpgradeClosesTheConnection() throws {
        let client = try RawWebSocket(demo, "/v1/articles/1")
        #expect(client.response.status == 200)
        #expect(client.response["Connection"] == "close")
        _ = try client.socket.receiveToEnd()
    }

    // MARK: Echo and statistics

    @Test func messagesAndControlFramesAreCounted() throws {
        let client = try open("/ws/echo")
        try client.send(text: "hello")
        #expect(try client.receiveText() == "hello")
        try client.send(0x89, [1, 2])
        #expect(try client.receive() == .init(head: 0x8A, payload: [1, 2]))
        try client.send(0x8A, [])
        #expect(demo.server.statistics.webSockets.open == 1)
        #expect(demo.server.statistics.inProgress.isEmpty)
        try client.send(0x88, [0x0F, 0xA0])
        #expect(try client.receiveClose() == 4000)
        #expect(try client.socket.receive().isEmpty)
        client.socket.close()
        try eventually("the connection ended") { demo.server.statistics.connectionsOpen == 0 }
        let statistics = demo.server.statistics.webSockets
        #expect(statistics.opened == 1 && statistics.open == 0)
        #expect(statistics.messages == 1 && statistics.messagesSent == 1)
        #expect(statistics.pings == 1 && statistics.pongs == 1)
        #expect(statistics.closes == [4000: 1] && statistics.violations == 0)
    }

    @Test func violationOfTheClientIsClosed() throws {
        let client = try open("/ws/echo")
        try client.socket.send([0x81, 0x01, 0x61])
        #expect(try client.receiveClose() == 1002)
        #expect(try client.socket.receive().isEmpty)
        let other = try open("/ws/echo")
        try other.send(0x81, [0xFF])
        #expect(try other.receiveClose() == 1007)
        #expect(demo.server.statistics.webSockets.violations == 2)
    }

    @Test func headersAreReported() throws {
        let client = try open("/ws/echo?headers=1", "X-Demo: a\r\nx-demo: b\r\n")
        #expect(try client.receiveText().contains(#""x-demo":"a, b""#))
    }

    @Test func messageIsFragmentedOnRequest() throws {
        let client = try open("/ws/echo?fragment=2")
        try client.send(text: "abc")
        #expect(try client.receive() == .init(head: 0x01, payload: Array("ab".utf8)))
        #expect(try client.receive() == .init(head: 0x80, payload: Array("c".utf8)))
    }

    // MARK: Other endpoints

    @Test func messagesAreCountedAndTheConnectionEnds() throws {
        let client = try open("/ws/count?n=2&interval=0&size=3&close=4001")
        #expect(try client.receiveText() == #"{"n":1,"pad":"xxx"}"#)
        #expect(try client.receiveText() == #"{"n":2,"pad":"xxx"}"#)
        #expect(try client.receiveClose() == 4001)
        let dropped = try open("/ws/drop?after=1")
        try dropped.send(text: "a")
        #expect(try dropped.receiveText() == "a")
        #expect(try dropped.socket.receive().isEmpty)
    }

    @Test func messageReachesTheRoom() throws {
        let (first, second, other) = try (open("/ws/broadcast/a"), open("/ws/broadcast/a"), open("/ws/broadcast/b"))
        try first.send(text: "hello")
        #expect(try first.receiveText() == "hello")
        #expect(try second.receiveText() == "hello")
        try other.send(text: "other")
        #expect(try other.receiveText() == "other")
    }

    @Test func chatEndsWithTheToken() throws {
        let login = try demo.send(
            "POST", "/v1/auth/login", json: #"{"email":"ada@example.org","password":"moonlight","expires_in":60}"#)
        let token = try #require(login.json["access_token"] as? String)
        let client = try open("/ws/chat", "Authorization: Bearer \(token)\r\n")
        try client.send(text: "\"")
        #expect(try client.receiveText() == #"{"user":"ada","text":"\""}"#)
        _ = try demo.control(#"{"expire_access_tokens": true}"#)
        #expect(try client.receiveClose() == 4401)
    }

    @Test func silentEndpointSendsNothing() throws {
        let client = try open("/ws/silent")
        try client.send(0x89, [])
        try client.send(0x88, [])
        try client.send(text: "ignored")
        try eventually("the Close frame arrived") { demo.server.statistics.webSockets.closes == [1005: 1] }
        #expect(throws: Socket.WaitError.timedOut) { try client.socket.receive(within: .milliseconds(100)) }
    }

    @Test func violationsAndFaultsAreListed() throws {
        let violations = try #require(demo.curl("/ws/violation").json["names"] as? [String])
        for name in violations {
            let client = try open("/ws/violation/\(name)", "Sec-WebSocket-Extensions: permessage-deflate\r\n")
            let received = try? client.socket.receive()
            #expect(received?.isEmpty == (name == "reset" ? nil : false), "\(name)")
        }
        let faults = try #require(demo.curl("/ws/handshake").json["names"] as? [String])
        #expect(Set(["no-accept", "extra-data", "slow", "redirect"]).isSubset(of: faults))
        #expect(try open("/ws/handshake/extra-data").receiveText() == "hello")
        #expect(try RawWebSocket(demo, "/ws/handshake/redirect").response["Location"] == "/ws/echo")
        #expect(try open("/ws/handshake/no-accept").response["Sec-WebSocket-Accept"] == nil)
    }

    @Test func stoppedServerSendsClose() throws {
        let client = try open("/ws/echo")
        let silent = try open("/ws/silent")
        let stopped = Latch()
        let server = demo.server
        Thread.detachNewThread {
            server.stop()
            stopped.open()
        }
        #expect(try client.receiveClose() == 1001)
        try client.send(0x88, [0x03, 0xE9])
        #expect(try client.socket.receive().isEmpty)
        #expect(try silent.socket.receive().isEmpty)
        client.socket.close()
        try stopped.wait()
        #expect(server.statistics.webSockets.open == 0)
    }
}
