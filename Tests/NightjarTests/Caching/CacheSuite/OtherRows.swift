@testable import NightjarHTTP

// Writes, partial content, and the form of returned responses.

extension SuiteRow {
    private static let fresh =
        control("max-age=100000") + at("Expires", 100_000) + at("Last-Modified", 0) + at("Date", 0)

    static let writes: [SuiteRow] =
        ["POST", "PUT", "DELETE", "M-SEARCH"].compactMap { Method($0) }.flatMap { method in
            [
                required(
                    "invalidate-\(method)", "4.4", "\(method) invalidates the URL", stores(fresh),
                    CacheScenario.Step(method: method), misses),
                optimal(
                    "invalidate-\(method)-failed", "4.4", "a failed \(method) does not", stores(fresh),
                    CacheScenario.Step(method: method, status: 500), hits),
            ]
        } + [
            optimal(
                "method-POST", "RFC 9110 9.3.3", "a GET after a POST whose response is the resource",
                CacheScenario.Step(
                    method: .post, request: [("Content-Type", "text/plain")],
                    response: at("Expires", 30 * 86_400) + at("Date", 0) + [("Content-Location", "/a")]),
                CacheScenario.Step(outcome: .returned(200, "content")))
        ]

    private static func ranged(
        _ range: String, _ outcome: CacheScenario.Outcome, fields: [(String, String?)] = [], response: Fields = []
    ) -> CacheScenario.Step {
        CacheScenario.Step(
            request: [("Range", range)], status: 206, response: response, outcome: outcome, fields: fields)
    }

    /// The suite's response: its Content-Range declares six bytes, but the body has five.
    private static let mismatched = CacheScenario.Step(
        request: [("Range", "bytes=-5")], status: 206, response: hour + [("Content-Range", "bytes 4-9/10")],
        body: "01234")

    private static func part(_ id: String, _ name: String, _ range: String, _ content: String) -> SuiteRow {
        let reuse = ranged(range, .returned(206, content))
        return optimal("partial-store-partial-reuse-partial" + id, "3.3", name, mismatched, reuse)
    }

    private static let beyond =
        "RFC 9111 section 3.3: the range must be wholly within the stored part. The request includes byte 9, and the content "
        + "ends before it: Content-Range 4-9, five bytes"

    private static func whole(
        _ id: String, _ name: String, _ content: String, _ range: String, _ expected: String
    ) -> SuiteRow {
        optimal(
            "partial-store-complete-reuse-partial" + id, "3.3", name,
            CacheScenario.Step(response: hour, body: content), ranged(range, .returned(206, expected)))
    }

    static let parts: [SuiteRow] = [
        part("", "the same part", "bytes=-5", "01234").deviating(beyond),
        part("-byterange", "a smaller part", "bytes=6-8", "234"),
        part("-absent", "a part until the end", "bytes=6-", "234").deviating(beyond),
        part("-suffix", "a shorter end", "bytes=-1", "4").deviating(beyond),
        whole("", "the first bytes of the whole", "01234567890", "bytes=0-1", "01"),
        whole("-no-last", "the whole from a byte on", "01234567890", "bytes=1-", "1234567890"),
        whole("-suffix", "the last byte of the whole", "0123456789A", "bytes=-1", "A"),
        optimal(
            "partial-store-partial-complete", "3.4", "only the missing bytes are requested",
            CacheScenario.Step(
                request: [("Range", "bytes=-5")], status: 206, response: hour + [("Content-Range", "bytes 0-4/10")],
                body: "01234"),
            CacheScenario.Step(sent: [("range", "bytes=5-")])
        ).deviating(
            "RFC 9111 section 3.4 permits the combination only for parts with the same strong validator, and the stored "
                + "part has none"),
        required(
            "partial-use-headers", "3.4", "a part from the whole is not requested again",
            CacheScenario.Step(response: hour + [("A", "1")], body: "01234567890"),
            ranged("bytes=0-1", .returned(206, "01"), response: [("A", "2")])),
        required(
            "partial-use-stored-headers", "3.4", "fields of the whole in a part",
            CacheScenario.Step(response: hour + [("A", "1")], body: "01234567890"),
            ranged("bytes=0-1", .returned(206, "01"), fields: [("a", "1")])),
    ]

    static let others: [SuiteRow] = [
        required(
            "other-age-gen", "5.1", "Age of a stored response", stores(fresh, then: wait),
            CacheScenario.Step(outcome: .hit, leastAge: 1)),
        required(
            "other-age-update-expires", "5.1", "Age that was received, with Expires",
            stores(at("Expires", 30 * 86_400) + at("Date", 0) + [("Age", "30")], then: wait),
            CacheScenario.Step(outcome: .hit, leastAge: 31)),
        required(
            "other-age-update-max-age", "5.1", "Age that was received, with max-age",
            stores(fresh + [("Age", "30")], then: wait), CacheScenario.Step(outcome: .hit, leastAge: 31)),
        unchangedDate("other-date-update", fresh),
        unchangedDate("other-date-update-expires", at("Expires", 30 * 86_400) + at("Date", 0)),
        required(
            "query-args-different", "2", "another query",
            CacheScenario.Step(target: "/a?test=1", response: fresh), CacheScenario.Step(target: "/a?test=2")),
        optimal(
            "query-args-same", "2", "the same query", CacheScenario.Step(target: "/a?test=1", response: fresh),
            CacheScenario.Step(target: "/a?test=1", outcome: .hit)),
        optimal("other-set-cookie", "7.3", "Set-Cookie", stores(fresh + [("Set-Cookie", "a=b")]), hits),
        optimal(
            "other-cookie", "7.3", "a request with a cookie", stores(fresh),
            CacheScenario.Step(request: [("Cookie", "a=b")], outcome: .hit)
        ).deviating(
            "RFC 9111 section 7.2 leaves the privacy of stored responses to the cache. By default a cookie may identify a "
                + "login, and responses to different logins are stored apart; `login_cookies` names those that do. A browser "
                + "passes because it drops the field"),
    ]

    private static func unchangedDate(_ id: String, _ response: Fields) -> SuiteRow {
        let date = response.first { $0.0 == "Date" }?.1
        return required(
            id, "RFC 9110 6.6.1", "Date is that of the server", stores(response, then: wait),
            CacheScenario.Step(outcome: .hit, fields: [("date", date)]))
    }
}
