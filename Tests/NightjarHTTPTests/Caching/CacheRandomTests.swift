import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// Checks invariants of the cache rules with random fields and times.
@Suite struct CacheRandomTests {
    private static let pieces = [
        "no-store", "no-cache", "max-age=", "max-age=0", "max-age=60", "s-maxage=9", "private", "public",
        "must-revalidate",
        "must-understand", "immutable", "stale-while-revalidate=9", "stale-if-error=9", "min-fresh=1", "max-stale",
        "max-stale=5", "only-if-cached", "no-cache=\"a\"", "private=\"", "\"", "\\", ",", ";", "=", " ", "\t", "x", "é",
        "*",
        "W/\"a\"", "\"a\"", "\"b\"", "99999999999999999999", "-1", "Thu, 18 Aug 2050 02:01:18 GMT", "Foo",
        "Accept-Encoding",
        "bytes=0-1", "bytes=-5", "bytes=99-", "gzip", "Cookie",
    ]
    private static let names = [
        "Cache-Control", "Cache-Control", "Age", "Date", "Expires", "Last-Modified", "ETag", "Vary", "Connection",
        "Pragma",
        "If-None-Match", "If-Modified-Since", "If-Range", "Range", "Cookie", "Foo", "Accept-Encoding", "Content-Length",
        "Clear-Site-Data", "Location", "Cache-Status", "If-Match",
    ]
    private static let moments: [Int64] = [-1 << 30, -2, -1, 0, 1, 5, 9, 60, 3600, 1 << 31, 1 << 33]

    private func fields(_ random: inout SeededRandom) -> [(String, String)] {
        (0..<Int.random(in: 0...7, using: &random)).map { _ in
            let name = Self.names.randomElement(using: &random) ?? ""
            let value = (0..<Int.random(in: 0...4, using: &random)).map { _ in
                Self.pieces.randomElement(using: &random) ?? ""
            }
            return (name, value.joined(separator: Bool.random(using: &random) ? ", " : ""))
        }
    }

    @Test func randomResponsesPreserveTheInvariants() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededRandom(seed: seed)
        for round in 0..<5000 {
            var conversation = CacheConversation()
            conversation.status = [100, 200, 206, 304, 404, 500, 599].randomElement(using: &random) ?? 200
            conversation.response = fields(&random)
            conversation.first = fields(&random)
            conversation.delay = Self.moments.randomElement(using: &random) ?? 0
            conversation.after = Self.moments.randomElement(using: &random) ?? 0
            conversation.then = fields(&random)
            conversation.policy = CachePolicy.allCases.randomElement(using: &random) ?? .protocol
            let comment: Comment = "seed \(seed), round \(round): \(conversation)"
            let stored = conversation.stored
            if let stored {
                let directives = CacheFields(conversation.head.headers).directives
                #expect(!directives.noStore || directives.flags.contains(.mustUnderstand), comment)
                #expect(200..<600 ~= stored.status && stored.status != 206 && stored.status != 304, comment)
                let vary = conversation.head.headers.values("vary").flatMap { $0.split(separator: ",") }
                #expect(!vary.contains { ASCII.trimmed($0.utf8).elementsEqual("*".utf8) }, comment)
                #expect(stored.headers["connection"] == nil && stored.headers["date"] != nil, comment)
                checkAge(stored.freshness, comment)
            }
            check(conversation.decision, stored, conversation, comment)
            update(stored, conversation, comment)
        }
    }

    private func checkAge(_ freshness: Freshness, _ comment: Comment) {
        var last: Int64 = 0
        var wasFresh = true
        for moment in Self.moments {
            let now = CacheConversation.moment(moment)
            let age = freshness.age(at: now)
            #expect(age >= last && age <= 1 << 31, comment)
            last = age
            guard moment >= 0 else { continue }
            #expect(wasFresh || !freshness.isFresh(at: now), comment)
            wasFresh = freshness.isFresh(at: now)
        }
        #expect(0...(1 << 31) ~= freshness.lifetime, comment)
    }

    private func check(
        _ decision: CacheDecision, _ stored: StoredResponse?, _ conversation: CacheConversation, _ comment: Comment
    ) {
        let request = CacheConversation.request(conversation.then, policy: conversation.policy)
        switch decision {
        case .hit(let hit), .hitAndRevalidate(let hit, _):
            guard let stored else {
                Issue.record("a hit without a stored response: \(comment)")
                return
            }
            #expect(conversation.policy != .reload || request.isCacheOnly, comment)
            if hit.because == .fresh {
                #expect(stored.freshness.isFresh(at: CacheConversation.moment(conversation.after)), comment)
                #expect(!stored.freshness.directives.noCache, comment)
            }
            if case .part(let part) = hit.form {
                #expect(!part.isEmpty && part.lowerBound >= 0 && part.upperBound <= stored.contentLength, comment)
            }
            let head = stored.head(for: hit, CacheStatus(hit))
            #expect(head.headers.values("age") == [String(hit.age)], comment)
        case .validate(let fetch):
            #expect(fetch.validating == 0 && !fetch.sets.isEmpty && !request.isCacheOnly, comment)
            for field in fetch.sets { #expect(FieldSyntax.isValue(field.value.utf8), comment) }
        case .fetch(let fetch): #expect(fetch.validating == nil && !request.isCacheOnly, comment)
        case .refuse: #expect(request.isCacheOnly, comment)
        }
    }

    private func update(_ stored: StoredResponse?, _ conversation: CacheConversation, _ comment: Comment) {
        guard let stored else { return }
        let request = CacheConversation.request(conversation.then, policy: conversation.policy)
        let head = ResponseHead(status: 304, headers: CacheConversation.fields(conversation.first))
        let update = request.updated(
            stored, byNotModified: head, requested: CacheConversation.start, received: CacheConversation.start)
        #expect(update.response.headers.values("content-length") == stored.headers.values("content-length"), comment)
        #expect(update.response.headers["connection"] == nil, comment)
        #expect(update.response.contentLength == stored.contentLength, comment)
        if case .stored(let index) = request.meaning(ofNotModified: head, among: [stored], validating: 0) {
            #expect(index == 0, comment)
        }
    }

    /// Parses every part of a field value. `no-store` is inside a quoted string that begins at byte 35, so it is a
    /// directive only in parts that begin later.
    @Test func truncatedFieldsAreRead() {
        let line =
            "no-cache=\"a, b\", max-age=\"3600\", x=\"\\\"no-store\", stale-while-revalidate=60, private, immutable"
        let bytes = Array(line.utf8)
        for start in 0...bytes.count {
            for end in start...bytes.count {
                var directives = ResponseDirectives()
                bytes[start..<end].withUnsafeBytes { directives.add($0) }
                #expect(directives.maxAge ?? 0 <= 3600)
                if directives.noStore { #expect(start >= 36, "no-store is inside quotes: \(start)..<\(end)") }
                var request = RequestDirectives()
                bytes[start..<end].withUnsafeBytes { request.add($0) }
                #expect(request.maxAge ?? 0 <= 3600)
            }
        }
    }

    @Test func longMalformedFieldIsRead() {
        for piece in ["\"", "\\\"", "x=\"", ",\"", "=", "W/\"", "a=\"\\"] {
            let line = Array(String(repeating: piece, count: 100_000).utf8)
            var directives = ResponseDirectives()
            line.withUnsafeBytes { directives.add($0) }
            #expect(directives.isPresent)
        }
    }
}
