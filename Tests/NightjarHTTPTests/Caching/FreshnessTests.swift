import Testing

@testable import NightjarHTTP

/// Dates, age and freshness (RFC 9111 section 4.2).
@Suite struct FreshnessTests {
    private static let stale = "validate:stale"
    /// Adds an ETag, so a stale response is validated.
    private func tagged(_ fields: (String, String)...) -> [(String, String)] { fields + [("ETag", "\"a\"")] }

    @Test func twoDigitYearIsAtMostFiftyYearsAhead() {
        func year(_ digits: String) -> String? {
            var text = "Sunday, 06-Nov-\(digits) 08:49:37 GMT"
            return text.withUTF8 { HTTPDate.parse(UnsafeRawBufferPointer($0), received: 1_700_000_000) }
                .flatMap { Timestamp(secondsSince1970: $0)?.description.prefix(4) }.map(String.init)
        }
        #expect(year("94") == "1994")
        #expect(year("23") == "2023")
        #expect(year("73") == "2073")
        #expect(year("74") == "1974")
        #expect(year("00") == "2000")
    }

    @Test func datesRoundTrip() {
        for seconds in [Int64(0), 784_111_777, 1_700_000_000, 951_782_400, -1, 253_402_300_799] {
            guard let moment = Timestamp(secondsSince1970: seconds) else { continue }
            var text = HTTPDate.text(moment)
            #expect(text.withUTF8 { HTTPDate.parse(UnsafeRawBufferPointer($0), received: 0) } == seconds, "\(text)")
        }
        #expect(Timestamp(secondsSince1970: Int64(784_111_777)).map(HTTPDate.text) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func clockSetBackMakesNoResponseFresher() {
        var conversation = CacheConversation()
        conversation.response = tagged(("Cache-Control", "max-age=3600, stale-while-revalidate=9999999"), ("Age", "5"))
        for after in [-2, -3600, -86_400 * 365, -1_700_000_000] as [Int64] {
            conversation.after = after
            #expect(conversation.summary == Self.stale, "\(after)")
            let freshness = conversation.stored?.freshness
            #expect(freshness?.age(at: CacheConversation.moment(after)) == 5)
            #expect(freshness?.isFresh(at: CacheConversation.moment(after)) == false)
        }
        conversation.after = -1
        #expect(conversation.summary == "fresh", "within the clock tolerance")
        conversation.after = -3600
        conversation.policy = .cacheElseLoad
        #expect(conversation.summary == "any-age")
        conversation.policy = .protocol
        conversation.then = [("Cache-Control", "max-stale=100000")]
        #expect(conversation.summary == Self.stale, "the time since the response expired is unknown")
        conversation.then = [("Cache-Control", "max-stale")]
        #expect(conversation.summary == "max-stale")
    }

    @Test func ageIsMonotonicAndBounded() {
        var conversation = CacheConversation()
        conversation.response = [("Cache-Control", "max-age=99999999999"), ("Age", "2147483000")]
        let freshness = conversation.stored?.freshness
        var last: Int64 = 0
        for seconds in [-5, 0, 1, 600, 648, 700, 1 << 31, 1 << 33, 200_000_000_000] as [Int64] {
            let age = freshness?.age(at: CacheConversation.moment(seconds)) ?? -1
            #expect(age >= last && age <= 1 << 31, "\(seconds)")
            last = age
        }
        #expect(last == 1 << 31)
    }

    @Test func endOfFreshnessIsReported() {
        var conversation = CacheConversation()
        conversation.response = [("Cache-Control", "max-age=60"), ("Age", "10")]
        #expect(conversation.stored?.freshness.freshUntil == CacheConversation.moment(50))
        conversation.response = tagged(("Cache-Control", "max-age=60"), ("Age", "100"))
        #expect(conversation.stored?.freshness.freshUntil == CacheConversation.moment(-40))
        guard let late = Timestamp(secondsSince1970: Int64(253_402_300_700)) else { return }
        let fields = CacheConversation.fields([("Cache-Control", "max-age=600")])
        let stored = StoredResponse(ResponseHead(status: 200, headers: fields), requested: late, received: late)
        #expect(stored.freshness.freshUntil == nil, "after the year 9999")
    }
}
