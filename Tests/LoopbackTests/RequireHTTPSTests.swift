import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Testing

/// A client with https_only sends no request to http URLs.
@Suite struct RequireHTTPSTests {
    private func client(_ configure: (inout Configuration) throws -> Void = { _ in }) throws -> Client {
        var configuration = Configuration.loopback
        configuration.retry.maximumAttempts = 3
        configuration.transport.tls.certificateAuthorityFile = try TestCertificates.shared().authority
        configuration.httpsOnly = HTTPSOnly()
        try configure(&configuration)
        return try Client(configuration)
    }

    private func expectRejection(
        _ client: Client, _ url: String, location: SourceLocation = #_sourceLocation
    ) throws {
        let error = try failure(client, Request(.get, url), location: location)
        #expect(error.kind == .invalidRequest, sourceLocation: location)
        #expect(error.message.contains("because https_only is set"), sourceLocation: location)
    }

    @Test func httpURLsAreRejected() throws {
        let peer = try ScriptedPeer([[]], repeatsLast: true)
        try expectRejection(client(), "http://127.0.0.1:\(peer.port)/")
        try expectRejection(client { $0.baseURL = "http://127.0.0.1:\(peer.port)" }, "/a")
        #expect(peer.socketCount == 0)
    }

    @Test func exceptionsAndSocketsAreAllowed() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "reached")]])
        let client = try client { $0.httpsOnly = try HTTPSOnly(except: ["127.0.0.1"]) }
        #expect(try client.sendBlocking(Request(.get, "http://127.0.0.1:\(peer.port)/")).text == "reached")
        try expectRejection(client, "http://localhost:\(peer.port)/")
        let folder = try TemporaryDirectory()
        let daemon = try ScriptedPeer([[.expectRequest, .respond(body: "local")]], at: folder.file("d.sock"))
        let local = try self.client { $0.baseURL = "unix:\(folder.file("d.sock"))" }
        #expect(try local.sendBlocking(Request(.get, "/")).text == "local")
        #expect(daemon.failures == [])
    }

    @Test func redirectsAreRejected() throws {
        let inner = try ScriptedPeer([[]], repeatsLast: true)
        let peer = try ScriptedPeer(
            [
                [.expectRequest, .respond("302 Found", headers: ["Location: http://127.0.0.1:\(inner.port)/"])],
                [.expectRequest, .respond(body: "sealed")],
            ], tls: PeerTLS())
        let client = try client { $0.redirect.allowsDowngrade = true }
        try expectRejection(client, "https://localhost:\(peer.port)/")
        #expect(try client.sendBlocking(Request(.get, "https://localhost:\(peer.port)/")).text == "sealed")
        #expect(inner.socketCount == 0)
    }

    @Test func tokenRequestsAreRejected() throws {
        let peer = try ScriptedPeer([[]], repeatsLast: true)
        let client = try client {
            try $0.merge(
                json: """
                    {"base_url": "https://localhost:\(peer.port)", "auth": {"type": "oauth2", "client_id": "c",
                     "client_secret": "s", "grant": "client_credentials", "token_url": "http://127.0.0.1:\(peer.port)/token"}}
                    """)
        }
        let error = try failure(client, Request(.get, "/"))
        #expect(error.message.contains("because https_only is set"), "\(error.message)")
        #expect(peer.socketCount == 0)
    }
}
