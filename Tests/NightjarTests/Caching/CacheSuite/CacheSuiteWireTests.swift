import NIOCore
import NightjarTestSupport
import Testing

@testable import Nightjar
@testable import NightjarHTTP

/// The rows about stored fields, over a socket. The codec and the content decoding process the fields first.
@Suite struct CacheSuiteWireTests {
    /// HTTP/2 has no Transfer-Encoding, which the rows with a failure concern (RFC 9113 section 8.2.2).
    private static let rows = SuiteRow.fields.filter { !TestHTTP.isHTTP2 || $0.failure == nil }

    @Test(arguments: rows)
    func rowHolds(_ row: SuiteRow) throws {
        let stored = try #require(row.scenario.steps.first)
        let returned = try #require(row.scenario.steps.last)
        let isFramed = stored.response.contains { ["Content-Length", "Transfer-Encoding"].contains($0.0) }
        let fields = stored.response + (isFramed ? [] : [("Content-Length", String(stored.body.utf8.count))])
        let text = "HTTP/1.1 200 OK\r\n" + fields.map { "\($0.0): \($0.1)\r\n" }.joined() + "\r\n" + stored.body
        let peer = try ScriptedPeer([[.expectRequest, .send(Bytes(Array(text.utf8))), .expectClose]])
        var configuration = Configuration()
        configuration.baseURL = "http://127.0.0.1:\(peer.port)"
        configuration.retry.maximumAttempts = 1
        if TestHTTP.isHTTP2 { configuration.transport.versions = [.http2] }
        configuration.cacheSettings = CacheStorage.Settings()
        let client = try Client(configuration)
        defer { client.close() }
        guard row.failure == nil else {
            #expect(throws: NightjarError.self) { try client.sendBlocking(Request(.get, "/a")) }
            return
        }
        let first = try client.sendBlocking(Request(.get, "/a"))
        #expect(first.source == .network)
        let second = try client.sendBlocking(Request(.get, "/a"))
        #expect(second.source == .cache)
        #expect(String(buffer: second.body) == stored.body)
        for (name, value) in returned.fields {
            #expect(second.headers[name] == value, "\(row.id): \(name)")
        }
        #expect(peer.requests.count == 1)
    }
}
