import NIOCore
import Nightjar
import NightjarTestSupport
import Testing

/// A proxy that is a scripted peer: what goes to it on the wire, and what harm it can do.
@Suite struct ProxyTests {
    private func client(
        through url: String, _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> Client {
        var configuration = Configuration()
        configuration.transport.proxy = ProxyRules(try ProxyAddress(url))
        configuration.timeouts = Timeouts(connect: .seconds(5), idle: .seconds(5), total: .seconds(10))
        configure(&configuration)
        return try Client(configuration)
    }

    @Test func anHTTPRequestIsInAbsoluteForm() throws {
        let proxy = try ScriptedPeer([[.expectRequest, .respond(body: "from afar"), .expectRequest, .respond(body: "2")]])
        let client = try client(through: "http://user:p%40ss@127.0.0.1:\(proxy.port)")
        #expect(try client.sendBlocking(Request(.get, "http://origin.test/a?b=c")).text == "from afar")
        #expect(try client.sendBlocking(Request(.get, "http://origin.test/2")).text == "2")
        let request = try #require(proxy.requests.first)
        #expect(request.target == "http://origin.test/a?b=c")
        #expect(request["host"] == "origin.test")
        #expect(request["proxy-authorization"] == "Basic dXNlcjpwQHNz")
        #expect(proxy.connectionCount == 1)
        #expect(proxy.failures == [])
    }
}
