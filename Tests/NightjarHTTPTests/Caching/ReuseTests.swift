import Testing

@testable import NightjarHTTP

/// The reuse of stored responses (RFC 9111 sections 4, 4.2.4 and 5.2, RFC 5861, RFC 8246), and the cache policies.
@Suite struct ReuseTests {
    private let hour = [("Cache-Control", "max-age=3600"), ("ETag", "\"a\"")]
    private func control(_ cacheControl: String) -> [(String, String)] { [("Cache-Control", cacheControl)] }
    private func tagged(_ cacheControl: String) -> [(String, String)] { control(cacheControl) + [("ETag", "\"a\"")] }

    /// RFC 5861 section 4.
    @Test func staleIfErrorBoundsTheFallback() throws {
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
        #expect(until(control("max-age=2, stale-if-error=60")) == moment(62), "also without a validator")
        #expect(until(tagged("max-age=2")) == nil)
        #expect(until(tagged("max-age=2"), control("stale-if-error=10")) == moment(12))
        #expect(until(tagged("max-age=2, stale-if-error=60"), control("stale-if-error=10")) == moment(62))
        #expect(until(tagged("max-age=0, stale-if-error=1")) == moment(1), "a time in the past")
        #expect(until(tagged("max-age=2, stale-if-error=60, must-revalidate")) == nil)
        #expect(until(tagged("max-age=2, stale-if-error=60, no-cache")) == nil)
        #expect(until(tagged("max-age=2, stale-if-error=60"), control("no-cache")) == nil)
        #expect(until(tagged("max-age=2, stale-if-error=60"), control("max-age=0")) == nil)
        #expect(until(tagged("max-age=2, stale-if-error=60"), policy: .revalidate) == nil)
        #expect(until(tagged("max-age=2, stale-if-error=60"), control("max-age=1")) == moment(62))
        #expect(until(tagged("max-age=2, stale-if-error=60"), after: -99) == nil, "the clock was set back")
        for status in [500, 502, 503, 504] { #expect(CacheFetch.isFailure(status: status)) }
        for status in [200, 304, 404, 501, 505, 599] { #expect(!CacheFetch.isFailure(status: status)) }
    }

    @Test func eachPolicyDecidesByFreshness() {
        let table: [(CachePolicy, fresh: String, stale: String, strict: String, nothing: String)] = [
            (.protocol, "fresh", "validate:stale", "validate:stale", "fetch:uri-miss"),
            (.reload, "fetch:request", "fetch:request", "fetch:request", "fetch:request"),
            (.revalidate, "validate:request", "validate:stale", "validate:stale", "fetch:uri-miss"),
            (.cacheElseLoad, "fresh", "any-age", "any-age", "fetch:uri-miss"),
            (.cacheOnly, "fresh", "any-age", "any-age", "refuse"),
            (.offlineFirst, "fresh", "any-age+refresh", "any-age+refresh", "fetch:uri-miss"),
        ]
        #expect(table.map(\.0) == CachePolicy.allCases)
        func summary(
            _ policy: CachePolicy, _ response: [(String, String)], after: Int64 = 0, _ request: [(String, String)] = []
        ) -> String {
            var conversation = CacheConversation()
            conversation.policy = policy
            conversation.response = response
            conversation.after = after
            conversation.then = request
            return conversation.summary
        }
        for (policy, fresh, stale, strict, nothing) in table {
            #expect(summary(policy, hour, after: 9) == fresh, "\(policy)")
            #expect(summary(policy, hour, after: 9999) == stale, "\(policy)")
            #expect(summary(policy, tagged("no-cache")) == strict, "\(policy)")
            #expect(summary(policy, tagged("max-age=1, must-revalidate"), after: 9) == strict, "\(policy)")
            #expect(summary(policy, []) == nothing, "\(policy)")
        }
        #expect(summary(.revalidate, tagged("max-age=60, immutable")) == "fresh")
        #expect(summary(.offlineFirst, hour, after: 9999, control("only-if-cached")) == "any-age")
        #expect(summary(.cacheOnly, hour, control("no-store")) == "fresh")
        #expect(
            CachePolicy.allCases.map(\.rawValue) == [
                "protocol", "reload", "revalidate", "cache_else_load", "cache_only", "offline_first",
            ])
    }

    @Test func storedErrorIsNotServedStale() {
        var conversation = CacheConversation()
        conversation.status = 404
        conversation.response = hour
        for (policy, expected) in [
            (CachePolicy.cacheElseLoad, "validate:stale"), (.cacheOnly, "refuse"), (.offlineFirst, "validate:stale"),
        ] {
            conversation.policy = policy
            conversation.after = 9
            #expect(conversation.summary == "fresh", "\(policy)")
            conversation.after = 9999
            #expect(conversation.summary == expected, "\(policy)")
            var bare = CacheConversation()
            bare.status = 404
            #expect(bare.storability(policy: policy) == .refuse(.useless))
        }
    }

    @Test func policiesSendCacheControlUpstream() {
        var conversation = CacheConversation()
        conversation.response = hour
        conversation.policy = .reload
        #expect(
            conversation.decision.forwardedFetch?.sets == [CacheFetch.Field(name: "Cache-Control", value: "no-cache")])
        conversation.then = control("max-age=5")
        #expect(conversation.decision.forwardedFetch?.sets == [])
        conversation.then = []
        conversation.policy = .revalidate
        #expect(
            conversation.decision.forwardedFetch?.sets.last
                == CacheFetch.Field(name: "Cache-Control", value: "max-age=0"))
    }

    @Test func invalidatedEntryIsServedByNoPolicy() throws {
        var conversation = CacheConversation()
        conversation.response = hour
        var stored = try #require(conversation.stored)
        stored.isInvalidated = true
        let expected: [CachePolicy: String] = [.reload: "fetch:request", .cacheOnly: "refuse"]
        for policy in CachePolicy.allCases {
            let decision = CacheConversation.request([], policy: policy).decide(
                among: [stored], at: CacheConversation.start)
            #expect(decision.summary == expected[policy] ?? "validate:stale", "\(policy)")
            #expect(decision.forwardedFetch?.fallback == nil)
        }
    }

    /// RFC 9111 section 4.
    @Test func mostRecentResponseIsUsed() throws {
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
            Issue.record("no stored response was used")
            return
        }
        #expect(hit.index == 1)
        #expect(hit.age == 6)
        #expect(hit.timeToLive == 3594)
    }

    @Test func decodedContentRequiresARequestThatAcceptsIt() throws {
        var conversation = CacheConversation()
        conversation.response = hour + [("Content-Encoding", "gzip")]
        var stored = try #require(conversation.stored)
        func summary(_ fields: [(String, String)] = [], acceptsDecoded: Bool, policy: CachePolicy = .protocol) -> String
        {
            CacheConversation.request(fields, policy: policy, acceptsDecoded: acceptsDecoded).decide(
                among: [stored], at: CacheConversation.start
            ).summary
        }
        #expect(summary(acceptsDecoded: true) == "fresh")
        #expect(summary(acceptsDecoded: false) == "fresh", "the stored body is still encoded")
        stored.isDecoded = true
        #expect(summary(acceptsDecoded: true) == "fresh")
        #expect(summary(acceptsDecoded: false) == "fetch:miss")
        #expect(summary(acceptsDecoded: false, policy: .cacheOnly) == "refuse")
        #expect(summary([("Range", "bytes=0-1")], acceptsDecoded: true) == "fetch:miss", "a range of the encoded bytes")
    }
}
