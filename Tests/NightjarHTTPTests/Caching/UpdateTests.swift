import Testing

@testable import NightjarHTTP

/// Updates of stored responses by 304 and HEAD responses (RFC 9111 sections 3.2, 4.3.4 and 4.3.5).
@Suite struct UpdateTests {
    private func updated(
        _ first: [(String, String)], by then: [(String, String)], request: [(String, String)] = []
    ) throws -> CacheUpdate {
        var conversation = CacheConversation()
        conversation.response = first + [("ETag", "\"a\"")]
        conversation.first = request
        let stored = try #require(conversation.stored)
        let head = ResponseHead(status: 304, headers: CacheConversation.fields(then))
        return CacheConversation.request(request).updated(
            stored, byNotModified: head, requested: CacheConversation.moment(90),
            received: CacheConversation.moment(100))
    }

    /// RFC 9111 section 3.2.
    @Test func validationReplacesFields() throws {
        for name in [
            "Test-Header", "X-Test-Header", "Content-Foo", "X-Content-Foo", "Content-Location", "Content-MD5",
            "Content-Security-Policy", "Content-Type", "Clear-Site-Data", "ETag", "Expires", "Public-Key-Pins",
            "Set-Cookie",
            "X-Frame-Options", "X-XSS-Protection", "Cache-Control", "Last-Modified",
        ] {
            let update = try updated([(name, "\"old\""), (name, "\"older\"")], by: [(name.lowercased(), "\"new\"")])
            #expect(update.response.headers.values(name) == ["\"new\""], "\(name)")
        }
    }

    /// RFC 9111 section 3.2.
    @Test func validationKeepsContentFields() throws {
        for name in ["Content-Length", "Content-Encoding", "Content-Range"] {
            let value = name == "Content-Length" ? "10" : "old"
            #expect(try updated([(name, value)], by: [(name, "5")]).response.headers.values(name) == [value], "\(name)")
            #expect(try updated([], by: [(name, "5")]).response.headers[name] == nil, "\(name)")
        }
        for name in ["Connection", "Keep-Alive", "TE", "Upgrade", "Proxy-Authenticate", "Transfer-Encoding"] {
            #expect(try updated([], by: [(name, "x")]).response.headers[name] == nil, "\(name)")
        }
        let named = try updated([("A", "1")], by: [("Connection", "a"), ("A", "2"), ("B", "2")]).response.headers
        #expect(named["a"] == nil && named["b"] == "2")
        let private_ = try updated([("A", "1")], by: [("Cache-Control", "max-age=9, no-cache=\"A\""), ("A", "2")])
        #expect(private_.response.headers["a"] == nil)
    }

    @Test func omittedFieldsAreKept() throws {
        let update = try updated([("Test-Header", "1"), ("Cache-Control", "max-age=5")], by: [("X", "2")])
        #expect(update.response.headers["test-header"] == "1")
        #expect(update.response.headers["cache-control"] == "max-age=5")
        #expect(update.response.headers["x"] == "2")
        #expect(update.isKept)
    }

    @Test func validationResetsTheAge() throws {
        let first = [("Cache-Control", "max-age=60"), ("Age", "1000"), ("Date", "@-1000")]
        let response = try updated(first, by: []).response
        #expect(response.headers["age"] == nil)
        #expect(response.headers.values("date") == [HTTPDate.text(CacheConversation.moment(100))])
        #expect(response.freshness.age(at: CacheConversation.moment(100)) == 10, "the delay of the 304")
        #expect(response.freshness.isFresh(at: CacheConversation.moment(149)))
        #expect(!response.freshness.isFresh(at: CacheConversation.moment(150)))
        let aged = try updated(first, by: [("Age", "30"), ("Date", "@100")]).response
        #expect(aged.freshness.age(at: CacheConversation.moment(100)) == 40)
    }

    @Test func validationRestoresAnInvalidatedResponse() throws {
        var stored = StoredResponse(ResponseHead(status: 200), requested: .epoch, received: .epoch)
        stored.isInvalidated = true
        stored.headers = CacheConversation.fields([("Cache-Control", "max-age=60")])
        let update = CacheConversation.request([]).updated(
            stored, byNotModified: ResponseHead(status: 304), requested: CacheConversation.start,
            received: CacheConversation.start)
        #expect(!update.response.isInvalidated)
        #expect(
            CacheConversation.request([]).decide(among: [update.response], at: CacheConversation.start).summary
                == "fresh")
    }

    @Test func validationWithNoStoreRemovesTheResponse() throws {
        let first = [("Cache-Control", "max-age=5")]
        #expect(try !updated(first, by: [("Cache-Control", "no-store")]).isKept)
        #expect(try !updated(first, by: [("Vary", "*")]).isKept)
        #expect(try updated(first, by: [("Vary", "Foo")], request: [("Foo", "1")]).isKept)
        #expect(
            try updated(first, by: [("Vary", "Foo")], request: [("Foo", "1")]).response.variantFields
                == [StoredResponse.VariantField("foo", "1")])
    }

    /// Each 304 can add names, and old names are never removed.
    @Test func storedFieldsAreBounded() throws {
        for (fields, value) in [(300, "1"), (10, String(repeating: "x", count: 10_000))] {
            var conversation = CacheConversation()
            conversation.response = [("Cache-Control", "max-age=60"), ("ETag", "\"a\"")]
            var stored = try #require(conversation.stored)
            var round = 0
            while round < 100 {
                let newer = (0..<fields).map { ("X-\(round)-\($0)", value) }
                let update = CacheConversation.request([]).updated(
                    stored, byNotModified: ResponseHead(status: 304, headers: CacheConversation.fields(newer)),
                    requested: .epoch, received: .epoch)
                guard update.isKept else { break }
                stored = update.response
                round += 1
            }
            #expect(round > 0 && round < 10, "\(round) updates were kept")
            #expect(stored.headers.count <= 1000 && stored.headers.byteCount <= 256 << 10)
        }
    }

    @Test func weakTagDoesNotBecomeStrong() throws {
        var conversation = CacheConversation()
        conversation.response = [("Cache-Control", "max-age=5"), ("ETag", "W/\"a\"")]
        let stored = try #require(conversation.stored)
        for (newer, kept) in [("\"a\"", "W/\"a\""), ("W/\"a\"", "W/\"a\""), ("\"b\"", "\"b\"")] {
            let head = ResponseHead(status: 304, headers: CacheConversation.fields([("ETag", newer)]))
            let update = CacheConversation.request([]).updated(
                stored, byNotModified: head, requested: .epoch, received: .epoch)
            #expect(update.response.headers.values("etag") == [kept])
        }
    }

    private func head(
        _ first: [(String, String)], _ then: [(String, String)], status: Int = 200, method: Method = .head,
        request: [(String, String)] = []
    ) throws -> String {
        var conversation = CacheConversation()
        conversation.response = [("Cache-Control", "max-age=1, stale-if-error=9")] + first
        let stored = try #require(conversation.stored)
        let meaning = CacheConversation.request(request, method).meaning(
            ofHead: ResponseHead(status: status, headers: CacheConversation.fields(then)), for: stored,
            requested: CacheConversation.moment(9), received: CacheConversation.moment(9))
        guard case .updated(let update) = meaning else { return "\(meaning)" }
        return update.response.freshness.isFresh(at: CacheConversation.moment(10)) ? "fresh" : "updated"
    }

    /// RFC 9111 section 4.3.5.
    @Test func headResponseUpdatesOrInvalidates() throws {
        let newer = [("Cache-Control", "max-age=1000"), ("Template-A", "2")]
        #expect(try head([], newer) == "fresh")
        #expect(try head([], []) == "updated")
        #expect(try head([("ETag", "\"a\"")], newer + [("ETag", "\"a\"")]) == "fresh")
        #expect(try head([("ETag", "\"a\"")], newer + [("ETag", "\"b\"")]) == "invalidated")
        #expect(try head([("Last-Modified", "@-9")], newer + [("Last-Modified", "@-8")]) == "invalidated")
        #expect(try head([("Content-Length", "10")], newer + [("Content-Length", "10")]) == "fresh")
        #expect(try head([("Content-Length", "10")], newer + [("Content-Length", "11")]) == "invalidated")
        #expect(try head([], newer + [("Content-Length", "11")]) == "invalidated", "not the length of the stored body")
        #expect(try head([], newer + [("Content-Length", "10")]) == "fresh")
        #expect(try head([("ETag", "\"a\"")], newer) == "fresh", "only fields of both responses are compared")
        #expect(try head([], newer, status: 410) == "unaffected")
        #expect(try head([], newer, status: 304) == "unaffected")
        #expect(try head([], newer, method: .get) == "unaffected")
        var selected = CacheConversation()
        selected.response = [("Cache-Control", "max-age=60"), ("Vary", "Foo")]
        let stored = try #require(selected.stored)
        #expect(
            CacheConversation.request([("Foo", "1")], .head).meaning(
                ofHead: ResponseHead(status: 200), for: stored, requested: .epoch, received: .epoch) == .unaffected)
        var invalidated = stored
        invalidated.isInvalidated = true
        guard
            case .updated(let update) = CacheConversation.request([], .head).meaning(
                ofHead: ResponseHead(status: 200), for: invalidated, requested: .epoch, received: .epoch)
        else {
            Issue.record("the response was not updated")
            return
        }
        #expect(update.response.isInvalidated, "HEAD does not validate an invalidated response")
    }
}
