import Foundation
import Testing

@testable import NightjarHTTP

/// RFC 6265bis section 5.1.1.
@Suite struct CookieDateTests {
    /// 1994-11-06 08:49:37.
    private static let sunday: Int64 = 784_111_777

    @Test(arguments: [
        // The three formats of RFC 9110, and others in use.
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 06-Nov-1994 08:49:37 GMT", "6 Nov 1994 8:49:37", "Nov 6 1994 8:49:37 PM",
        "1994 6 Nov 08:49:37", "08:49:37 6 1994 November", "6/nOv/94/08:49:37", "06 NOVEMBER 94 08:49:37 UTC",
        // Time zones and names of weekdays are ignored, even if they are wrong.
        "Mon, 06 Nov 1994 08:49:37 PST", "Sun, 06 Nov 1994 08:49:37 +0200", "blah 6 blah Nov blah 94 blah 8:49:37",
        // Characters after the digits of a token are ignored.
        "6th Nov 1994 08:49:37", "6 Nov 1994AD 08:49:37", "6 Nov 1994 08:49:37.123", "6 Nov 1994 08:49:37Z",
        "6 Novembre 1994 08:49:37", "6 Nov94 Nov 94 08:49:37",
        // Each component is taken from the first match. Later matches are ignored.
        "6 Nov 1994 08:49:37 7 Dec 1995 09:50:38", "\t6\tNov\t1994\t08:49:37\t", "!6\"Nov#1994$08:49:37%",
        // A control character other than the tab is not a delimiter.
        "6 Nov 1994 08:49:37 \u{01}x", "6 Nov 1994 08:49:37 \u{7F}é",
    ])
    func manyFormsAreTheSameMoment(_ text: String) {
        #expect(parse(text) == CookieDateTests.sunday)
    }

    @Test(arguments: [
        "", " ", "Sun", "06 Nov 1994", "08:49:37", "Nov 1994 08:49:37", "06 1994 08:49:37", "06 Nov 08:49:37",
        // Out of range.
        "0 Nov 1994 08:49:37", "00 Nov 1994 08:49:37", "31 Nov 1994 08:49:37", "32 Oct 1994 08:49:37",
        "30 Feb 2000 00:00:00", "29 Feb 1900 00:00:00", "29 Feb 2023 00:00:00", "6 Nov 1994 24:00:00",
        "6 Nov 1994 08:60:00", "6 Nov 1994 08:49:60", "6 Nov 1600 00:00:00", "6 Nov 123 08:49:37",
        // Too many digits or missing components.
        "006 Nov 1994 08:49:37", "6 Nov 19940 08:49:37", "6 Nov 1 08:49:37", "6 Nov 1994 008:49:37",
        "6 Nov 1994 08:049:37", "6 Nov 1994 08:49:037", "6 Nov 1994 08:49", "6 Nov 1994 08:49:", "6 Nov 1994 8::37",
        "6 No 1994 08:49:37", "6 Nox 1994 08:49:37", "6 11 1994 08:49:37", "-6", "99999999999999999999",
        "6\u{01}Nov 1994 08:49:37", "1994-11-06T08:49:37Z",
    ])
    func whatIsNoDateIsRefused(_ text: String) {
        #expect(parse(text) == nil)
    }

    @Test(
        arguments: [
            ("1 Jan 1970 00:00:00", 0), ("31 Dec 1969 23:59:59", -1), ("1 Jan 1601 00:00:00", -11_644_473_600),
            ("31 Dec 9999 23:59:59", 253_402_300_799), ("29 Feb 2000 00:00:00", 951_782_400),
            ("1 Mar 2000 00:00:00", 951_868_800), ("28 Feb 1900 23:59:59", -2_203_891_201),
            ("1 Jan 70 00:00:00", 0), ("1 Jan 99 00:00:00", 915_148_800), ("1 Jan 00 00:00:00", 946_684_800),
            ("1 Jan 69 00:00:00", 3_124_224_000), ("19 Jan 2038 03:14:08", 2_147_483_648),
        ] as [(String, Int64)])
    func theBoundsOfTheCalendarHold(_ text: String, _ seconds: Int64) {
        #expect(parse(text) == seconds)
    }

    /// Days of eight centuries in steps of about two weeks, compared with Foundation's calendar.
    @Test func daysAreWhatFoundationSays() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        var day = -134_774  // 1601-01-01
        while day < 160_000 {
            let date = Date(timeIntervalSince1970: Double(day) * 86400)
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            let text = "\(parts.day ?? 0) \(months[(parts.month ?? 0) - 1]) \(parts.year ?? 0) 12:34:56"
            guard parse(text) == Int64(day) * 86400 + 45296 else {
                Issue.record("\(text) is read as \(String(describing: parse(text)))")
                return
            }
            day += 13
        }
    }

    private func parse(_ text: String) -> Int64? {
        var text = text
        return text.withUTF8 { CookieDate.parse(UnsafeRawBufferPointer($0)) }
    }
}
