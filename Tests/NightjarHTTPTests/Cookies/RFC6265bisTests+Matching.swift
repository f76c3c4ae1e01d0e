@testable import NightjarHTTP

extension RFC6265bisTests {
    /// Notations of 1994-11-06 08:49:37.
    static let dates: [[Row]] = [
        cases(
            "5.1.1", "many formats denote the same date",
            [
                // The three formats of RFC 9110, and others in use.
                "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
                "Sun, 06-Nov-1994 08:49:37 GMT", "6 Nov 1994 8:49:37", "Nov 6 1994 8:49:37 PM",
                "1994 6 Nov 08:49:37", "08:49:37 6 1994 November", "6/nOv/94/08:49:37", "06 NOVEMBER 94 08:49:37 UTC",
                // Time zones, names of weekdays and other words are ignored.
                "Mon, 06 Nov 1994 08:49:37 PST", "Sun, 06 Nov 1994 08:49:37 +0200",
                "blah 6 blah Nov blah 94 blah 8:49:37",
                // Characters after the digits or the month of a token are ignored.
                "6th Nov 1994 08:49:37", "6 Nov 1994AD 08:49:37", "6 Nov 1994 08:49:37.123", "6 Nov 1994 08:49:37Z",
                "6 Novembre 1994 08:49:37", "6 Nov94 Nov 94 08:49:37",
                // Each component is taken from the first match. Later matches are ignored.
                "6 Nov 1994 08:49:37 7 Dec 1995 09:50:38", "\t6\tNov\t1994\t08:49:37\t", "!6\"Nov#1994$08:49:37%",
                // A control character other than the tab is not a delimiter.
                "6 Nov 1994 08:49:37 \u{01}x", "6 Nov 1994 08:49:37 \u{7F}é",
            ] as [String]
        ) { (.date($0), .seconds(784_111_777)) }
    ]

    static let invalidDates: [[Row]] = [
        cases(
            "5.1.1", "a date outside of the calendar or without a component is ignored",
            [
                "", " ", "Sun", "06 Nov 1994", "08:49:37", "Nov 1994 08:49:37", "06 1994 08:49:37", "06 Nov 08:49:37",
                // Components that are out of range.
                "0 Nov 1994 08:49:37", "00 Nov 1994 08:49:37", "31 Nov 1994 08:49:37", "32 Oct 1994 08:49:37",
                "30 Feb 2000 00:00:00", "29 Feb 1900 00:00:00", "29 Feb 2023 00:00:00", "6 Nov 1994 24:00:00",
                "6 Nov 1994 08:60:00", "6 Nov 1994 08:49:60", "6 Nov 1600 00:00:00", "6 Nov 123 08:49:37",
                // Too many digits or missing components.
                "006 Nov 1994 08:49:37", "6 Nov 19940 08:49:37", "6 Nov 1 08:49:37", "6 Nov 1994 008:49:37",
                "6 Nov 1994 08:049:37", "6 Nov 1994 08:49:037", "6 Nov 1994 08:49", "6 Nov 1994 08:49:",
                "6 Nov 1994 8::37",
                "6 No 1994 08:49:37", "6 Nox 1994 08:49:37", "6 11 1994 08:49:37", "-6", "99999999999999999999",
                "6\u{01}Nov 1994 08:49:37", "1994-11-06T08:49:37Z",
            ] as [String]
        ) { (.date($0), .nothing) }
    ]

    static let calendar: [[Row]] = [
        cases(
            "5.1.1", "two-digit years are from 1970 to 2069, and years are from 1601",
            [
                ("1 Jan 1970 00:00:00", 0), ("31 Dec 1969 23:59:59", -1), ("1 Jan 1601 00:00:00", -11_644_473_600),
                ("31 Dec 9999 23:59:59", 253_402_300_799), ("29 Feb 2000 00:00:00", 951_782_400),
                ("1 Mar 2000 00:00:00", 951_868_800), ("28 Feb 1900 23:59:59", -2_203_891_201),
                ("1 Jan 70 00:00:00", 0), ("1 Jan 99 00:00:00", 915_148_800), ("1 Jan 00 00:00:00", 946_684_800),
                ("1 Jan 69 00:00:00", 3_124_224_000), ("19 Jan 2038 03:14:08", 2_147_483_648),
            ] as [(String, Int64)]
        ) { (.date($0.0), .seconds($0.1)) }
    ]

    static let domains: [[Row]] = [
        cases(
            "5.1.3", "a host matches its domain and parent domains, an address only itself",
            [
                ("example.com", "example.com", true), ("a.example.com", "example.com", true),
                ("a.b.example.com", "example.com", true), ("example.com", "a.example.com", false),
                ("badexample.com", "example.com", false), (".example.com", "example.com", false),
                ("example.com.", "example.com", false), ("example.com.evil", "example.com", false),
                ("com", "example.com", false), ("example.com", "com", true), ("a.b", "", false),
                ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "0.0.1", false), ("127.0.0.1", "1", false),
                ("::1", "::1", true), ("::ffff:1.2.3.4", "2.3.4", false), ("1.2.3.4.example", "4.example", true),
            ] as [(String, String, Bool)]
        ) { (.domain(host: $0.0, domain: $0.1), .matches($0.2)) }
    ]

    static let paths: [[Row]] = [
        cases(
            "5.1.4", "a path matches itself and the paths below it",
            [
                ("/", "/", true), ("/a", "/", true), ("/a", "/a", true), ("/a/", "/a", true), ("/a/b", "/a", true),
                ("/a/b", "/a/", true), ("/a", "/a/", false), ("/ab", "/a", false), ("/", "/a", false),
                ("/A", "/a", false),
                ("/a%2Fb", "/a", false), ("//", "/", true), ("/a//b", "/a/", true),
            ] as [(String, String, Bool)]
        ) { (.path($0.0, cookiePath: $0.1), .matches($0.2)) },
        cases(
            "5.1.4", "the default path ends before the last slash",
            [
                ("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/", "/a/b"), ("//", "/"), ("//a", "/"),
                ("/a//", "/a/"),
            ] as [(String, String)]
        ) { (.defaultPath($0.0), .text($0.1)) },
    ]

    /// Returns one row per case, all with the same section and claim.
    static func cases<Case>(
        _ section: String, _ claim: String, _ cases: [Case], _ row: (Case) -> (Input, Expected)
    ) -> [Row] {
        Row.rows(section, claim, cases.map(row))
    }
}
