import Testing

@testable import NightjarHTTP

@Suite struct RateLimitFieldsTests {
    private func read(_ fields: [(String, String)], now: Double = 0) throws -> RateLimitFields? {
        var headers = Headers()
        for (name, value) in fields { try headers.add(name, value) }
        return RateLimitFields(headers, now: now)
    }

    private func expect(
        _ fields: [(String, String)], quota: Int?, remaining: Int, reset: Int64, now: Double = 0,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let found = try read(fields, now: now)
        #expect(found?.quota == quota, sourceLocation: location)
        #expect(found?.remaining == remaining, sourceLocation: location)
        #expect(found?.reset == .seconds(reset), sourceLocation: location)
    }

    @Test func everyVersionOfTheFieldsIsRead() throws {
        try expect([("RateLimit", #""default";r=50;t=30"#)], quota: nil, remaining: 50, reset: 30)
        try expect(
            [("RateLimit", #""a";r=50;t=30"#), ("RateLimit-Policy", #""b";q=9;w=1, "a";q=100;w=60"#)],
            quota: 100, remaining: 50, reset: 30)
        try expect([("RateLimit", "limit=100, remaining=50, reset=5")], quota: 100, remaining: 50, reset: 5)
        try expect(
            [("RateLimit-Limit", "100, 100;w=60"), ("RateLimit-Remaining", "7"), ("RateLimit-Reset", "30")],
            quota: 100, remaining: 7, reset: 30)
        try expect(
            [("X-RateLimit-Remaining", "7"), ("X-RateLimit-Reset", "30")], quota: nil, remaining: 7, reset: 30)
    }

    @Test func strictestLimitApplies() throws {
        try expect(
            [("RateLimit", #""day";r=900;t=60000, "burst";r=1;t=3, "hour";r=2;t=9"#)], quota: nil, remaining: 1,
            reset: 3)
    }

    @Test(arguments: ["1445412510", "1445412510000"])
    func resetTimeUsesTheClockOfTheServer(reset: String) throws {
        let fields = [("X-RateLimit-Remaining", "7"), ("X-RateLimit-Reset", reset)]
        try expect(fields, quota: nil, remaining: 7, reset: 10, now: 1_445_412_500.9)
        try expect(fields + [("Date", "Wed, 21 Oct 2015 07:28:00 GMT")], quota: nil, remaining: 7, reset: 30)
    }

    /// A client that treated a window of a week as a day would use up its quota in a day.
    @Test func windowMayBeAWeekOrAMonth() throws {
        for days in [1, 7, 31] {
            try expect(
                [("X-RateLimit-Remaining", "7"), ("X-RateLimit-Reset", "\(days * 86_400)")], quota: nil, remaining: 7,
                reset: Int64(days) * 86_400)
        }
    }

    @Test func invalidValuesAreIgnoredAndHugeOnesClamped() throws {
        for value in ["", ";", "r=1", #""a";r=;t="#, #""a";r=-1;t=5"#, ",,,;;==", "remaining=1"] {
            let found = try read([("RateLimit", value)])
            #expect(found == nil, "\(value)")
        }
        let digits = String(repeating: "9", count: 60)
        try expect([("RateLimit", "\"a\";r=\(digits);t=\(digits)")], quota: nil, remaining: .max, reset: 31 * 86_400)
        try expect(
            [("X-RateLimit-Remaining", digits), ("X-RateLimit-Reset", digits)], quota: nil, remaining: .max,
            reset: 31 * 86_400)
    }
}
