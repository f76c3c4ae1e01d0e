import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

/// Failures of the network and of servers, provoked on real sockets.
@Suite struct FaultTests {
    private func error(
        _ script: [ScriptedPeer.Step], _ request: Request = Request(.get, "/"),
        _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> NightjarError {
        let peer = try ScriptedPeer([script])
        let client = try client(of: peer, configure)
        let error = try failure(client, request)
        client.close()
        try eventually("the connection is closed") { peer.endedCount == peer.connectionCount }
        return error
    }

    @Test func garbageIsAProtocolError() throws {
        for seed in 0..<20 as Range<UInt64> {
            let error = try error([.expectRequest, .garbage(seed: seed, count: 5000), .expectClose])
            #expect(error.kind == .protocol, "seed \(seed)")
            #expect(error.phase == .receive)
        }
    }

    @Test func truncatedResponseFails() throws {
        let whole: Bytes = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"
        for count in 0..<whole.array.count {
            let error = try error([.expectRequest, .closeAfter(count, of: whole)])
            #expect(error.kind == .connectionLost, "after \(count) bytes")
        }
    }

    @Test func truncatedChunkedResponseFails() throws {
        let whole: Bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        for count in 48..<whole.array.count {
            #expect(try error([.expectRequest, .closeAfter(count, of: whole)]).kind == .connectionLost, "\(count)")
        }
    }

    @Test func resetDuringTheBodyIsALostConnection() throws {
        let error = try error([.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n0"), .reset])
        #expect(error.kind == .connectionLost)
        #expect(error.requestMayHaveBeenProcessed)
    }

    /// A correctly framed response is accepted regardless of the bytes after it, because a successful write must not be
    /// reported as failed. The connection is closed and not reused (RFC 9112 section 6.3).
    @Test(arguments: [
        ("POST", "200 OK", "Content-Length: 1\r\n\r\nab"), ("POST", "201 Created", "Content-Length: 0\r\n\r\nx"),
        ("PUT", "204 No Content", "\r\nbody"), ("GET", "304 Not Modified", "Content-Length: 4\r\n\r\nbody"),
        ("HEAD", "200 OK", "Content-Length: 4\r\n\r\nbody"),
        ("DELETE", "200 OK", "Connection: close\r\nContent-Length: 1\r\n\r\nab"),
        ("POST", "200 OK", "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n0\r\n\r\n"),
        ("POST", "200 OK", "Content-Length: 1\r\n\r\naHTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"),
    ])
    func bytesAfterAResponseDoNotFailIt(method: String, status: String, rest: String) throws {
        let wire = Bytes(Array("HTTP/1.1 \(status)\r\n\(rest)".utf8))
        let peer = try ScriptedPeer([
            [.expectRequest, .send(wire), .expectClose], [.expectRequest, .respond(body: "next")],
        ])
        let client = try client(of: peer)
        let request = Request(try #require(Method(method)), "/")
        let response = try client.sendBlocking(request)
        #expect(response.head.status == Int(status.prefix(3)))
        if method != "HEAD", response.status == 200 { #expect(response.text == "a") }
        let next = try client.sendBlocking(Request(.get, "/"))
        // DATA after the end of a stream concerns only this stream (RFC 9113 section 5.1).
        let isKept = TestHTTP.isHTTP2 && !rest.contains("Connection: close")
        #expect(next.text == "next" && next.timing.reusedConnection == isKept)
        #expect(peer.connectionCount == 2)
        if !TestHTTP.isHTTP2 { #expect(peer.failures == []) }
    }

    @Test(.http1Only("RFC 9113 section 8.2: fields have no line endings")) func bareLFIsAnOption() throws {
        let wire: Bytes = "HTTP/1.1 200 OK\nServer: device\nContent-Length: 2\n\nok"
        #expect(try error([.expectRequest, .send(wire), .expectClose]).kind == .protocol)
        let peer = try ScriptedPeer([[.expectRequest, .send(wire)]])
        let client = try client(of: peer) { try? $0.merge(json: #"{"lenient_line_endings": true}"#) }
        #expect(try client.sendBlocking(Request(.get, "/")).text == "ok")
    }

    @Test func headBeyondTheLimitIsTooLarge() throws {
        let line = "X-Filler: " + String(repeating: "x", count: 1000) + "\r\n"
        let head = Bytes(Array(("HTTP/1.1 200 OK\r\n" + String(repeating: line, count: 300)).utf8))
        // HTTP/2 has a limit of the CONTINUATION frames.
        let kind = TestHTTP.isHTTP2 ? ErrorKind.protocol : .tooLarge
        #expect(try error([.expectRequest, .send(head), .expectClose]).kind == kind)
    }

    @Test func endlessHeadersAreReadOnlyUpToTheLimit() throws {
        let fields = Bytes(
            Array(String(repeating: "X-Filler: \(String(repeating: "a", count: 1012))\r\n", count: 64).utf8))
        let peer = try ScriptedPeer([
            [.expectRequest, .send("HTTP/1.1 200 OK\r\n")] + Array(repeating: .send(fields), count: 1600)
        ])
        let failure = try failure(try client(of: peer), Request(.get, "/"))
        #expect(failure.kind == (TestHTTP.isHTTP2 ? .protocol : .tooLarge))
    }

    @Test func bodyBeyondTheLimitIsTooLarge() throws {
        let error = try error([.expectRequest, .respond(body: "0123456789"), .expectClose]) { $0.maximumBody = 9 }
        #expect(error.kind == .tooLarge)
    }

    @Test func silentServerCausesAnIdleTimeout() throws {
        let error = try error([.expectRequest, .stall]) { $0.timeouts.idle = .milliseconds(50) }
        #expect(error.kind == .timeout)
        #expect(error.phase == .idle)
        #expect(
            error.message
                == "no data was transferred for 0.05 s while waiting for a response; raise timeout.idle, or set it "
                + "to 0")
    }

    @Test func slowBytesCauseATotalTimeout() throws {
        let error = try error([
            .expectRequest, .sendSlowly("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", every: .milliseconds(20)),
        ]) {
            $0.timeouts.idle = .milliseconds(400)
            $0.timeouts.total = .milliseconds(150)
        }
        #expect(error.phase == .total)
    }

    @Test func slowResponseWithProgressDoesNotTimeOut() throws {
        let body = String(repeating: "x", count: 40)
        let head = Bytes(Array("HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n".utf8))
        // A stream makes progress with each complete frame of its head, and with each byte of its body.
        let first: ScriptedPeer.Step = TestHTTP.isHTTP2 ? .send(head) : .sendSlowly(head, every: .milliseconds(25))
        let peer = try ScriptedPeer([
            [.expectRequest, first, .sendSlowly(Bytes(Array(body.utf8)), every: .milliseconds(25))]
        ])
        let client = try client(of: peer) { $0.timeouts.idle = .milliseconds(700) }
        #expect(try client.sendBlocking(Request(.get, "/")).text == body)
    }

    @Test func closedPortIsAConnectError() throws {
        let error = try failure(client(port: Ports.refused()), Request(.post, "/", body: "x"))
        #expect(error.kind == .connect)
        #expect(error.code != 0)
        #expect(!error.requestMayHaveBeenProcessed)
        #expect(error.message.hasSuffix("Connection refused"))
    }

    @Test func listenerThatNeverAcceptsCausesAConnectTimeout() throws {
        let listener = try SilentListener()
        let client = try client(port: listener.port) { $0.timeouts.connect = .milliseconds(100) }
        let error = try failure(client, Request(.get, "/"))
        #expect(error.kind == .timeout)
        #expect(error.phase == .connect)
        #expect(!error.requestMayHaveBeenProcessed)
    }

    @Test func hostWithoutAddressIsADNSError() throws {
        let client = try Client(Configuration.loopback)
        let error = try failure(client, Request(.get, "http://no-such-host.invalid/"))
        #expect(error.kind == .dns)
        #expect(error.phase == .dns)
        #expect(error.message.contains("resolving the host \"no-such-host.invalid\" failed"))
    }

    @Test func plainTextOnATLSPortIsReported() throws {
        let peer = try ScriptedPeer([[.expectBytes(1), .send("HTTP/1.1 400 Bad Request\r\n\r\n"), .stall]])
        let client = try Client(Configuration.loopback)
        let error = try failure(client, Request(.get, "https://127.0.0.1:\(peer.port)/"))
        #expect(error.kind == .tls)
        #expect(error.message.contains("does not support TLS"))
    }

    @Test func interimResponseIsNotTheFinalResponse() throws {
        let peer = try ScriptedPeer([
            [
                .expectRequest,
                .send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
            ]
        ])
        #expect(try client(of: peer).sendBlocking(Request(.get, "/")).text == "ok")
    }

    @Test func closeDelimitedBodyIsComplete() throws {
        let peer = try ScriptedPeer([[.expectRequest, .send("HTTP/1.1 200 OK\r\n\r\nto the end"), .close]])
        #expect(try client(of: peer).sendBlocking(Request(.get, "/")).text == "to the end")
    }

    @Test func trailersAreDeliveredWithTheResponse() throws {
        let peer = try ScriptedPeer([
            [
                .expectRequest,
                .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nDigest: x\r\n\r\n"),
            ]
        ])
        let response = try client(of: peer).sendBlocking(Request(.get, "/"))
        #expect(response.text == "ok")
        #expect(response.trailers["digest"] == "x")
    }
}
