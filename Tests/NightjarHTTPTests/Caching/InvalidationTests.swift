import Testing

@testable import NightjarHTTP

/// Invalidation (RFC 9111 section 4.4), Clear-Site-Data, and Cache-Status (RFC 9211).
@Suite struct InvalidationTests {
    private func urls(
        _ method: String, status: Int = 200, _ fields: [(String, String)] = [],
        url: String = "http://user:s3cret@example.com/dir/a?b=c"
    ) throws -> [String] {
        let method = try #require(Method(method))
        let head = ResponseHead(status: status, headers: CacheConversation.fields(fields))
        return Invalidation.urls(method, try RequestURL(url), head).map { $0.origin.description + $0.target }
    }

    @Test func successfulUnsafeMethodInvalidatesItsURL() throws {
        let own = ["http://example.com/dir/a?b=c"]
        for method in ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "get"] {
            for status in [200, 201, 204, 301, 303, 399] {
                #expect(try urls(method, status: status) == own, "\(method)")
            }
            for status in [199, 400, 404, 412, 500, 503] {
                #expect(try urls(method, status: status) == [], "\(method)")
            }
        }
        for method in ["GET", "HEAD", "OPTIONS", "TRACE"] { #expect(try urls(method) == [], "\(method)") }
    }

    @Test func locationsOfTheSameOriginAreInvalidated() throws {
        func named(_ fields: (String, String)...) throws -> [String] { Array(try urls("POST", fields).dropFirst()) }
        #expect(try named(("Location", "b")) == ["http://example.com/dir/b"])
        #expect(try named(("Content-Location", "/b#f")) == ["http://example.com/b"])
        #expect(
            try named(("location", "/b"), ("content-location", "/c")) == [
                "http://example.com/b", "http://example.com/c",
            ])
        #expect(try named(("Location", "HTTP://EXAMPLE.com:80/b")) == ["http://example.com/b"])
        #expect(try named(("Location", "/b"), ("Content-Location", "/b")) == ["http://example.com/b"])
        for other in [
            "https://example.com/b", "http://example.com:81/b", "http://example.org/b", "//example.org/b",
            "ftp://example.com/b",
            "", "http://", "http://user@example.com/b", "http:b", "http://[::1/b",
        ] {
            #expect(try named(("Location", other), ("Content-Location", other)) == [], "\(other)")
        }
        #expect(try urls("POST", (0..<99).map { ("Location", "/\($0)") }).count == 8)
    }

    @Test func clearSiteDataClearsTheOrigin() {
        for (value, clears) in [
            ("\"cache\"", true), ("\"*\"", true), ("\"cookies\", \"cache\"", true), ("cache", false), ("*", false),
            ("\"cookies\"", false), ("\"CACHE\"", false), ("", false), ("\"cache", false), ("\"cookies,cache\"", false),
        ] {
            let headers = CacheConversation.fields([("Clear-Site-Data", value)])
            #expect(Invalidation.clearsOrigin(ResponseHead(status: 500, headers: headers)) == clears, "\(value)")
        }
        let two = CacheConversation.fields([("clear-site-data", "\"cookies\""), ("Clear-Site-Data", "\"cache\"")])
        #expect(Invalidation.clearsOrigin(ResponseHead(status: 200, headers: two)))
        #expect(!Invalidation.clearsOrigin(ResponseHead(status: 200)))
    }

    @Test func cacheStatusDescribesTheDecision() {
        func response(_ reason: CacheHit.Reason, ttl: Int64 = 30) -> CacheStatus {
            CacheStatus(CacheHit(index: 0, age: 1, timeToLive: ttl, because: reason, form: .whole))
        }
        #expect(response(.fresh).text == "nightjar; hit; ttl=30")
        #expect(response(.maxStale, ttl: -5).text == "nightjar; hit; ttl=-5; detail=max-stale")
        #expect(response(.anyAge, ttl: 0).text == "nightjar; hit; ttl=0; detail=any-age")
        #expect(response(.staleWhileRevalidate, ttl: -1).text == "nightjar; hit; ttl=-1; detail=stale-while-revalidate")
        var validated = response(.validated)
        validated.forwarded = .stale
        validated.forwardedStatus = 304
        validated.isStored = true
        #expect(validated.text == "nightjar; fwd=stale; fwd-status=304; ttl=30; stored")
        var fetched = CacheStatus(CacheFetch(because: .uriMiss))
        #expect(fetched.text == "nightjar; fwd=uri-miss")
        fetched.isCollapsed = true
        fetched.detail = "no-store"
        #expect(fetched.text == "nightjar; fwd=uri-miss; collapsed; detail=no-store")
        fetched.detail = "a\r\nb"
        #expect(fetched.text == "nightjar; fwd=uri-miss; collapsed")
        #expect(CacheStatus().text == "nightjar")
        let upstream = CacheConversation.fields([("Cache-Status", "ExampleCDN; hit")])
        #expect(upstream.adding(fetched).values("cache-status") == ["ExampleCDN; hit", fetched.text])
        let reasons: [CacheStatus.ForwardReason] = [
            .bypass, .method, .uriMiss, .varyMiss, .miss, .request, .stale, .partial,
        ]
        #expect(
            reasons.map(\.rawValue) == [
                "bypass", "method", "uri-miss", "vary-miss", "miss", "request", "stale", "partial",
            ])
    }
}
