import NightjarStorage
import Testing

@testable import Nightjar
@testable import NightjarHTTP

/// Rows that check RFC 9111 and related RFCs, as observed by the caller and the server. Each row names its section. It
/// runs with a memory cache, with a disk cache, and with a disk cache that is reopened before each request.
///
/// ``CacheSuiteTests`` covers the public test suite for HTTP caches. These rows cover behaviors that the suite lacks.
@Suite struct CacheConformanceTests {
    typealias Row = CacheScenario
    typealias Step = CacheScenario.Step
    typealias Outcome = CacheScenario.Outcome

    @Test(
        arguments: CacheScenario.Place.allCases,
        [freshness, storing, validating, variants, parts, writes].flatMap { $0 })
    func rowHolds(_ place: CacheScenario.Place, _ row: Row) async throws {
        let problems = try await row.problems(in: place)
        #expect(problems.isEmpty)
    }

    // MARK: Rows

    private static func control(_ value: String) -> [(String, String)] { [("Cache-Control", value)] }
    private static let hour = control("max-age=3600")
    private static let tag = [("ETag", "\"1\"")]

    /// Stores a response with these fields, then checks whether the next request reuses it.
    private static func reuse(
        _ section: String, _ name: String, _ fields: [(String, String)], status: Int = 200, _ outcome: Outcome
    ) -> Row {
        Row(section, name, Step(status: status, response: fields), Step(status: status, outcome: outcome))
    }

    private static func date(_ seconds: Int64) -> String {
        HTTPDate.text(WallClock.now().later(by: .seconds(seconds)) ?? .epoch)
    }

    static let freshness: [Row] =
        [
            reuse("4.2.1", "quoted max-age", control("max-age=\"3600\""), .hit),
            reuse("4.2.1", "max-age with a blank before =", control("max-age =3600"), .miss),
            reuse("4.2.1", "max-age with a blank after =", control("max-age= 3600"), .miss),
            reuse("4.2.1", "max-age with a letter", control("max-age=3600a"), .miss),
            reuse("4.2.3", "a Date before the lifetime", control("max-age=10") + [("Date", date(-60))], .miss),
            reuse("4.2.2", "no information", [], .miss),
            reuse(
                "RFC 5861 3", "after the window of stale-while-revalidate",
                control("max-age=5, stale-while-revalidate=5") + tag + [("Age", "11")], .validated),
        ]
        + [301, 302, 303, 307, 308].map { reuse("3", "explicitly fresh \($0)", hour, status: $0, .hit) }
        + [301, 302].map { reuse("4.2", "stale \($0)", hour + [("Age", "3601")], status: $0, .miss) }

    static let storing: [Row] = [
        Row(
            "5.2.2.4", "fields named in no-cache are not returned",
            Step(response: control("no-cache=\"a\"") + hour + [("A", "1"), ("B", "2")]),
            Step(outcome: .hit, fields: [("a", nil), ("b", "2")])),
        Row(
            "5.2.1.5", "a request with no-store", Step(request: control("no-store"), response: hour), Step()),
        Row(
            "5.2.1.4", "a request with no-cache", Step(response: hour + tag),
            Step(request: control("no-cache"), outcome: .validated)),
        Row(
            "5.2.1.1", "a request with max-age=0", Step(response: hour + tag),
            Step(request: control("max-age=0"), outcome: .validated)),
        Row(
            "5.2.1.2", "a request with max-stale", Step(response: control("max-age=5") + [("Age", "9")] + tag),
            Step(request: control("max-stale=1000"), outcome: .hit)),
        Row(
            "5.2.1.3", "a request with min-fresh", Step(response: control("max-age=60")),
            Step(request: control("min-fresh=61"))),
        Row(
            "5.2.1.7", "only-if-cached", Step(response: hour), Step(request: control("only-if-cached"), outcome: .hit)),
        Row(
            "5.4", "a request with Pragma", Step(response: hour + tag),
            Step(request: [("Pragma", "no-cache")], outcome: .validated)),
        Row("4", "HEAD of a stored response", Step(response: hour), Step(method: .head, outcome: .hit)),
        Row(
            "3.5", "another credential", Step(request: [("Authorization", "Bearer a")], response: hour),
            Step(request: [("Authorization", "Bearer b")]),
            Step(request: [("Authorization", "Bearer a")], outcome: .hit)),
    ]

    static let validating: [Row] = [
        reuse("4.3.1", "a date", control("max-age=0") + [("Last-Modified", date(-60))], .validated),
        Row(
            "4.3.2", "If-None-Match that matches", Step(response: hour + tag),
            Step(request: [("If-None-Match", "\"0\", \"1\"")], outcome: .returned(304, ""), fields: [("etag", "\"1\"")])
        ),
        Row(
            "4.3.2", "If-None-Match takes precedence over If-Modified-Since",
            Step(response: hour + tag + [("Last-Modified", date(-60))]),
            Step(
                request: [("If-None-Match", "\"2\""), ("If-Modified-Since", date(0))],
                outcome: .returned(200, "content"))),
        Row(
            "4.3.2", "If-Modified-Since", Step(response: hour + [("Last-Modified", date(-60))]),
            Step(request: [("If-Modified-Since", date(-60))], outcome: .returned(304, ""))),
        Row(
            "3.2", "a 304 updates the stored fields",
            Step(response: control("max-age=0") + tag + [("A", "1"), ("B", "1"), ("Content-Type", "text/plain")]),
            Step(response: hour + tag + [("A", "2"), ("Content-Type", "text/html")], outcome: .validated),
            Step(outcome: .hit, fields: [("a", "2"), ("b", "1"), ("content-type", "text/html")])),
        Row(
            "4.3.3", "a new response replaces the stored one", Step(response: control("max-age=0") + tag),
            Step(response: hour + [("ETag", "\"2\"")], body: "new"), Step(outcome: .hit)),
        Row(
            "4.3.5", "a HEAD updates the stored fields", Step(response: control("max-age=0") + tag + [("A", "1")]),
            Step(method: .head, response: hour + tag + [("A", "2")]), Step(outcome: .hit, fields: [("a", "2")])),
        Row(
            "4.2.4", "must-revalidate forbids a stale response",
            Step(response: control("max-age=5, stale-if-error=60, must-revalidate") + [("Age", "9")]),
            Step(status: 503)),
    ]

    static let variants: [Row] = [
        Row(
            "4.1", "a 406 does not affect the stored variants",
            Step(request: [("Accept", "a/a")], response: hour + [("Vary", "Accept")]),
            Step(request: [("Accept", "b/b")], response: hour + [("Vary", "Accept")]),
            Step(request: [("Accept", "c/c")], status: 406),
            Step(request: [("Accept", "a/a")], outcome: .returned(200, "content")),
            Step(request: [("Accept", "b/b")], outcome: .returned(200, "content")))
    ]

    /// A partial response with bytes 4 to 8 of `0123456789`.
    private static let stored = Step(
        request: [("Range", "bytes=4-8")], status: 206,
        response: hour + tag + [("Content-Range", "bytes 4-8/10")], body: "45678")
    private static func part(_ range: String, _ outcome: Outcome, _ fields: [(String, String?)] = []) -> Step {
        Step(request: [("Range", range)], status: 206, outcome: outcome, fields: fields)
    }

    static let parts: [Row] = [
        Row(
            "3.3", "the same part", stored,
            part("bytes=4-8", .returned(206, "45678"), [("content-range", "bytes 4-8/10"), ("content-length", "5")])),
        Row(
            "3.3", "a smaller part", stored,
            part("bytes=6-8", .returned(206, "678"), [("content-range", "bytes 6-8/10")])),
        Row("3.3", "a larger part", stored, part("bytes=3-8", .miss)),
        Row("3.3", "bytes after the stored part", stored, part("bytes=6-", .miss)),
        Row("3.3", "the whole", stored, Step(body: "0123456789")),
        Row(
            "3.3", "until the end of the content",
            Step(
                request: [("Range", "bytes=-5")], status: 206, response: hour + [("Content-Range", "bytes 5-9/10")],
                body: "56789"), part("bytes=-5", .returned(206, "56789")), part("bytes=-1", .returned(206, "9")),
            part("bytes=8-", .returned(206, "89")), part("bytes=8-99", .returned(206, "89")), part("bytes=-6", .miss)),
        Row(
            "3.3", "of unknown length",
            Step(
                request: [("Range", "bytes=4-8")], status: 206, response: hour + [("Content-Range", "bytes 4-8/*")],
                body: "45678"), part("bytes=4-5", .returned(206, "45"), [("content-range", "bytes 4-5/*")]),
            part("bytes=-1", .miss)),
        Row(
            "3.3", "less content than Content-Range declares",
            Step(
                request: [("Range", "bytes=-5")], status: 206, response: hour + [("Content-Range", "bytes 4-9/10")],
                body: "01234"), part("bytes=4-8", .returned(206, "01234"), [("content-range", "bytes 4-8/10")]),
            part("bytes=-5", .miss)),
        Row(
            "3.3", "more content than Content-Range declares",
            Step(
                request: [("Range", "bytes=0-3")], status: 206, response: hour + [("Content-Range", "bytes 0-3/10")],
                body: "01234"), part("bytes=0-1", .miss)),
        Row(
            "3.3", "several parts",
            Step(
                request: [("Range", "bytes=0-1,3-4")], status: 206,
                response: hour + [("Content-Type", "multipart/byteranges")]),
            part("bytes=0-1", .miss)),
        Row(
            "4.3.1", "a stale part",
            Step(
                request: [("Range", "bytes=4-8")], status: 206,
                response: control("max-age=0") + tag + [("Content-Range", "bytes 4-8/10")], body: "45678"),
            Step(request: [("Range", "bytes=4-8")], response: hour + tag, outcome: .validated),
            part("bytes=5-6", .returned(206, "56"))),
        Row(
            "RFC 9110 13.1.5", "If-Range of another version", stored,
            Step(request: [("Range", "bytes=4-8"), ("If-Range", "\"2\"")], body: "new content")),
        Row(
            "RFC 9110 15.5.17", "a range after the end of the content", Step(response: hour, body: "0123456789"),
            part("bytes=10-", .returned(416, ""))),
        Row(
            "3.3", "the whole replaces a part", stored, Step(response: hour + tag, body: "0123456789"),
            part("bytes=0-1", .returned(206, "01"))),
        Row(
            "3.4", "a part of the same version leaves the whole", Step(response: hour + tag, body: "0123456789"),
            Step(
                request: [("Range", "bytes=0-1"), ("If-Match", "\"1\"")], status: 206,
                response: hour + tag + [("Content-Range", "bytes 0-1/10")], body: "01"),
            Step(outcome: .returned(200, "0123456789"))),
    ]

    private static let resource = [("Content-Location", "/a")]

    /// A POST whose response must not be stored.
    private static func posted(
        _ name: String, _ response: [(String, String)], status: Int = 200, request: [(String, String)] = []
    ) -> Row {
        Row(
            "RFC 9110 9.3.3", "a POST " + name,
            Step(method: .post, request: request, status: status, response: response), Step())
    }

    static let writes: [Row] =
        ["POST", "PUT", "DELETE", "M-SEARCH"].flatMap { name -> [Row] in
            guard let method = Method(name) else { return [] }
            return [
                Row(
                    "4.4", "\(name) invalidates Location", Step(target: "/b", response: hour),
                    Step(method: method, response: [("Location", "/b")]), Step(target: "/b")),
                Row(
                    "4.4", "\(name) invalidates Content-Location", Step(target: "/b", response: hour),
                    Step(method: method, response: [("Content-Location", "/b")]), Step(target: "/b")),
            ]
        } + [
            Row(
                "4.4", "a write does not invalidate another origin", Step(response: hour),
                Step(method: .post, target: "/b", response: [("Location", "http://other.test/a")]), Step(outcome: .hit)),
            Row(
                "RFC 9110 9.3.3", "the response to a POST replaces the stored one", Step(response: hour),
                Step(method: .post, response: hour + resource, body: "new"), Step(outcome: .returned(200, "new")),
                Step(method: .head, outcome: .returned(200, ""))),
            Row(
                "RFC 9110 9.3.3", "a POST is not cached", Step(method: .post, response: hour + resource),
                Step(method: .post, response: hour + resource)),
            Row("9.2.1", "safe methods keep it", Step(response: hour), Step(method: .options), Step(outcome: .hit)),
        ] + [
            posted("without Content-Location", hour),
            posted("with the Content-Location of another URL", hour + [("Content-Location", "/b")]),
            posted("with two Content-Locations", hour + resource + [("Content-Location", "/b")]),
            posted("without an explicit lifetime", resource + [("Last-Modified", date(-86_400)), ("Date", date(0))]),
            posted("that created something", hour + resource, status: 201),
            posted("whose response has no-store", control("max-age=3600, no-store") + resource),
            posted("whose request has no-store", hour + resource, request: control("no-store")),
        ]
}
