import Testing

@testable import NightjarHTTP

/// RFC 9111 section 4.2 and the sections that it references. Most rows correspond to tests of http-tests/cache-tests.
@Suite struct FreshnessTests {
    private static let stale = "validate:stale"
    /// Adds a validator, so that a stale response leads to a validation.
    private func tagged(_ fields: (String, String)...) -> [(String, String)] { fields + [("ETag", "\"a\"")] }

    @Test func section_4_2_1_explicitLifetimes() {
        Row.check([
            Row("nothing said", [("Date", "@0")], after: 3, "fetch:uri-miss"),
            Row("max-age", [("Cache-Control", "max-age=3600")], after: 3599, "fresh"),
            Row("its end", tagged(("Cache-Control", "max-age=3600")), after: 3600, Self.stale),
            Row("max-age=0", tagged(("Cache-Control", "max-age=0")), Self.stale),
            Row("expires", [("Expires", "@60"), ("Date", "@0")], after: 59, "fresh"),
            Row("its end", tagged(("Expires", "@60"), ("Date", "@0")), after: 60, Self.stale),
            Row("expires in the past", tagged(("Expires", "@-60"), ("Date", "@0")), Self.stale),
            Row("expires at once", tagged(("Expires", "@0"), ("Date", "@0")), Self.stale),
            Row("expires before a date ahead", tagged(("Expires", "@300"), ("Date", "@400")), after: 3, Self.stale),
            Row("expires without a date", [("Expires", "@60")], after: 59, "fresh"),
            Row("expires with an invalid date", [("Expires", "@60"), ("Date", "foo")], after: 3, "fresh"),
            Row(
                "max-age over a past expires", [("Cache-Control", "max-age=60"), ("Expires", "@-9")], after: 3, "fresh"),
            Row("max-age over no date", [("Cache-Control", "max-age=60"), ("Expires", "0")], after: 3, "fresh"),
            Row("max-age=0 over expires", tagged(("Expires", "@9999"), ("Cache-Control", "max-age=0")), Self.stale),
            Row("s-maxage alone is not for us", tagged(("Cache-Control", "s-maxage=3600")), after: 3, Self.stale),
            Row("nor over max-age", tagged(("Cache-Control", "s-maxage=3600, max-age=1")), after: 3, Self.stale),
            Row("nor a shorter one", [("Cache-Control", "s-maxage=1, max-age=3600")], after: 3, "fresh"),
            Row(
                "two lines", tagged(("Cache-Control", "s-maxage=3600"), ("Cache-Control", "max-age=1")), after: 3,
                Self.stale),
            Row("an extension", [("Cache-Control", "foobar, max-age=3600")], after: 3, "fresh"),
            Row("any case", [("cache-control", "MaX-aGe=3600")], after: 3, "fresh"),
            Row("CDN-Cache-Control", tagged(("CDN-Cache-Control", "max-age=3600")), after: 3, Self.stale),
            Row("Surrogate-Control", tagged(("Surrogate-Control", "max-age=3600")), after: 3, Self.stale),
        ])
    }

    @Test func section_4_2_1_invalidAndRepeated() {
        for value in [
            "max-age=a3600", "max-age=3600a", "max-age=3600.0", "max-age=3600.5", "max-age='3600'", "max-age=-3600",
            "max-age=", "max-age", "max-age =3600", "max-age= 3600", "max-age=\"", "max-age=\"3600", "max-age=36 00",
            "max-age=3600;", "max-age=\"a\"", "max-age=+3600", "x=\"max-age=1, max-age=3600", "max-age:3600",
            "max-age=3600, max-age=0", "max-age=0, max-age=3600", "max-age=3600, max-age=x",
        ] {
            Row.check([Row(value, tagged(("Cache-Control", value), ("Expires", "@9999")), after: 2, Self.stale)])
        }
        Row.check([
            Row("quoted", [("Cache-Control", "max-age=\"3600\"")], after: 3, "fresh"),
            Row("leading zeros", [("Cache-Control", "max-age=003600")], after: 3, "fresh"),
            Row("2^31", [("Cache-Control", "max-age=2147483648")], after: 3, "fresh"),
            Row("more", [("Cache-Control", "max-age=99999999999")], after: 3, "fresh"),
            Row("more than 64 bits", [("Cache-Control", "max-age=99999999999999999999999999")], after: 3, "fresh"),
            Row("blanks and commas", [("Cache-Control", " ,\t, max-age=3600 ,,")], after: 3, "fresh"),
            Row(
                "in a quoted string before", tagged(("Cache-Control", "x=\"max-age=3600\", max-age=1")), after: 3,
                Self.stale),
            Row("in one behind", tagged(("Cache-Control", "max-age=1, x=\"max-age=3600\"")), after: 3, Self.stale),
            Row("behind an escaped quote", tagged(("Cache-Control", "x=\"\\\", max-age=3600\"")), after: 3, Self.stale),
            Row("the same twice", [("Cache-Control", "max-age=60, max-age=60")], after: 59, "fresh"),
            Row("two, the first longer", tagged(("Cache-Control", "max-age=1800, max-age=1")), after: 3, Self.stale),
            Row("two, the first shorter", tagged(("Cache-Control", "max-age=1, max-age=1800")), after: 3, Self.stale),
            Row(
                "two lines", tagged(("Cache-Control", "max-age=1800"), ("Cache-Control", "max-age=1")), after: 3,
                Self.stale),
            Row("two expires", tagged(("Expires", "@1"), ("Expires", "@60")), after: 3, Self.stale),
            Row("two expires, turned", tagged(("Expires", "@60"), ("Expires", "@1")), after: 3, Self.stale),
            Row("one of them no date", tagged(("Expires", "@60"), ("Expires", "0")), after: 3, Self.stale),
        ])
    }

    @Test func section_5_3_onlyTheThreeFormsOfDatesCount() {
        for value in [
            "Thu, 18 Aug 2050 02:01:18 GMT", "THU, 18 Aug 2050 02:01:18 GMT", "Thu, 18 AUG 2050 02:01:18 GMT",
            "Thu, 18 Aug 2050 02:01:18 gMT", "Thursday, 18-Aug-50 02:01:18 GMT", "Thu Aug 18 02:01:18 2050",
            "Sun Aug  7 02:01:18 2050", "Thu, 18 Aug 2050 02:01:60 GMT",
        ] {
            Row.check([Row(value, [("Expires", value), ("Date", "@0")], after: 3, "fresh")])
        }
        for value in [
            "0", "-1", "", "never", "1", "Thu, 18 Aug 2050 02:01:18 UTC", "Thu, 18 Aug 2050 02:01:18 +0000",
            "Thu, 18 Aug 50 02:01:18 GMT", "Thu 18 Aug 2050 02:01:18 GMT", "Thu, 18  Aug  2050 02:01:18 GMT",
            "Thu, 18-Aug-2050 02:01:18 GMT", "Thu, 18 Aug 2050 02.01.18 GMT", "Thu, 18 Aug 2050 2:01:18 GMT",
            "Thu, 18 Aug 2050 02:01 GMT", "Thu, 32 Aug 2050 02:01:18 GMT", "Wed, 29 Feb 2051 02:01:18 GMT",
            "Thu, 18 Aug 2050 24:01:18 GMT", "Thu, 18 Aug 2050 02:01:18 GMT, x", "2050-08-18T02:01:18Z", "2529633678",
            "Thu, 8 Aug 2050 02:01:18 GMT", "Foo, 18 Aug 2050 02:01:18 GMT", "Thu, 18 Foo 2050 02:01:18 GMT",
            "Thu, 18 Aug 2050 02:01:18", "Thu,18 Aug 2050 02:01:18 GMT", "Thu, 18 Aug 20500 02:01:18 GMT",
        ] {
            Row.check([Row(value, tagged(("Expires", value), ("Date", "@0")), Self.stale)])
        }
    }

    @Test func yearsOfTwoDigitsAreAtMostFiftyYearsAhead() {
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

    @Test func datesAreWrittenAsTheyAreRead() {
        for seconds in [Int64(0), 784_111_777, 1_700_000_000, 951_782_400, -1, 253_402_300_799] {
            guard let moment = Timestamp(secondsSince1970: seconds) else { continue }
            var text = HTTPDate.text(moment)
            #expect(text.withUTF8 { HTTPDate.parse(UnsafeRawBufferPointer($0), received: 0) } == seconds, "\(text)")
        }
        #expect(Timestamp(secondsSince1970: Int64(784_111_777)).map(HTTPDate.text) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func section_4_2_2_guesses() {
        let day: Int64 = 86_400
        for ago in [5, 10, 30, 60, 300, 600, 1200, 1800, 3600, 3600 * 12, 3600 * 24] as [Int64] {
            let response = [("Last-Modified", "@-\(ago)"), ("Date", "@0")]
            if ago >= 10 { Row.check([Row("\(ago)", response, after: ago / 10 - 1, "fresh")]) }
            Row.check([Row("\(ago)", response, after: ago / 10, "validate:stale")])
        }
        let old = [("Last-Modified", "@-\(400 * day)"), ("Date", "@0")]
        Row.check([
            Row("a week at most", old, after: 7 * day - 1, "fresh"),
            Row("a week at most", old, after: 7 * day, "validate:stale"),
            Row("1970", [("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT")], after: 7 * day, "validate:stale"),
            Row("in the future", [("Last-Modified", "@100"), ("Date", "@0")], "validate:stale"),
            Row("no date", [("Last-Modified", "yesterday")], "validate:stale"),
            Row("from our own clock", [("Last-Modified", "@-\(day)")], after: 60, "fresh"),
            Row("not beside expires", [("Last-Modified", "@-\(day)"), ("Expires", "0")], "validate:stale"),
            Row(
                "not beside max-age", [("Last-Modified", "@-\(day)"), ("Cache-Control", "max-age=0")], "validate:stale"),
            Row(
                "beside s-maxage", [("Last-Modified", "@-\(day)"), ("Cache-Control", "s-maxage=1")], after: 60, "fresh"),
            Row("not with Pragma", [("Last-Modified", "@-\(day)"), ("Pragma", "no-cache")], "validate:stale"),
            Row("an attachment", [("Last-Modified", "@-\(day)"), ("Content-Disposition", "attachment")], "fresh"),
        ])
        for (status, isGuessed) in [
            (200, true), (201, false), (202, false), (203, true), (204, true), (300, true), (301, true), (302, false),
            (303, false), (307, false), (308, true), (400, false), (403, false), (404, true), (405, true),
            (410, true), (414, true), (500, false), (501, true), (502, false), (503, false), (504, false), (599, false),
        ] {
            var conversation = CacheConversation()
            conversation.status = status
            conversation.response = [("Last-Modified", "@-\(day)"), ("Date", "@0")]
            #expect((conversation.word == "fresh") == isGuessed, "\(status)")
            conversation.response.append(("Cache-Control", "public"))
            #expect(conversation.word == "fresh", "\(status) said to be public")
        }
    }

    @Test func section_4_2_3_age() {
        let hour = ("Cache-Control", "max-age=3600")
        Row.check([
            Row("older than its lifetime", tagged(hour, ("Age", "3600"), ("Date", "@0")), Self.stale),
            Row("aged while it is kept", tagged(hour, ("Age", "3000")), after: 600, Self.stale),
            Row("just before", tagged(hour, ("Age", "3000")), after: 599, "fresh"),
            Row("Date long past", tagged(hour, ("Date", "@-3600")), Self.stale),
            Row("the greater of both", tagged(hour, ("Date", "@-3000"), ("Age", "10")), after: 600, Self.stale),
            Row(
                "age and expires, a slow date", tagged(("Date", "@-10"), ("Expires", "@10"), ("Age", "25")), Self.stale),
            Row("age and expires, a fast date", tagged(("Date", "@10"), ("Expires", "@20"), ("Age", "15")), Self.stale),
            Row("Date ahead", tagged(hour, ("Date", "@9000")), after: 3599, "fresh"),
            Row("Date ahead, later", tagged(hour, ("Date", "@9000")), after: 3600, Self.stale),
        ])
        var slow = CacheConversation()
        slow.response = tagged(hour)
        slow.delay = 100
        slow.after = 3499
        #expect(slow.word == "fresh")
        slow.after = 3500
        #expect(slow.word == Self.stale, "what it took to come counts")
        slow.delay = -5000
        slow.after = 3599
        #expect(slow.word == "fresh", "a request time after the response time is ignored")
    }

    @Test func section_5_1_ageIsTheFirstMemberOfTheFirstField() {
        for (value, isFresh) in [
            ("abc", true), ("-7200", true), ("7200.0", true), ("", true), ("7 200", true), ("2147483647", false),
            ("2147483648", false), ("2147483649", false), ("99999999999999999999999", false), ("7200, 0", false),
            ("0, 7200", true), ("0, 0", true), ("7200, 7200", false), ("7200;foo=bar", false), ("7200;foo=111", false),
            (" 7200 ", false), ("007200", false),
        ] {
            let response = tagged(("Date", "@0"), ("Cache-Control", "max-age=3600"), ("Age", value))
            Row.check([Row(value, response, isFresh ? "fresh" : Self.stale)])
        }
        let hour = ("Cache-Control", "max-age=3600")
        Row.check([
            Row("old, 0", tagged(hour, ("Age", "7200"), ("Age", "0")), Self.stale),
            Row("0, old", tagged(hour, ("Age", "0"), ("Age", "7200")), "fresh"),
            Row("0, 0", tagged(hour, ("Age", "0"), ("Age", "0")), "fresh"),
        ])
    }

    @Test func aClockThatJumpsBackMakesNothingFresher() {
        var conversation = CacheConversation()
        conversation.response = tagged(("Cache-Control", "max-age=3600, stale-while-revalidate=9999999"), ("Age", "5"))
        for after in [-2, -3600, -86_400 * 365, -1_700_000_000] as [Int64] {
            conversation.after = after
            #expect(conversation.word == Self.stale, "\(after)")
            let freshness = conversation.stored?.freshness
            #expect(freshness?.age(at: CacheConversation.moment(after)) == 5)
            #expect(freshness?.isFresh(at: CacheConversation.moment(after)) == false)
        }
        conversation.after = -1
        #expect(conversation.word == "fresh", "two readings of one clock")
        conversation.after = -3600
        conversation.policy = .cacheElseLoad
        #expect(conversation.word == "any-age")
        conversation.policy = .protocol
        conversation.then = [("Cache-Control", "max-stale=100000")]
        #expect(conversation.word == Self.stale, "the time since its expiry is unknown")
        conversation.then = [("Cache-Control", "max-stale")]
        #expect(conversation.word == "max-stale")
    }

    @Test func ageNeverFallsAndNeverOverflows() {
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

    @Test func theMomentAtWhichItIsStaleIsTold() {
        var conversation = CacheConversation()
        conversation.response = [("Cache-Control", "max-age=60"), ("Age", "10")]
        #expect(conversation.stored?.freshness.freshUntil == CacheConversation.moment(50))
        conversation.response = tagged(("Cache-Control", "max-age=60"), ("Age", "100"))
        #expect(conversation.stored?.freshness.freshUntil == CacheConversation.moment(-40))
        guard let late = Timestamp(secondsSince1970: Int64(253_402_300_700)) else { return }
        let fields = CacheConversation.fields([("Cache-Control", "max-age=600")])
        let stored = StoredResponse(ResponseHead(status: 200, headers: fields), requested: late, received: late)
        #expect(stored.freshness.freshUntil == nil, "behind the year 9999")
    }
}
