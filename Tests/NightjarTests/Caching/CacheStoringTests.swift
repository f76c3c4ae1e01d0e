import Glibc
import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar

/// Effects of uncacheable responses on cache entries, lifetimes of entries, and separate entries for each login.
@Suite struct CacheStoringTests {
    private typealias Bench = CacheTests.Bench
    private typealias Results = CacheTests.Results

    private static let fresh = [("Cache-Control", "max-age=600"), ("ETag", "\"1\"")]
    /// The fields of a response that is stale when it arrives.
    private static let stale = [("Cache-Control", "max-age=5"), ("Age", "10"), ("ETag", "\"1\"")]

    private func text(_ response: Response?) -> String? { response.map { String(buffer: $0.body) } }

    private func cached(_ bench: Bench, _ target: String = "/a") throws -> String? {
        try bench.client.cache?.flush()
        return text(try bench.client.cached(Request(.get, target)))
    }

    // MARK: Removals by responses that are not stored

    /// A reload does not read the disk. The response must remove the outdated entry although no lookup has found it.
    @Test(arguments: [true, false], [404, 410, 403, 405, 301, 200])
    func reloadRemovesTheOutdatedEntry(_ isOnDisk: Bool, _ status: Int) throws {
        let folder = try TemporaryDirectory()
        let bench = try Bench(
            isOnDisk ? .init(memory: 0, disk: 1 << 20, folder: folder.file("c")) : .init(),
            { $0.redirect.follows = false }
        ) { number, _ in
            number == 1 ? .init(200, Self.fresh) : .init(status, [("Cache-Control", "no-store")], "new")
        }
        _ = try bench.get()
        #expect(try cached(bench) == "content")
        #expect(try bench.get(policy: .reload).status == status)
        #expect(try cached(bench) == nil)
        #expect(try bench.get().source == .network)
    }

    @Test(arguments: [true, false], [401, 407, 429, 302, 303, 307, 408, 421, 425, 431, 500, 503, 511])
    func unrelatedStatusRemovesNothing(_ isOnDisk: Bool, _ status: Int) throws {
        let folder = try TemporaryDirectory()
        // These fields make some of the responses cacheable.
        let control = [("Cache-Control", "private, max-age=0"), ("ETag", "\"portal\"")]
        let bench = try Bench(
            isOnDisk ? .init(memory: 0, disk: 1 << 20, folder: folder.file("c")) : .init(),
            { $0.redirect.follows = false }
        ) { number, _ in number == 1 ? .init(200, Self.fresh) : .init(status, control, "no") }
        _ = try bench.get()
        var request = try Bench.request(.get, "/a", .reload)
        request.expectedStatuses = [StatusRange(100, 599)]
        #expect(try bench.client.sendBlocking(request).status == status)
        #expect(try cached(bench) == "content")
        #expect(try bench.get().source == .cache)
    }

    @Test(arguments: [401, 407, 429, 302, 403, 404, 503])
    func failedRefreshKeepsContentAndValidator(_ status: Int) throws {
        let isRemoved = status == 403 || status == 404
        let bench = try Bench(.init(), { $0.redirect.follows = false }) { number, requested in
            switch number {
            case 1: .init(200, Self.stale)
            case 2: .init(status, [("Cache-Control", "max-age=0, private"), ("Location", "http://portal.test/")])
            default: .init(requested.headers["If-None-Match"] == "\"1\"" ? 304 : 200, Self.fresh, "new")
            }
        }
        _ = try bench.get()
        #expect(text(try bench.get(policy: .offlineFirst)) == "content")
        bench.run("the server received the refresh") { bench.requested.count == 2 }
        try eventually("the refresh ended") { try cached(bench) == (isRemoved ? nil : "content") }
        #expect(text(try bench.get()) == (isRemoved ? "new" : "content"))
        #expect(bench.requested[2].headers["If-None-Match"] == (isRemoved ? nil : "\"1\""))
    }

    /// `offline_first` stores responses without a lifetime. Its background revalidation must store the new response.
    @Test func refreshWithoutALifetimeKeepsTheEntry() throws {
        let bench = try Bench { number, _ in .init(200, [], "\(number)") }
        #expect(text(try bench.get(policy: .offlineFirst)) == "1")
        #expect(text(try bench.get(policy: .offlineFirst)) == "1")
        try eventually("the refresh was stored") { try cached(bench) == "2" }
    }

    @Test func onlyTheRequestedVariantIsRemoved() throws {
        let bench = try Bench { number, requested in
            number <= 2
                ? .init(200, Self.stale + [("Vary", "Accept")], requested.headers["Accept"] ?? "")
                : .init(number == 3 ? 406 : 404)
        }
        for type in ["a/a", "b/b"] { _ = try bench.get("/a", [("Accept", type)]) }
        func stored() throws -> [Bool] {
            try ["a/a", "b/b"].map { try bench.get("/a", policy: .cacheElseLoad, [("Accept", $0)]).source != .network }
        }
        _ = try bench.get("/a", [("Accept", "c/c")])
        #expect(try stored() == [true, true])
        #expect(try bench.get("/a", [("Accept", "a/a")]).status == 404)
        #expect(bench.client.cache?.statistics.memoryEntries == 1)
        #expect(try bench.get("/a", policy: .cacheElseLoad, [("Accept", "b/b")]).source == .stale)
    }

    @Test func cacheableErrorDoesNotReplaceContent() throws {
        let bench = try Bench { number, _ in number == 1 ? .init(200, Self.stale) : .init(503, Self.fresh, "down") }
        _ = try bench.get()
        var request = try Bench.request(.get, "/a")
        request.expectedStatuses = [StatusRange(100, 599)]
        #expect(try bench.client.sendBlocking(request).status == 503)
        #expect(try cached(bench) == "content")
    }

    // MARK: Lifetimes

    /// The caller's thread also serves fresh entries. It checks only the second of a coarse clock.
    @Test(arguments: [false, true]) func expiredEntryIsNotServed(_ byRequest: Bool) throws {
        let bench = try Bench { _, _ in .init(200, [("Cache-Control", byRequest ? "max-age=600" : "max-age=1")]) }
        let fields = byRequest ? [("Cache-Control", "max-age=1")] : []
        // Stores the entry early in a second, so that its lifetime ends in the middle of a later second.
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        while !(0.1..<0.4).contains(now().truncatingRemainder(dividingBy: 1)) { usleep(1000) }
        _ = try bench.get("/a", fields)
        let stored = now()
        var latest = 0.0
        while true {
            let start = now()
            guard try bench.get("/a", fields).source == .cache else { break }
            latest = start - stored
            guard latest < 1.5 else { break }
        }
        #expect(latest <= 1.01, "the entry was served \(latest) s after it was stored")
    }

    @Test(arguments: [false, true], [1, 2]) func totalTimeoutPermitsStaleIfError(
        _ isOnDisk: Bool, _ count: Int
    ) throws {
        let folder = try TemporaryDirectory()
        let control = [("Cache-Control", "max-age=5, stale-if-error=600"), ("Age", "10"), ("ETag", "\"1\"")]
        let bench = try Bench(isOnDisk ? .init(memory: 0, disk: 1 << 20, folder: folder.file("c")) : .init()) { _, _ in
            .init(200, control)
        }
        _ = try bench.get()
        try bench.client.cache?.flush()
        bench.server.isHeld.store(true, ordering: .relaxed)
        let results = Results()
        // The second call waits for the first one.
        for index in 0..<count {
            var request = try Bench.request(.get, "/a")
            request.timeouts.total = .milliseconds(50)
            try bench.start(request, results, index)
        }
        bench.run { results.count == count }
        for index in 0..<count {
            #expect(try results[index]?.get().source == .stale)
            #expect(text(try results[index]?.get()) == "content")
        }
        #expect(try results[0]?.get().decisions.explanation.contains("stale-if-error") == true)
        bench.server.release()
    }

    @Test func withoutStaleIfErrorATotalTimeoutFails() throws {
        let bench = try Bench { _, _ in .init(200, Self.stale) }
        _ = try bench.get()
        bench.server.isHeld.store(true, ordering: .relaxed)
        var request = try Bench.request(.get, "/a")
        request.timeouts.total = .milliseconds(20)
        #expect(throws: NightjarError.self) { try bench.client.sendBlocking(request) }
        bench.server.release()
    }

    /// The received part of the new response is not delivered.
    @Test(arguments: [false, true]) func truncatedResponseDoesNotChangeTheStaleOne(_ isOnDisk: Bool) throws {
        let folder = try TemporaryDirectory()
        let control = [("Cache-Control", "max-age=5, stale-if-error=600"), ("Age", "10")]
        let bench = try Bench(isOnDisk ? .init(memory: 0, disk: 1 << 20, folder: folder.file("c")) : .init()) {
            number, _ in
            var reply = ServerInMemory.Response(200, control, number == 1 ? "content" : "other content")
            reply.breaksOff = number > 1
            return reply
        }
        _ = try bench.get()
        try bench.client.cache?.flush()
        let response = try bench.get()
        #expect(response.source == .stale && text(response) == "content")
    }

    // MARK: Credentials

    private func jar() -> (inout Configuration) -> Void { { $0.cookies = CookieStorage() } }

    @Test func changingCookieKeepsTheEntries() throws {
        let bench = try Bench(.init(), jar()) { number, _ in
            .init(200, Self.fresh + [("Set-Cookie", "visit=\(number)")], "\(number)")
        }
        // The first response sets the cookie; the others replace it.
        for target in ["/a", "/b", "/c"] { _ = try bench.get(target) }
        for target in ["/a", "/b", "/c"] { #expect(try bench.get(target).source == .cache, "\(target)") }
        #expect(bench.requested.count == 3)
        #expect(bench.requested.map { $0.headers["Cookie"] } == [nil, "visit=1", "visit=2"])
    }

    @Test(arguments: ["AWSALB", "__cf_bm", "BIGipServerpool"])
    func loadBalancerCookiesAreIgnored(_ name: String) throws {
        let bench = try Bench(.init(), jar()) { number, requested in
            // `/b` sets the cookie in a response that must not be stored.
            let control = requested.target == "/a" ? Self.fresh : [("Cache-Control", "no-store")]
            return .init(200, control + [("Set-Cookie", "\(name)=\(number)")], "\(number)")
        }
        for _ in 0..<3 {
            #expect(text(try bench.get("/a")) == "1")
            _ = try bench.get("/b")
        }
    }

    /// The login changes by a POST, a GET, a redirect, a deleted cookie, or a cookie that the caller sets.
    @Test(arguments: ["POST", "GET", "redirect", "hand", "deleted"], [false, true])
    func otherLoginReceivesNoEntriesOfTheFirst(_ way: String, _ isOnDisk: Bool) throws {
        let folder = try TemporaryDirectory()
        let storage = CookieStorage()
        let bench = try Bench(
            isOnDisk ? .init(memory: 0, disk: 1 << 20, folder: folder.file("c")) : .init(), { $0.cookies = storage }
        ) { _, requested in
            let user = requested.headers["Cookie"] ?? "nobody"
            guard requested.target.hasPrefix("/login/") else { return .init(200, Self.fresh, user) }
            let name = String(requested.target.dropFirst(7))
            let cookie = name == "out" ? "session=; Max-Age=0; Path=/" : "session=\(name); Path=/"
            return way == "redirect"
                ? .init(302, [("Set-Cookie", cookie), ("Location", "/b")])
                : .init(200, [("ETag", "\"login\""), ("Set-Cookie", cookie)])
        }
        func logIn(_ name: String) throws {
            switch way {
            case "hand": try storage.set("session=\(name); Path=/", for: RequestURL("http://api.test/"))
            case "POST": _ = try bench.client.sendBlocking(Bench.request(.post, "/login/\(name)"))
            case "deleted":
                _ = try bench.get("/login/out")
                #expect(text(try bench.get("/a")) == "nobody")
                _ = try bench.get("/login/\(name)")
            default: _ = try bench.get("/login/\(name)")
            }
            try bench.client.cache?.flush()
        }
        for name in ["ada", "bob", "ada"] {
            try logIn(name)
            for _ in 0..<2 { #expect(text(try bench.get("/a")) == "session=\(name)") }
            try bench.client.cache?.flush()
            #expect(text(try bench.client.cached(Request(.get, "/a"))) == "session=\(name)")
        }
    }

    /// A response to a request with a session cookie is not shared with clients without that cookie.
    @Test func addedCookieStartsANewPartition() throws {
        let reply: @Sendable (Int, ServerInMemory.Requested) -> ServerInMemory.Response = { _, requested in
            let user = requested.headers["Cookie"] ?? "nobody"
            return .init(200, Self.fresh + (user == "nobody" ? [("Set-Cookie", "session=7")] : []), user)
        }
        let storage = try CacheStorage()
        let first = try Bench(
            .init(),
            { (configure: inout Configuration) in
                configure.cookies = CookieStorage()
                configure.cache = storage
            }, reply)
        _ = try first.get("/a")
        #expect(text(try first.get("/mine")) == "session=7")
        let second = try Bench(.init(), { $0.cache = storage }, reply)
        #expect(text(try second.get("/a")) == "nobody")
        #expect(text(try second.get("/mine")) == "nobody")
        #expect(text(try first.get("/mine")) == "session=7")
    }

    @Test func loginCookiesAreSelectedByName() throws {
        func bench(_ cookies: LoginCookies) throws -> Bench {
            try Bench(.init(), { $0.loginCookies = cookies }) { _, requested in
                .init(200, Self.fresh, requested.headers["Cookie"] ?? "")
            }
        }
        func bodies(_ cookies: LoginCookies, _ fields: [String]) throws -> [String?] {
            let bench = try bench(cookies)
            return try fields.map { text(try bench.get("/a", [("Cookie", $0)])) }
        }
        let fields = ["s=1; n=1", "n=2; s=1", "s=2; n=1", "n=1"]
        #expect(try bodies(.named(["s"]), fields) == ["s=1; n=1", "s=1; n=1", "s=2; n=1", "n=1"])
        #expect(try bodies(.named([]), fields) == ["s=1; n=1", "s=1; n=1", "s=1; n=1", "s=1; n=1"])
        #expect(try bodies(.all, fields) == fields)
        #expect(try bodies(.automatic, fields) == fields)
        #expect(try bodies(.automatic, ["s=1; n=1", "n=1;s=1 "]) == ["s=1; n=1", "s=1; n=1"], "in another order")
        // "S" is another name, and prefixes do not match.
        #expect(try bodies(.named(["s"]), ["s=1", "S=1", "s2=1"]) == ["s=1", "S=1", "S=1"])
    }

    @Test func optionNamesTheLoginCookies() throws {
        func option(_ json: String) throws -> LoginCookies {
            var configuration = Configuration()
            try configuration.merge(json: #"{"cache": {"login_cookies": "# + json + "}}")
            return configuration.loginCookies
        }
        #expect(try option(#"["session"]"#) == .named(["session"]))
        #expect(try option("[]") == .named([]))
        #expect(try option(#"["*"]"#) == .all)
        #expect(throws: NightjarError.self) { try option("true") }
        #expect(Configuration().loginCookies == .automatic)
    }

    /// `Vary: Cookie` applies in addition to the client's `loginCookies`.
    @Test func varyByCookieIsRespected() throws {
        let bench = try Bench(.init(), { $0.loginCookies = .named([]) }) { _, requested in
            .init(200, Self.fresh + [("Vary", "Cookie")], requested.headers["Cookie"] ?? "")
        }
        for _ in 0..<2 {
            for cookie in ["n=1", "n=2"] { #expect(text(try bench.get("/a", [("Cookie", cookie)])) == cookie) }
        }
        #expect(bench.requested.count == 2)
    }
}
