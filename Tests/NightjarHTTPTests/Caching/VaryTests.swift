import Testing

@testable import NightjarHTTP

/// The selection of stored responses by Vary (RFC 9111 section 4.1).
@Suite struct VaryTests {
    private func summary(
        _ vary: String..., first: [(String, String)], then: [(String, String)]
    ) -> String {
        var conversation = CacheConversation()
        conversation.response = [("Cache-Control", "max-age=60")] + vary.map { ("Vary", $0) }
        conversation.first = first
        conversation.then = then
        if case .refuse(let reason) = conversation.storability() { return "\(reason)" }
        return conversation.summary
    }

    @Test func allNamedFieldsMustMatch() {
        let three = [("Foo", "1"), ("Bar", "abc"), ("Baz", "789")]
        for vary in [["Foo, Bar, Baz"], ["Foo", "Bar", "Baz"], ["Foo,,Bar", " Baz ,"]] {
            var conversation = CacheConversation()
            conversation.response = [("Cache-Control", "max-age=60")] + vary.map { ("Vary", $0) }
            conversation.first = three
            conversation.then = Array(three.reversed())
            #expect(conversation.summary == "fresh", "\(vary)")
            for index in 0..<3 {
                conversation.then = three
                conversation.then[index].1 += "4"
                #expect(conversation.summary == "fetch:vary-miss", "\(vary)")
                conversation.then.remove(at: index)
                #expect(conversation.summary == "fetch:vary-miss", "\(vary)")
            }
            conversation.first.remove(at: 1)
            conversation.then = conversation.first
            #expect(conversation.summary == "fresh", "Bar is missing in both requests")
        }
    }

    @Test func codingsMatchInAnyOrder() {
        let first = [("Accept-Encoding", "gzip, br;q=0.9, zstd, *;q=0")]
        for order in [
            "zstd,gzip,br;q=0.9,*;q=0", "*;q=0, br; q=0.9, zstd, gzip", "BR;Q=0.9,,ZSTD , *;q=0, gzip,",
            " zstd, *; q=0 ,gzip,br;q=0.9",
        ] {
            #expect(summary("accept-encoding", first: first, then: [("Accept-Encoding", order)]) == "fresh", "\(order)")
        }
        let lines = ["gzip", "*;q=0", "zstd", "br;q=0.9"].map { ("accept-encoding", $0) }
        #expect(summary("Accept-Encoding", first: first, then: lines) == "fresh")
        for other in ["zstd, gzip, br", "gzip, br;q=0.8, zstd, *;q=0", "", "gzip, gzip, br;q=0.9, zstd, *;q=0"] {
            #expect(summary("Accept-Encoding", first: first, then: [("Accept-Encoding", other)]) == "fetch:vary-miss")
        }
        let long = (0..<500).map { "coding\($0)" }
        let forth = [("Accept-Encoding", long.joined(separator: ", "))]
        #expect(summary("Accept-Encoding", first: forth, then: forth) == "fresh", "too many codings to sort")
    }

    @Test func credentialsAreStoredAsFingerprints() throws {
        var conversation = CacheConversation()
        conversation.response = [("Cache-Control", "max-age=60"), ("Vary", "Cookie, Authorization, X-Api-Key, Foo")]
        conversation.first = [("Cookie", "id=s3cret"), ("Authorization", "Bearer s3cret"), ("Foo", "1")]
        let stored = try #require(conversation.stored)
        #expect(!"\(stored.variantFields)".contains("s3cret"))
        #expect(stored.variantFields.first { $0.name == "foo" }?.value == "1")
        conversation.then = conversation.first
        #expect(conversation.summary == "fresh")
        conversation.then[0].1 = "id=other"
        #expect(conversation.summary == "fetch:vary-miss")
        conversation.then.removeFirst()
        #expect(conversation.summary == "fetch:vary-miss")
        let request = CacheRequest(.get, CacheConversation.fields(conversation.first))
        #expect(
            request.storability(of: conversation.head, requested: .epoch, received: .epoch) == .refuse(.vary),
            "without a fingerprint function, credentials are not stored")
        #expect(request.decide(among: [stored], at: CacheConversation.start).summary == "fetch:vary-miss")
        let without = CacheRequest(.get, CacheConversation.fields([("Foo", "1")]))
        guard case .store = without.storability(of: conversation.head, requested: .epoch, received: .epoch) else {
            Issue.record("a request without credentials needs no fingerprint")
            return
        }
    }

    @Test func variantsOfOneURLCoexist() throws {
        let candidates = try ["en", "de"].map { language in
            var conversation = CacheConversation()
            conversation.response = [("Cache-Control", "max-age=60"), ("Vary", "Accept-Language")]
            conversation.first = [("Accept-Language", language)]
            return try #require(conversation.stored)
        }
        for (index, language) in ["en", "de"].enumerated() {
            let decision = CacheConversation.request([("Accept-Language", language)]).decide(
                among: candidates, at: CacheConversation.start)
            guard case .hit(let hit) = decision else {
                Issue.record("no hit for \(language)")
                continue
            }
            #expect(hit.index == index)
        }
        #expect(
            CacheConversation.request([("Accept-Language", "fr")], policy: .cacheOnly).decide(
                among: candidates, at: CacheConversation.start) == .refuse(.nothingForSuchRequest))
    }
}
