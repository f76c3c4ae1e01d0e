import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Testing

@Suite struct UnixSocketTests {
    private let folder: TemporaryDirectory
    private var path: String { folder.file("d.sock") }

    init() throws { folder = try TemporaryDirectory() }

    private func client(_ configure: (inout Configuration) -> Void) throws -> Client {
        var configuration = Configuration.loopback
        // The proxy is unreachable, so the tests fail if the client uses a proxy for a Unix socket.
        configuration.transport.proxy.source = .address(try ProxyAddress("http://127.0.0.1:\(Ports.refused())"))
        configuration.transport.tls.certificateAuthorityFile = try TestCertificates.shared().authority
        configure(&configuration)
        return try Client(configuration)
    }

    private var encodedPath: String { path.split(separator: "/").map { "%2F" + $0 }.joined() }

    @Test func baseURLMayBeASocket() throws {
        let peer = try ScriptedPeer(
            [[.untilClosed([.expectRequest, .respond(body: "local")])]], repeatsLast: true, at: path)
        for (base, target) in [
            ("unix:\(path)", "/info"), ("unix://\(path)", "/info"), ("http+unix://\(encodedPath)/v1.40", "/v1.40/info"),
        ] {
            let client = try client { $0.baseURL = base }
            for _ in 0..<2 {
                let response = try client.sendBlocking(Request(.get, "info"))
                #expect(response.text == "local")
                #expect(response.url.description == "http+unix://\(encodedPath)\(target)")
            }
            let request = try #require(peer.requests.last)
            #expect(request.target == target)
            #expect(request["host"] == "localhost")
        }
        #expect(peer.connectionCount == 3)
    }

    @Test func socketMayServeEveryHost() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "it")]], repeatsLast: true, at: path)
        let client = try client {
            $0.baseURL = "http://daemon.example/v1"
            $0.transport.unixSocket = try? UnixSocket(path)
        }
        #expect(try client.sendBlocking(Request(.get, "x")).text == "it")
        #expect(peer.requests.first?["host"] == "daemon.example")
        #expect(peer.requests.first?.target == "/v1/x")
    }

    @Test func httpsOverASocketUsesTLS() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "sealed")]], at: path, tls: PeerTLS())
        let client = try client {
            $0.baseURL = "https://localhost"
            $0.transport.unixSocket = try? UnixSocket(path)
        }
        #expect(try client.sendBlocking(Request(.get, "/")).text == "sealed")
        #expect(peer.handshake(0)?.serverName == "localhost")
    }

    @Test func serverOnASocketMayRedirectToItself() throws {
        let peer = try ScriptedPeer(
            [
                [
                    .expectRequest, .respond("302 Found", headers: ["Location: /b"]), .expectRequest,
                    .respond("302 Found", headers: ["Location: http://localhost/c"]), .expectRequest,
                    .respond(body: "there"),
                ]
            ], at: path)
        let client = try client {
            $0.baseURL = "unix:\(path)"
            try? $0.headers.set("Authorization", "Bearer x")
        }
        #expect(try client.sendBlocking(Request(.get, "/a")).text == "there")
        #expect(peer.connectionCount == 1)
        #expect(peer.failures == [])
        #expect(peer.requests.map(\.target) == ["/a", "/b", "/c"])
        #expect(peer.requests.last?["authorization"] == "Bearer x")
    }

    /// A URL from an untrusted source must not give access to a local daemon.
    @Test func requestsCannotNameASocket() throws {
        let client = try client { $0.baseURL = "http://h" }
        let error = try failure(client, Request(.get, "http+unix://\(encodedPath)/"))
        #expect(error.kind == .invalidURL)
        #expect(error.message == "the scheme \"http+unix\" is not http or https; only base_url can name a socket")
    }

    /// The client's Authorization field must not be sent to a TCP port of localhost.
    @Test func localhostIsAnotherOrigin() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond()]], at: path)
        let client = try client {
            $0.baseURL = "unix:\(path)"
            try? $0.headers.set("Authorization", "Bearer x")
            $0.transport.proxy.source = .off
        }
        _ = try client.sendBlocking(Request(.get, "/"))
        let tcp = try ScriptedPeer([[.expectRequest, .respond()]])
        _ = try client.sendBlocking(Request(.get, "http://localhost:\(tcp.port)/"))
        #expect(tcp.requests.first?["authorization"] == nil)
        #expect(peer.requests.count == 1)
    }

    @Test func missingSocketIsNamed() throws {
        let error = try failure(client { $0.baseURL = "unix:/nonexistent/d.sock" }, Request(.get, "/"))
        #expect(error.kind == .connect)
        #expect(error.message == "connecting to unix:/nonexistent/d.sock failed: No such file or directory")
    }

    @Test(arguments: [
        (
            "unix:run/d.sock",
            "the path of a unix socket must be absolute, got \"run/d.sock\"; the working directory may change"
        ),
        (
            "http+unix://run/d.sock",
            "the path of a unix socket must be absolute, got \"run\"; the working directory may change"
        ),
        (
            "unix:/" + String(repeating: "x", count: 107),
            "the path of the unix socket has 108 bytes, but the system allows at most 107; use a shorter path, such "
                + "as a symbolic link"
        ),
    ])
    func invalidSocketPathIsRejected(base: String, message: String) throws {
        #expect(throws: NightjarError.self) { try client { $0.baseURL = base } }
        do throws(NightjarError) {
            var configuration = Configuration()
            configuration.baseURL = base
            _ = try Client(configuration)
        } catch {
            #expect(error.kind == .invalidURL)
            #expect(error.message == message)
        }
    }
}
