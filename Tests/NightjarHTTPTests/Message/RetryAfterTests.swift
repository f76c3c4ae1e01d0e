import Testing

@testable import NightjarHTTP

/// Retry-After (RFC 9110 section 10.2.3).
@Suite struct RetryAfterTests {
    @Test(arguments: [
        ("120", 120), ("0", 0), ("2592000", 2_592_000), ("Fri, 31 Dec 1999 23:59:59 GMT", 0),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30), ("Wednesday, 21-Oct-15 07:28:30 GMT", 30),
    ])
    func secondsAndDatesAreRead(value: String, seconds: Int64) throws {
        var headers = Headers()
        try headers.add("Retry-After", value)
        try headers.add("Date", "Wed, 21 Oct 2015 07:28:00 GMT")
        #expect(RetryAfter.duration(headers, now: 0) == .seconds(seconds))
    }

    /// The last four values are a duration above 30 days, a time since 1970, a number above 64 bits, and a date more
    /// than 30 days ahead. No call waits for such values.
    @Test(arguments: [
        "", "-1", "soon", "1.5", "1 2", "2592001", "1700000000", "99999999999999999999999",
        "Wed, 21 Oct 2099 07:28:30 GMT",
    ])
    func invalidValueIsIgnored(value: String) throws {
        var headers = Headers()
        try headers.add("Retry-After", value)
        #expect(RetryAfter.duration(headers, now: 0) == nil)
    }

    @Test func withoutDateTheLocalClockIsUsed() throws {
        var headers = Headers()
        try headers.add("Retry-After", "Wed, 21 Oct 2015 07:28:30 GMT")
        #expect(RetryAfter.duration(headers, now: 1_445_412_500.9) == .seconds(10))
        #expect(RetryAfter.duration(headers, now: .infinity) == .zero)
        #expect(RetryAfter.duration(Headers(), now: 0) == nil)
    }
}
