import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarTransport

/// A client with an address filter connects to no denied address, however the request reaches it.
@Suite struct AddressFilterLoopbackTests {
    private func client(
        _ filter: AddressFilter? = .publicOnly, _ configure: (inout Configuration) throws -> Void = { _ in }
    ) throws -> Client {
        var configuration = Configuration.loopback
        configuration.retry.maximumAttempts = 3
        configuration.transport.addressFilter = filter
        try configure(&configuration)
        return try Client(configuration)
    }

    private func expectRejection(
        _ client: Client, _ url: String, _ denial: String, location: SourceLocation = #_sourceLocation
    ) throws {
        let error = try failure(client, Request(.get, url), location: location)
        #expect(error.kind == .invalidRequest, sourceLocation: location)
        #expect(error.attempts <= 1, sourceLocation: location)
        #expect(!error.requestMayHaveBeenProcessed, sourceLocation: location)
        #expect(error.message.contains("address_filter denies its address (\(denial));"), sourceLocation: location)
    }

    @Test func literalAddressesAndNamesAreChecked() throws {
        let peer = try ScriptedPeer([[]], repeatsLast: true)
        let client = try client()
        try expectRejection(client, "http://127.0.0.1:\(peer.port)/", "loopback")
        try expectRejection(client, "http://localhost:\(peer.port)/", "loopback")
        try expectRejection(
            client, "http://[::ffff:127.0.0.1]:\(peer.port)/",
            "loopback, by an embedded IPv4 address")
        try expectRejection(client, "http://[::1]:\(peer.port)/", "loopback")
        try expectRejection(client, "http://169.254.169.254/latest/meta-data/", "link_local")
        #expect(peer.socketCount == 0)
    }

    /// Resolvers read these forms as 127.0.0.1.
    @Test(arguments: [
        "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "0x7f.1", "１２７.0.0.1", "0", "%31%32%37.0.0.1",
    ])
    func otherFormsOfAnAddressDoNotPass(host: String) throws {
        let peer = try ScriptedPeer([[]], repeatsLast: true)
        let error = try failure(client(), Request(.get, "http://\(host):\(peer.port)/"))
        #expect([.invalidURL, .invalidRequest].contains(error.kind))
        #expect(peer.socketCount == 0)
    }

    @Test func entriesAreChecked() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "reached")]])
        let port = peer.port
        let client = try client(AddressFilter(allowing: ["127.0.0.1"])) {
            $0.transport.resolve = try ResolveEntries([
                "inner.test:\(port):10.0.0.1,127.0.0.2", "mixed.test:\(port):127.0.0.2,127.0.0.1",
            ])
        }
        try expectRejection(client, "http://inner.test:\(port)/", "private")
        #expect(try client.sendBlocking(Request(.get, "http://mixed.test:\(port)/")).text == "reached")
        #expect(peer.clientAddresses.count == 1)
    }

    private func denied(_ decisions: [Decision]) -> [String] {
        decisions.compactMap { decision in
            guard case .addressesDenied(let denied) = decision.what else { return nil }
            let entries = denied.entries.map { "\($0.address) \($0.reason ?? "")" }
            return "\(denied.host) \(denied.count)/\(denied.candidateCount) \(entries.joined(separator: ", "))"
        }
    }

    @Test func deniedAddressesAreExplained() throws {
        let peer = try ScriptedPeer([[.untilClosed([.expectRequest, .respond(body: "reached")])]], repeatsLast: true)
        let port = peer.port
        let client = try client(AddressFilter(allowing: ["127.0.0.1"])) {
            $0.transport.resolve = try ResolveEntries([
                "inner.test:\(port):10.0.0.1,127.0.0.2", "mixed.test:\(port):127.0.0.2,127.0.0.1",
            ])
        }
        let error = try failure(client, Request(.get, "http://inner.test:\(port)/"))
        #expect(denied(error.decisions) == ["inner.test 2/2 10.0.0.1 private, 127.0.0.2 loopback"])
        #expect(!error.message.contains("10.0.0.1"))
        let response = try client.sendBlocking(Request(.get, "http://mixed.test:\(port)/"))
        #expect(denied(response.decisions) == ["mixed.test 1/2 127.0.0.2 loopback"])
        let again = try client.sendBlocking(Request(.get, "http://mixed.test:\(port)/"))
        #expect(denied(again.decisions) == [])
        let literal = try failure(client, Request(.get, "http://10.0.0.9:\(port)/"))
        #expect(denied(literal.decisions) == ["10.0.0.9 1/1 10.0.0.9 private"])
    }

    @Test func redirectsAreChecked() throws {
        let inner = try ScriptedPeer([[]], repeatsLast: true)
        let peer = try ScriptedPeer([
            [.expectRequest, .respond("302 Found", headers: ["Location: http://127.0.0.2:\(inner.port)/"])]
        ])
        let client = try client(AddressFilter(allowing: ["127.0.0.1"]))
        let error = try failure(client, Request(.get, "http://127.0.0.1:\(peer.port)/"))
        #expect(error.kind == .invalidRequest)
        #expect(error.message.contains("(loopback)"))
        #expect(inner.socketCount == 0)
    }

    @Test func unixSocketsAreRejected() throws {
        let folder = try TemporaryDirectory()
        let peer = try ScriptedPeer([[]], repeatsLast: true, at: folder.file("d.sock"))
        let client = try client { $0.baseURL = "unix:\(folder.file("d.sock"))" }
        let error = try failure(client, Request(.get, "/"))
        #expect(error.kind == .invalidRequest)
        #expect(error.message.contains("does not allow Unix sockets"))
        #expect(peer.socketCount == 0)
    }

    // MARK: Proxies

    private func proxied(_ kind: String, _ proxy: ScriptedPeer, _ filter: AddressFilter) throws -> Client {
        try client(filter) {
            $0.transport.proxy.source = .address(try ProxyAddress("\(kind)://127.0.0.1:\(proxy.port)"))
            $0.transport.resolve = try ResolveEntries([
                "inner.test:80:10.0.0.1", "outer.test:80:8.8.8.8", "localhost:80:127.0.0.1",
            ])
        }
    }

    @Test(arguments: ["http", "socks5h"])
    func proxyThatResolvesNamesIsRejected(kind: String) throws {
        let proxy = try ScriptedPeer([[]], repeatsLast: true)
        let client = try proxied(kind, proxy, .publicOnly)
        let error = try failure(client, Request(.get, "http://outer.test/"))
        #expect(error.kind == .invalidRequest)
        #expect(
            error.message
                == "the request to outer.test:80 failed: the proxy \(kind)://127.0.0.1:\(proxy.port) resolves the "
                + "name, so address_filter cannot check the address; set proxy to false, use a socks5 proxy, or set "
                + "address_filter.allow_proxies")
        try expectRejection(client, "http://10.0.0.1/", "private")
        #expect(proxy.socketCount == 0)
    }

    @Test func proxyMayBeAllowed() throws {
        let proxy = try ScriptedPeer([[.expectRequest, .respond(body: "one")]], repeatsLast: true)
        let client = try proxied("http", proxy, AddressFilter(allowsProxies: true))
        #expect(try client.sendBlocking(Request(.get, "http://outer.test/")).text == "one")
        #expect(try client.sendBlocking(Request(.get, "http://8.8.8.8/")).text == "one")
        try expectRejection(client, "http://10.0.0.1/", "private")
        #expect(proxy.clientAddresses.count == 2)
    }

    @Test func socksProxyReceivesAllowedAddresses() throws {
        let proxy = try ScriptedPeer([
            [.expectBytes(3), .send(Bytes([5, 0])), .expectBytes(10), .send(Bytes([5, 5, 0, 1, 0, 0, 0, 0, 0, 0]))]
        ])
        let client = try proxied("socks5", proxy, .publicOnly)
        try expectRejection(client, "http://inner.test/", "private")
        try expectRejection(client, "http://10.0.0.1/", "private")
        let error = try failure(client, Request(.get, "http://inner.test/"))
        #expect(denied(error.decisions) == ["inner.test 1/1 10.0.0.1 private"])
        #expect(proxy.socketCount == 0)
        _ = try? client.sendBlocking(Request(.get, "http://outer.test/"))
        #expect(proxy.received(0).suffix(6) == [8, 8, 8, 8, 0, 80])
    }
}
