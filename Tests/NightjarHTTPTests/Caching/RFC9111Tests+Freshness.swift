@testable import NightjarHTTP

/// Most rows correspond to tests of the project http-tests/cache-tests.
extension RFC9111Tests {
    private static let stale = "validate:stale"

    /// Adds an ETag, so a stale response is validated.
    private static func tagged(_ fields: (String, String)...) -> Fields { fields + [("ETag", "\"a\"")] }

    static let lifetimes: [[Row]] = [
        table([
            Case(
                "4.2.1", "a response without a lifetime and a validator is not stored", [("Date", "@0")], after: 3,
                "fetch:uri-miss"),
            Case("4.2.1", "max-age is the lifetime", [("Cache-Control", "max-age=3600")], after: 3599, "fresh"),
            Case(
                "4.2.1", "a response is stale at the end of max-age", tagged(("Cache-Control", "max-age=3600")),
                after: 3600, stale),
            Case("4.2.1", "max-age=0 is stale at once", tagged(("Cache-Control", "max-age=0")), stale),
            Case(
                "4.2.1", "Expires minus Date is the lifetime", [("Expires", "@60"), ("Date", "@0")], after: 59, "fresh"),
            Case(
                "4.2.1", "a response is stale at Expires", tagged(("Expires", "@60"), ("Date", "@0")), after: 60, stale),
            Case("4.2.1", "an Expires in the past is stale", tagged(("Expires", "@-60"), ("Date", "@0")), stale),
            Case("4.2.1", "an Expires equal to Date is stale", tagged(("Expires", "@0"), ("Date", "@0")), stale),
            Case(
                "4.2.1", "an Expires before a Date in the future is stale",
                tagged(("Expires", "@300"), ("Date", "@400")),
                after: 3, stale),
            Case("4.2.1", "without Date, Expires counts from the receipt", [("Expires", "@60")], after: 59, "fresh"),
            Case(
                "4.2.1", "with an invalid Date, Expires counts from the receipt",
                [("Expires", "@60"), ("Date", "foo")],
                after: 3, "fresh"),
            Case(
                "4.2.1", "max-age overrides an Expires in the past",
                [("Cache-Control", "max-age=60"), ("Expires", "@-9")],
                after: 3, "fresh"),
            Case(
                "4.2.1", "max-age overrides an invalid Expires", [("Cache-Control", "max-age=60"), ("Expires", "0")],
                after: 3, "fresh"),
            Case(
                "4.2.1", "max-age=0 overrides Expires", tagged(("Expires", "@9999"), ("Cache-Control", "max-age=0")),
                stale),
            Case(
                "4.2.1", "a private cache ignores s-maxage", tagged(("Cache-Control", "s-maxage=3600")), after: 3, stale
            ),
            Case(
                "4.2.1", "a longer s-maxage does not override max-age",
                tagged(("Cache-Control", "s-maxage=3600, max-age=1")), after: 3, stale),
            Case(
                "4.2.1", "a shorter s-maxage does not override max-age",
                [("Cache-Control", "s-maxage=1, max-age=3600")],
                after: 3, "fresh"),
            Case(
                "4.2.1", "s-maxage in another field line does not override max-age",
                tagged(("Cache-Control", "s-maxage=3600"), ("Cache-Control", "max-age=1")), after: 3,
                stale),
            Case(
                "4.2.1", "unknown directives are ignored", [("Cache-Control", "foobar, max-age=3600")], after: 3,
                "fresh"),
            Case(
                "4.2.1", "names of fields and directives are case-insensitive", [("cache-control", "MaX-aGe=3600")],
                after: 3, "fresh"),
            Case(
                "4.2.1", "CDN-Cache-Control is ignored", tagged(("CDN-Cache-Control", "max-age=3600")), after: 3, stale),
            Case(
                "4.2.1", "Surrogate-Control is ignored", tagged(("Surrogate-Control", "max-age=3600")), after: 3, stale),
        ])
    ]

    static let values: [[Row]] = [
        [
            "max-age=a3600", "max-age=3600a", "max-age=3600.0", "max-age=3600.5", "max-age='3600'", "max-age=-3600",
            "max-age=", "max-age", "max-age =3600", "max-age= 3600", "max-age=\"", "max-age=\"3600", "max-age=36 00",
            "max-age=3600;", "max-age=\"a\"", "max-age=+3600", "x=\"max-age=1, max-age=3600", "max-age:3600",
            "max-age=3600, max-age=0", "max-age=0, max-age=3600", "max-age=3600, max-age=x",
        ].map {
            row(
                "4.2.1", "an invalid or contradictory max-age is stale",
                tagged(("Cache-Control", $0), ("Expires", "@9999")), after: 2, stale)
        },
        table([
            Case("4.2.1", "max-age may be quoted", [("Cache-Control", "max-age=\"3600\"")], after: 3, "fresh"),
            Case("4.2.1", "max-age may have leading zeros", [("Cache-Control", "max-age=003600")], after: 3, "fresh"),
            Case("4.2.1", "max-age may be 2^31", [("Cache-Control", "max-age=2147483648")], after: 3, "fresh"),
            Case("4.2.1", "max-age may exceed 32 bits", [("Cache-Control", "max-age=99999999999")], after: 3, "fresh"),
            Case(
                "4.2.1", "max-age may exceed 64 bits", [("Cache-Control", "max-age=99999999999999999999999999")],
                after: 3, "fresh"),
            Case(
                "4.2.1", "empty list members are ignored", [("Cache-Control", " ,\t, max-age=3600 ,,")], after: 3,
                "fresh"),
            Case(
                "4.2.1", "max-age in a quoted string before max-age is ignored",
                tagged(("Cache-Control", "x=\"max-age=3600\", max-age=1")), after: 3,
                stale),
            Case(
                "4.2.1", "max-age in a quoted string after max-age is ignored",
                tagged(("Cache-Control", "max-age=1, x=\"max-age=3600\"")), after: 3, stale),
            Case(
                "4.2.1", "an escaped quote does not end a quoted string",
                tagged(("Cache-Control", "x=\"\\\", max-age=3600\"")), after: 3, stale),
            Case(
                "4.2.1", "max-age may be repeated with the same value", [("Cache-Control", "max-age=60, max-age=60")],
                after: 59, "fresh"),
            Case(
                "4.2.1", "the shorter max-age counts if the first is longer",
                tagged(("Cache-Control", "max-age=1800, max-age=1")), after: 3, stale),
            Case(
                "4.2.1", "the shorter max-age counts if the first is shorter",
                tagged(("Cache-Control", "max-age=1, max-age=1800")), after: 3, stale),
            Case(
                "4.2.1", "the shorter max-age of two field lines counts",
                tagged(("Cache-Control", "max-age=1800"), ("Cache-Control", "max-age=1")), after: 3,
                stale),
            Case(
                "4.2.1", "the earlier Expires counts if it is the first", tagged(("Expires", "@1"), ("Expires", "@60")),
                after: 3, stale),
            Case(
                "4.2.1", "the earlier Expires counts if it is the second",
                tagged(("Expires", "@60"), ("Expires", "@1")), after: 3, stale),
            Case(
                "4.2.1", "an invalid Expires among two is stale", tagged(("Expires", "@60"), ("Expires", "0")),
                after: 3, stale),
        ]),
    ]

    static let dates: [[Row]] = [
        [
            "Thu, 18 Aug 2050 02:01:18 GMT", "THU, 18 Aug 2050 02:01:18 GMT", "Thu, 18 AUG 2050 02:01:18 GMT",
            "Thu, 18 Aug 2050 02:01:18 gMT", "Thursday, 18-Aug-50 02:01:18 GMT", "Thu Aug 18 02:01:18 2050",
            "Sun Aug  7 02:01:18 2050", "Thu, 18 Aug 2050 02:01:60 GMT",
        ].map {
            row(
                "RFC 9110 5.6.7", "the three formats of dates are valid", [("Expires", $0), ("Date", "@0")], after: 3,
                "fresh")
        },
        [
            "0", "-1", "", "never", "1", "Thu, 18 Aug 2050 02:01:18 UTC", "Thu, 18 Aug 2050 02:01:18 +0000",
            "Thu, 18 Aug 50 02:01:18 GMT", "Thu 18 Aug 2050 02:01:18 GMT", "Thu, 18  Aug  2050 02:01:18 GMT",
            "Thu, 18-Aug-2050 02:01:18 GMT", "Thu, 18 Aug 2050 02.01.18 GMT", "Thu, 18 Aug 2050 2:01:18 GMT",
            "Thu, 18 Aug 2050 02:01 GMT", "Thu, 32 Aug 2050 02:01:18 GMT", "Wed, 29 Feb 2051 02:01:18 GMT",
            "Thu, 18 Aug 2050 24:01:18 GMT", "Thu, 18 Aug 2050 02:01:18 GMT, x", "2050-08-18T02:01:18Z", "2529633678",
            "Thu, 8 Aug 2050 02:01:18 GMT", "Foo, 18 Aug 2050 02:01:18 GMT", "Thu, 18 Foo 2050 02:01:18 GMT",
            "Thu, 18 Aug 2050 02:01:18", "Thu,18 Aug 2050 02:01:18 GMT", "Thu, 18 Aug 20500 02:01:18 GMT",
        ].map {
            row("5.3", "an invalid date counts as a date in the past", tagged(("Expires", $0), ("Date", "@0")), stale)
        },
    ]

    private static let day: Int64 = 86_400
    private static let old = [("Last-Modified", "@-\(400 * day)"), ("Date", "@0")]

    static let heuristics: [[Row]] = [
        ([5, 10, 30, 60, 300, 600, 1200, 1800, 3600, 3600 * 12, 3600 * 24] as [Int64]).flatMap { ago -> [Row] in
            let response = [("Last-Modified", "@-\(ago)"), ("Date", "@0")]
            let end = row(
                "4.2.2", "a heuristic lifetime ends after a tenth of the time since Last-Modified", response,
                after: ago / 10, stale)
            guard ago >= 10 else { return [end] }
            let claim = "a heuristic lifetime is a tenth of the time since Last-Modified"
            return [row("4.2.2", claim, response, after: ago / 10 - 1, "fresh"), end]
        },
        table([
            Case("4.2.2", "a heuristic lifetime is at most a week", old, after: 7 * day - 1, "fresh"),
            Case("4.2.2", "a heuristic lifetime ends after a week", old, after: 7 * day, "validate:stale"),
            Case(
                "4.2.2", "a Last-Modified of 1970 gives at most a week",
                [("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT")], after: 7 * day, "validate:stale"),
            Case(
                "4.2.2", "a Last-Modified after Date gives no lifetime", [("Last-Modified", "@100"), ("Date", "@0")],
                "validate:stale"),
            Case(
                "4.2.2", "an invalid Last-Modified gives no lifetime", [("Last-Modified", "yesterday")],
                "validate:stale"),
            Case(
                "4.2.2", "without Date, the heuristic uses the receipt", [("Last-Modified", "@-\(day)")], after: 60,
                "fresh"),
            Case(
                "4.2.2", "Expires excludes a heuristic lifetime", [("Last-Modified", "@-\(day)"), ("Expires", "0")],
                "validate:stale"),
            Case(
                "4.2.2", "max-age excludes a heuristic lifetime",
                [("Last-Modified", "@-\(day)"), ("Cache-Control", "max-age=0")], "validate:stale"),
            Case(
                "4.2.2", "s-maxage does not exclude a heuristic lifetime",
                [("Last-Modified", "@-\(day)"), ("Cache-Control", "s-maxage=1")], after: 60, "fresh"),
            Case(
                "4.2.2", "Pragma: no-cache of a response excludes a heuristic lifetime",
                [("Last-Modified", "@-\(day)"), ("Pragma", "no-cache")], "validate:stale"),
            Case(
                "4.2.2", "an attachment has a heuristic lifetime",
                [("Last-Modified", "@-\(day)"), ("Content-Disposition", "attachment")], "fresh"),
        ]),
        [
            (200, true), (201, false), (202, false), (203, true), (204, true), (300, true), (301, true), (302, false),
            (303, false), (307, false), (308, true), (400, false), (403, false), (404, true), (405, true),
            (410, true), (414, true), (500, false), (501, true), (502, false), (503, false), (504, false), (599, false),
        ].flatMap { (status: Int, hasLifetime: Bool) -> [Row] in
            let response = [("Last-Modified", "@-\(day)"), ("Date", "@0")]
            return [
                row(
                    "4.2.2", "only some statuses have a heuristic lifetime", response,
                    hasLifetime ? "fresh" : "fetch:uri-miss"
                ) { $0.status = status },
                row(
                    "4.2.2", "public permits a heuristic lifetime", response + [("Cache-Control", "public")], "fresh"
                ) { $0.status = status },
            ]
        },
    ]

    private static let hour = ("Cache-Control", "max-age=3600")

    static let ages: [[Row]] = [
        table([
            Case(
                "4.2.3", "an Age equal to the lifetime is stale", tagged(hour, ("Age", "3600"), ("Date", "@0")), stale),
            Case("4.2.3", "the time in the cache adds to Age", tagged(hour, ("Age", "3000")), after: 600, stale),
            Case(
                "4.2.3", "a response is fresh until Age and the time in the cache reach the lifetime",
                tagged(hour, ("Age", "3000")), after: 599, "fresh"),
            Case("4.2.3", "the time since Date counts", tagged(hour, ("Date", "@-3600")), stale),
            Case(
                "4.2.3", "the greater of Age and the time since Date counts",
                tagged(hour, ("Date", "@-3000"), ("Age", "10")), after: 600, stale),
            Case(
                "4.2.3", "Age counts against Expires if Date is in the past",
                tagged(("Date", "@-10"), ("Expires", "@10"), ("Age", "25")), stale),
            Case(
                "4.2.3", "Age counts against Expires if Date is in the future",
                tagged(("Date", "@10"), ("Expires", "@20"), ("Age", "15")), stale),
            Case(
                "4.2.3", "a Date in the future does not shorten the lifetime", tagged(hour, ("Date", "@9000")),
                after: 3599, "fresh"),
            Case(
                "4.2.3", "a Date in the future does not extend the lifetime", tagged(hour, ("Date", "@9000")),
                after: 3600, stale),
        ]),
        [
            row("4.2.3", "the delay of the response counts", tagged(hour), after: 3499, "fresh") { $0.delay = 100 },
            row("4.2.3", "the delay of the response counts", tagged(hour), after: 3500, stale) { $0.delay = 100 },
            row("4.2.3", "a negative delay is ignored", tagged(hour), after: 3599, "fresh") { $0.delay = -5000 },
        ],
        [
            ("abc", true), ("-7200", true), ("7200.0", true), ("", true), ("7 200", true), ("2147483647", false),
            ("2147483648", false), ("2147483649", false), ("99999999999999999999999", false), ("7200, 0", false),
            ("0, 7200", true), ("0, 0", true), ("7200, 7200", false), ("7200;foo=bar", false), ("7200;foo=111", false),
            (" 7200 ", false), ("007200", false),
        ].map { (value: String, isFresh: Bool) in
            row(
                "5.1", "Age is ignored unless its first member is a number of seconds",
                tagged(("Date", "@0"), hour, ("Age", value)), isFresh ? "fresh" : stale)
        },
        table([
            Case(
                "5.1", "the first Age field counts if it is greater", tagged(hour, ("Age", "7200"), ("Age", "0")), stale
            ),
            Case(
                "5.1", "the first Age field counts if it is smaller", tagged(hour, ("Age", "0"), ("Age", "7200")),
                "fresh"),
            Case("5.1", "equal Age fields count as one", tagged(hour, ("Age", "0"), ("Age", "0")), "fresh"),
        ]),
    ]
}
