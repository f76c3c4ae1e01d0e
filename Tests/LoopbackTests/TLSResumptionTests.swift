import Nightjar
import NightjarTestSupport
import NightjarTransport
import Testing

/// Connections resume the sessions of earlier connections of the same client to the same host.
@Suite struct TLSResumptionTests {
    private func client(_ configure: (inout Configuration) -> Void = { _ in }) throws -> Client {
        var configuration = Configuration.loopback
        configuration.transport.tls.certificateAuthorityFile = try TestCertificates.shared().authority
        configure(&configuration)
        return try Client(configuration)
    }

    /// A server that closes each connection after one response.
    private func peer(_ version: String) throws -> ScriptedPeer {
        try ScriptedPeer(
            [[.expectRequest, .respond(headers: ["Connection: close"])]], repeatsLast: true,
            tls: PeerTLS(versions: PeerTLS.versions(version)))
    }

    private func isResumed(_ client: Client, _ peer: ScriptedPeer, host: String = "localhost") throws -> Bool? {
        try client.sendBlocking(Request(.get, "https://\(host):\(peer.port)/")).tls?.isResumed
    }

    @Test(arguments: ["1.2", "1.3"]) func laterConnectionsResumeTheSession(version: String) throws {
        let peer = try peer(version)
        let client = try client()
        let results = try (0..<12).map { _ in try isResumed(client, peer) }
        #expect(results == [false] + Array(repeating: true, count: 11))
    }

    @Test func resumedConnectionHasTheChainOfTheFirst() throws {
        let peer = try peer("1.3")
        let client = try client()
        let request = Request(.get, "https://localhost:\(peer.port)/")
        let first = try #require(client.sendBlocking(request).tls)
        let second = try #require(client.sendBlocking(request).tls)
        #expect(second.isResumed)
        #expect(first.chain == second.chain)
        #expect(first.chain.map(\.subject) == ["CN=test"])
    }

    /// A session was verified for one host and with the settings of one client.
    @Test(arguments: ["1.2", "1.3"]) func sessionIsNotUsedElsewhere(version: String) throws {
        let peer = try peer(version)
        let client = try client()
        #expect(try isResumed(client, peer) == false)
        #expect(try isResumed(client, peer, host: "127.0.0.1") == false)
        #expect(try isResumed(client, peer) == true)
        let otherPeer = try self.peer(version)
        #expect(try isResumed(client, otherPeer) == false)
        #expect(try isResumed(self.client(), peer) == false)
        // A client that does not verify has its own sessions, which other clients never use.
        let unverified = try self.client { $0.transport.tls.verifiesCertificates = false }
        #expect(try isResumed(unverified, peer) == false)
        #expect(try isResumed(unverified, peer) == true)
        let untrusting = try self.client {
            $0.transport.tls.certificateAuthorityFile = try? TestCertificates.shared().certificate(.selfSigned)
        }
        let error = try failure(untrusting, Request(.get, "https://localhost:\(peer.port)/"))
        #expect(error.kind == .tls)
    }

    /// The server fails each handshake that offers a session. The next call performs a full handshake.
    @Test(arguments: ["1.2", "1.3"]) func sessionIsRemovedIfTheHandshakeFails(version: String) throws {
        let folder = try TemporaryDirectory()
        let tls = PeerTLS(versions: PeerTLS.versions(version))
        let client = try client { $0.transport.unixSocket = try? UnixSocket(folder.file("peer")) }
        let request = Request(.get, "https://localhost/")
        let script: [ScriptedPeer.Step] = [.expectRequest, .respond(headers: ["Connection: close"])]
        let first = try ScriptedPeer([script], at: folder.file("peer"), tls: tls)
        #expect(try client.sendBlocking(request).tls?.isResumed == false)
        first.stop()
        try folder.remove("peer")
        let failing = try ScriptedPeer([[.expectBytes(5), .close]], repeatsLast: true, at: folder.file("peer"))
        #expect(try failure(client, request).kind == .tls)
        failing.stop()
        try folder.remove("peer")
        let last = try ScriptedPeer([script], at: folder.file("peer"), tls: tls)
        let helloWithSession = failing.received(0).count
        #expect(try client.sendBlocking(request).tls?.isResumed == false)
        #expect(last.handshake(0)?.failure == nil)
        #expect(helloWithSession > 0)
    }
}
