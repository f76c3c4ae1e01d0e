import NIOCore
import Nightjar
import NightjarTestSupport
import Testing

/// The ends of streams and connections, as the server sees them. RFC 9113 sections 5.4, 6.4, 6.8 and 8.7.
@Suite struct HTTP2StreamTests {
    /// The streams up to the last one of GOAWAY finish. The others are sent on another connection.
    @Test func goAwayMovesOnlyTheStreamsAboveItsNumber() throws {
        let peer = try HTTP2Peer([
            { connection in
                let requests = try (0..<3).map { _ in try connection.request() }
                let last = requests[1].stream
                try connection.send(.goAway(last: last))
                for request in requests where request.stream <= last {
                    try connection.respond(request.stream, body: "old")
                }
                try connection.readToEnd()
            },
            { connection in
                let request = try connection.request()
                try connection.respond(request.stream, body: "new")
                try connection.readToEnd()
            },
        ])
        let client = try client(of: peer)
        let calls = Calls(client)
        for target in ["/1", "/2"] { try calls.start(target) }
        try calls.start(Request(.post, "/3", body: "write"))
        #expect(try calls.response("/1").text == "old")
        #expect(try calls.response("/2").text == "old")
        let moved = try calls.response("/3")
        #expect(moved.text == "new" && moved.attempts == 1)
        #expect(peer.connectionCount == 2)
        client.close()
        try eventually("the connections are closed") { peer.endedCount == 2 }
        #expect(peer.failures == [])
    }

    /// The server has not processed a rejected request (RFC 9113 section 8.7), so also a POST is sent again.
    @Test(arguments: ["GET", "POST"]) func requestIsSentAgainAfterARejection(method: String) throws {
        let peer = try HTTP2Peer([
            { connection in
                let rejected = try connection.request()
                try connection.send(.reset(rejected.stream, .refusedStream))
                let repeated = try connection.request()
                guard repeated.stream > rejected.stream, repeated[":path"] == rejected[":path"] else {
                    throw HTTP2PeerConnection.Failure("not the same request")
                }
                try connection.respond(repeated.stream, body: "ok")
                try connection.readToEnd()
            }
        ])
        let client = try client(of: peer)
        let request = Request(try #require(Method(method)), "/write")
        #expect(try client.sendBlocking(request).text == "ok")
        client.close()
        try eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(peer.failures == [])
    }

    /// RFC 9113 section 8.1: a server can reset the stream without an error after a complete response, so that the client
    /// stops the upload.
    @Test func resetWithoutErrorKeepsACompleteResponse() throws {
        let peer = try HTTP2Peer([
            { connection in
                let request = try connection.request()
                try connection.head(request.stream, 200, [("content-length", "2")])
                try connection.send(.data(request.stream, Array("ok".utf8), ends: true))
                try connection.send(.reset(request.stream, .noError))
                let next = try connection.request()
                try connection.respond(next.stream, body: "next")
                try connection.readToEnd()
            }
        ])
        let client = try client(of: peer)
        var request = Request(.put, "/")
        request.body = .bytes(ByteBuffer(repeating: 1, count: 4 << 20))
        request.expectsContinue = false
        #expect(try client.sendBlocking(request).text == "ok")
        let next = try client.sendBlocking(Request(.get, "/"))
        #expect(next.text == "next" && next.timing.reusedConnection)
        client.close()
        try eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(peer.failures == [])
    }

    /// The response, GOAWAY and FIN arrive at once, while an upload and a redirect are in progress. The frames of the closed
    /// connection must not be written to the next one, which can have the same descriptor.
    @Test func goAwayDuringAnUploadMovesTheRedirect() throws {
        let peer = try HTTP2Peer([
            { connection in
                let request = try connection.request()
                _ = try connection.frame(.data, stream: request.stream)
                let block = HTTP2FieldBlock.literals([(":status", "307"), ("location", "/other")])
                try connection.send(
                    HTTP2Frame.headers(request.stream, block: block, ends: true) + [.goAway(last: request.stream)])
                try connection.readToEnd()
            },
            { connection in
                let request = try connection.request()
                let body = try connection.body(request.stream)
                try connection.respond(
                    request.stream, body: Bytes(Array("\(request[":path"] ?? "") \(body.count)".utf8)))
                try connection.readToEnd()
            },
        ])
        let client = try client(of: peer)
        var request = Request(.put, "/")
        request.body = .bytes(ByteBuffer(repeating: 1, count: 1 << 20))
        request.expectsContinue = false
        #expect(try client.sendBlocking(request).text == "/other 1048576")
        client.close()
        try eventually("the connections are closed") { peer.endedCount == 2 }
        #expect(peer.failures == [])
    }

    @Test func cancelledCallResetsOnlyItsStream() throws {
        let arrived = Latch()
        let peer = try HTTP2Peer([
            { connection in
                let requests = try (0..<3).map { _ in try connection.request() }
                try connection.head(requests[1].stream)
                arrived.open()
                let reset = try connection.frame(.reset)
                guard reset.stream == requests[1].stream, reset.resetCode == .cancel else {
                    throw HTTP2PeerConnection.Failure("RST_STREAM \(reset)")
                }
                for request in [requests[0], requests[2]] {
                    try connection.respond(request.stream, body: Bytes(Array((request[":path"] ?? "").utf8)))
                }
                try connection.readToEnd()
            }
        ])
        let client = try client(of: peer)
        let calls = Calls(client)
        let tasks = try ["/1", "/2", "/3"].map { try calls.start($0) }
        try arrived.wait()
        tasks[1].cancel()
        #expect(try calls.error("/2").kind == .cancelled)
        #expect(try calls.response("/1").text == "/1")
        #expect(try calls.response("/3").text == "/3")
        client.close()
        try eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(peer.failures == [])
    }

    /// Only its stream fails. The client cannot exclude that the server has processed the request.
    @Test func streamErrorFailsOnlyItsCall() throws {
        let peer = try HTTP2Peer([
            { connection in
                let requests = try (0..<2).map { _ in try connection.request() }
                try connection.send(.reset(requests[0].stream, .internalError))
                try connection.respond(requests[1].stream, body: "ok")
                try connection.readToEnd()
            }
        ])
        let client = try client(of: peer)
        let calls = Calls(client)
        try calls.start(Request(.post, "/1", body: "write"))
        try calls.start("/2")
        let error = try calls.error("/1")
        #expect(error.kind == .connectionLost && error.requestMayHaveBeenProcessed)
        #expect(try calls.response("/2").text == "ok")
        client.close()
        try eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(peer.failures == [])
    }

    @Test func pingIsAcknowledged() throws {
        let peer = try HTTP2Peer([
            { connection in
                let request = try connection.request()
                try connection.send(HTTP2Frame(.ping, [], Array("12345678".utf8)))
                let pong = try connection.frame(.ping)
                guard pong.flags == .acknowledgment, pong.payload == Array("12345678".utf8) else {
                    throw HTTP2PeerConnection.Failure("PING \(pong)")
                }
                try connection.respond(request.stream, body: "pong")
                try connection.readToEnd()
            }
        ])
        let client = try client(of: peer)
        #expect(try client.sendBlocking(Request(.get, "/")).text == "pong")
        client.close()
        try eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(peer.failures == [])
    }
}
