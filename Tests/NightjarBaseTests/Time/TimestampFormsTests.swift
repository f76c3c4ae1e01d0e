import NightjarBase
import Testing

@Suite struct TimestampFormsTests {
    @Test(
        arguments: [
            (0, 0, 0, nil, "1970-01-01T00:00:00Z"), (0, 0, 60, nil, "1970-01-01T01:00:00+01:00"),
            (0, 0, -210, nil, "1969-12-31T20:30:00-03:30"), (0, 500_000_000, 0, nil, "1970-01-01T00:00:00.5Z"),
            (0, 123_456_789, 0, 3, "1970-01-01T00:00:00.123Z"), (0, 123_456_789, 0, 0, "1970-01-01T00:00:00Z"),
            (0, 0, 0, 9, "1970-01-01T00:00:00.000000000Z"),
            (-1, 999_999_999, 1, nil, "1970-01-01T00:00:59.999999999+00:01"),
            (253_402_300_799, 0, 0, nil, "9999-12-31T23:59:59Z"), (253_402_300_799, 0, 1, nil, nil),
            (-62_167_219_200, 0, -1, nil, nil), (0, 0, 1440, nil, nil), (0, 0, -1440, nil, nil), (0, 0, 0, 10, nil),
            (0, 0, 0, -1, nil),
        ] as [(Int64, Int32, Int, Int?, String?)])
    func timestampsAreWrittenWithAnOffset(
        seconds: Int64, nanoseconds: Int32, minutes: Int, digits: Int?, text: String?
    ) throws {
        let moment = try #require(Timestamp(secondsSince1970: seconds, nanoseconds: nanoseconds))
        #expect(moment.iso8601(minutesEast: minutes, fractionDigits: digits) == text)
        if digits == nil, let text { #expect(Timestamp(iso8601: text) == moment) }
    }
}
