import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarTransport

/// A host with several addresses, some of which refuse connections.
@Suite struct AddressTests {
    private func client(port: Int, _ addresses: [String]) throws -> Client {
        var configuration = Configuration.loopback
        configuration.baseURL = "http://several.test:\(port)"
        let targets = try addresses.map { try SocketAddress(ipAddress: $0, port: port) }
        let transport = configuration.transport
        return try Client(configuration) { loop in
            do {
                return try NetworkTransport(loop: loop, configuration: transport) { _, _ in targets }
            } catch {
                Issue.record("creating the transport failed: \(error)")
                return SilentTransport()
            }
        }
    }

    private final class SilentTransport: HTTPTransport {
        final class SilentExchange: Exchange {
            func cancel() {}
            func pause() {}
            func resume() {}
            func send(_ part: ByteBuffer) {}
            func endBody() {}
        }
        func begin(
            _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
        ) -> any Exchange { SilentExchange() }
        func shutDown() {}
    }

    @Test(arguments: [["::1", "127.0.0.1"], ["127.0.0.2", "127.0.0.1"], ["::1", "127.0.0.2", "127.0.0.1"]])
    func nextAddressIsTriedAfterARefusedConnection(addresses: [String]) throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "reached")]])
        let client = try client(port: peer.port, addresses)
        #expect(try client.sendBlocking(Request(.get, "/")).text == "reached")
        #expect(peer.requests.first?["host"] == "several.test:\(peer.port)")
        #expect(peer.failures == [])
    }

    @Test func errorIsAConnectErrorIfEveryAddressFails() throws {
        let error = try failure(client(port: Ports.refused(), ["::1", "127.0.0.1"]), Request(.get, "/"))
        #expect(error.kind == .connect || error.kind == .offline)
        #expect(!error.requestMayHaveBeenProcessed)
    }

    @Test func hostWithoutAddressIsADNSError() throws {
        let error = try failure(client(port: 80, []), Request(.get, "/"))
        #expect(error.kind == .dns)
    }
}
