import Nightjar
import NightjarTestSupport
import Testing

@Suite struct TimingTests {
    @Test func newConnectionReportsItsPhases() throws {
        let peer = try ScriptedPeer([[.untilClosed([.expectRequest, .respond(body: "hello")])]])
        let client = try client(of: peer)
        let first = try client.sendBlocking(Request(.get, "/")).timing
        #expect(first.connect ?? .zero > .zero)
        #expect(first.dns == nil)
        #expect(first.tls == nil)
        #expect(first.connect ?? .zero <= first.sent ?? .zero)
        #expect(first.connection?.peer == "127.0.0.1:\(peer.port)")
        let second = try client.sendBlocking(Request(.get, "/")).timing
        #expect(second.connect == nil)
        #expect(second.connection == first.connection)
    }

    @Test func nameIsResolvedOnce() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(headers: ["Connection: close"])]], repeatsLast: true)
        let client = try client(of: peer)
        let first = try client.sendBlocking(Request(.get, "http://localhost:\(peer.port)/")).timing
        #expect(first.dns ?? .zero > .zero)
        #expect(first.connect != nil)
        let second = try client.sendBlocking(Request(.get, "http://localhost:\(peer.port)/")).timing
        #expect(second.dns == nil)
        #expect(second.connect != nil)
    }

    @Test func tlsHandshakeIsReported() throws {
        let peer = try ScriptedPeer(
            [[.expectRequest, .respond(), .expectRequest, .respond()]], repeatsLast: true, tls: PeerTLS(.trusted))
        let client = try client(of: peer) {
            $0.transport.tls.certificateAuthorityFile = try? TestCertificates.shared().authority
        }
        let first = try client.sendBlocking(Request(.get, "https://localhost:\(peer.port)/")).timing
        #expect(first.tls ?? .zero > .zero)
        let parts = (first.dns ?? .zero) + (first.connect ?? .zero) + (first.tls ?? .zero)
        #expect(parts <= first.sent ?? .zero)
        #expect(try client.sendBlocking(Request(.get, "https://localhost:\(peer.port)/")).timing.tls == nil)
    }
}
