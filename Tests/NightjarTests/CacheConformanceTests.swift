import NIOCore
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar
@testable import NightjarHTTP

/// RFC 9111 and what it refers to, as a caller and a server see it: the same for a cache in memory, one on disk, and one
/// whose process restarts before each request. Each row names the section that it follows.
@Suite struct CacheConformanceTests {
    enum Place: CaseIterable { case memory, disk, restartedDisk }

    /// What a request comes to.
    enum Outcome: Equatable {
        /// The server is not asked.
        case hit
        /// The server is not asked, and the caller gets this status and content.
        case given(Int, String)
        /// The server responds, and nothing tells it what is stored.
        case miss
        /// The server is asked whether the stored response still holds, and says so.
        case validated
    }

    struct Step: Sendable {
        var method = Method.get
        var target = "/a"
        var request: [(String, String)] = []
        var status = 200
        var response: [(String, String)] = []
        var body = "content"
        var outcome = Outcome.miss
        /// Fields of the response to the caller; nil: there is none.
        var fields: [(String, String?)] = []
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let section: String
        let name: String
        let steps: [Step]
        var testDescription: String { "\(section): \(name)" }

        init(_ section: String, _ name: String, _ steps: Step...) {
            (self.section, self.name, self.steps) = (section, name, steps)
        }
    }

    @Test(arguments: Place.allCases, [freshness, storing, validating, variants, parts, writes].flatMap { $0 })
    func theRowHolds(_ place: Place, _ row: Row) throws {
        let folder = try TemporaryDirectory()
        let settings =
            switch place {
            case .memory: CacheStorage.Settings()
            case .disk, .restartedDisk: CacheStorage.Settings(memory: 0, disk: 10 << 20, folder: folder.file("c"))
            }
        let current = Mutex<Step?>(nil)
        func bench() throws -> CacheTests.Bench {
            try CacheTests.Bench(settings, { $0.redirect.follows = false }) { _, _ in
                guard let step = current.withLock({ $0 }) else { return .init(500) }
                return step.outcome == .validated
                    ? .init(304, step.response) : .init(step.status, step.response, step.body)
            }
        }
        var running = try bench()
        var previous = ""
        for (index, step) in row.steps.enumerated() {
            if place == .restartedDisk, index > 0 {
                running.client.close()
                running = try bench()
            }
            current.withLock { $0 = step }
            let before = running.asked.count
            let response = try send(step, running)
            try running.client.cache?.flush()
            let asked = Array(running.asked.dropFirst(before))
            check(response, asked, step, "\(row.section), \(row.name), request \(index + 1)", stored: previous)
            if step.outcome == .miss, step.method == .get { previous = step.body }
        }
    }

    private func send(_ step: Step, _ bench: CacheTests.Bench) throws -> Response {
        var request = try CacheTests.Bench.request(step.method, step.target, nil, step.request)
        request.expectedStatuses = [StatusRange(100, 599)]
        if !step.method.isSafe { request.body = .bytes(ByteBuffer(string: "x")) }
        return try bench.client.sendBlocking(request)
    }

    private func check(
        _ response: Response, _ asked: [ServerInMemory.Asked], _ step: Step, _ place: String, stored: String
    ) {
        let isConditional = asked.contains { asked in
            ["If-None-Match", "If-Modified-Since"].contains { name in
                asked.headers[name] != nil && !step.request.contains { $0.0 == name }
            }
        }
        let body = String(buffer: response.body)
        switch step.outcome {
        case .hit:
            #expect(asked.isEmpty, "\(place): the server was asked")
            #expect(step.method == .head || body == stored, "\(place)")
        case .given(let status, let content):
            #expect(asked.isEmpty, "\(place): the server was asked")
            #expect(response.status == status && body == content, "\(place): \(response.status) \(body)")
        case .miss:
            #expect(asked.count == 1, "\(place): the server was not asked")
            #expect(!isConditional || response.status != 304, "\(place)")
            #expect(response.status == step.status, "\(place): \(response.status)")
        case .validated:
            #expect(asked.count == 1 && isConditional, "\(place): the stored response was not validated")
            #expect(response.status != 304 && body == stored, "\(place): \(response.status) \(body)")
        }
        for (name, value) in step.fields { #expect(response.headers[name] == value, "\(place): \(name)") }
    }

    // MARK: Rows

    private static func control(_ value: String) -> [(String, String)] { [("Cache-Control", value)] }
    private static let hour = control("max-age=3600")
    private static let tag = [("ETag", "\"1\"")]

    /// A response with these fields, and whether the next request is answered with it.
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
            reuse("4.2.1", "max-age", hour, .hit),
            reuse("4.2.1", "quoted max-age", control("max-age=\"3600\""), .hit),
            reuse("4.2.1", "max-age in single quotes", control("max-age='3600'"), .miss),
            reuse("4.2.1", "max-age with a blank before =", control("max-age =3600"), .miss),
            reuse("4.2.1", "max-age with a blank after =", control("max-age= 3600"), .miss),
            reuse("4.2.1", "max-age with a letter", control("max-age=3600a"), .miss),
            reuse("4.2.1", "negative max-age", control("max-age=-3600"), .miss),
            reuse("4.2.1", "max-age in a quoted extension", control("x=\"max-age=3600\", max-age=0"), .miss),
            reuse("1.2.2", "max-age beyond 31 bits", control("max-age=99999999999"), .hit),
            reuse("5.2", "names without case", control("MaX-aGe=3600"), .hit),
            reuse("5.2.3", "an unknown extension", control("foobar, max-age=3600"), .hit),
            reuse("5.2.2.10", "s-maxage is for shared caches", control("s-maxage=3600, max-age=0"), .miss),
            reuse("4.2.3", "an Age beyond max-age", control("max-age=10") + [("Age", "15")], .miss),
            reuse("4.2.3", "a Date that long ago", control("max-age=10") + [("Date", date(-60))], .miss),
            reuse("5.3", "Expires in the future", [("Expires", date(600)), ("Date", date(0))], .hit),
            reuse("5.3", "Expires in the past", [("Expires", date(-600)), ("Date", date(0))], .miss),
            reuse("5.3", "invalid Expires", [("Expires", "0")], .miss),
            reuse("5.3", "max-age goes before Expires", hour + [("Expires", date(-600))], .hit),
            reuse("5.3", "max-age=0 goes before Expires", control("max-age=0") + [("Expires", date(600))], .miss),
            reuse("4.2.2", "no information", [], .miss),
        ]
        + [200, 203, 204, 404, 405, 410, 414, 501].map {
            reuse(
                "4.2.2", "heuristic lifetime of \($0)", [("Last-Modified", date(-86_400)), ("Date", date(0))],
                status: $0,
                $0 == 204 ? .given(204, "") : .hit)
        }
        + [201, 202, 403, 502, 503, 504, 599].map {
            reuse(
                "4.2.2", "no heuristic lifetime of \($0)", [("Last-Modified", date(-86_400)), ("Date", date(0))],
                status: $0, .miss)
        }
        + [200, 203, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599].map {
            reuse("3", "explicitly fresh \($0)", hour, status: $0, .hit)
        }
        + [200, 203, 299, 301, 302, 404, 500, 503, 599].map {
            reuse("4.2", "stale \($0)", hour + [("Age", "3601")], status: $0, .miss)
        }

    static let storing: [Row] = [
        reuse("5.2.2.5", "no-store", control("no-store"), .miss),
        reuse("5.2.2.5", "no-store without case, beside max-age", control("max-age=3600, No-StOrE"), .miss),
        reuse("5.2.2.4", "no-cache without a validator", control("max-age=3600, no-cache"), .miss),
        reuse("5.2.2.4", "no-cache with a validator", control("no-cache") + tag, .validated),
        reuse("5.2.2.7", "private is for this cache", control("private, max-age=3600"), .hit),
        reuse("5.2.2.2", "must-revalidate, fresh", control("must-revalidate, max-age=3600") + tag, .hit),
        reuse(
            "5.2.2.2", "must-revalidate, stale", control("must-revalidate, max-age=5") + tag + [("Age", "9")],
            .validated),
        reuse("5.2.2.3", "must-understand a known status", control("max-age=3600, no-store, must-understand"), .hit),
        reuse(
            "5.2.2.3", "must-understand an unknown status", control("max-age=3600, no-store, must-understand"),
            status: 599, .miss),
        reuse("7.3", "Set-Cookie", hour + [("Set-Cookie", "a=b")], .hit),
        Row(
            "5.2.2.4", "fields that no-cache names are not given",
            Step(response: control("no-cache=\"a\"") + hour + [("A", "1"), ("B", "2")]),
            Step(outcome: .hit, fields: [("a", nil), ("b", "2")])),
        Row(
            "3.1", "fields that Connection names are not stored",
            Step(response: hour + [("Connection", "a"), ("A", "1"), ("B", "2")]),
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
        Row("5.1", "Age is told", Step(response: hour + [("Age", "30")]), Step(outcome: .hit, fields: [("age", "30")])),
        Row("4", "another query", Step(response: hour), Step(target: "/a?b")),
        Row("4", "HEAD of what is stored", Step(response: hour), Step(method: .head, outcome: .hit)),
        Row(
            "3.5", "another credential", Step(request: [("Authorization", "Bearer a")], response: hour),
            Step(request: [("Authorization", "Bearer b")]),
            Step(request: [("Authorization", "Bearer a")], outcome: .hit)),
    ]

    static let validating: [Row] = [
        reuse("4.3.1", "an entity tag", control("max-age=0") + tag, .validated),
        reuse("4.3.1", "a weak entity tag", control("max-age=0") + [("ETag", "W/\"1\"")], .validated),
        reuse("4.3.1", "a date", control("max-age=0") + [("Last-Modified", date(-60))], .validated),
        Row(
            "4.3.2", "If-None-Match that matches", Step(response: hour + tag),
            Step(request: [("If-None-Match", "\"0\", \"1\"")], outcome: .given(304, ""), fields: [("etag", "\"1\"")])),
        Row(
            "4.3.2", "If-None-Match goes before If-Modified-Since",
            Step(response: hour + tag + [("Last-Modified", date(-60))]),
            Step(
                request: [("If-None-Match", "\"2\""), ("If-Modified-Since", date(0))], outcome: .given(200, "content"))),
        Row(
            "4.3.2", "If-Modified-Since", Step(response: hour + [("Last-Modified", date(-60))]),
            Step(request: [("If-Modified-Since", date(-60))], outcome: .given(304, ""))),
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
            "4.2.4", "no stale response where that is forbidden",
            Step(response: control("max-age=5, stale-if-error=60, must-revalidate") + [("Age", "9")]),
            Step(status: 503)),
    ]

    static let variants: [Row] = [
        Row(
            "4.1", "Vary that matches", Step(request: [("Foo", "1")], response: hour + [("Vary", "Foo")]),
            Step(request: [("Foo", "1")], outcome: .hit)),
        Row(
            "4.1", "Vary that does not match", Step(request: [("Foo", "1")], response: hour + [("Vary", "Foo")]),
            Step(request: [("Foo", "2")])),
        Row(
            "4.1", "Vary that is missing", Step(request: [("Foo", "1")], response: hour + [("Vary", "Foo")]), Step()),
        Row(
            "4.1", "variants side by side", Step(request: [("Foo", "1")], response: hour + [("Vary", "Foo")]),
            Step(request: [("Foo", "2")], response: hour + [("Vary", "Foo")]),
            Step(request: [("Foo", "1")], outcome: .hit), Step(request: [("Foo", "2")], outcome: .hit)),
        Row(
            "4.1", "the same languages, written otherwise",
            Step(request: [("Accept-Language", "en, de")], response: hour + [("Vary", "Accept-Language")]),
            Step(request: [("Accept-Language", "EN,De")], outcome: .hit)),
        Row("4.1", "Vary: *", Step(response: hour + [("Vary", "*")]), Step()),
        Row("4.1", "Vary: *, among others", Step(response: hour + [("Vary", ", Foo, *")]), Step()),
        Row(
            "4.1", "a 406 says nothing about the stored variants",
            Step(request: [("Accept", "a/a")], response: hour + [("Vary", "Accept")]),
            Step(request: [("Accept", "b/b")], response: hour + [("Vary", "Accept")]),
            Step(request: [("Accept", "c/c")], status: 406), Step(request: [("Accept", "a/a")], outcome: .hit),
            Step(request: [("Accept", "b/b")], outcome: .hit)),
    ]

    /// `0123456789`, of which bytes 4 to 8 are stored.
    private static let stored = Step(
        request: [("Range", "bytes=4-8")], status: 206,
        response: hour + tag + [("Content-Range", "bytes 4-8/10")], body: "45678")
    private static func part(_ range: String, _ outcome: Outcome, _ fields: [(String, String?)] = []) -> Step {
        Step(request: [("Range", range)], status: 206, outcome: outcome, fields: fields)
    }

    static let parts: [Row] = [
        Row(
            "3.3", "the same part", stored,
            part("bytes=4-8", .given(206, "45678"), [("content-range", "bytes 4-8/10"), ("content-length", "5")])),
        Row(
            "3.3", "a smaller part", stored, part("bytes=6-8", .given(206, "678"), [("content-range", "bytes 6-8/10")])),
        Row("3.3", "a larger part", stored, part("bytes=3-8", .miss)),
        Row("3.3", "bytes behind it", stored, part("bytes=6-", .miss)),
        Row("3.3", "the whole", stored, Step(body: "0123456789")),
        Row(
            "3.3", "until the end of the content",
            Step(
                request: [("Range", "bytes=-5")], status: 206, response: hour + [("Content-Range", "bytes 5-9/10")],
                body: "56789"), part("bytes=-5", .given(206, "56789")), part("bytes=-1", .given(206, "9")),
            part("bytes=8-", .given(206, "89")), part("bytes=8-99", .given(206, "89")), part("bytes=-6", .miss)),
        Row(
            "3.3", "of unknown length",
            Step(
                request: [("Range", "bytes=4-8")], status: 206, response: hour + [("Content-Range", "bytes 4-8/*")],
                body: "45678"), part("bytes=4-5", .given(206, "45"), [("content-range", "bytes 4-5/*")]),
            part("bytes=-1", .miss)),
        Row(
            "3.3", "content of another length than Content-Range says",
            Step(
                request: [("Range", "bytes=-5")], status: 206, response: hour + [("Content-Range", "bytes 4-9/10")],
                body: "01234"), part("bytes=-5", .miss)),
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
            part("bytes=5-6", .given(206, "56"))),
        Row(
            "RFC 9110 13.1.5", "If-Range of another version", stored,
            Step(request: [("Range", "bytes=4-8"), ("If-Range", "\"2\"")], body: "new content")),
        Row(
            "3.3", "parts of the whole", Step(response: hour, body: "0123456789"), part("bytes=0-1", .given(206, "01")),
            part("bytes=1-", .given(206, "123456789")), part("bytes=-1", .given(206, "9")),
            part("bytes=10-", .given(416, ""))),
        Row(
            "3.3", "the whole replaces a part", stored, Step(response: hour + tag, body: "0123456789"),
            part("bytes=0-1", .given(206, "01"))),
        Row(
            "3.4", "a part of the same version leaves the whole", Step(response: hour + tag, body: "0123456789"),
            Step(
                request: [("Range", "bytes=0-1"), ("If-Match", "\"1\"")], status: 206,
                response: hour + tag + [("Content-Range", "bytes 0-1/10")], body: "01"),
            Step(outcome: .given(200, "0123456789"))),
    ]

    static let writes: [Row] =
        ["POST", "PUT", "DELETE", "M-SEARCH"].flatMap { name -> [Row] in
            guard let method = Method(name) else { return [] }
            return [
                Row("4.4", "\(name) invalidates", Step(response: hour), Step(method: method), Step()),
                Row(
                    "4.4", "\(name) that fails does not", Step(response: hour), Step(method: method, status: 500),
                    Step(outcome: .hit)),
                Row(
                    "4.4", "\(name) invalidates Location", Step(target: "/b", response: hour),
                    Step(method: method, response: [("Location", "/b")]), Step(target: "/b")),
                Row(
                    "4.4", "\(name) invalidates Content-Location", Step(target: "/b", response: hour),
                    Step(method: method, response: [("Content-Location", "/b")]), Step(target: "/b")),
            ]
        } + [
            Row(
                "4.4", "not of another origin", Step(response: hour),
                Step(method: .post, target: "/b", response: [("Location", "http://other.test/a")]), Step(outcome: .hit)),
            Row("9.2.1", "safe methods do not", Step(response: hour), Step(method: .options), Step(outcome: .hit)),
        ]
}
