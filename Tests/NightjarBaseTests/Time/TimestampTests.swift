import Testing

@testable import NightjarBase

@Suite struct TimestampTests {
    /// The text, seconds, nanoseconds, and whether RFC 3339 allows the text.
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0, 0, true), ("1969-12-31T23:59:59.999999999Z", -1, 999_999_999, true),
        ("2024-02-29T23:59:59Z", 1_709_251_199, 0, true), ("2024-02-29t23:59:59z", 1_709_251_199, 0, true),
        ("2024-02-29T23:59:59.1Z", 1_709_251_199, 100_000_000, true),
        ("2024-02-29T23:59:59.1234567891Z", 1_709_251_199, 123_456_789, true),
        ("2024-03-01T01:59:59+02:00", 1_709_251_199, 0, true), ("2024-02-29T18:29:59-05:30", 1_709_251_199, 0, true),
        ("2024-02-29T23:59:59-00:00", 1_709_251_199, 0, true), ("0000-01-01T00:00:00Z", -62_167_219_200, 0, true),
        ("9999-12-31T23:59:59Z", 253_402_300_799, 0, true), ("1900-03-01T00:00:00Z", -2_203_891_200, 0, true),
        ("2016-12-31T23:59:60Z", 1_483_228_800, 0, true), ("2016-12-31T18:59:60.5-05:00", 1_483_228_800, 0, true),
        ("2024-02-29 23:59:59Z", 1_709_251_199, 0, false),
        ("2024-02-29T23:59:59,5Z", 1_709_251_199, 500_000_000, false),
        ("2024-03-01T01:59:59+0200", 1_709_251_199, 0, false), ("2024-03-01T01:59:59+02", 1_709_251_199, 0, false),
    ])
    func timestampsAreRead(text: String, seconds: Int64, nanoseconds: Int32, isStrict: Bool) {
        let expected = Timestamp(secondsSince1970: seconds, nanoseconds: nanoseconds)
        #expect(expected != nil)
        #expect(Timestamp(iso8601: text) == expected)
        #expect(Timestamp(rfc3339: text) == (isStrict ? expected : nil))
    }

    @Test(arguments: [
        "", "2024-02-29", "2024-02-29T23:59:59", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-13-01T00:00:00Z",
        "2024-00-01T00:00:00Z", "2024-04-31T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-01T24:00:00Z",
        "2024-01-01T00:60:00Z", "2024-01-01T00:00:61Z", "2024-01-01T00:00:60Z", "2024-01-01T00:00:00.Z",
        "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+01:60", "2024-01-01T00:00:00Z ", " 2024-01-01T00:00:00Z",
        "2024-01-01T00:00:00+1", "2024-01-01T00:00:00+02:", "+024-01-01T00:00:00Z", "20240101T000000Z",
        "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:60Z",
        "2024-01-01T00:00:00.1234567890123456789012345678901234567890",
    ])
    func invalidTimestampsAreRejected(text: String) {
        #expect(Timestamp(iso8601: text) == nil)
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test func timestampsRoundTrip() {
        for seconds: Int64 in [-62_167_219_200, -1, 0, 951_782_400, 1_709_251_199, 253_402_300_799] {
            for nanoseconds: Int32 in [0, 1, 1000, 1_000_000, 123_000_000, 999_999_999] {
                guard let moment = Timestamp(secondsSince1970: seconds, nanoseconds: nanoseconds) else {
                    Issue.record("\(seconds) is rejected")
                    continue
                }
                #expect(Timestamp(rfc3339: moment.description) == moment)
            }
        }
        #expect(Timestamp(secondsSince1970: 0.25)?.description == "1970-01-01T00:00:00.250Z")
        #expect(Timestamp(secondsSince1970: 0.00025)?.description == "1970-01-01T00:00:00.000250Z")
    }

    @Test func daysOfFourCenturiesAreConsecutive() {
        var expected: Int64 = -719_528
        for year in 0..<401 {
            for month in 1...12 {
                for day in 1...31 {
                    guard let days = CalendarTime.daysSince1970(year: year, month: month, day: day) else { continue }
                    #expect(days == expected)
                    expected += 1
                }
            }
        }
        #expect(expected == -719_528 + 146_097 + 366)
    }
}
