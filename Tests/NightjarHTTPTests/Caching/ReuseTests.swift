import Testing

@testable import NightjarHTTP

/// RFC 9111 sections 4, 4.2.4 and 5.2, RFC 5861, RFC 8246, and the policies.
@Suite struct ReuseTests {
    private let hour = [("Cache-Control", "max-age=3600"), ("ETag", "\"a\"")]
    private func said(_ cacheControl: String) -> [(String, String)] { [("Cache-Control", cacheControl)] }
    private func tagged(_ cacheControl: String) -> [(String, String)] { said(cacheControl) + [("ETag", "\"a\"")] }

    @Test func section_5_2_1_requestDirectives() {
        Row.check([
            Row("max-age=0", hour, after: 3, said("max-age=0"), "validate:request"),
            Row("max-age=0 at once", hour, said("max-age=0"), "validate:request"),
            Row("max-age=1", hour, after: 3, said("max-age=1"), "validate:request"),
            Row("max-age kept", hour, after: 3, said("max-age=3"), "fresh"),
            Row("an aged one", hour + [("Age", "1800")], said("max-age=600"), "validate:request"),
            Row("one that cannot be read", hour, said("max-age=x"), "validate:request"),
            Row("max-stale", tagged("max-age=1"), after: 3, said("max-stale=1000"), "max-stale"),
            Row("its end", tagged("max-age=1"), after: 1001, said("max-stale=1000"), "max-stale"),
            Row("after the limit", tagged("max-age=1"), after: 1002, said("max-stale=1000"), "validate:stale"),
            Row("an aged one", tagged("max-age=1500") + [("Age", "2000")], said("max-stale=1000"), "max-stale"),
            Row("any", tagged("max-age=1"), after: 1 << 32, said("max-stale"), "max-stale"),
            Row("any but so much", tagged("max-age=1"), after: 99, said("max-stale, max-stale=5"), "validate:stale"),
            Row("one that cannot be read", tagged("max-age=1"), after: 3, said("max-stale=x"), "validate:stale"),
            Row("with max-age", tagged("max-age=1"), after: 9, said("max-stale=99, max-age=5"), "validate:stale"),
            Row("min-fresh", tagged("max-age=1500"), said("min-fresh=2000"), "validate:request"),
            Row("an aged one", tagged("max-age=1500") + [("Age", "1000")], said("min-fresh=1000"), "validate:request"),
            Row("min-fresh kept", tagged("max-age=1500"), said("min-fresh=1500"), "fresh"),
            Row(
                "min-fresh of what is stale", tagged("max-age=1"), after: 3, said("min-fresh=0, max-stale"),
                "validate:stale"),
            Row("one that cannot be read", hour, said("min-fresh=x"), "validate:request"),
            Row("no-cache", hour, said("no-cache"), "validate:request"),
            Row("no-cache of what is stale", hour, after: 9999, said("no-cache"), "validate:stale"),
            Row("no-cache without a validator", said("max-age=60"), said("no-cache"), "fetch:request"),
            Row("no-store", hour, said("no-store"), "fetch:request"),
            Row("only-if-cached", hour, said("only-if-cached"), "fresh"),
            Row("only-if-cached, nothing there", [], said("only-if-cached"), "refuse"),
            Row("only-if-cached, stale", hour, after: 9999, said("only-if-cached"), "refuse"),
            Row("only-if-cached, max-stale", hour, after: 9999, said("only-if-cached, max-stale"), "max-stale"),
            Row("only-if-cached, no-cache", hour, said("only-if-cached, no-cache"), "refuse"),
            Row("unknown", hour, said("foo, bar=1, baz=\"no-cache\""), "fresh"),
            Row("no-transform", hour, said("no-transform"), "fresh"),
            Row("Pragma", hour, [("Pragma", "no-cache")], "validate:request"),
            Row("Pragma beside Cache-Control", hour, [("Pragma", "no-cache")] + said("max-age=5"), "fresh"),
            Row("another Pragma", hour, [("Pragma", "foo")], "fresh"),
            Row("Cookie", hour, [("Cookie", "a=b")], "fresh"),
        ])
    }

    @Test func section_5_2_2_answerDirectives() {
        let week: Int64 = 7 * 86_400
        Row.check([
            Row("no-cache", tagged("max-age=10000, no-cache"), "validate:stale"),
            Row("in any case", tagged("max-age=10000, No-CaChE"), "validate:stale"),
            Row("with expires", tagged("no-cache") + [("Expires", "@10000")], "validate:stale"),
            Row("no-cache and max-stale", tagged("max-age=9, no-cache"), said("max-stale"), "validate:stale"),
            Row("must-revalidate, fresh", tagged("max-age=60, must-revalidate"), after: 59, "fresh"),
            Row("must-revalidate, stale", tagged("max-age=60, must-revalidate"), after: 60, "validate:stale"),
            Row("over max-stale", tagged("max-age=2, must-revalidate"), after: 3, said("max-stale"), "validate:stale"),
            Row(
                "proxy-revalidate is not for us", tagged("max-age=2, proxy-revalidate"), after: 3, said("max-stale"),
                "max-stale"),
            Row("s-maxage is not for us", tagged("max-age=2, s-maxage=2"), after: 3, said("max-stale"), "max-stale"),
            Row("private", said("private, max-age=60"), after: 59, "fresh"),
            Row("public", said("public, max-age=60"), after: 59, "fresh"),
            Row("immutable, fresh", tagged("max-age=60, immutable"), "fresh"),
            Row("immutable, stale", tagged("max-age=60, immutable"), after: 60, "validate:stale"),
            Row(
                "immutable, a request that is strict", tagged("max-age=60, immutable"), said("no-cache"),
                "validate:request"),
            Row("stale without a tag", said("max-age=60"), after: week, "fetch:stale"),
            Row("Pragma", said("max-age=60") + [("Pragma", "no-cache")], "fresh"),
            Row("another Pragma", said("max-age=60") + [("Pragma", "x")], "fresh"),
        ])
    }

    @Test func rfc_5861_section_3_staleWhileRevalidate() {
        let response = tagged("max-age=1, stale-while-revalidate=4")
        Row.check([
            Row("fresh", response, "fresh"),
            Row("within", response, after: 1, "swr+refresh"),
            Row("its end", response, after: 5, "swr+refresh"),
            Row("behind", response, after: 6, "validate:stale"),
            Row("from the start", said("max-age=0, stale-while-revalidate=3600"), "swr+refresh"),
            Row("zero", tagged("max-age=1, stale-while-revalidate=0"), after: 2, "validate:stale"),
            Row("none", tagged("max-age=1, stale-while-revalidate"), after: 2, "validate:stale"),
            Row("no number", tagged("max-age=1, stale-while-revalidate=a"), after: 2, "validate:stale"),
            Row(
                "must-revalidate", tagged("max-age=1, stale-while-revalidate=9, must-revalidate"), after: 2,
                "validate:stale"),
            Row("no-cache", tagged("max-age=1, stale-while-revalidate=9, no-cache"), after: 2, "validate:stale"),
            Row("a request for the new", response, after: 2, said("no-cache"), "validate:stale"),
            Row("a request for what is younger", response, after: 2, said("max-age=1"), "validate:stale"),
            Row("a request that stays here", response, after: 2, said("only-if-cached"), "swr"),
        ])
    }

    @Test func rfc_5861_section_4_staleIfError() throws {
        func until(
            _ response: [(String, String)], _ request: [(String, String)] = [], policy: CachePolicy = .protocol,
            after: Int64 = 3
        ) -> Timestamp? {
            var conversation = CacheConversation()
            conversation.response = response
            conversation.then = request
            conversation.after = after
            conversation.policy = policy
            return conversation.decision.forwardedFetch?.fallback?.until
        }
        let moment = { CacheConversation.moment($0) }
        #expect(until(tagged("max-age=2, stale-if-error=60")) == moment(62))
        #expect(until(said("max-age=2, stale-if-error=60")) == moment(62), "also where nothing can be validated")
        #expect(until(tagged("max-age=2")) == nil)
        #expect(until(tagged("max-age=2"), said("stale-if-error=10")) == moment(12))
        #expect(until(tagged("max-age=2, stale-if-error=60"), said("stale-if-error=10")) == moment(62))
        #expect(until(tagged("max-age=0, stale-if-error=1")) == moment(1), "that was before now")
        #expect(until(tagged("max-age=2, stale-if-error=60, must-revalidate")) == nil)
        #expect(until(tagged("max-age=2, stale-if-error=60, no-cache")) == nil)
        #expect(until(tagged("max-age=2, stale-if-error=60"), said("no-cache")) == nil)
        #expect(until(tagged("max-age=2, stale-if-error=60"), said("max-age=0")) == nil)
        #expect(until(tagged("max-age=2, stale-if-error=60"), policy: .revalidate) == nil)
        #expect(until(tagged("max-age=2, stale-if-error=60"), said("max-age=1")) == moment(62))
        #expect(until(tagged("max-age=2, stale-if-error=60"), after: -99) == nil, "the clock went back")
        for status in [500, 502, 503, 504] { #expect(CacheFetch.isFailure(status: status)) }
        for status in [200, 304, 404, 501, 505, 599] { #expect(!CacheFetch.isFailure(status: status)) }
    }

    @Test func policiesDoAsTheirNamesSay() {
        let table: [(CachePolicy, fresh: String, stale: String, strict: String, nothing: String)] = [
            (.protocol, "fresh", "validate:stale", "validate:stale", "fetch:uri-miss"),
            (.reload, "fetch:request", "fetch:request", "fetch:request", "fetch:request"),
            (.revalidate, "validate:request", "validate:stale", "validate:stale", "fetch:uri-miss"),
            (.cacheElseLoad, "fresh", "any-age", "any-age", "fetch:uri-miss"),
            (.cacheOnly, "fresh", "any-age", "any-age", "refuse"),
            (.offlineFirst, "fresh", "any-age+refresh", "any-age+refresh", "fetch:uri-miss"),
        ]
        #expect(table.map(\.0) == CachePolicy.allCases)
        for (policy, fresh, stale, strict, nothing) in table {
            Row.check(
                [
                    Row("fresh", hour, after: 9, fresh), Row("stale", hour, after: 9999, stale),
                    Row("no-cache", tagged("no-cache"), strict),
                    Row("must-revalidate", tagged("max-age=1, must-revalidate"), after: 9, strict),
                    Row("nothing", [], nothing),
                ], policy: policy)
        }
        Row.check([Row("immutable", tagged("max-age=60, immutable"), "fresh")], policy: .revalidate)
        Row.check(
            [Row("a refresh that stays here", hour, after: 9999, said("only-if-cached"), "any-age")],
            policy: .offlineFirst)
        Row.check([Row("no-store", hour, said("no-store"), "fresh")], policy: .cacheOnly)
        #expect(
            CachePolicy.allCases.map(\.rawValue) == [
                "protocol", "reload", "revalidate", "cache_else_load", "cache_only", "offline_first",
            ])
    }

    @Test func anErrorIsAnsweredNoLongerThanTheServerSaid() {
        var conversation = CacheConversation()
        conversation.status = 404
        conversation.response = hour
        for (policy, expected) in [
            (CachePolicy.cacheElseLoad, "validate:stale"), (.cacheOnly, "refuse"), (.offlineFirst, "validate:stale"),
        ] {
            conversation.policy = policy
            conversation.after = 9
            #expect(conversation.word == "fresh", "\(policy)")
            conversation.after = 9999
            #expect(conversation.word == expected, "\(policy)")
            var bare = CacheConversation()
            bare.status = 404
            #expect(bare.storability(policy: policy) == .refuse(.useless))
        }
    }

    @Test func policiesTellTheCachesOnTheWay() {
        var conversation = CacheConversation()
        conversation.response = hour
        conversation.policy = .reload
        #expect(
            conversation.decision.forwardedFetch?.sets == [CacheFetch.Field(name: "Cache-Control", value: "no-cache")])
        conversation.then = said("max-age=5")
        #expect(conversation.decision.forwardedFetch?.sets == [])
        conversation.then = []
        conversation.policy = .revalidate
        #expect(
            conversation.decision.forwardedFetch?.sets.last
                == CacheFetch.Field(name: "Cache-Control", value: "max-age=0"))
    }

    @Test func whatACallOfOurOwnHasChangedIsShownByNoPolicy() throws {
        var conversation = CacheConversation()
        conversation.response = hour
        var stored = try #require(conversation.stored)
        stored.isInvalidated = true
        let expected: [CachePolicy: String] = [.reload: "fetch:request", .cacheOnly: "refuse"]
        for policy in CachePolicy.allCases {
            let decision = CacheConversation.request([], policy: policy).decide(
                among: [stored], at: CacheConversation.start)
            #expect(decision.word == expected[policy] ?? "validate:stale", "\(policy)")
            #expect(decision.forwardedFetch?.fallback == nil)
        }
    }

    @Test func section_4_otherMethodsGoBy() {
        for method in [Method.post, .put, .delete, .patch, .options, .trace] {
            var conversation = CacheConversation()
            conversation.response = hour
            conversation.thenMethod = method
            #expect(conversation.word == "fetch:method", "\(method)")
        }
        var conversation = CacheConversation()
        conversation.response = hour
        conversation.thenMethod = .head
        #expect(conversation.word == "fresh", "HEAD is served from the response to GET")
        conversation.then = [("Range", "bytes=0-1")]
        #expect(conversation.word == "fresh", "and knows no ranges")
    }

    @Test func section_4_theMostRecentIsUsed() throws {
        func stored(_ tag: String, date: Int64, received: Int64) throws -> StoredResponse {
            var conversation = CacheConversation()
            conversation.response = [("Cache-Control", "max-age=3600"), ("Date", "@\(date)"), ("ETag", tag)]
            var stored = try #require(conversation.stored)
            stored.received = CacheConversation.moment(received)
            stored.requested = stored.received
            return stored
        }
        let candidates = [
            try stored("\"a\"", date: -9, received: 5), try stored("\"b\"", date: 3, received: 4),
            try stored("\"c\"", date: 3, received: 3),
        ]
        let request = CacheConversation.request([])
        guard case .hit(let hit) = request.decide(among: candidates, at: CacheConversation.moment(9)) else {
            Issue.record("no response")
            return
        }
        #expect(hit.index == 1)
        #expect(hit.age == 6)
        #expect(hit.timeToLive == 3594)
    }

    @Test func decodedContentIsForWhoWouldHaveItSo() throws {
        var conversation = CacheConversation()
        conversation.response = hour + [("Content-Encoding", "gzip")]
        var stored = try #require(conversation.stored)
        func word(_ fields: [(String, String)] = [], acceptsDecoded: Bool, policy: CachePolicy = .protocol) -> String {
            CacheConversation.request(fields, policy: policy, acceptsDecoded: acceptsDecoded).decide(
                among: [stored], at: CacheConversation.start
            ).word
        }
        #expect(word(acceptsDecoded: true) == "fresh")
        #expect(word(acceptsDecoded: false) == "fresh", "it is packed as it was")
        stored.isDecoded = true
        #expect(word(acceptsDecoded: true) == "fresh")
        #expect(word(acceptsDecoded: false) == "fetch:miss")
        #expect(word(acceptsDecoded: false, policy: .cacheOnly) == "refuse")
        #expect(word([("Range", "bytes=0-1")], acceptsDecoded: true) == "fetch:miss", "bytes of what was not kept")
    }
}
