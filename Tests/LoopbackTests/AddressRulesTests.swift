import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarTransport

/// The addresses of connections: entries for hosts, the version of IP, and the local address.
@Suite struct AddressRulesTests {
    private func client(
        _ base: String, _ configure: (inout TransportConfiguration) throws -> Void
    ) throws -> Client {
        var configuration = Configuration.loopback
        configuration.baseURL = base
        configuration.transport.tls.certificateAuthorityFile = try TestCertificates.shared().authority
        try configure(&configuration.transport)
        return try Client(configuration)
    }

    // MARK: Entries

    @Test func entryReplacesTheLookup() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "reached")]])
        let client = try client("http://entry.test:\(peer.port)") {
            $0.resolve = try ResolveEntries(["entry.test:\(peer.port):127.0.0.1", "*:\(peer.port):127.0.0.9"])
        }
        let response = try client.sendBlocking(Request(.get, "/"))
        #expect(response.text == "reached")
        #expect(peer.requests.first?["host"] == "entry.test:\(peer.port)")
        #expect(peer.failures == [])
    }

    @Test func nextAddressOfAnEntryIsTried() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "reached")]])
        let client = try client("http://any.test:\(peer.port)") {
            $0.resolve = try ResolveEntries(["*:\(peer.port):[::1],127.0.0.2,127.0.0.1"])
        }
        #expect(try client.sendBlocking(Request(.get, "/")).text == "reached")
    }

    @Test func nameForTLSIsThatOfTheURL() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "sealed")]], tls: PeerTLS())
        let client = try client("https://localhost:\(peer.port)") {
            $0.resolve = try ResolveEntries(["localhost:\(peer.port):127.0.0.1"])
        }
        #expect(try client.sendBlocking(Request(.get, "/")).text == "sealed")
        #expect(peer.handshake(0)?.serverName == "localhost")

        let otherPeer = try ScriptedPeer([[]], repeatsLast: true, tls: PeerTLS())
        let other = try self.client("https://unknown.test:\(otherPeer.port)") {
            $0.resolve = try ResolveEntries(["unknown.test:\(otherPeer.port):127.0.0.1"])
        }
        #expect(try failure(other, Request(.get, "/")).kind == .tls)
    }

    @Test func entryReplacesAnAddressInTheURL() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "reached")]])
        let client = try client("http://192.0.2.1:\(peer.port)") {
            $0.resolve = try ResolveEntries(["192.0.2.1:\(peer.port):127.0.0.1"])
        }
        #expect(try client.sendBlocking(Request(.get, "/")).text == "reached")
        #expect(peer.requests.first?["host"] == "192.0.2.1:\(peer.port)")
    }

    // MARK: The version of IP and the local end

    @Test func addressesOfTheOtherFamilyAreNotUsed() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "reached")]])
        let entry = "both.test:\(peer.port):[::1],127.0.0.1"
        let client = try client("http://both.test:\(peer.port)") {
            $0.resolve = try ResolveEntries([entry])
            $0.ipFamily = .ipv4
        }
        #expect(try client.sendBlocking(Request(.get, "/")).text == "reached")

        let other = try self.client("http://127.0.0.1:\(peer.port)") { $0.ipFamily = .ipv6 }
        let error = try failure(other, Request(.get, "/"))
        #expect(error.kind == .dns)
        #expect(
            error.message
                == "connecting to 127.0.0.1:\(peer.port) failed: the host has no IPv6 address, and ip_family is ipv6; "
                + "change this option, or use another host")
        let named = try self.client("http://both.test:\(peer.port)") {
            $0.resolve = try ResolveEntries(["both.test:\(peer.port):127.0.0.1,127.0.0.2"])
            $0.ipFamily = .ipv6
        }
        #expect(try failure(named, Request(.get, "/")).kind == .dns)
        #expect(peer.connectionCount == 1)
    }

    @Test func localAddressIsTheAddressOfTheClient() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "reached")]], repeatsLast: true)
        for host in ["127.0.0.1", "local.test"] {
            let client = try client("http://\(host):\(peer.port)") {
                $0.resolve = try ResolveEntries(["local.test:\(peer.port):[::1],127.0.0.1"])
                $0.localAddress = try IPAddress("127.0.0.2")
            }
            #expect(try client.sendBlocking(Request(.get, "/")).text == "reached")
        }
        #expect(peer.clientAddresses == ["127.0.0.2", "127.0.0.2"])
    }

    @Test func connectionsToAProxyUseTheLocalAddress() throws {
        let proxy = try ScriptedPeer([[.expectRequest, .respond(body: "reached")]])
        let client = try client("http://origin.test") {
            $0.proxy.source = .address(try ProxyAddress("http://127.0.0.1:\(proxy.port)"))
            $0.localAddress = try IPAddress("127.0.0.3")
        }
        #expect(try client.sendBlocking(Request(.get, "/")).text == "reached")
        #expect(proxy.clientAddresses == ["127.0.0.3"])
    }

    /// The proxy opens the connection to the server, so the server's address may have the other family.
    @Test func localAddressDoesNotRestrictTheTargetOfASOCKSProxy() throws {
        let proxy = try ScriptedPeer([
            [.expectBytes(3), .send(Bytes([5, 0])), .expectBytes(22), .send(Bytes([5, 5]))]
        ])
        let client = try client("http://origin.test") {
            $0.proxy.source = .address(try ProxyAddress("socks5://127.0.0.1:\(proxy.port)"))
            $0.resolve = try ResolveEntries(["origin.test:80:2001:db8::1"])
            $0.localAddress = try IPAddress("127.0.0.3")
        }
        #expect(try failure(client, Request(.get, "/")).message.contains("the host refused the connection"))
        let address: [UInt8] = [0x20, 0x01, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [1]
        #expect(proxy.received(0).suffix(18) == address + [0, 80])
        #expect(proxy.clientAddresses == ["127.0.0.3"])
    }

    @Test func unknownLocalAddressFails() throws {
        let client = try client("http://127.0.0.1:\(Ports.refused())") {
            $0.localAddress = try IPAddress("192.0.2.1")
        }
        let error = try failure(client, Request(.get, "/"))
        #expect(error.kind == .connect || error.kind == .offline)
        #expect(
            error.message.hasPrefix(
                "binding a connection to the local address 192.0.2.1 failed: Cannot assign requested address; set "
                    + "local_address to an address of this machine"))
    }

    @Test func interfaceIsUsed() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "reached")]], repeatsLast: true)
        let client = try client("http://127.0.0.1:\(peer.port)") { $0.interface = "lo" }
        #expect(try client.sendBlocking(Request(.get, "/")).text == "reached")
        let other = try self.client("http://127.0.0.1:\(peer.port)") { $0.interface = "nightjar-none" }
        let error = try failure(other, Request(.get, "/"))
        #expect(error.kind == .connect)
        #expect(
            error.message
                == #"binding a connection to the interface "nightjar-none" failed: No such device; set interface to the "#
                + "name of an interface of this machine")
    }

    @Test func contradictionsAreRejected() throws {
        func message(_ configure: (inout TransportConfiguration) throws -> Void) throws -> String? {
            let error = #expect(throws: NightjarError.self) { try client("http://h.test", configure) }
            #expect(error?.kind == .invalidArgument)
            return error?.message
        }
        #expect(
            try message {
                $0.ipFamily = .ipv6
                $0.localAddress = try IPAddress("127.0.0.1")
            } == "local_address is an IPv4 address, but ip_family is ipv6; change one of them")
        #expect(
            try message {
                $0.unixSocket = try UnixSocket("/run/d.sock")
                $0.addressFilter = .publicOnly
            }?.hasPrefix("unix_socket and address_filter cannot be used together") == true)
        #expect(try message { $0.interface = "" }?.hasPrefix("interface must be the name") == true)
        #expect(try message { $0.interface = "sixteen-bytes-16" }?.hasPrefix("interface must be the name") == true)
    }
}
