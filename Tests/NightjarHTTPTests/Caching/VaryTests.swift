import Testing

@testable import NightjarHTTP

/// RFC 9111 section 4.1.
@Suite struct VaryTests {
    private func word(
        _ vary: String..., first: [(String, String)], then: [(String, String)]
    ) -> String {
        var conversation = CacheConversation()
        conversation.response = [("Cache-Control", "max-age=60")] + vary.map { ("Vary", $0) }
        conversation.first = first
        conversation.then = then
        if case .refuse(let reason) = conversation.storability() { return "\(reason)" }
        return conversation.word
    }

    @Test func section_4_1_fieldsSelect() {
        let one = [("Foo", "1")]
        #expect(word("Foo", first: one, then: one) == "fresh")
        #expect(word("fOO", first: one, then: [("FOO", "1")]) == "fresh")
        #expect(word("Foo", first: one, then: [("Foo", "2")]) == "fetch:vary-miss")
        #expect(word("Foo", first: one, then: []) == "fetch:vary-miss")
        #expect(word("Foo", first: [], then: one) == "fetch:vary-miss")
        #expect(word("Foo", first: [], then: []) == "fresh")
        #expect(word("Foo", first: [("Foo", "")], then: []) == "fetch:vary-miss", "empty is not absent")
        #expect(word("Foo", first: one + [("Other", "2")], then: one + [("Other", "3")]) == "fresh")
        #expect(word("Foo", first: one, then: [("Foo", "1 ")]) == "fresh")
        #expect(word("Foo", first: [("Foo", "a")], then: [("Foo", "A")]) == "fetch:vary-miss")
        #expect(word("", first: one, then: []) == "fresh", "no name")
        let three = [("Foo", "1"), ("Bar", "abc"), ("Baz", "789")]
        for vary in [["Foo, Bar, Baz"], ["Foo", "Bar", "Baz"], ["Foo,,Bar", " Baz ,"]] {
            var conversation = CacheConversation()
            conversation.response = [("Cache-Control", "max-age=60")] + vary.map { ("Vary", $0) }
            conversation.first = three
            conversation.then = Array(three.reversed())
            #expect(conversation.word == "fresh", "\(vary)")
            for index in 0..<3 {
                conversation.then = three
                conversation.then[index].1 += "4"
                #expect(conversation.word == "fetch:vary-miss", "\(vary)")
                conversation.then.remove(at: index)
                #expect(conversation.word == "fetch:vary-miss", "\(vary)")
            }
            conversation.first.remove(at: 1)
            conversation.then = conversation.first
            #expect(conversation.word == "fresh", "both without \(vary)")
        }
    }

    @Test func section_4_1_starMatchesNothing() {
        let request = [("Foo", "1"), ("Baz", "789"), ("*", "1")]
        for vary in ["*", "*, *", ", *", "*, Foo", "Foo, *", "Foo,*,", "Foo;*", "Foo Bar", "\"Foo\""] {
            #expect(word(vary, first: request, then: request) == "vary", "\(vary)")
        }
        #expect(word("*", "*", first: request, then: request) == "vary")
        #expect(word("", "*", first: request, then: request) == "vary")
        let many = (0..<40).map { "f\($0)" }.joined(separator: ", ")
        #expect(word(many, first: request, then: request) == "vary")
    }

    @Test func section_4_1_spellingsOfTheSameAreTheSame() {
        for (name, first, then) in [
            ("Foo", ["1,2"], [" 1, 2 "]), ("Foo", ["1, 2"], ["1", "2"]), ("Foo", ["1", "2"], ["1,2"]),
            ("Foo", ["a;b=\"1, 2\", c"], ["a;b=\"1, 2\",c"]), ("Accept-Language", ["en, de"], ["eN, De"]),
            ("Accept-Language", ["en, de"], [" en ,   de"]), ("Accept-Encoding", ["gzip, br"], ["br,GZIP"]),
            ("Accept-Language", ["en;q=0.5"], ["en; q=0.5"]), ("Foo", ["1,,2"], ["1, 2,"]),
        ] {
            let first = first.map { (name, $0) }
            let then = then.map { (name, $0) }
            #expect(word(name, first: first, then: then) == "fresh", "\(first) \(then)")
            #expect(word(name, first: then, then: first) == "fresh", "\(then) \(first)")
        }
        for (name, first, then) in [
            ("Accept-Language", "en, de", "de, en"), ("Accept", "a/b, c/d", "c/d, a/b"), ("Foo", "a b", "ab"),
            ("Foo", "\"1, 2\"", "\"1,2\""), ("Accept-Language", "en;q=0.5", "en;q=0.6"),
            ("Accept-Encoding", "gzip", "br"),
        ] {
            #expect(word(name, first: [(name, first)], then: [(name, then)]) == "fetch:vary-miss", "\(name): \(first)")
        }
    }

    @Test func codingsInWhateverOrderAreTheSame() {
        let first = [("Accept-Encoding", "gzip, br;q=0.9, zstd, *;q=0")]
        for order in [
            "zstd,gzip,br;q=0.9,*;q=0", "*;q=0, br; q=0.9, zstd, gzip", "BR;Q=0.9,,ZSTD , *;q=0, gzip,",
            " zstd, *; q=0 ,gzip,br;q=0.9",
        ] {
            #expect(word("accept-encoding", first: first, then: [("Accept-Encoding", order)]) == "fresh", "\(order)")
        }
        let lines = ["gzip", "*;q=0", "zstd", "br;q=0.9"].map { ("accept-encoding", $0) }
        #expect(word("Accept-Encoding", first: first, then: lines) == "fresh")
        for other in ["zstd, gzip, br", "gzip, br;q=0.8, zstd, *;q=0", "", "gzip, gzip, br;q=0.9, zstd, *;q=0"] {
            #expect(word("Accept-Encoding", first: first, then: [("Accept-Encoding", other)]) == "fetch:vary-miss")
        }
        let long = (0..<500).map { "coding\($0)" }
        let forth = [("Accept-Encoding", long.joined(separator: ", "))]
        #expect(word("Accept-Encoding", first: forth, then: forth) == "fresh", "more than is sorted")
    }

    @Test func credentialsAreKeptAsFingerprintsAlone() throws {
        var conversation = CacheConversation()
        conversation.response = [("Cache-Control", "max-age=60"), ("Vary", "Cookie, Authorization, X-Api-Key, Foo")]
        conversation.first = [("Cookie", "id=s3cret"), ("Authorization", "Bearer s3cret"), ("Foo", "1")]
        let stored = try #require(conversation.stored)
        #expect(!"\(stored.variantFields)".contains("s3cret"))
        #expect(stored.variantFields.first { $0.name == "foo" }?.value == "1")
        conversation.then = conversation.first
        #expect(conversation.word == "fresh")
        conversation.then[0].1 = "id=other"
        #expect(conversation.word == "fetch:vary-miss")
        conversation.then.removeFirst()
        #expect(conversation.word == "fetch:vary-miss")
        let request = CacheRequest(.get, CacheConversation.fields(conversation.first))
        #expect(
            request.storability(of: conversation.head, requested: .epoch, received: .epoch) == .refuse(.vary),
            "with no way to hide them nothing is stored")
        #expect(request.decide(among: [stored], at: CacheConversation.start).word == "fetch:vary-miss")
        let without = CacheRequest(.get, CacheConversation.fields([("Foo", "1")]))
        guard case .store = without.storability(of: conversation.head, requested: .epoch, received: .epoch) else {
            Issue.record("a request without any needs no fingerprint")
            return
        }
    }

    @Test func variantsOfOneURLLiveSideBySide() throws {
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
                Issue.record("no response for \(language)")
                continue
            }
            #expect(hit.index == index)
        }
        #expect(
            CacheConversation.request([("Accept-Language", "fr")], policy: .cacheOnly).decide(
                among: candidates, at: CacheConversation.start) == .refuse(.nothingForSuchRequest))
    }
}
