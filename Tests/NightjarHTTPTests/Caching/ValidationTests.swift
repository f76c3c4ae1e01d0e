import Testing

@testable import NightjarHTTP

/// Validation (RFC 9111 section 4.3, RFC 9110 section 13).
@Suite struct ValidationTests {
    private let hour = ("Cache-Control", "max-age=3600")
    private let once = ("Cache-Control", "max-age=0")

    private func forwardedFetch(
        _ response: [(String, String)], after: Int64 = 3, _ request: [(String, String)] = [], method: Method = .get
    ) -> CacheFetch? {
        var conversation = CacheConversation()
        conversation.response = response
        conversation.after = after
        conversation.then = request
        conversation.thenMethod = method
        return conversation.decision.forwardedFetch
    }

    private func sets(
        _ response: [(String, String)], _ request: [(String, String)] = [], method: Method = .get
    ) -> [String]? {
        forwardedFetch(response, request, method: method)?.sets.map { $0.name + ": " + $0.value }
    }

    /// RFC 9111 section 4.3.1.
    @Test func validatorsAreSent() {
        let date = HTTPDate.text(CacheConversation.moment(-100))
        #expect(sets([once, ("ETag", "\"a\"")]) == ["If-None-Match: \"a\""])
        #expect(sets([once, ("ETag", "W/\"a\"")]) == ["If-None-Match: W/\"a\""])
        #expect(sets([once, ("Last-Modified", "@-100")]) == ["If-Modified-Since: " + date])
        #expect(
            sets([once, ("Last-Modified", "@-100"), ("ETag", "\"a\"")])
                == ["If-None-Match: \"a\"", "If-Modified-Since: " + date], "both validators")
        #expect(sets([once, ("ETag", "a")]) == ["If-None-Match: a"], "an invalid tag is sent unchanged")
        #expect(sets([once, ("ETag", "\"a\"")], method: .head) == ["If-None-Match: \"a\""])
        #expect(sets([("Cache-Control", "max-age=1, stale-if-error=9")]) == [], "no validator")
        #expect(forwardedFetch([("Cache-Control", "max-age=1, stale-if-error=9")])?.validating == nil)
        #expect(forwardedFetch([once, ("ETag", "\"a\"")])?.validating == 0)
        let huge = "\"" + String(repeating: "a", count: 9000) + "\""
        #expect(sets([once, ("ETag", huge), ("Last-Modified", "@-100")]) == ["If-Modified-Since: " + date])
    }

    /// RFC 9111 section 4.3.1.
    @Test func tagsOfAllMatchingVariantsAreSent() throws {
        func stored(_ tag: String, _ value: String, date: Int64) throws -> StoredResponse {
            var conversation = CacheConversation()
            conversation.response = [once, ("ETag", tag), ("Vary", "Foo"), ("Date", "@\(date)")]
            conversation.first = [("Foo", value)]
            return try #require(conversation.stored)
        }
        var candidates = [try stored("\"a\"", "1", date: -9), try stored("\"b\"", "2", date: 0)]
        candidates += [try stored("\"c\"", "1", date: -1), try stored("\"a\"", "1", date: -10)]
        let request = CacheConversation.request([("Foo", "1")])
        let fetch = request.decide(among: candidates, at: CacheConversation.moment(5)).forwardedFetch
        #expect(fetch?.sets.first?.value == "\"c\", \"a\"")
        #expect(fetch?.validating == 2)
        candidates += try (0..<50).map { try stored("\"x\($0)\"", "1", date: -20) }
        let many = request.decide(among: candidates, at: CacheConversation.moment(5)).forwardedFetch?.sets.first?.value
        #expect(many?.split(separator: ",").count == 8)
    }

    /// RFC 9111 section 4.3.2.
    @Test func conditionsOfTheCallerAndTheCacheAreCombined() {
        let response = [once, ("ETag", "\"a\""), ("Last-Modified", "@-100")]
        #expect(sets(response, [("If-None-Match", "\"x\", \"a\"")]) == ["If-None-Match: \"a\", \"x\""])
        #expect(sets(response, [("If-None-Match", "*")]) == [], "a 304 for * does not identify the version")
        #expect(forwardedFetch(response, [("If-None-Match", "*")])?.validating == nil)
        let dated = [once, ("Last-Modified", "@-100")]
        #expect(sets(dated, [("If-None-Match", "\"x\"")]) == [], "If-None-Match overrides If-Modified-Since")
        #expect(
            sets(dated, [("If-Modified-Since", "@-5")])
                == ["If-Modified-Since: " + HTTPDate.text(CacheConversation.moment(-100))])
        #expect(forwardedFetch([("Cache-Control", "max-age=1")], [("If-Modified-Since", "@-5")])?.validating == nil)
    }

    @Test func refreshDropsConditionsOfTheCaller() {
        let response = [("Cache-Control", "max-age=1, stale-while-revalidate=99"), ("ETag", "\"a\"")]
        let fetch = forwardedFetch(
            response, [("If-None-Match", "\"x\""), ("Range", "bytes=0-1"), ("If-Range", "\"a\"")])
        #expect(fetch?.sets == [CacheFetch.Field(name: "If-None-Match", value: "\"a\"")])
        #expect(fetch?.removes == ["If-Modified-Since", "Range", "If-Range"])
        #expect(forwardedFetch(response)?.removes == [])
    }

    private func meaning(
        _ stored: [[(String, String)]], _ response: [(String, String)], request: [(String, String)] = [],
        validating: Int = 0
    ) throws -> NotModifiedMeaning {
        let candidates = try stored.map { fields in
            var conversation = CacheConversation()
            conversation.response = fields + [once]
            conversation.response += fields.isEmpty ? [("Expires", "@60"), ("Cache-Control", "stale-if-error=9")] : []
            return try #require(conversation.stored)
        }
        return CacheConversation.request(request).meaning(
            ofNotModified: ResponseHead(status: 304, headers: CacheConversation.fields(response)), among: candidates,
            validating: validating)
    }

    /// RFC 9111 section 4.3.4.
    @Test func notModifiedSelectsTheStoredResponse() throws {
        let a = [("ETag", "\"a\"")]
        let b = [("ETag", "\"b\"")]
        let weak = [("ETag", "W/\"a\"")]
        let old = [("Last-Modified", "@-100")]
        #expect(try meaning([a, b], a) == .stored(0))
        #expect(try meaning([a, b], b) == .stored(1), "another tag of the request")
        #expect(try meaning([a, b], [("ETag", "\"c\"")]) == .none)
        #expect(try meaning([weak, a], a) == .stored(1), "the strong match precedes the validated response")
        #expect(try meaning([weak], a) == .stored(0), "servers that compress may weaken the tag only in the 200")
        #expect(try meaning([a], weak) == .stored(0))
        #expect(try meaning([a + old], old) == .stored(0))
        #expect(try meaning([old], old) == .stored(0))
        #expect(try meaning([old], [("Last-Modified", "@-99")]) == .none)
        #expect(try meaning([a], old) == .stored(0), "the request contained only this tag")
        #expect(try meaning([a], []) == .stored(0), "the only validated response")
        #expect(try meaning([[]], []) == .stored(0))
        #expect(try meaning([a], [], request: [("If-None-Match", "\"x\"")]) == .none, "may be for the caller's tag")
        #expect(try meaning([a], [("ETag", "\"x\"")], request: [("If-None-Match", "\"x\"")]) == .callers)
        #expect(try meaning([a], a, request: [("If-None-Match", "\"x\", \"a\"")]) == .stored(0))
        #expect(try meaning([a], a, validating: 7) == .stored(0))
        #expect(try meaning([], a) == .none)
        #expect(try meaning([], []) == .none)
        #expect(try meaning([], old, validating: -1) == .none)
    }

    @Test func validatedResponseHasTheRequestedForm() throws {
        var conversation = CacheConversation()
        conversation.response = [once, ("ETag", "\"a\""), ("Last-Modified", "@-3000")]
        let stored = try #require(conversation.stored)
        for (fields, expected) in [
            ([], "validated"), ([("If-None-Match", "\"a\"")], "validated 304"),
            ([("If-None-Match", "\"x\"")], "validated"), ([("If-Modified-Since", "@-3000")], "validated 304"),
            ([("If-Modified-Since", "@-4000")], "validated"), ([("Range", "bytes=0-4")], "validated 206 0-4"),
        ] {
            let request = CacheConversation.request(fields)
            guard case .validate = request.decide(among: [stored], at: CacheConversation.moment(1)) else {
                Issue.record("\(fields) is not validated")
                continue
            }
            let hit = request.hit(with: stored, index: 0, at: CacheConversation.moment(1), because: .validated)
            #expect(hit.summary == expected)
            #expect(!hit.isStale)
        }
    }
}
