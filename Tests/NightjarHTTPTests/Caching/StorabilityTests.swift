import Testing

@testable import NightjarHTTP

/// The storing of responses (RFC 9111 section 3).
@Suite struct StorabilityTests {
    private func summary(
        _ response: [(String, String)], status: Int = 200, method: Method = .get, request: [(String, String)] = [],
        policy: CachePolicy = .protocol
    ) -> String {
        var conversation = CacheConversation()
        conversation.method = method
        conversation.status = status
        conversation.response = response
        conversation.first = request
        return switch conversation.storability(policy: policy) {
        case .store: "store"
        case .refuse(let reason): "\(reason)"
        }
    }

    /// RFC 9110 section 9.3.3.
    @Test func responseToPostIsStoredForItsContentLocation() throws {
        let url = try RequestURL("http://user@example.com/dir/a?b=c#d")
        func summary(_ fields: [(String, String)], status: Int = 200, method: Method = .post) -> String {
            let head = ResponseHead(status: status, headers: CacheConversation.fields(fields))
            let storability = CacheConversation.request([], method).storability(
                ofPosted: head, to: url, requested: CacheConversation.start, received: CacheConversation.start)
            return switch storability {
            case .store: "store"
            case .refuse(let reason): "\(reason)"
            }
        }
        let fresh = [("Cache-Control", "max-age=60")]
        for location in [
            "/dir/a?b=c", "a?b=c", "?b=c", "http://example.com:80/dir/a?b=c", "HTTP://EXAMPLE.com/dir/a?b=c#e",
        ] {
            #expect(summary(fresh + [("Content-Location", location)]) == "store", "\(location)")
        }
        for location in [
            "/dir/a", "/dir/A?b=c", "https://example.com/dir/a?b=c", "http://example.org/dir/a?b=c", "http://[",
        ] {
            #expect(summary(fresh + [("Content-Location", location)]) == "method", "\(location)")
        }
        let same = [("Content-Location", "?b=c")]
        #expect(summary([("Expires", "@60")] + same) == "store")
        #expect(summary(fresh) == "method")
        #expect(summary(fresh + same + same) == "method", "two fields")
        #expect(summary([("Last-Modified", "@-60"), ("ETag", "\"a\"")] + same) == "notAllowed", "no explicit lifetime")
        #expect(summary([("Cache-Control", "max-age=60, no-store")] + same) == "noStore")
        for status in [201, 204, 206, 303, 404, 500] {
            #expect(summary(fresh + same, status: status) == "method", "\(status)")
        }
        for method in [Method.get, .put, .patch, .delete] {
            #expect(summary(fresh + same, method: method) == "method", "\(method)")
        }
    }

    /// RFC 9111 section 3.3.
    @Test func truncatedPartIsAShorterPart() throws {
        func part(_ range: String, _ length: Int) -> String? {
            var conversation = CacheConversation()
            conversation.status = 206
            conversation.first = [("Range", "bytes=4-9")]
            conversation.response = [("Cache-Control", "max-age=60"), ("Content-Range", range)]
            conversation.length = length
            return conversation.stored?.headers.values("content-range").joined(separator: "|")
        }
        #expect(part("bytes 4-9/10", 6) == "bytes 4-9/10")
        #expect(part("bytes 4-9/10", 5) == "bytes 4-8/10")
        #expect(part("bytes 4-9/*", 1) == "bytes 4-4/*")
        #expect(part("bytes 4-9/10", 0) == nil)
        #expect(part("bytes 4-9/10", 7) == nil)
    }

    @Test func policiesThatIgnoreAgeStoreStaleResponses() {
        for policy in CachePolicy.allCases {
            #expect((summary([], policy: policy) == "store") == policy.ignoresAge, "\(policy)")
            #expect(summary([("Cache-Control", "no-store")], policy: policy) == "noStore")
        }
    }

    /// RFC 9111 section 3.1.
    @Test func connectionAndProxyFieldsAreNotStored() {
        var conversation = CacheConversation()
        conversation.response = [
            ("Connection", "a, B"), ("A", "1"), ("b", "2"), ("C", "3"), ("Keep-Alive", "timeout=5"), ("TE", "x"),
            ("Transfer-Encoding", "chunked"), ("Upgrade", "h2c"), ("Proxy-Connection", "close"),
            ("Proxy-Authenticate", "Basic"), ("Proxy-Authentication-Info", "x"), ("Proxy-Authorization", "x"),
            ("Cache-Control", "max-age=60"), ("Set-Cookie", "a=b"), ("WWW-Authenticate", "Basic"),
        ]
        #expect(
            conversation.stored?.headers.map(\.name) == [
                "C", "Cache-Control", "Set-Cookie", "WWW-Authenticate", "Date",
            ])
    }

    @Test func connectionCannotRemoveCacheFields() {
        var conversation = CacheConversation()
        conversation.response = [
            ("Connection", "cache-control, Vary, age, etag, expires, date"), ("Cache-Control", "max-age=60"),
            ("Vary", "a"), ("Age", "5"), ("ETag", "\"a\""), ("Expires", "0"), ("Date", "@0"),
        ]
        #expect(conversation.stored?.headers.count == 6)
    }

    /// RFC 9111 section 5.2.2.4.
    @Test func noCacheWithNamesOmitsTheFields() {
        var conversation = CacheConversation()
        conversation.response = [
            ("Cache-Control", "no-cache=\"a, B\""), ("A", "1"), ("b", "2"), ("C", "3"),
            ("Cache-Control", "max-age=3600"),
            ("Date", "@0"),
        ]
        #expect(conversation.stored?.headers["C"] == "3")
        #expect(conversation.stored?.headers["a"] == nil)
        #expect(conversation.stored?.headers["b"] == nil)
        #expect(conversation.summary == "fresh", "the response is used without validation")
    }

    /// RFC 9110 section 6.6.1.
    @Test func missingDateIsAdded() {
        var conversation = CacheConversation()
        conversation.response = [("Cache-Control", "max-age=60")]
        #expect(conversation.stored?.headers["date"] == HTTPDate.text(CacheConversation.start))
        conversation.response.append(("Date", "@-30"))
        #expect(conversation.stored?.headers.values("date") == [HTTPDate.text(CacheConversation.moment(-30))])
    }

    /// RFC 9111 section 3.3.
    @Test func incompleteResponseIsNotStored() {
        var conversation = CacheConversation()
        conversation.response = [("Cache-Control", "max-age=60"), ("Content-Length", "10")]
        #expect(conversation.stored?.contentLength == 10)
        conversation.length = 9
        #expect(conversation.stored == nil)
        conversation.response[1].1 = "x"
        #expect(conversation.stored == nil)
        conversation.response[1].1 = String(repeating: "9", count: 40)
        #expect(conversation.stored == nil)
        guard
            case .store(var decoded) = CacheConversation.request([]).storability(
                of: conversation.head, isDecoded: true, requested: .epoch, received: .epoch)
        else {
            Issue.record("the response was not stored")
            return
        }
        #expect(decoded.completed(contentLength: 77)?.contentLength == 77, "Content-Length is of the encoded body")
        decoded.isDecoded = false
        #expect(decoded.completed(contentLength: 77) == nil)
    }

    /// RFC 9111 section 5.2.1.5.
    @Test func onlyCacheableRequestsConcernTheCache() {
        #expect(CacheConversation.request([]).concernsCache)
        #expect(CacheConversation.request([], .head).concernsCache)
        #expect(!CacheConversation.request([("Cache-Control", "no-store")]).concernsCache)
        #expect(CacheConversation.request([("Cache-Control", "no-store, only-if-cached")]).concernsCache)
        #expect(CacheConversation.request([("Cache-Control", "no-store")], policy: .cacheOnly).concernsCache)
        for method in [Method.post, .put, .delete, .patch] {
            let request = CacheConversation.request([], method)
            #expect(!request.concernsCache && !request.mayBeStored, "\(method)")
        }
    }
}
