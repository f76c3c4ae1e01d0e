@testable import NightjarHTTP

// The freshness lifetime from Expires, and the heuristic lifetime of a response without explicit freshness.

extension SuiteRow {
    private static func expires(
        _ id: String, _ section: String, _ name: String, _ response: Fields, isFresh: Bool
    ) -> SuiteRow {
        isFresh
            ? optimal("freshness-expires-" + id, section, name, stores(response), hits)
            : required("freshness-expires-" + id, section, name, stores(response), misses)
    }

    static let expirations: [SuiteRow] = [
        expires("future", "5.3", "in a month", at("Expires", 30 * 86_400) + at("Date", 0), isFresh: true),
        expires("past", "4.2.1", "a month ago", at("Expires", -30 * 86_400) + at("Date", 0), isFresh: false),
        expires("present", "4.2.1", "now", at("Expires", 0) + at("Date", 0), isFresh: false),
        expires(
            "old-date", "4.2.1", "before a Date that is fast as well", at("Expires", 300) + at("Date", 400),
            isFresh: false),
        expires("invalid", "5.3", "zero", [("Expires", "0")] + at("Date", 0), isFresh: false),
        expires("invalid-date", "5.3", "with an invalid Date", [("Date", "foo")] + at("Expires", 600), isFresh: true),
        expires(
            "age-slow-date", "4.2.3", "sooner than Age, by a slow clock",
            at("Date", -10) + at("Expires", 10) + [("Age", "25")], isFresh: false),
        expires(
            "age-fast-date", "4.2.3", "sooner than Age, by a fast clock",
            at("Date", 10) + at("Expires", 20) + [("Age", "15")], isFresh: false),
    ]

    /// A row with an `Expires` in this form. If `isDate` is true, the cache must accept it.
    private static func form(_ id: String, _ name: String, _ dates: String..., isDate: Bool = false) -> SuiteRow {
        expires(id, isDate ? "4.2" : "5.3", name, dates.map { ("Expires", $0) } + at("Date", 0), isFresh: isDate)
    }

    static let expirationDates: [SuiteRow] = [
        form("32bit", "seconds of 32 bits", "Tue, 19 Jan 2038 14:14:08 GMT", isDate: true),
        form("far-future", "seconds of 34 bits", "Sun, 21 Nov 2286 04:46:39 GMT", isDate: true),
        form("rfc850", "the form of RFC 850", "Thursday, 18-Aug-50 02:01:18 GMT", isDate: true),
        form("ansi-c", "the form of asctime", "Thu Aug  8 02:01:18 2050", isDate: true),
        form("wrong-case-weekday", "a weekday in capitals", "THU, 18 Aug 2050 02:01:18 GMT", isDate: true),
        form("wrong-case-month", "a month in capitals", "Thu, 18 AUG 2050 02:01:18 GMT", isDate: true),
        form("wrong-case-tz", "a zone in mixed case", "Thu, 18 Aug 2050 02:01:18 gMT", isDate: true),
        form("invalid-utc", "the zone UTC", "Thu, 18 Aug 2050 02:01:18 UTC"),
        form("invalid-aest", "another zone", "Thu, 18 Aug 2050 02:01:18 AEST"),
        form("invalid-2-digit-year", "a year of two digits", "Thu, 18 Aug 50 02:01:18 GMT"),
        form("invalid-no-comma", "no comma", "Thu 18 Aug 2050 02:01:18 GMT"),
        form("invalid-multiple-spaces", "two spaces", "Thu, 18  Aug  2050 02:01:18 GMT"),
        form("invalid-date-dashes", "hyphens after a short weekday", "Thu, 18-Aug-2050 02:01:18 GMT"),
        form("invalid-time-periods", "periods in the time", "Thu, 18 Aug 2050 02.01.18 GMT"),
        form("invalid-1-digit-hour", "an hour of one digit", "Thu, 18 Aug 2050 2:01:18 GMT"),
        form(
            "invalid-multiple-lines", "two invalid lines", "Thu, 18 Aug 2050 2:01:18 GMT",
            "Thu, 18 Aug 2050 2:01:19 GMT"),
    ]

    private static func heuristic(_ status: Int, isFresh: Bool, _ more: Fields = []) -> SuiteRow {
        let stored = stores(at("Last-Modified", -86_400) + at("Date", 0) + more, status: status)
        let name = "\(status) and Last-Modified" + (more.isEmpty ? "" : ", public")
        return isFresh
            ? optimal("heuristic-\(status)-cached", "4.2.2", name, stored, hits)
            : required(
                "heuristic-\(status)-not_cached", "3", name, stored, CacheScenario.Step(status: status, body: "new"))
    }

    static let heuristics: [SuiteRow] =
        [200, 203, 204, 404, 405, 410, 414, 501].map { heuristic($0, isFresh: true) }
        + [201, 202, 403, 502, 503, 504, 599].map { heuristic($0, isFresh: false) }
        + [heuristic(599, isFresh: true, control("public"))]

    /// Has no redirects: a browser does not show them to the suite's tests, so the suite omits them for private caches.
    static let statuses: [SuiteRow] =
        [200, 203, 204, 299, 400, 404, 410, 499, 500, 502, 503, 504, 599].flatMap { status in
            let dates = at("Last-Modified", -100_000) + at("Date", 0)
            return [
                optimal(
                    "status-\(status)-fresh", "3", "an explicitly fresh \(status)",
                    stores(control("max-age=100000") + at("Expires", 100_000) + dates, status: status), hits),
                required(
                    "status-\(status)-stale", "4.2", "a stale \(status)",
                    stores(at("Expires", -5000) + dates, status: status), misses),
            ]
        } + [
            required(
                "status-599-must-understand", "5.2.2.3", "must-understand with an unknown status",
                stores(control("max-age=3600, no-store, must-understand"), status: 599), misses),
            optimal(
                "status-200-must-understand", "5.2.2.3", "must-understand with a known status",
                stores(control("max-age=3600, no-store, must-understand")), hits),
        ]
}
