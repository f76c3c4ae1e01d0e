import Testing

@testable import NightjarHTTP

/// Ranges of stored responses (RFC 9110 section 14, RFC 9111 section 3.3).
@Suite struct RangeTests {
    private let hour = [("Cache-Control", "max-age=3600")]

    private func summary(_ range: String, length: Int = 11, _ more: [(String, String)] = [], status: Int = 200)
        -> String
    {
        var conversation = CacheConversation()
        conversation.response = hour + [("ETag", "\"a\""), ("Last-Modified", "@-100"), ("Date", "@0")]
        conversation.length = length
        conversation.status = status
        conversation.then = [("Range", range)] + more
        return conversation.summary
    }

    @Test func rangesApplyOnlyToStatus200() {
        #expect(summary("bytes=0-1", status: 404) == "fresh")
        #expect(summary("bytes=0-1", status: 203) == "fresh")
    }

    /// RFC 9110 section 13.1.5.
    @Test func weakValidatorsDoNotMatchIfRange() {
        var conversation = CacheConversation()
        conversation.response = hour + [("ETag", "W/\"a\""), ("Last-Modified", "@0"), ("Date", "@0")]
        conversation.then = [("Range", "bytes=0-1"), ("If-Range", "@0")]
        #expect(conversation.summary == "fresh", "a date of the same second is weak")
        conversation.then[1].1 = "W/\"a\""
        #expect(conversation.summary == "fresh", "a weak tag never matches If-Range")
        conversation.then = [("If-Range", "\"x\"")]
        #expect(conversation.summary == "fresh")
    }

    /// RFC 9110 section 14.4.
    @Test func headOfAPartDescribesThePart() throws {
        var conversation = CacheConversation()
        conversation.response =
            hour + [
                ("Content-Length", "11"), ("Content-Type", "text/plain"), ("ETag", "\"a\""), ("Age", "7"), ("A", "1"),
            ]
        conversation.length = 11
        conversation.after = 5
        let stored = try #require(conversation.stored)
        func head(_ fields: [(String, String)]) throws -> ResponseHead {
            conversation.then = fields
            guard case .hit(let hit) = conversation.decision else { throw CancellationError() }
            return stored.head(for: hit, CacheStatus(hit))
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

    /// RFC 9110 section 14.4.
    @Test func contentRangeIsRead() {
        func read(_ value: String) -> String {
            guard let part = Array(value.utf8).withUnsafeBytes({ ContentRange($0) }) else { return "invalid" }
            return
                "\(part.bytes.lowerBound)..<\(part.bytes.upperBound) of \(part.completeLength.map(String.init) ?? "*")"
        }
        for (value, expected) in [
            ("bytes 0-4/10", "0..<5 of 10"), (" BYTES 4-9/* ", "4..<10 of *"), ("bytes 0-0/1", "0..<1 of 1"),
            ("bytes 5-4/10", "invalid"), ("bytes 0-10/10", "invalid"), ("bytes */10", "invalid"),
            ("items 0-4/10", "invalid"), ("bytes 0-4", "invalid"), ("bytes 0-4/", "invalid"),
            ("bytes=0-4/10", "invalid"),
            ("bytes -4/10", "invalid"), ("bytes 0-/10", "invalid"), ("bytes 0-4/+10", "invalid"), ("", "invalid"),
            ("bytes 0-99999999999999999999999/*", "invalid"), ("bytes 0-4/10, 5-6/10", "invalid"),
            ("bytes/ 0-4", "invalid"),
        ] { #expect(read(value) == expected, "\(value)") }
    }

    private func stored(
        _ fields: [(String, String)], status: Int = 200, requesting request: [(String, String)] = [], length: Int = 10
    ) throws -> StoredResponse {
        var conversation = CacheConversation()
        conversation.response = hour + fields
        conversation.status = status
        conversation.first = request
        conversation.length = length
        return try #require(conversation.stored)
    }

    /// RFC 9111 section 3.3.
    @Test func storedPartServesOnlyContainedRanges() throws {
        let part = try stored(
            [("Content-Range", "bytes 4-8/10"), ("ETag", "\"a\"")], status: 206, requesting: [("Range", "bytes=4-8")],
            length: 5)
        func summary(_ request: [(String, String)], _ method: NightjarHTTP.Method = .get) -> String {
            CacheConversation.request(request, method).decide(among: [part], at: CacheConversation.start).summary
        }
        for (range, expected) in [
            ("bytes=4-8", "fresh 206 0-4"), ("bytes=5-6", "fresh 206 1-2"), ("bytes=3-8", "fetch:partial"),
            ("bytes=4-9", "fetch:partial"), ("bytes=4-", "fetch:partial"), ("bytes=-1", "fetch:partial"),
            ("bytes=10-", "fetch:partial"), ("bytes=4-5,7-8", "fetch:request"),
        ] { #expect(summary([("Range", range)]) == expected, "\(range)") }
        #expect(summary([]) == "fetch:partial")
        #expect(summary([("Range", "bytes=4-8")], .head) == "fetch:partial", "HEAD ignores Range")
        #expect(summary([("Range", "bytes=4-8"), ("If-Range", "\"a\"")]) == "fresh 206 0-4")
        #expect(summary([("Range", "bytes=4-8"), ("If-Range", "\"b\"")]) == "fetch:partial")
        // The tag of the part is not sent, because a 304 would not contain the missing bytes.
        #expect(
            CacheConversation.request([]).decide(among: [part], at: CacheConversation.start).forwardedFetch?.sets == [])
    }

    @Test func onlySinglePartsAreStored() {
        func summary(_ fields: [(String, String)], _ range: String?, isDecoded: Bool = false) -> String {
            var conversation = CacheConversation()
            conversation.status = 206
            conversation.response = hour + fields
            let request = CacheConversation.request(range.map { [("Range", $0)] } ?? [])
            let storability = request.storability(
                of: conversation.head, isDecoded: isDecoded, requested: .epoch, received: .epoch)
            if case .store = storability { return "store" }
            return "\(storability)"
        }
        let part = [("Content-Range", "bytes 4-8/10")]
        #expect(summary(part, "bytes=4-8") == "store")
        #expect(summary(part, nil) != "store")
        #expect(summary(part, "bytes=4-8, 9-9") != "store")
        #expect(summary(part, "bytes=4-8", isDecoded: true) != "store", "the range refers to the encoded bytes")
        #expect(summary(part + part, "bytes=4-8") != "store")
        #expect(summary([("Content-Type", "multipart/byteranges; boundary=x")], "bytes=4-8") != "store")
    }

    /// This cache does not combine parts (RFC 9111 section 3.4). It keeps the more useful response.
    @Test func partDoesNotReplaceTheCompleteResponse() throws {
        func replaces(_ whole: StoredResponse, _ fields: [(String, String)]) -> Bool {
            CacheConversation.request([("Range", "bytes=0-4")]).mayReplace(
                [whole],
                with: ResponseHead(
                    status: 206, headers: CacheConversation.fields([("Content-Range", "bytes 0-4/10")] + fields)),
                received: CacheConversation.start)
        }
        var whole = try stored([("ETag", "\"a\"")])
        #expect(!replaces(whole, [("ETag", "\"a\"")]))
        #expect(!replaces(whole, []))
        #expect(replaces(whole, [("ETag", "\"b\"")]), "the complete response is outdated")
        whole.isDecoded = true
        #expect(!replaces(whole, [("ETag", "\"a-gzip\"")]), "the complete response had another coding")
        let part = try stored(
            [("Content-Range", "bytes 0-1/10")], status: 206, requesting: [("Range", "bytes=0-1")], length: 2)
        #expect(replaces(part, []))
        #expect(replaces(try stored([], status: 404), []) == false)
        #expect(replaces(try stored([], status: 503), []))
    }

    /// RFC 9111 section 4.3.3.
    @Test func failureOrRedirectDoesNotReplaceAStoredResponse() throws {
        let whole = try stored([("ETag", "\"a\"")])
        func replaces(_ status: Int, _ fields: [(String, String)]) -> Bool {
            CacheConversation.request([]).mayReplace(
                [whole], with: ResponseHead(status: status, headers: CacheConversation.fields(fields)),
                received: CacheConversation.start)
        }
        for status in [200, 203, 204, 301, 308, 404, 410, 403, 451] { #expect(replaces(status, []), "\(status)") }
        for status in [302, 303, 307, 400, 409, 500, 502, 503, 504, 599] {
            #expect(!replaces(status, [("Cache-Control", "private, max-age=0"), ("ETag", "\"b\"")]), "\(status)")
            #expect(replaces(status, hour) == (status < 500), "\(status)")
        }
    }
}
