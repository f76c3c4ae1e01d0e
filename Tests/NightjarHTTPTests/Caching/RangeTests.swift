import Testing

@testable import NightjarHTTP

/// RFC 9110 section 14, RFC 9111 section 3.3: parts of what is stored whole.
@Suite struct RangeTests {
    private let hour = [("Cache-Control", "max-age=3600")]

    private func word(_ range: String, length: Int = 11, _ more: [(String, String)] = [], status: Int = 200) -> String {
        var conversation = CacheConversation()
        conversation.answer = hour + [("ETag", "\"a\""), ("Last-Modified", "@-100"), ("Date", "@0")]
        conversation.length = length
        conversation.status = status
        conversation.then = [("Range", range)] + more
        return conversation.word
    }

    @Test func section_14_1_2_oneRangeIsServed() {
        #expect(word("bytes=0-1") == "fresh 206 0-1")
        #expect(word("bytes=1-") == "fresh 206 1-10")
        #expect(word("bytes=-1") == "fresh 206 10-10")
        #expect(word("BYTES=0-0") == "fresh 206 0-0")
        #expect(word(" bytes= 2-3 ") == "fresh 206 2-3")
        #expect(word("bytes=5-999") == "fresh 206 5-10")
        #expect(word("bytes=-999") == "fresh 206 0-10")
        #expect(word("bytes=0-99999999999999999999999999") == "fresh 206 0-10")
        #expect(word("bytes=-99999999999999999999999999") == "fresh 206 0-10")
    }

    @Test func section_15_5_17_outOfBounds() {
        #expect(word("bytes=11-") == "fresh 416")
        #expect(word("bytes=11-12") == "fresh 416")
        #expect(word("bytes=-0") == "fresh 416")
        #expect(word("bytes=99999999999999999999999999-") == "fresh 416")
        #expect(word("bytes=0-", length: 0) == "fresh 416")
        #expect(word("bytes=-5", length: 0) == "fresh", "the whole of nothing")
    }

    @Test func theServerIsLeftWhatIsNotUnderstood() {
        for range in [
            "bytes=0-1,3-4", "bytes=0-1, -1", "bytes=", "bytes", "bytes=-", "bytes=a-b", "bytes=2-1", "bytes=1",
            "items=0-1",
            "bytes 0-1", "bytes=0-1x", "bytes=--1", "bytes=+1-2", "", "=0-1",
        ] {
            #expect(word(range) == "fetch:request", "\(range)")
            #expect(
                word(range, [("Cache-Control", "only-if-cached")]) == "fresh", "staying here the whole is an answer")
        }
        #expect(word("bytes=0-1", [("Range", "bytes=3-4")]) == "fetch:request", "two fields")
    }

    @Test func onlyOfWhatIsASuccess() {
        #expect(word("bytes=0-1", status: 404) == "fresh")
        #expect(word("bytes=0-1", status: 203) == "fresh")
    }

    @Test func section_13_1_5_ifRange() {
        #expect(word("bytes=0-1", [("If-Range", "\"a\"")]) == "fresh 206 0-1")
        #expect(word("bytes=0-1", [("If-Range", "\"b\"")]) == "fresh")
        #expect(word("bytes=0-1", [("If-Range", "W/\"a\"")]) == "fresh", "a weak one is none")
        #expect(word("bytes=0-1", [("If-Range", "a")]) == "fresh")
        #expect(word("bytes=0-1", [("If-Range", "@-100")]) == "fresh 206 0-1")
        #expect(word("bytes=0-1", [("If-Range", "@-99")]) == "fresh", "the very date")
        #expect(word("bytes=99-", [("If-Range", "\"b\"")]) == "fresh", "out of the bounds of another version")
        var conversation = CacheConversation()
        conversation.answer = hour + [("ETag", "W/\"a\""), ("Last-Modified", "@0"), ("Date", "@0")]
        conversation.then = [("Range", "bytes=0-1"), ("If-Range", "@0")]
        #expect(conversation.word == "fresh", "a date of the same second is weak")
        conversation.then[1].1 = "W/\"a\""
        #expect(conversation.word == "fresh", "a weak one is not even the same as itself")
        conversation.then = [("If-Range", "\"x\"")]
        #expect(conversation.word == "fresh")
    }

    @Test func conditionsComeBeforeRanges() {
        #expect(word("bytes=0-1", [("If-None-Match", "\"a\"")]) == "fresh 304")
        #expect(word("bytes=0-1", [("If-None-Match", "\"b\"")]) == "fresh 206 0-1")
        #expect(word("bytes=0-1", [("Cache-Control", "no-cache")]) == "validate:request")
    }

    @Test func section_14_4_theHeadsOfParts() throws {
        var conversation = CacheConversation()
        conversation.answer =
            hour + [
                ("Content-Length", "11"), ("Content-Type", "text/plain"), ("ETag", "\"a\""), ("Age", "7"), ("A", "1"),
            ]
        conversation.length = 11
        conversation.after = 5
        let stored = try #require(conversation.stored)
        func head(_ fields: [(String, String)]) throws -> ResponseHead {
            conversation.then = fields
            guard case .answer(let answer) = conversation.decision else { throw CancellationError() }
            return stored.head(for: answer, CacheStatus(answer))
        }
        let whole = try head([])
        #expect(whole.status == 200 && whole.contentLength == 11)
        #expect(whole.headers.values("age") == ["12"])
        #expect(whole.headers["cache-status"] == "nightjar; hit; ttl=3588")
        #expect(whole.headers["content-length"] == "11")
        let part = try head([("Range", "bytes=2-4")])
        #expect(part.status == 206 && part.contentLength == 3)
        #expect(part.headers["content-range"] == "bytes 2-4/11")
        #expect(part.headers.values("content-length") == ["3"])
        #expect(part.headers["content-type"] == "text/plain" && part.headers["a"] == "1")
        let beyond = try head([("Range", "bytes=11-")])
        #expect(beyond.status == 416 && beyond.contentLength == 0)
        #expect(beyond.headers["content-range"] == "bytes */11")
        #expect(beyond.headers["content-type"] == nil)
        let unchanged = try head([("If-None-Match", "\"a\"")])
        #expect(unchanged.status == 304 && unchanged.contentLength == 0)
        #expect(unchanged.headers["etag"] == "\"a\"" && unchanged.headers["content-length"] == nil)
        #expect(unchanged.headers["date"] != nil && unchanged.headers["cache-control"] == "max-age=3600")
    }
}
