import NIOCore
import Nightjar
import NightjarTestSupport
import Synchronization
import Testing

@Suite struct TLSTests {
    private func client(
        trusting authority: String? = nil, _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> Client {
        var configuration = Configuration.loopback
        configuration.transport.tls.certificateAuthorityFile = try authority ?? TestCertificates.shared().authority
        configuration.timeouts = Timeouts(connect: .seconds(10), idle: .seconds(10), total: .seconds(20))
        configure(&configuration)
        return try Client(configuration)
    }

    private func peer(
        _ kind: TestCertificates.Kind, _ script: [ScriptedPeer.Step] = [.expectRequest, .respond(body: "secret")]
    ) throws -> ScriptedPeer {
        try ScriptedPeer([script], repeatsLast: true, tls: PeerTLS(kind))
    }

    @Test func trustedCertificateIsAccepted() throws {
        let peer = try peer(.trusted)
        let response = try client().sendBlocking(Request(.get, "https://localhost:\(peer.port)/"))
        #expect(response.text == "secret")
        #expect(try client().sendBlocking(Request(.get, "https://127.0.0.1:\(peer.port)/")).text == "secret")
    }

    @Test(arguments: [TestCertificates.Kind.wrongName, .expired, .selfSigned])
    func invalidCertificateIsRejected(kind: TestCertificates.Kind) throws {
        let peer = try peer(kind)
        let error = try failure(client(), Request(.get, "https://localhost:\(peer.port)/"))
        #expect(error.kind == .tls)
        #expect(error.phase == .tls)
        #expect(!error.requestMayHaveBeenProcessed)
        #expect(error.message.hasPrefix("the certificate of localhost:\(peer.port) "), "\(error.message)")
        #expect(peer.requests.isEmpty)
    }

    /// The error of an exchange that failed after the handshake describes the TLS connection.
    @Test func errorHasTheConnection() throws {
        let peer = try peer(.trusted, [.expectRequest, .close])
        let error = try failure(client(), Request(.get, "https://localhost:\(peer.port)/"))
        #expect(error.kind == .connectionLost)
        #expect(error.tls?.version == "1.3")
        #expect(error.tls?.chain.first?.names.first == "localhost")
        let refused = try failure(
            client(trusting: TestCertificates.shared().certificate(.selfSigned)),
            Request(.get, "https://localhost:\(peer.port)/"))
        #expect(refused.kind == .tls && refused.tls == nil)
    }

    @Test func unknownAuthorityIsNotTrusted() throws {
        let peer = try peer(.trusted)
        var configuration = Configuration.loopback
        configuration.timeouts.connect = .seconds(10)
        let error = try failure(Client(configuration), Request(.get, "https://localhost:\(peer.port)/"))
        #expect(error.kind == .tls)
        #expect(peer.requests.isEmpty)
    }

    @Test func disabledVerificationAcceptsAnyCertificate() throws {
        let peer = try peer(.selfSigned)
        let client = try client { $0.transport.tls.verifiesCertificates = false }
        #expect(try client.sendBlocking(Request(.get, "https://localhost:\(peer.port)/")).text == "secret")
    }

    /// Each response has the decision, but the log has only one warning per client.
    @Test func disabledVerificationIsLogged() throws {
        let peer = try peer(.selfSigned)
        let lines = Mutex<[String]>([])
        let client = try client { configuration in
            configuration.transport.tls.verifiesCertificates = false
            configuration.log = LogSink(level: .warning) { line in lines.withLock { $0.append(line.message) } }
        }
        for _ in 0..<2 {
            let response = try client.sendBlocking(Request(.get, "https://localhost:\(peer.port)/"))
            #expect(response.decisions.map(\.name) == ["unverified_tls"])
            #expect(response.decisions.explanation.contains("tls.verify"))
        }
        client.close()
        #expect(lines.withLock { $0.filter { $0.contains("tls.verify") }.count } == 1)
    }

    /// Without close_notify, an attacker may have truncated the body (RFC 8446 section 6.1).
    @Test func bodyWithoutCloseNotifyIsTruncated() throws {
        let peer = try peer(
            .trusted, [.expectRequest, .send("HTTP/1.1 200 OK\r\n\r\nhalf of it"), .closeWithoutNotice])
        let error = try failure(client(), Request(.get, "https://localhost:\(peer.port)/"))
        #expect(error.kind == .connectionLost)
    }

    // MARK: Key exchange

    /// The second request is sent twice, because the server closes the first connection when it receives the request.
    @Test func resetHandshakeIsRepeatedWithoutTheHybridKeyExchange() throws {
        let server = try ScriptedPeer(
            [
                [.expectRequest, .respond(body: "secret"), .expectRequest, .close],
                [.expectRequest, .respond(body: "secret"), .close],
            ], tls: PeerTLS(.trusted))
        let middlebox = try ScriptedPeer(
            [[.expectBytes(1000), .reset], [.relay(to: server.port)]], repeatsLast: true)
        let client = try client()
        for _ in 0..<2 {
            let response = try client.sendBlocking(Request(.get, "https://localhost:\(middlebox.port)/"))
            #expect(response.tls?.group == "X25519")
            #expect(response.tls?.isClassical == true)
            #expect(response.decisions.map(\.name) == ["classical_key_exchange"])
        }
        // The client remembers the origin: only the first call had a connection that was reset.
        #expect(middlebox.connectionCount == 3)
    }

    @Test func keyShareIsThatOfTheServersChoice() throws {
        var tls = PeerTLS()
        tls.isClassical = true
        let script: [ScriptedPeer.Step] = [.expectRequest, .respond(body: "secret"), .close]
        let server = try ScriptedPeer([script], repeatsLast: true, tls: tls)
        let relay = try ScriptedPeer([[.relay(to: server.port)]], repeatsLast: true)
        let client = try client()
        let sizes = try (0..<3).map { connection in
            let response = try client.sendBlocking(Request(.get, "https://localhost:\(relay.port)/"))
            #expect(response.tls?.group == "X25519")
            #expect(response.decisions.isEmpty)
            return relay.received(connection).count
        }
        // The share for the hybrid key exchange has 1,216 bytes. Later connections resume a session, whose ticket takes
        // some hundred bytes.
        #expect(sizes[0] > 1500)
        #expect(sizes[1] < sizes[0] - 500 && sizes[2] < sizes[0] - 500)
    }

    @Test func handshakeIsRepeatedOnlyOnce() throws {
        let middlebox = try ScriptedPeer([[.expectBytes(300), .reset]], repeatsLast: true)
        let error = try failure(client(), Request(.get, "https://localhost:\(middlebox.port)/"))
        #expect(error.phase == .connect || error.phase == .tls)
        #expect(!error.requestMayHaveBeenProcessed)
        #expect(middlebox.connectionCount == 2)
    }
}
