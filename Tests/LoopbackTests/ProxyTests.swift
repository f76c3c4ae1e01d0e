import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Testing

/// Requests through proxies that are scripted peers.
@Suite struct ProxyTests {
    private let userInfo = "user:p%40ss@"
    private let credentials = "Basic dXNlcjpwQHNz"

    @Test func httpRequestHasTheAbsoluteForm() throws {
        let proxy = try ScriptedPeer([
            [.expectRequest, .respond(body: "from afar"), .expectRequest, .respond(body: "2")]
        ])
        let client = try client(through: "http://\(userInfo)127.0.0.1:\(proxy.port)")
        #expect(try client.sendBlocking(Request(.get, "http://origin.test/a?b=c")).text == "from afar")
        #expect(try client.sendBlocking(Request(.get, "http://origin.test/2")).text == "2")
        let request = try #require(proxy.requests.first)
        #expect(request.target == "http://origin.test/a?b=c")
        #expect(request["host"] == "origin.test")
        #expect(request["proxy-authorization"] == credentials)
        #expect(proxy.connectionCount == 1)
        #expect(proxy.failures == [])
    }

    /// A connection to a proxy could carry requests for any http origin, but the client uses it for one origin only.
    @Test func originsDoNotShareConnections() throws {
        let proxy = try ScriptedPeer([[.expectRequest, .respond()]], repeatsLast: true)
        let client = try client(through: "127.0.0.1:\(proxy.port)")
        _ = try client.sendBlocking(Request(.get, "http://a.test/"))
        _ = try client.sendBlocking(Request(.get, "http://b.test/"))
        #expect(proxy.connectionCount == 2)
    }

    @Test func httpsRequestUsesATunnel() throws {
        let origin = try ScriptedPeer(
            [[.expectRequest, .respond(body: "one"), .expectRequest, .respond(body: "two")]], tls: PeerTLS())
        let proxy = try ScriptedPeer([
            [.expectHead, .send("HTTP/1.1 200 Connection established\r\n\r\n"), .relay(to: origin.port)]
        ])
        let client = try client(through: "http://\(userInfo)127.0.0.1:\(proxy.port)")
        let url = "https://localhost:\(origin.port)"
        #expect(try client.sendBlocking(Request(.get, url + "/")).text == "one")
        #expect(try client.sendBlocking(Request(.get, url + "/2")).text == "two")
        let connectHead =
            "CONNECT localhost:\(origin.port) HTTP/1.1\r\nHost: localhost:\(origin.port)\r\n"
            + "Proxy-Authorization: \(credentials)\r\nUser-Agent: nightjar/0.1.0\r\n\r\n"
        #expect(String(decoding: proxy.received(0).prefix(connectHead.utf8.count), as: UTF8.self) == connectHead)
        #expect(origin.requests.first?.target == "/")
        #expect(origin.requests.first?["proxy-authorization"] == nil)
        #expect(origin.handshake(0)?.serverName == "localhost")
        #expect(proxy.connectionCount == 1)
    }

    @Test func connectionToTheProxyMayUseTLS() throws {
        let origin = try ScriptedPeer([[.expectRequest, .respond(body: "inside both")]], tls: PeerTLS())
        let proxy = try ScriptedPeer(
            [
                [.expectHead, .send("HTTP/1.1 200 OK\r\n\r\n"), .relay(to: origin.port)],
                [.expectRequest, .respond(body: "inside one")],
            ], tls: PeerTLS())
        let client = try client(through: "https://localhost:\(proxy.port)")
        #expect(try client.sendBlocking(Request(.get, "https://127.0.0.1:\(origin.port)/")).text == "inside both")
        #expect(try client.sendBlocking(Request(.get, "http://origin.test/")).text == "inside one")
        #expect(proxy.handshake(0)?.serverName == "localhost")
        #expect(proxy.requests(1).first?.target == "http://origin.test/")
    }

    /// The proxy is not trusted, so the certificate must match the origin and not the proxy.
    @Test func certificateOfTheOriginIsVerifiedAgainstItsName() throws {
        let origin = try ScriptedPeer([[.expectRequest, .respond()]], tls: PeerTLS())
        let proxy = try ScriptedPeer([[.expectHead, .send("HTTP/1.1 200 OK\r\n\r\n"), .relay(to: origin.port)]])
        let error = try failure(
            client(through: "http://localhost:\(proxy.port)"), Request(.get, "https://origin.test/"))
        #expect(error.kind == .tls)
        #expect(
            error.message.hasPrefix("the certificate of origin.test:443 does not match the host"), "\(error.message)")
        #expect(origin.requests.isEmpty)
    }

    @Test func untrustedProxyReceivesNoRequest() throws {
        let proxy = try ScriptedPeer([[.expectClose]], repeatsLast: true, tls: PeerTLS(.selfSigned))
        for url in ["http://origin.test/", "https://origin.test/"] {
            let error = try failure(client(through: "https://\(userInfo)localhost:\(proxy.port)"), Request(.get, url))
            #expect(error.kind == .tls)
            let place = "the proxy https://localhost:\(proxy.port)"
            #expect(error.message.hasPrefix("the certificate of \(place) is not trusted"), "\(error.message)")
        }
        #expect(proxy.requests.isEmpty)
    }

    // MARK: SOCKS 5

    private let granted: Bytes = Bytes([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])

    @Test func socks5hSendsTheNameToTheProxy() throws {
        let proxy = try ScriptedPeer([
            [
                .expectBytes(3), .send(Bytes([5, 0])), .expectBytes(4 + 1 + 11 + 2), .send(granted), .expectRequest,
                .respond(body: "far"),
            ]
        ])
        let client = try client(through: "socks5h://127.0.0.1:\(proxy.port)")
        #expect(try client.sendBlocking(Request(.get, "http://origin.test:81/x")).text == "far")
        #expect(
            Array(proxy.received(0).prefix(21)) == [5, 1, 0, 5, 1, 0, 3, 11] + Array("origin.test".utf8) + [0, 81])
        #expect(proxy.requests.first?.target == "/x")
        #expect(proxy.requests.first?["host"] == "origin.test:81")
    }

    @Test func socks5ResolvesTheNameAndAuthenticates() throws {
        let origin = try ScriptedPeer([[.expectRequest, .respond(body: "near")]], tls: PeerTLS())
        let port = UInt16(origin.port)
        let rejected: [ScriptedPeer.Step] = [
            .expectBytes(4), .send(Bytes([5, 2])), .expectBytes(11), .send(Bytes([1, 0])),
        ]
        let proxy = try ScriptedPeer(
            [rejected + [.expectBytes(10), .send(granted), .relay(to: origin.port)]], repeatsLast: true)
        let client = try client(through: "socks5://\(userInfo)127.0.0.1:\(proxy.port)") {
            $0.baseURL = "https://127.0.0.1:\(origin.port)"
        }
        #expect(try client.sendBlocking(Request(.get, "/")).text == "near")
        let sent: [UInt8] =
            [5, 2, 0, 2, 1, 4] + Array("user".utf8) + [4] + Array("p@ss".utf8)
            + [5, 1, 0, 1, 127, 0, 0, 1, UInt8(port >> 8), UInt8(port & 255)]
        #expect(Array(proxy.received(0).prefix(sent.count)) == sent)
    }

    @Test func socksErrorIsReported() throws {
        let proxy = try ScriptedPeer([
            [.expectBytes(3), .send(Bytes([5, 0])), .expectBytes(18), .send(Bytes([5, 5, 0, 1, 0, 0, 0, 0, 0, 0]))]
        ])
        let error = try failure(
            client(through: "socks5h://127.0.0.1:\(proxy.port)"), Request(.get, "http://origin.test/"))
        #expect(error.kind == .connect)
        #expect(error.code == 5)
        #expect(
            error.message == "the proxy socks5h://127.0.0.1:\(proxy.port) did not connect to origin.test:80: the host "
                + "refused the connection")
    }

    // MARK: Failures

    /// Returns the errors of an http request and an https request through a proxy that runs `script`.
    private func errors(
        _ script: [ScriptedPeer.Step], userInfo: String = "", _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> (http: NightjarError, https: NightjarError) {
        let proxy = try ScriptedPeer([script], repeatsLast: true)
        let client = try client(through: "http://\(userInfo)127.0.0.1:\(proxy.port)", configure)
        let http = try failure(client, Request(.get, "http://origin.test/"))
        let https = try failure(client, Request(.get, "https://origin.test/"))
        client.close()
        try eventually("the connections are closed") { proxy.endedCount == proxy.connectionCount }
        for error in [http, https] {
            #expect(!error.message.contains("p@ss") && !error.message.contains("p%40ss"), "\(error.message)")
        }
        return (http, https)
    }

    @Test func missingProxyCredentialsAreReported() throws {
        let requests = ScriptedPeer.Step.respond(
            "407 Proxy Authentication Required", headers: ["Proxy-Authenticate: Basic realm=\"r\""], body: "who?")
        let (http, https) = try errors([.expectRequest, requests])
        for error in [http, https] {
            #expect(error.kind == .connect)
            #expect(error.status == nil && error.code == 407 && !error.isRetryable)
            #expect(!error.requestMayHaveBeenProcessed)
            #expect(
                error.message.hasSuffix(
                    " requires authentication, by \"Basic\" (407); add a user name and password to its URL"),
                "\(error.message)")
        }
        let known = try errors([.expectRequest, requests], userInfo: userInfo)
        for error in [known.http, known.https] {
            #expect(error.kind == .connect)
            #expect(error.message.hasSuffix(" rejected the user name and password (407); correct them in its URL"))
        }
    }

    @Test func originUnreachableFromTheProxyIsReported() throws {
        let (http, https) = try errors([.expectRequest, .respond("502 Bad Gateway", body: "no route")])
        #expect(http.kind == .server && http.status == 502)
        #expect(https.kind == .connect && https.code == 502)
        #expect(https.message.hasSuffix("did not open a tunnel to origin.test:443: it responded 502 \"Bad Gateway\""))
    }

    @Test func connectionClosedByTheProxyIsReported() throws {
        let (http, https) = try errors([.expectRequest, .close])
        #expect(http.kind == .connectionLost)
        #expect(https.kind == .connect)
        #expect(https.message.hasSuffix(" closed the connection before it responded to CONNECT origin.test:443"))
        #expect(!https.requestMayHaveBeenProcessed)
        #expect(try errors([.expectRequest, .reset]).https.kind == .connect)
    }

    @Test func hangingProxyCausesATimeout() throws {
        let (http, https) = try errors([.expectRequest, .stall]) {
            $0.timeouts.connect = .milliseconds(300)
            $0.timeouts.idle = .milliseconds(300)
        }
        #expect(http.phase == .idle)
        #expect(https.phase == .connect)
        #expect(https.message.hasPrefix("connecting to origin.test:443 through the proxy http://127.0.0.1:"))
    }

    @Test func garbageFromAProxyIsAProtocolError() throws {
        for seed in 0..<5 as Range<UInt64> {
            let (http, https) = try errors([.expectRequest, .garbage(seed: seed, count: 3000), .expectClose])
            #expect(http.kind == .protocol && https.kind == .protocol)
        }
        let socks = try errors([.expectBytes(3), .send(Bytes([5, 0])), .expectClose])
        #expect(socks.https.kind == .protocol)
    }

    @Test func bytesBeforeTheTunnelIsOpenAreRejected() throws {
        let (_, https) = try errors([
            .expectRequest, .send("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), .expectClose,
        ])
        #expect(https.kind == .tls)
        let socks = try ScriptedPeer([
            [
                .expectBytes(3), .send(Bytes([5, 0])), .expectBytes(18), .send(granted + "HTTP/1.1 200 OK\r\n\r\n"),
                .expectClose,
            ]
        ])
        let error = try failure(
            client(through: "socks5h://127.0.0.1:\(socks.port)"), Request(.get, "http://origin.test/"))
        #expect(error.kind == .protocol)
    }

    /// After the tunnel is open, the proxy only relays, so a failed handshake is an error of the origin.
    @Test(arguments: ["http", "socks5h"]) func tlsFailureInATunnelNamesTheOrigin(kind: String) throws {
        let opens: [ScriptedPeer.Step] =
            kind == "http"
            ? [.expectRequest, .send("HTTP/1.1 200 Connection established\r\n\r\n")]
            : [.expectBytes(3), .send(Bytes([5, 0])), .expectBytes(18), .send(granted)]
        for failure in [[ScriptedPeer.Step.close], [.send("HTTP/1.1 400 Bad Request\r\n\r\n"), .expectClose]] {
            let proxy = try ScriptedPeer([opens + [.expectBytes(1)] + failure])
            let error = try LoopbackTests.failure(
                client(through: "\(kind)://127.0.0.1:\(proxy.port)"), Request(.get, "https://origin.test/"))
            #expect(error.kind == .tls && error.phase == .tls)
            #expect(
                error.message.contains("origin.test:443") && !error.message.contains("proxy"), "\(error.message)")
        }
    }

    @Test func unreachableProxyIsNamed() throws {
        let port = try Ports.refused()
        let error = try failure(
            client(through: "http://\(userInfo)127.0.0.1:\(port)"), Request(.get, "https://origin.test/"))
        #expect(error.kind == .connect)
        #expect(
            error.message
                == "connecting to the proxy http://127.0.0.1:\(port) for origin.test:443 failed: Connection refused")
        let nowhere = try failure(client(through: "http://proxy.invalid:1"), Request(.get, "http://origin.test/"))
        #expect(nowhere.kind == .dns)
        #expect(nowhere.message.hasPrefix("resolving the host \"proxy.invalid\" of the proxy failed"))
    }

    @Test func closingTheClientEndsAHandshake() throws {
        let requested = Latch()
        let proxy = try ScriptedPeer([[.expectHead, .open(requested), .stall]])
        let client = try client(through: "127.0.0.1:\(proxy.port)")
        let queue = CompletionQueue()
        defer { queue.close() }
        try client.start(Request(.get, "https://origin.test/"), on: queue, TaskHandlers { _, _ in })
        try eventually("the proxy received the request") { requested.isOpen }
        client.close()
        try eventually("the connection is closed") { proxy.endedCount == 1 }
    }

    // MARK: Rules

    @Test func exceptionsBypassTheProxy() throws {
        let origin = try ScriptedPeer([[.expectRequest, .respond(body: "direct")]])
        let client = try client(through: "http://127.0.0.1:\(Ports.refused())") {
            $0.transport.proxy.exceptions = "10.0.0.0/8,127.0.0.0/8"
        }
        #expect(try client.sendBlocking(Request(.get, "http://127.0.0.1:\(origin.port)/")).text == "direct")
    }

    private func client(
        through url: String, _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> Client {
        var configuration = Configuration.loopback
        configuration.transport.proxy = ProxySettings(.address(try ProxyAddress(url)))
        configuration.transport.tls.certificateAuthorityFile = try TestCertificates.shared().authority
        configure(&configuration)
        return try Client(configuration)
    }
}
