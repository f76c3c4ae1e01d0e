import NightjarAPI
import NightjarHTTP
import Synchronization
import Testing

@testable import Nightjar

/// The Cookie fields that a server receives if a call has cookies in addition to those of the jar.
@Suite struct OwnCookieTests {
    private let done: [ScriptedTransport.Step] = [.head(200), .end]

    private func operation(_ path: String = "/a") -> NightjarAPI.Operation {
        var operation = Operation("read", .get, path)
        operation.parameters = [Parameter("sid", in: .cookie), Parameter("tags", in: .cookie)]
        return operation
    }

    /// The Cookie fields of each request.
    private func cookies(_ transport: ScriptedTransport) -> [[String]] {
        transport.log.withLock { log in
            log.heads.map { head in
                head.split(separator: "\r\n").filter { $0.hasPrefix("Cookie:") }.map { String($0.dropFirst(8)) }
            }
        }
    }

    private func client(
        _ scripts: Int, _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> (Client, ScriptedTransport) {
        let transport = ScriptedTransport(Array(repeating: done, count: scripts))
        return (try jarClient(transport, configure), transport)
    }

    private func jarClient(
        _ transport: ScriptedTransport, _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> Client {
        let jar = CookieStorage()
        for text in ["sid=jar; Path=/", "theme=dark; Path=/"] {
            try jar.set(text, for: try RequestURL("http://api.test/"))
        }
        return try NightjarTests.client(transport) {
            $0.cookies = jar
            configure(&$0)
        }
    }

    private func send(
        _ api: Client, _ arguments: Arguments = ["sid": "own"], path: String = "/a",
        _ change: (inout Request) throws -> Void = { _ in }
    ) throws {
        var endpoint = Endpoint<NightjarHTTP.Response>(operation(path), arguments)
        try change(&endpoint.request)
        _ = try api.sendBlocking(endpoint)
    }

    @Test func cookieParametersAreSentWithStoredCookies() throws {
        let (api, transport) = try client(4)
        try send(api)
        try send(api, ["tags": ["a", "b; c"]])
        try send(api, [:])
        try send(api) { $0.usesCookies = false }
        #expect(
            cookies(transport) == [
                ["theme=dark; sid=own"], ["sid=jar; theme=dark; tags=a; tags=b%3B%20c"], ["sid=jar; theme=dark"],
                ["sid=own"],
            ])
    }

    @Test func cookiesOfTheServerAreStored() throws {
        let transport = ScriptedTransport([[.head(200, [("Set-Cookie", "new=1")]), .end], done])
        let api = try jarClient(transport)
        try send(api)
        try send(api)
        #expect(cookies(transport)[1] == ["new=1; theme=dark; sid=own"])
    }

    @Test func explicitCookieHeaderDisablesTheJar() throws {
        let (api, transport) = try client(2)
        try send(api) { try $0.headers.set("Cookie", "mine=1") }
        try send(api, [:]) { try $0.headers.set("cookie", "mine=1") }
        #expect(cookies(transport)[0] == ["mine=1; sid=own"])
        #expect(cookies(transport)[1] == [])  // the field keeps the caller's spelling: "cookie: mine=1"
        let (other, seen) = try client(2) { try? $0.headers.set("Cookie", "all=1") }
        try send(other)
        try send(other, path: "http://other.test/a")
        #expect(cookies(seen) == [["all=1; sid=own"], ["sid=own"]])
    }

    @Test func ownCookiesAreKeptOnlyWithinTheOrigin() throws {
        let transport = ScriptedTransport([
            [.head(302, [("Location", "/b"), ("Set-Cookie", "hop=1; Path=/")]), .end],
            [.head(302, [("Location", "http://other.test/c")]), .end],
            [.head(302, [("Location", "http://api.test/d")]), .end], done,
        ])
        try send(try jarClient(transport))
        #expect(
            cookies(transport) == [
                ["theme=dark; sid=own"], ["theme=dark; hop=1; sid=own"], [], ["sid=jar; theme=dark; hop=1"],
            ])
    }

    @Test func withoutAJarRedirectsTreatOwnCookiesTheSame() throws {
        let transport = ScriptedTransport([
            [.head(302, [("Location", "/b")]), .end], [.head(302, [("Location", "http://other.test/c")]), .end], done,
        ])
        try send(try NightjarTests.client(transport))
        #expect(cookies(transport) == [["sid=own"], ["sid=own"], []])
    }

    @Test func apiKeyCookieIsSentWithStoredCookies() throws {
        let key = try APIKey("k", in: .cookie("sid"))
        let (api, transport) = try client(5) { $0.auth = .apiKey(key) }
        _ = try api.sendBlocking(Request(.get, "/a"))
        _ = try api.sendBlocking(Request(.get, "http://other.test/a"))
        var open = Request(.get, "/a")
        open.usesAuth = false
        _ = try api.sendBlocking(open)
        try send(api, ["sid": "own", "tags": "t"])
        try send(api, ["tags": "t"])
        #expect(
            cookies(transport) == [
                ["theme=dark; sid=k"], [], ["sid=jar; theme=dark"], ["theme=dark; sid=own; tags=t"],
                ["theme=dark; tags=t; sid=k"],
            ])
    }

    @Test func apiKeyCookieIsMasked() throws {
        let transport = ScriptedTransport([[.fail(.connectionLost)]])
        let api = try NightjarTests.client(transport) {
            $0.auth = (try? APIKey("topsecret", in: .cookie("sid"))).map { .apiKey($0) }
        }
        let error = #expect(throws: NightjarError.self) { try api.sendBlocking(Request(.get, "/a")) }
        #expect(cookies(transport) == [["sid=topsecret"]])
        #expect(!"\(String(describing: error)) \(String(reflecting: error))".contains("topsecret"))
    }

    @Test func cookieHeaderAndAPIKeyCookieAreTwoLogins() throws {
        let error = #expect(throws: NightjarError.self) {
            try client(0) {
                $0.auth = (try? APIKey("k", in: .cookie("sid"))).map { .apiKey($0) }
                try? $0.headers.set("Cookie", "a=1")
            }
        }
        #expect(
            error?.message == "credentials are set twice: in auth, and in the headers or the base URL; remove "
                + "one of them")
    }

    @Test func callsWithDifferentCookiesAreNotCoalesced() throws {
        let (api, transport) = try client(6)
        for _ in 0..<2 {
            try send(api, ["sid": "one"])
            try send(api, ["sid": "two"])
            try send(api, [:]) { try $0.headers.set("Cookie", "sid=one") }
        }
        #expect(
            cookies(transport) == [
                ["theme=dark; sid=one"], ["theme=dark; sid=two"], ["sid=one"], ["theme=dark; sid=one"],
                ["theme=dark; sid=two"], ["sid=one"],
            ])
    }
}
