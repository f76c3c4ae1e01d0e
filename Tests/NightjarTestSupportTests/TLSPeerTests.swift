import NightjarTestSupport
import Testing

/// A ``ScriptedPeer`` with TLS, tested with curl and OpenSSL.
@Suite struct TLSPeerTests {
    private static let response: [ScriptedPeer.Step] = [.expectRequest, .respond(body: "hello"), .expectClose]

    private func curl(_ peer: ScriptedPeer, host: String = "localhost", _ arguments: [String] = []) throws -> ToolResult
    {
        let authority = try TestCertificates.shared().authority
        let options = ["-sS", "--max-time", "10", "--noproxy", "*", "--cacert", authority, "-4"]
        return try run("curl", options + arguments + ["https://\(host):\(peer.port)/a"])
    }

    /// Unlike curl, OpenSSL's client reports a missing close_notify.
    private func openSSL(_ peer: ScriptedPeer) throws -> ToolResult {
        let result = try run(
            "openssl", ["s_client", "-quiet", "-connect", "127.0.0.1:\(peer.port)"],
            input: "GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(result.text.hasSuffix("\r\n\r\nhel"))
        return result
    }

    @Test(arguments: ["localhost", "127.0.0.1"])
    func trustedCertificateIsAccepted(host: String) throws {
        let peer = try ScriptedPeer([Self.response], tls: PeerTLS())
        let result = try curl(peer, host: host)
        #expect(result.text == "hello", "\(result.errors)")
        try eventually("the script ended") { peer.endedCount == 1 }
        #expect(peer.requests(0).first?.target == "/a")
        #expect(peer.handshake(0)?.failure == nil)
        #expect(peer.handshake(0)?.serverName == (host == "localhost" ? "localhost" : nil))
        #expect(peer.failures == [])
    }

    @Test(
        arguments: [
            (.wrongName, "no alternative certificate subject name matches"), (.expired, "certificate has expired"),
            (.selfSigned, "self-signed certificate"),
        ] as [(TestCertificates.Kind, String)])
    func wrongCertificateIsRejected(kind: TestCertificates.Kind, reason: String) throws {
        let peer = try ScriptedPeer([Self.response], repeatsLast: true, tls: PeerTLS(kind))
        let result = try curl(peer)
        #expect(result.status == 60)
        #expect(result.errors.contains(reason), "\(result.errors)")
        #expect(try curl(peer, ["-k"]).text == "hello")
    }

    @Test func unknownAuthorityIsRejected() throws {
        let peer = try ScriptedPeer([Self.response], tls: PeerTLS())
        #expect(try run("curl", ["-s", "--noproxy", "*", "https://localhost:\(peer.port)/"]).status == 60)
        try eventually("the script ended") { peer.endedCount == 1 }
        #expect(peer.handshake(0)?.failure?.isEmpty == false || peer.requests.isEmpty)
    }

    @Test func protocolAndVersionAreNegotiated() throws {
        let modern = try ScriptedPeer([Self.response], tls: PeerTLS(applicationProtocols: ["http/1.1"]))
        #expect(try curl(modern).text == "hello")
        #expect(modern.handshake(0)?.applicationProtocol == "http/1.1")
        let old = try ScriptedPeer([Self.response], repeatsLast: true, tls: PeerTLS(versions: .tlsv12...(.tlsv12)))
        #expect(try curl(old).text == "hello")
        #expect(try curl(old, ["--tlsv1.3"]).status == 35)
    }

    /// Without a length, only TLS's close_notify distinguishes a complete response from a truncated one.
    @Test func connectionEndsWithOrWithoutCloseNotify() throws {
        let start: [ScriptedPeer.Step] = [.expectRequest, .send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhel")]
        let orderly = try ScriptedPeer([start + [.close]], tls: PeerTLS())
        #expect(try !openSSL(orderly).errors.contains("unexpected eof"))
        let cut = try ScriptedPeer([start + [.closeWithoutNotice]], tls: PeerTLS())
        #expect(try openSSL(cut).errors.contains("unexpected eof"))
        let reset = try ScriptedPeer([start + [.reset]], tls: PeerTLS())
        #expect(try curl(reset).errors.contains("reset"))
    }

    @Test func moreThanOneRecordIsSent() throws {
        var random = SeededRandom(seed: 11)
        let body = Bytes(random.bytes(200_000))
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: body), .expectClose]], tls: PeerTLS())
        let directory = try TemporaryDirectory()
        let upload = try directory.write("upload", body)
        let result = try curl(
            peer, ["-H", "Expect:", "-H", "Transfer-Encoding: chunked", "--data-binary", "@\(upload)"])
        #expect(result.output == body.array)
        #expect(peer.requests(0).first?.body == body.array)
    }
}
