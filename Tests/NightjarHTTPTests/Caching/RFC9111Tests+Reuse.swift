@testable import NightjarHTTP

extension RFC9111Tests {
    private static let hour = [("Cache-Control", "max-age=3600"), ("ETag", "\"a\"")]
    private static func control(_ value: String) -> Fields { [("Cache-Control", value)] }
    private static func tagged(_ cacheControl: String) -> Fields { control(cacheControl) + [("ETag", "\"a\"")] }
    private static let week: Int64 = 7 * 86_400

    static let requestDirectives: [[Row]] = [
        table([
            Case("5.2.1.1", "max-age=0 revalidates", hour, after: 3, control("max-age=0"), "validate:request"),
            Case(
                "5.2.1.1", "max-age=0 revalidates a response of the same second", hour, control("max-age=0"),
                "validate:request"),
            Case("5.2.1.1", "max-age bounds the age", hour, after: 3, control("max-age=1"), "validate:request"),
            Case("5.2.1.1", "max-age permits a response of that age", hour, after: 3, control("max-age=3"), "fresh"),
            Case(
                "5.2.1.1", "Age counts for max-age", hour + [("Age", "1800")], control("max-age=600"),
                "validate:request"),
            Case("5.2.1.1", "an invalid max-age revalidates", hour, control("max-age=x"), "validate:request"),
            Case(
                "5.2.1.2", "max-stale permits a stale response", tagged("max-age=1"), after: 3,
                control("max-stale=1000"),
                "max-stale"),
            Case(
                "5.2.1.2", "max-stale is inclusive", tagged("max-age=1"), after: 1001, control("max-stale=1000"),
                "max-stale"),
            Case(
                "5.2.1.2", "max-stale is a limit", tagged("max-age=1"), after: 1002, control("max-stale=1000"),
                "validate:stale"),
            Case(
                "5.2.1.2", "Age counts for max-stale", tagged("max-age=1500") + [("Age", "2000")],
                control("max-stale=1000"), "max-stale"),
            Case(
                "5.2.1.2", "max-stale without a value permits any age", tagged("max-age=1"), after: 1 << 32,
                control("max-stale"), "max-stale"),
            Case(
                "5.2.1.2", "the smaller of two max-stale counts", tagged("max-age=1"), after: 99,
                control("max-stale, max-stale=5"), "validate:stale"),
            Case(
                "5.2.1.2", "an invalid max-stale permits nothing", tagged("max-age=1"), after: 3,
                control("max-stale=x"),
                "validate:stale"),
            Case(
                "5.2.1.2", "max-age limits max-stale", tagged("max-age=1"), after: 9,
                control("max-stale=99, max-age=5"),
                "validate:stale"),
            Case(
                "5.2.1.3", "min-fresh requires a remaining lifetime", tagged("max-age=1500"), control("min-fresh=2000"),
                "validate:request"),
            Case(
                "5.2.1.3", "Age counts for min-fresh", tagged("max-age=1500") + [("Age", "1000")],
                control("min-fresh=1000"), "validate:request"),
            Case(
                "5.2.1.3", "min-fresh permits a response with that remaining lifetime", tagged("max-age=1500"),
                control("min-fresh=1500"), "fresh"),
            Case(
                "5.2.1.3", "min-fresh overrides max-stale", tagged("max-age=1"), after: 3,
                control("min-fresh=0, max-stale"),
                "validate:stale"),
            Case("5.2.1.3", "an invalid min-fresh revalidates", hour, control("min-fresh=x"), "validate:request"),
            Case("5.2.1.4", "no-cache revalidates", hour, control("no-cache"), "validate:request"),
            Case(
                "5.2.1.4", "no-cache revalidates a stale response", hour, after: 9999, control("no-cache"),
                "validate:stale"
            ),
            Case(
                "5.2.1.4", "no-cache without a validator fetches the response", control("max-age=60"),
                control("no-cache"),
                "fetch:request"),
            Case("5.2.1.5", "no-store bypasses the cache", hour, control("no-store"), "fetch:request"),
            Case("5.2.1.7", "only-if-cached returns a fresh response", hour, control("only-if-cached"), "fresh"),
            Case("5.2.1.7", "only-if-cached fails without a stored response", [], control("only-if-cached"), "refuse"),
            Case(
                "5.2.1.7", "only-if-cached fails for a stale response", hour, after: 9999, control("only-if-cached"),
                "refuse"),
            Case(
                "5.2.1.7", "only-if-cached permits max-stale", hour, after: 9999, control("only-if-cached, max-stale"),
                "max-stale"),
            Case("5.2.1.7", "only-if-cached fails with no-cache", hour, control("only-if-cached, no-cache"), "refuse"),
            Case("5.2.1", "unknown directives are ignored", hour, control("foo, bar=1, baz=\"no-cache\""), "fresh"),
            Case("5.2.1.6", "no-transform permits stored responses", hour, control("no-transform"), "fresh"),
            Case("5.4", "Pragma: no-cache revalidates", hour, [("Pragma", "no-cache")], "validate:request"),
            Case(
                "5.4", "Cache-Control overrides Pragma", hour, [("Pragma", "no-cache")] + control("max-age=5"), "fresh"),
            Case("5.4", "another Pragma is ignored", hour, [("Pragma", "foo")], "fresh"),
            Case("4", "a Cookie field does not matter", hour, [("Cookie", "a=b")], "fresh"),
        ])
    ]

    static let responseDirectives: [[Row]] = [
        table([
            Case("5.2.2.4", "no-cache revalidates", tagged("max-age=10000, no-cache"), "validate:stale"),
            Case("5.2.2.4", "no-cache is case-insensitive", tagged("max-age=10000, No-CaChE"), "validate:stale"),
            Case(
                "5.2.2.4", "no-cache overrides Expires", tagged("no-cache") + [("Expires", "@10000")], "validate:stale"),
            Case(
                "5.2.2.4", "no-cache overrides max-stale", tagged("max-age=9, no-cache"), control("max-stale"),
                "validate:stale"),
            Case(
                "5.2.2.2", "must-revalidate permits a fresh response", tagged("max-age=60, must-revalidate"), after: 59,
                "fresh"),
            Case(
                "5.2.2.2", "must-revalidate forbids a stale response", tagged("max-age=60, must-revalidate"), after: 60,
                "validate:stale"),
            Case(
                "5.2.2.2", "must-revalidate overrides max-stale", tagged("max-age=2, must-revalidate"), after: 3,
                control("max-stale"), "validate:stale"),
            Case(
                "5.2.2.8", "a private cache ignores proxy-revalidate", tagged("max-age=2, proxy-revalidate"), after: 3,
                control("max-stale"),
                "max-stale"),
            Case(
                "5.2.2.10", "a private cache ignores s-maxage", tagged("max-age=2, s-maxage=2"), after: 3,
                control("max-stale"), "max-stale"),
            Case(
                "5.2.2.7", "a private cache stores private responses", control("private, max-age=60"), after: 59,
                "fresh"),
            Case("5.2.2.9", "public responses are stored", control("public, max-age=60"), after: 59, "fresh"),
            Case(
                "RFC 8246 2", "an immutable response is used while it is fresh", tagged("max-age=60, immutable"),
                "fresh"),
            Case(
                "RFC 8246 2", "a stale immutable response is revalidated", tagged("max-age=60, immutable"), after: 60,
                "validate:stale"),
            Case(
                "RFC 8246 2", "no-cache of a request revalidates an immutable response",
                tagged("max-age=60, immutable"),
                control("no-cache"),
                "validate:request"),
            Case(
                "4.2.4", "a stale response without a validator is fetched again", control("max-age=60"), after: week,
                "fetch:stale"),
            Case(
                "5.4", "Pragma: no-cache of a response is ignored", control("max-age=60") + [("Pragma", "no-cache")],
                "fresh"),
            Case("5.4", "another Pragma of a response is ignored", control("max-age=60") + [("Pragma", "x")], "fresh"),
        ])
    ]

    static let noCache: [[Row]] = [
        ["no-cache=\"\"", "no-cache=\" , \"", "no-cache=", "no-cache=\"a", "no-cache=\"a\"b", "no-cache;x"].map {
            row("5.2.2.4", "no-cache with invalid names revalidates", tagged("max-age=60, " + $0), "validate:stale")
        },
        [row("5.2.2.4", "no-cache may name a field", control("max-age=60, no-cache=a"), "fresh")],
    ]

    private static let window = tagged("max-age=1, stale-while-revalidate=4")

    static let staleWhileRevalidate: [[Row]] = [
        table([
            Case("RFC 5861 3", "a fresh response is used", window, "fresh"),
            Case(
                "RFC 5861 3", "a stale response is used and revalidated in the background", window, after: 1,
                "swr+refresh"),
            Case("RFC 5861 3", "the window is inclusive", window, after: 5, "swr+refresh"),
            Case("RFC 5861 3", "a response after the window is revalidated first", window, after: 6, "validate:stale"),
            Case(
                "RFC 5861 3", "with max-age=0, the window begins at once",
                control("max-age=0, stale-while-revalidate=3600"),
                "swr+refresh"),
            Case(
                "RFC 5861 3", "a window of zero permits nothing", tagged("max-age=1, stale-while-revalidate=0"),
                after: 2,
                "validate:stale"),
            Case(
                "RFC 5861 3", "a window without a value permits nothing", tagged("max-age=1, stale-while-revalidate"),
                after: 2, "validate:stale"),
            Case(
                "RFC 5861 3", "an invalid window permits nothing", tagged("max-age=1, stale-while-revalidate=a"),
                after: 2,
                "validate:stale"),
            Case(
                "RFC 5861 3", "must-revalidate overrides the window",
                tagged("max-age=1, stale-while-revalidate=9, must-revalidate"), after: 2,
                "validate:stale"),
            Case(
                "RFC 5861 3", "no-cache overrides the window", tagged("max-age=1, stale-while-revalidate=9, no-cache"),
                after: 2, "validate:stale"),
            Case(
                "RFC 5861 3", "no-cache of the request overrides the window", window, after: 2, control("no-cache"),
                "validate:stale"),
            Case(
                "RFC 5861 3", "max-age of the request overrides the window", window, after: 2, control("max-age=1"),
                "validate:stale"),
            Case(
                "RFC 5861 3", "only-if-cached permits no revalidation", window, after: 2, control("only-if-cached"),
                "swr"),
        ])
    ]

    private static let tag = [("Cache-Control", "max-age=3600"), ("ETag", "\"abcdef\"")]
    private static let lifetime = ("Cache-Control", "max-age=3600")

    static let conditions: [[Row]] = [
        table([
            Case("4.3.2", "an equal tag matches", tag, [("If-None-Match", "\"abcdef\"")], "fresh 304"),
            Case("4.3.2", "a weak tag matches a strong one", tag, [("If-None-Match", "W/\"abcdef\"")], "fresh 304"),
            Case(
                "4.3.2", "equal weak tags match", [lifetime, ("ETag", "W/\"abcdef\"")],
                [("If-None-Match", "W/\"abcdef\"")], "fresh 304"),
            Case(
                "4.3.2", "a strong tag matches a weak one", [lifetime, ("ETag", "W/\"abcdef\"")],
                [("If-None-Match", "\"abcdef\"")], "fresh 304"),
            Case(
                "4.3.2", "the first tag of a list matches", tag, [("If-None-Match", "\"abcdef\", \"1234\", \"5678\"")],
                "fresh 304"),
            Case(
                "4.3.2", "a tag in the middle of a list matches", tag,
                [("If-None-Match", "\"1234\",\"abcdef\",\"5678\"")], "fresh 304"),
            Case(
                "4.3.2", "the last tag of a list matches", tag, [("If-None-Match", "\"1234\", \"5678\", \"abcdef\"")],
                "fresh 304"),
            Case(
                "4.3.2", "a tag of a second field matches", tag,
                [("If-None-Match", "\"1\""), ("If-None-Match", "\"abcdef\"")], "fresh 304"),
            Case("4.3.2", "* matches", tag, [("If-None-Match", "*")], "fresh 304"),
            Case("4.3.2", "* matches a response without a tag", [lifetime], [("If-None-Match", "*")], "fresh 304"),
            Case("4.3.2", "tags are case-sensitive", tag, [("If-None-Match", "\"abcdeF\"")], "fresh"),
            Case(
                "4.3.2", "a response without a tag does not match", [lifetime], [("If-None-Match", "\"abcdef\"")],
                "fresh"),
            Case(
                "4.3.2", "a tag may contain a comma", [lifetime, ("ETag", "\"a,b\"")],
                [("If-None-Match", "\"x\", \"a,b\"")], "fresh 304"),
            Case(
                "4.3.2", "a part of a tag does not match", [lifetime, ("ETag", "\"a\"")],
                [("If-None-Match", "\"x,a\"")], "fresh"),
            Case(
                "4.3.2", "a tag may contain obs-text", [lifetime, ("ETag", "\"abcdefü\"")],
                [("If-None-Match", "\"abcdefü\"")], "fresh 304"),
            Case(
                "4.3.2", "equal tags without quotes match", [lifetime, ("ETag", "abcdef")],
                [("If-None-Match", "abcdef")], "fresh 304"),
            Case(
                "4.3.2", "a tag without quotes does not match a quoted one", [lifetime, ("ETag", "abcdef")],
                [("If-None-Match", "\"abcdef\"")], "fresh"),
            Case("4.3.2", "an empty tag does not match", [lifetime, ("ETag", "")], [("If-None-Match", "")], "fresh"),
            Case(
                "4.3.2", "If-None-Match that matches overrides If-Modified-Since", tag + [("Last-Modified", "@-5000")],
                [("If-None-Match", "\"abcdef\""), ("If-Modified-Since", "@-9999")], "fresh 304"),
            Case(
                "4.3.2", "If-None-Match that does not match overrides If-Modified-Since",
                tag + [("Last-Modified", "@-5000")],
                [("If-None-Match", "\"x\""), ("If-Modified-Since", "@-1")], "fresh"),
            Case(
                "4.3.2", "an equal date matches", [lifetime, ("Last-Modified", "@-3000")],
                [("If-Modified-Since", "@-3000")], "fresh 304"),
            Case(
                "4.3.2", "a later date matches", [lifetime, ("Last-Modified", "@-3000")],
                [("If-Modified-Since", "@-2000")], "fresh 304"
            ),
            Case(
                "4.3.2", "an earlier date does not match", [lifetime, ("Last-Modified", "@-3000")],
                [("If-Modified-Since", "@-3001")], "fresh"),
            Case(
                "4.3.2", "Date replaces a missing Last-Modified", [lifetime, ("Date", "@-60")],
                [("If-Modified-Since", "@-60")], "fresh 304"),
            Case(
                "4.3.2", "a date before Date does not match", [lifetime, ("Date", "@-60")],
                [("If-Modified-Since", "@-61")], "fresh"),
            Case(
                "4.3.2", "an invalid date does not match", [lifetime, ("Last-Modified", "@-3000")],
                [("If-Modified-Since", "yesterday")], "fresh"),
            Case("4.3.2", "If-Match is forwarded", tag, [("If-Match", "\"abcdef\"")], "fetch:request"),
            Case("4.3.2", "If-Unmodified-Since is forwarded", tag, [("If-Unmodified-Since", "@9")], "fetch:request"),
            Case(
                "4.3.2", "If-Match with only-if-cached fails", tag,
                [("If-Match", "\"abcdef\""), ("Cache-Control", "only-if-cached")], "refuse"),
            Case(
                "4.3.2", "another form of the same date matches", tag,
                [("If-Modified-Since", "Tuesday, 14-Nov-23 22:13:20 GMT")], "fresh 304"),
        ]),
        [
            row(
                "RFC 9110 13.2.1", "a condition applies only to a success", tag,
                request: [("If-None-Match", "\"abcdef\"")], "fresh"
            ) { $0.status = 404 },
            row("4.3.2", "a condition applies to HEAD", tag, request: [("If-None-Match", "\"abcdef\"")], "fresh 304") {
                $0.thenMethod = .head
            },
        ],
    ]

    static let methods: [[Row]] = [
        [Method.post, .put, .delete, .patch, .options, .trace].map { method in
            row("4", "only GET and HEAD use stored responses", hour, "fetch:method") { $0.thenMethod = method }
        },
        [
            row("4", "HEAD uses the response to GET", hour, "fresh") { $0.thenMethod = .head },
            row("RFC 9110 14.2", "HEAD ignores Range", hour, request: [("Range", "bytes=0-1")], "fresh") {
                $0.thenMethod = .head
            },
        ],
    ]
}
