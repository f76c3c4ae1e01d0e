import NIOCore
import Nightjar
import NightjarDemo
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

/// The cache with a real server. The tests check how many requests the server received.
@Suite struct CacheLoopbackTests {
    private let demo: CacheDemo
    private let client: Client
    /// The query for a response that is already stale when it arrives.
    private let stale = "control=max-age=60&age=61"
    private let fresh = "control=max-age=60"

    init() throws {
        demo = try CacheDemo()
        client = try demo.client()
    }

    // MARK: Fresh, stale, validated

    @Test func freshResponseIsRequestedOnce() throws {
        for source in [ResponseSource.network, .cache, .cache] {
            let response = try client.get("/cache/a?\(fresh)")
            #expect(response.source == source && response.version == 1)
        }
        #expect(demo.requests("/cache/a") == 1)
    }

    @Test(arguments: ["etag=strong", "etag=weak", "modified=100"])
    func staleResponseIsValidatedWithItsValidator(_ validator: String) throws {
        let target = "/cache/a?\(stale)&\(validator)"
        let first = try client.get(target)
        let second = try client.get(target)
        #expect(second.source == .revalidated && second.status == 200 && second.bytes == first.bytes)
        #expect(demo.requests("/cache/a") == 2)
        #expect(demo.conditional("/cache/a") == 1 && demo.notModified("/cache/a") == 1)
    }

    @Test(arguments: ["strong", "weak"]) func changedResponseReplacesTheStaleOne(_ tag: String) throws {
        let target = "/cache/a?\(stale)&etag=\(tag)"
        try client.get(target)
        try demo.change("/cache/a")
        let second = try client.get(target)
        #expect(second.source == .network && second.version == 2)
        #expect(demo.conditional("/cache/a") == 1 && demo.notModified("/cache/a") == 0)
    }

    @Test func uncacheableResponseIsRequestedEachTime() throws {
        for _ in 0..<2 { #expect(try client.get("/cache/a?control=no-store&etag=strong").source == .network) }
        #expect(demo.requests("/cache/a") == 2 && demo.conditional("/cache/a") == 0)
    }

    // MARK: Variants and codings

    @Test func variantIsReturnedForMatchingRequests() throws {
        for _ in 0..<2 {
            for language in ["de", "fr"] {
                let response = try client.get("/cache/a?\(fresh)&vary=Accept-Language", [("Accept-Language", language)])
                #expect(response.reported("accept-language") == language)
            }
        }
        #expect(demo.requests("/cache/a") == 2)
    }

    @Test func compressedResponsesAreStoredDecoded() throws {
        let target = "/cache/a?\(fresh)&gzip=1&length=20000&etag=strong"
        let first = try client.get(target)
        let second = try client.get(target)
        #expect(first.source == .network && second.source == .cache)
        #expect(DemoContent.isIntact(first.bytes) && second.bytes == first.bytes && first.bytes.count == 20_000)
        #expect(second.headers["Content-Encoding"] == first.headers["Content-Encoding"])
        #expect(demo.requests("/cache/a") == 1)
        // A call without decoding gets the encoded bytes from the server, and the cache keeps its entry.
        let raw = try client.get(target, [("Accept-Encoding", "gzip")]) { $0.decompresses = false }
        #expect(raw.source == .network && Array(raw.bytes.prefix(2)) == [0x1F, 0x8B])
        #expect(raw.headers["Content-Encoding"] == "gzip" && demo.requests("/cache/a") == 2)
        #expect(try client.get(target).bytes == first.bytes)
    }

    // MARK: HEAD and ranges

    @Test func headIsServedFromAGetAndInvalidatesAChangedEntry() throws {
        let target = "/cache/a?\(fresh)&etag=strong&length=5000"
        try client.get(target)
        let head = try client.get(target) { $0.method = .head }
        #expect(head.source == .cache && head.headers["Content-Length"] == "5000" && head.bytes.isEmpty)
        #expect(demo.requests("/cache/a") == 1)
        try demo.change("/cache/a")
        try client.get(target, policy: .reload) { $0.method = .head }
        #expect(try client.get(target).version == 2)
        #expect(demo.requests("/cache/a") == 4)
    }

    @Test(arguments: ["bytes=100-199", "bytes=-50", "bytes=9000-"])
    func rangesAreServedFromTheCompleteResponse(_ range: String) throws {
        let target = "/cache/a?\(fresh)&etag=strong&length=10000"
        let whole = try client.get(target).bytes
        let part = try client.get(target, [("Range", range)])
        let expected =
            switch range {
            case "bytes=-50": whole[9950...]
            case "bytes=9000-": whole[9000...]
            default: whole[100...199]
            }
        #expect(part.status == 206 && part.source == .cache && part.bytes == Array(expected))
        #expect(demo.requests("/cache/a") == 1 && demo.ranged("/cache/a") == 0)
    }

    @Test func storedPartServesOnlyItsBytes() throws {
        let target = "/cache/a?\(fresh)&etag=strong&length=10000"
        for (range, source) in [("0-9", ResponseSource.network), ("0-9", .cache), ("5-9", .cache), ("5-14", .network)] {
            let part = try client.get(target, [("Range", "bytes=\(range)")])
            #expect(part.status == 206 && part.source == source, "\(range)")
            #expect(part.headers["Content-Range"] == "bytes \(range)/10000")
            #expect(part.bytes.count == (range == "5-9" ? 5 : 10))
        }
        #expect(DemoContent.isIntact(try client.get(target).bytes))
        #expect(demo.requests("/cache/a") == 3 && demo.ranged("/cache/a") == 2)
    }

    // MARK: Writes, redirects, Clear-Site-Data

    @Test(arguments: [Nightjar.Method.post, .put, .patch, .delete])
    func writeInvalidatesItsResources(_ method: Nightjar.Method) throws {
        let names = ["a", "b", "c", "d"]
        for name in names { try client.get("/cache/\(name)?\(fresh)") }
        // The demo server's DELETE has no `control` parameter.
        let fields = method == .delete ? "" : "\(fresh)&"
        let b = "/cache/b%3Fcontrol%3Dmax-age%3D60"
        let c = "/cache/c%3Fcontrol%3Dmax-age%3D60"
        try client.write("/cache/a?\(fields)location=\(b)&content-location=\(c)", method)
        for name in names { try client.get("/cache/\(name)?\(fresh)") }
        #expect(names.map { demo.requests("/cache/\($0)") } == [2, 2, 2, 1])
        try client.write("/cache/d?\(fresh)", method)
        #expect(try client.get("/cache/d?\(fresh)").source == .network)
    }

    @Test func failedWriteInvalidatesNothing() throws {
        try client.get("/cache/a?\(fresh)&status=200")
        _ = try failure(client, Request(.post, "/cache/a?\(fresh)&status=500"))
        #expect(try client.get("/cache/a?\(fresh)&status=200").source == .cache)
    }

    @Test func cacheableRedirectIsStored() throws {
        let to = "to=/cache/b%3Fcontrol%3Dmax-age%3D60"
        for status in ["301", "308"] {
            let name = "/cache/\(status)/redirect"
            for _ in 0..<2 {
                #expect(try client.get("\(name)?status=\(status)&\(fresh)&\(to)").reported("name") == "b")
            }
            #expect(demo.requests(name) == 1)
        }
        for _ in 0..<2 { try client.get("/cache/302/redirect?status=302&\(to)") }
        #expect(demo.requests("/cache/302/redirect") == 2 && demo.requests("/cache/b") == 1)
    }

    @Test func clearSiteDataClearsOnlyItsOrigin() throws {
        let other = try CacheDemo()
        let elsewhere = "http://127.0.0.1:\(other.port)/cache/a?\(fresh)"
        try client.get("/cache/a?\(fresh)")
        try client.get(elsewhere)
        try client.get("/cache/x/clear?types=cookies")
        #expect(try client.get("/cache/a?\(fresh)").source == .cache)
        try client.get("/cache/x/clear")
        #expect(try client.get("/cache/a?\(fresh)").source == .network)
        #expect(try client.get(elsewhere).source == .cache)
        #expect(demo.requests("/cache/a") == 2 && other.requests("/cache/a") == 1)
    }

    // MARK: Stale responses

    @Test(arguments: ["503", "500", "502", "504", "drop"])
    func staleIfErrorServesAStaleResponseOnFailure(_ failing: String) throws {
        let query = "age=61&fail=2&failure=\(failing)"
        let allowed = "/cache/a?control=max-age=60,stale-if-error=600&\(query)"
        let first = try client.get(allowed)
        let second = try client.get(allowed)
        #expect(second.source == .stale && second.status == 200 && second.bytes == first.bytes)
        // After the loss of a reused connection, the client sends the request once more on a new connection.
        #expect(demo.requests("/cache/a") == (failing == "drop" ? 3 : 2))
        let plain = "/cache/b?control=max-age=60&\(query)"
        try client.get(plain)
        let error = try failure(client, .cached(plain))
        #expect(error.kind == (failing == "drop" ? .connectionLost : .server))
        let strict = "/cache/c?control=max-age=60,stale-if-error=600,must-revalidate&\(query)"
        try client.get(strict)
        _ = try failure(client, .cached(strict))
    }

    @Test func unreachableServerIsAFailure() throws {
        let target = "/cache/a?control=max-age=60,stale-if-error=600&age=61"
        try client.get(target)
        demo.server.stop()
        let second = try client.get(target)
        #expect(second.source == .stale && second.version == 1)
    }

    @Test func notFoundIsNotAFailure() throws {
        let target = "/cache/a?control=max-age=60,stale-if-error=600&age=61&fail=2&failure=404"
        try client.get(target)
        #expect(try failure(client, .cached(target)).kind == .notFound)
    }

    @Test func staleWhileRevalidateRefreshesInTheBackground() throws {
        let target = "/cache/a?control=max-age=60,stale-while-revalidate=600&age=61&etag=strong"
        try client.get(target)
        try demo.change("/cache/a")
        let second = try client.get(target)
        #expect(second.source == .stale && second.version == 1)
        try eventually("the response was fetched again") { demo.requests("/cache/a") == 3 }
        try eventually("the new response is served") { try client.get(target, policy: .cacheOnly).version == 2 }
        #expect(demo.conditional("/cache/a") == 1)
    }

    @Test func storedResponseIsAvailableOffline() throws {
        let target = "/cache/a?control=no-cache&etag=strong"
        try client.get(target, policy: .offlineFirst)
        demo.server.stop()
        let reported = Mutex<ErrorKind?>(nil)
        let results = CallResults()
        let queue = CompletionQueue()
        var handlers = results.handlers(0)
        handlers.refreshed = { result in
            if case .failure(let error) = result { reported.withLock { $0 = error.kind } }
        }
        try client.start(.cached(target, policy: .offlineFirst), on: queue, handlers)
        results.wait(for: 1, on: queue)
        #expect(try results[0]?.get().source == .stale)
        try eventually("the failure is reported") {
            queue.poll(timeout: .milliseconds(10))
            return reported.withLock { $0 != nil }
        }
        #expect(try client.get(target, policy: .cacheOnly).version == 1)
        #expect(try failure(client, .cached("/cache/b", policy: .offlineFirst)).kind == .connect)
    }

    // MARK: Users

    @Test func usersDoNotShareEntries() throws {
        let target = "/cache/p?private-to=user&\(fresh)"
        let users = [
            ("ada", ("Authorization", "Basic YWRhOng=")), ("bob", ("Authorization", "Basic Ym9iOng=")),
            ("carol", ("Cookie", "user=carol")), ("dan", ("Cookie", "user=dan")),
        ]
        for round in 0..<2 {
            for (name, header) in users {
                let response = try client.get(target, [header])
                #expect(response.reported("private_to") == name)
                #expect(response.source == (round == 0 ? .network : .cache))
            }
            #expect(try failure(client, .cached(target)).kind == .unauthorized)
            #expect(try failure(client, .cached(target, policy: .cacheOnly)).kind == .cacheMiss)
        }
        #expect(demo.requests("/cache/p") == 6)
    }
}
