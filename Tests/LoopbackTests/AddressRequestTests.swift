import Glibc
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import NightjarTransport
import Synchronization
import Testing

import class Foundation.Thread

/// The callbacks that resolve names and that decide about addresses.
@Suite struct AddressRequestTests {
    private typealias AddressRequest = TransportConfiguration.AddressRequest
    private typealias AddressCallback = TransportConfiguration.AddressCallback

    /// The requests that a callback has received.
    private final class Record: Sendable {
        private let received = Mutex<[String]>([])
        private let kept = Mutex<[AddressRequest]>([])
        private let respond: @Sendable (AddressRequest) throws -> Bool

        /// - Parameter respond: Returns false to keep the request.
        init(_ respond: @escaping @Sendable (AddressRequest) throws -> Bool) { self.respond = respond }

        func callback(onLoop: Bool = true) -> AddressCallback {
            AddressCallback(runsOnLoop: onLoop) { [self] request in
                received.withLock { $0.append("\(request.host) \(request.addresses)") }
                if (try? respond(request)) == false { kept.withLock { $0.append(request) } }
            }
        }

        var requests: [String] { received.withLock { $0 } }

        func keptRequest() throws -> AddressRequest {
            try eventually("a request was kept") { kept.withLock { !$0.isEmpty } }
            return kept.withLock { $0[0] }
        }

        func releaseKept() { kept.withLock { $0 = [] } }
    }

    private func record(_ addresses: String...) throws -> Record {
        let addresses = try addresses.map { try IPAddress($0) }
        return Record { request in
            try request.respond(addresses)
            return true
        }
    }

    private func client(
        resolver: Record? = nil, filter: Record? = nil, onLoop: Bool = true,
        _ configure: (inout Configuration) throws -> Void = { _ in }
    ) throws -> Client {
        var configuration = Configuration.loopback
        configuration.timeouts = Timeouts(connect: .seconds(30), idle: .seconds(30), total: .seconds(60))
        configuration.resolver = resolver?.callback(onLoop: onLoop)
        configuration.onAddresses = filter?.callback(onLoop: onLoop)
        try configure(&configuration)
        return try Client(configuration)
    }

    /// A server that closes each connection after one response.
    private func server() throws -> ScriptedPeer {
        try ScriptedPeer(
            [[.expectRequest, .respond(headers: TestHTTP.isHTTP2 ? [] : ["Connection: close"], body: "reached")]],
            repeatsLast: true)
    }

    private func get(_ peer: ScriptedPeer, _ host: String = "api.test") -> Request {
        Request(.get, "http://\(host):\(peer.port)/")
    }

    // MARK: Names

    @Test func resolverProvidesTheAddressesOfNames() throws {
        let peer = try server()
        let resolver = try record("127.0.0.1")
        let api = try client(resolver: resolver)
        for _ in 0..<2 { #expect(try api.sendBlocking(get(peer)).text == "reached") }
        #expect(try api.sendBlocking(get(peer, "127.0.0.1")).text == "reached")
        #expect(try api.sendBlocking(get(peer, "other.test")).text == "reached")
        // The second connection uses the cached addresses, and the third needs no lookup.
        #expect(resolver.requests == ["api.test []", "other.test []"])
    }

    @Test func addressesAreTriedInOrder() throws {
        let peer = try server()
        // Nothing listens at 127.0.0.2, so the next address is used.
        let api = try client(resolver: try record("127.0.0.3", "127.0.0.2", "127.0.0.1"))
        #expect(try api.sendBlocking(get(peer)).text == "reached")
    }

    @Test func nameWithoutAddressesFails() throws {
        let peer = try server()
        let error = try failure(client(resolver: record()), get(peer))
        #expect(error.kind == .dns)
        #expect(error.message.contains("the host \"api.test\" failed: it has no address"), "\(error.message)")
        let failing = Record { request in
            try request.fail("the zone is empty")
            return true
        }
        let other = try failure(client(resolver: failing), get(peer))
        #expect(other.kind == .dns)
        #expect(other.phase == .dns)
        #expect(other.message.hasSuffix("the resolver callback has no addresses: the zone is empty"))
        let silent = try failure(client(resolver: Record { _ in true }), get(peer))
        #expect(silent.kind == .dns)
        #expect(silent.message.contains("released the request without a response"))
        #expect(peer.socketCount == 0)
    }

    @Test func defaultIsTheLookupOfTheSystem() throws {
        let peer = try server()
        let resolver = Record { request in
            try request.useDefault()
            #expect(throws: NightjarError.self) { try request.useDefault() }
            return true
        }
        let api = try client(resolver: resolver) { $0.transport.ipFamily = .ipv4 }
        for _ in 0..<2 { #expect(try api.sendBlocking(get(peer, "localhost")).text == "reached") }
        let error = try failure(api, get(peer, "nowhere.invalid"))
        #expect(error.kind == .dns)
        #expect(error.message.hasPrefix("resolving the host \"nowhere.invalid\" failed: "), "\(error.message)")
        // The second connection uses the cached addresses.
        #expect(resolver.requests == ["localhost []", "nowhere.invalid []"])
    }

    @Test func responseThatDoesNotFitLeavesTheRequestPending() throws {
        let peer = try server()
        let many = try (0..<10_000).map { try IPAddress("10.0.\($0 / 256).\($0 % 256)") }
        let local = try IPAddress("127.0.0.1")
        let resolver = Record { request in
            #expect(throws: NightjarError.self) { try request.respond(many) }
            #expect(throws: NightjarError.self) { try request.respond(Array(many.prefix(65))) }
            try request.respond([local])
            #expect(throws: NightjarError.self) { try request.respond([local]) }
            #expect(throws: NightjarError.self) { try request.fail() }
            return true
        }
        #expect(try client(resolver: resolver).sendBlocking(get(peer)).text == "reached")
    }

    @Test func connectionsToOneOriginShareTheRequest() throws {
        let peer = try ScriptedPeer(
            [[.untilClosed([.expectRequest, .respond(body: "reached")])]], repeatsLast: true)
        let resolver = Record { _ in false }
        let api = try client(resolver: resolver, onLoop: false)
        let (queue, results) = (CompletionQueue(), ChallengedCalls())
        for _ in 0..<5 { try api.start(get(peer), on: queue, results.handlers) }
        let address = try IPAddress("127.0.0.1")
        // A thread, not a Swift task: blocking tests can starve the threads of Swift tasks.
        Thread.detachNewThread { try? resolver.keptRequest().respond([address]) }
        try results.await(5, on: queue)
        #expect(results.texts == Array(repeating: "reached", count: 5))
        #expect(resolver.requests.count == 1)
    }

    @Test func connectTimeoutRunsWhileTheCallbackDecides() throws {
        let peer = try server()
        let resolver = Record { _ in false }
        let api = try client(resolver: resolver) { $0.timeouts.connect = .milliseconds(200) }
        let error = try failure(api, get(peer))
        #expect(error.kind == .timeout)
        #expect(error.phase == .dns)
        #expect(error.message.contains("the resolver callback did not respond"), "\(error.message)")
        // A late response is ignored.
        try resolver.keptRequest().respond([])
        #expect(peer.socketCount == 0)
    }

    @Test(arguments: [false, true]) func waitingCallCanBeEnded(closes: Bool) throws {
        let peer = try server()
        let resolver = Record { _ in false }
        let api = try client(resolver: resolver)
        let (queue, results) = (CompletionQueue(), ChallengedCalls())
        let task = try api.start(get(peer), on: queue, results.handlers)
        let request = try resolver.keptRequest()
        if closes { api.close() } else { task.cancel() }
        try results.await(1, on: queue)
        #expect(results.kinds == [.cancelled])
        try request.respond([IPAddress("127.0.0.1")])
        #expect(peer.socketCount == 0)
    }

    /// The request for the token belongs to no call. The callback never runs on the loop if its queue excludes that.
    @Test(arguments: [false, true]) func tokenRequestIsResolvedOnAQueue(hasQueue: Bool) throws {
        let tokens = try ScriptedPeer([
            [.expectRequest, .respond(headers: ["Content-Type: application/json"], body: #"{"access_token":"t"}"#)]
        ])
        let peer = try server()
        let queue = CompletionQueue()
        defer { queue.close() }
        let me = pthread_self()
        let address = try IPAddress("127.0.0.1")
        var server = OAuth2(tokenURL: "http://tokens.test:\(tokens.port)/")
        server.client = .basic(id: "c", secret: "s")
        server.grant = .clientCredentials
        let api = try client {
            $0.baseURL = "http://api.test:\(peer.port)"
            $0.auth = .login(TokenLogin(.oauth2(server)))
            $0.resolver = AddressCallback(onQueuesAnd: hasQueue ? queue : nil) { request in
                #expect(pthread_equal(pthread_self(), me) != 0)
                try? request.respond([address])
            }
        }
        #expect(try api.sendBlocking(Request(.get, "/")).text == "reached")
    }

    // MARK: Addresses

    @Test func filterDecidesAboutEachConnection() throws {
        let peer = try server()
        let filter = Record { request in
            try request.respond(request.addresses.filter { $0.description != "127.0.0.2" })
            return true
        }
        let resolver = try record("127.0.0.2", "127.0.0.1")
        let api = try client(resolver: resolver, filter: filter)
        #expect(try api.sendBlocking(get(peer)).text == "reached")
        #expect(try api.sendBlocking(get(peer)).text == "reached")
        #expect(try api.sendBlocking(get(peer, "127.0.0.1")).text == "reached")
        let error = try failure(api, get(peer, "127.0.0.2"))
        #expect(error.kind == .invalidRequest)
        #expect(error.attempts <= 1)
        #expect(error.message.contains("the on_addresses callback allows none of its addresses"))
        #expect(
            filter.requests == [
                "api.test [127.0.0.2, 127.0.0.1]", "api.test [127.0.0.2, 127.0.0.1]", "127.0.0.1 [127.0.0.1]",
                "127.0.0.2 [127.0.0.2]",
            ])
        #expect(resolver.requests.count == 1)
    }

    @Test func defaultAllowsAllAddresses() throws {
        let peer = try server()
        let filter = Record { request in
            try request.useDefault()
            return true
        }
        let api = try client(resolver: try record("127.0.0.2", "127.0.0.1"), filter: filter)
        #expect(try api.sendBlocking(get(peer)).text == "reached")
        #expect(filter.requests == ["api.test [127.0.0.2, 127.0.0.1]"])
    }

    @Test func filterDecidesAboutAddressesOfTheSystem() throws {
        let peer = try server()
        let filter = Record { request in
            try request.respond(request.addresses.filter { $0.family == .ipv4 })
            return true
        }
        #expect(try client(filter: filter).sendBlocking(get(peer, "localhost")).text == "reached")
        #expect(filter.requests.first?.hasPrefix("localhost [") == true)
        #expect(filter.requests.first?.contains("127.0.0.1") == true)
    }

    @Test func rulesApplyBeforeTheCallback() throws {
        let peer = try server()
        let filter = try record()
        let api = try client(resolver: try record("10.0.0.1", "127.0.0.1"), filter: filter) {
            $0.transport.addressFilter = try AddressFilter(denying: ["private"])
        }
        #expect(try failure(api, get(peer)).kind == .invalidRequest)
        #expect(filter.requests == ["api.test [127.0.0.1]"])
        #expect(try failure(api, Request(.get, "http://10.0.0.1/")).message.contains("(private)"))
        #expect(filter.requests.count == 1)
    }

    @Test func deniedAddressesAreExplained() throws {
        let peer = try server()
        let filter = Record { request in
            if request.host == "127.0.0.3" { try request.fail("not today") }
            try? request.respond(request.addresses.filter { $0.description == "127.0.0.1" })
            return true
        }
        let api = try client(resolver: try record("10.0.0.1", "127.0.0.2", "127.0.0.1"), filter: filter) {
            $0.transport.addressFilter = try AddressFilter(denying: ["private"])
        }
        let response = try api.sendBlocking(get(peer))
        #expect(response.decisions.map(\.name) == ["addresses_denied", "addresses_denied"])
        let texts = response.decisions.map(\.description)
        let byRules = "address_filter denied 1 of 3 addresses of api.test: 10.0.0.1 (private)"
        #expect(texts.first?.hasSuffix(byRules) == true)
        #expect(texts.last?.hasSuffix("on_addresses denied 1 of 2 addresses of api.test: 127.0.0.2") == true)
        for host in ["127.0.0.2", "127.0.0.3"] {
            let error = try failure(api, get(peer, host))
            #expect(error.decisions.count == 1)
            let text = error.decisions.first?.description
            #expect(text?.hasSuffix("on_addresses denied 1 of 1 addresses of \(host): \(host)") == true)
        }
    }

    @Test func addressOfAnotherHostIsNotAccepted() throws {
        let peer = try server()
        let filter = Record { request in
            #expect(throws: NightjarError.self) { try request.respond([IPAddress("127.0.0.9")]) }
            try request.fail("not today")
            return true
        }
        let error = try failure(client(filter: filter), get(peer, "127.0.0.1"))
        #expect(error.kind == .invalidRequest)
        #expect(error.message.hasSuffix("failed: the on_addresses callback denies it: not today"))
        let silent = try failure(client(filter: Record { _ in true }), get(peer, "127.0.0.1"))
        #expect(silent.kind == .invalidRequest)
        #expect(peer.socketCount == 0)
    }

    @Test func redirectsAreDecided() throws {
        let inner = try server()
        let peer = try ScriptedPeer([
            [.expectRequest, .respond("302 Found", headers: ["Location: http://127.0.0.2:\(inner.port)/"])]
        ])
        let filter = Record { request in
            try request.respond(request.addresses.filter { $0.description == "127.0.0.1" })
            return true
        }
        #expect(try failure(client(filter: filter), get(peer, "127.0.0.1")).kind == .invalidRequest)
        #expect(filter.requests == ["127.0.0.1 [127.0.0.1]", "127.0.0.2 [127.0.0.2]"])
        #expect(inner.socketCount == 0)
    }

    // MARK: Proxies

    private func proxied(
        _ kind: String, _ proxy: ScriptedPeer, _ resolver: Record, _ filter: Record? = nil,
        allowsProxies: Bool = false
    ) throws -> Client {
        try client(resolver: resolver, filter: filter) {
            $0.transport.proxy.source = .address(try ProxyAddress("\(kind)://proxy.test:\(proxy.port)"))
            if allowsProxies { $0.transport.addressFilter = try AddressFilter(denying: [], allowsProxies: true) }
        }
    }

    @Test func nameOfTheProxyIsResolved() throws {
        let proxy = try ScriptedPeer([[.expectRequest, .respond(body: "by the proxy")]], repeatsLast: true)
        let resolver = try record("127.0.0.1")
        #expect(
            try proxied("http", proxy, resolver).sendBlocking(Request(.get, "http://origin.test/")).text
                == "by the proxy")
        #expect(resolver.requests == ["proxy.test []"])
    }

    @Test func namesThatAProxyResolvesAreRejectedByDefault() throws {
        let proxy = try ScriptedPeer([[.expectRequest, .respond(body: "by the proxy")]], repeatsLast: true)
        let (resolver, filter) = (try record("127.0.0.1"), try record())
        let strict = try failure(proxied("http", proxy, resolver, filter), Request(.get, "http://origin.test/"))
        #expect(strict.kind == .invalidRequest)
        let api = try proxied("http", proxy, resolver, filter, allowsProxies: true)
        #expect(try api.sendBlocking(Request(.get, "http://origin.test/")).text == "by the proxy")
        #expect(filter.requests == [])
        #expect(try failure(api, Request(.get, "http://10.0.0.1/")).kind == .invalidRequest)
        #expect(filter.requests == ["10.0.0.1 [10.0.0.1]"])
    }

    @Test func socksProxyReceivesTheDecidedAddress() throws {
        let proxy = try ScriptedPeer([
            [.expectBytes(3), .send(Bytes([5, 0])), .expectBytes(10), .send(Bytes([5, 5, 0, 1, 0, 0, 0, 0, 0, 0]))]
        ])
        let local = try IPAddress("127.0.0.1")
        let addresses = try ["8.8.8.8", "9.9.9.9"].map { try IPAddress($0) }
        let resolver = Record { request in
            try request.respond(request.isProxy ? [local] : addresses)
            return true
        }
        let filter = Record { request in
            try request.respond([addresses[1]])
            return true
        }
        _ = try? proxied("socks5", proxy, resolver, filter).sendBlocking(Request(.get, "http://origin.test/"))
        #expect(proxy.received(0).suffix(6) == [9, 9, 9, 9, 0, 80])
        #expect(resolver.requests == ["origin.test []", "proxy.test []"])
        #expect(filter.requests == ["origin.test [8.8.8.8, 9.9.9.9]"])
    }
}
