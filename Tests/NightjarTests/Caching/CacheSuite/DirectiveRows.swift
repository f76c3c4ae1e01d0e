@testable import NightjarHTTP

// Response directives that forbid or permit storing and reuse, and rules for stale responses.

extension SuiteRow {
    private static let tag = [("ETag", "\"abcd\"")]
    private static let freshUntilLater = at("Expires", 10_000) + at("Date", 0)

    static let directives: [SuiteRow] = [
        optimal(
            "cc-resp-private-private", "5.2.2.7", "private", stores(control("private, max-age=3600")), hits),
        required("cc-resp-no-store", "5.2.2.5", "no-store", stores(control("no-store")), misses),
        required(
            "cc-resp-no-store-case-insensitive", "5.2", "no-store in mixed case", stores(control("No-StOrE")), misses),
        required(
            "cc-resp-no-store-fresh", "5.2.2.5", "no-store with a lifetime",
            stores(control("max-age=10000, no-store") + freshUntilLater), misses),
        older("cc-resp-no-store-old-new", "no-store"),
        older("cc-resp-no-store-old-max-age", "no-store, max-age=0"),
        required(
            "cc-resp-no-cache", "5.2.2.4", "no-cache with a lifetime",
            stores(control("max-age=10000, no-cache") + freshUntilLater), misses),
        required(
            "cc-resp-no-cache-case-insensitive", "5.2", "no-cache in mixed case",
            stores(control("max-age=10000, No-CaChE") + freshUntilLater), misses),
        optimal(
            "cc-resp-no-cache-revalidate", "5.2.2.4", "no-cache with a validator", stores(control("no-cache") + tag),
            validates),
        optimal(
            "cc-resp-no-cache-revalidate-fresh", "5.2.2.4", "no-cache with a lifetime and a validator",
            stores(control("max-age=10000, no-cache") + freshUntilLater + tag), validates),
        optimal(
            "cc-resp-must-revalidate-fresh", "5.2.2.2", "must-revalidate while fresh",
            stores(control("max-age=10000, must-revalidate") + tag), hits),
        required(
            "cc-resp-must-revalidate-stale", "5.2.2.2", "must-revalidate when stale",
            stores(control("max-age=60, must-revalidate") + tag + [("Age", "54")]),
            CacheScenario.Step(outcome: .hit, pause: .milliseconds(6100)), validates),
        // The mode "no-cache" of fetch() corresponds to the policy that revalidates.
        optimal(
            "cc-resp-immutable-fresh", "RFC 8246 2", "immutable while fresh",
            stores(control("max-age=10000, immutable") + tag), CacheScenario.Step(policy: .revalidate, outcome: .hit)),
        required(
            "cc-resp-immutable-stale", "RFC 8246 2", "immutable when stale",
            stores(control("max-age=1, immutable") + tag, then: wait),
            CacheScenario.Step(policy: .revalidate, outcome: .validated, sent: [("cache-control", "max-age=0")])),
    ]

    /// The cache serves the second request, so the server never sends the newer response, which must not be stored.
    private static func older(_ id: String, _ directive: String) -> SuiteRow {
        required(
            id, "4", "a fresh response, before one with \(directive)",
            stores(control("max-age=10000") + freshUntilLater + [("A", "1")]),
            CacheScenario.Step(
                response: control(directive) + at("Date", 0) + [("A", "2")], outcome: .hit, fields: [("a", "1")]),
            CacheScenario.Step(outcome: .hit, fields: [("a", "1")]))
    }

    private static func unavailable(_ directive: String) -> SuiteRow {
        required(
            "stale-close-\(directive)", "4.2.4", "\(directive) when stale, with a server that closes the connection",
            stores(control("max-age=1, \(directive)"), then: wait), CacheScenario.Step(outcome: .failure))
    }

    static let staleness: [SuiteRow] = [
        unavailable("must-revalidate"),
        unavailable("no-cache"),
        optimal(
            "stale-while-revalidate", "RFC 5861 3", "within the window",
            stores(control("max-age=1, stale-while-revalidate=3600") + [("ETag", "\"abc\"")], then: wait),
            CacheScenario.Step(outcome: .hitAndRefresh)),
        required(
            "stale-while-revalidate-window", "RFC 5861 3", "after the window",
            stores(control("max-age=60, stale-while-revalidate=60") + [("Age", "61"), ("ETag", "\"abc\"")]),
            CacheScenario.Step(response: control("no-cache") + [("ETag", "\"def\"")], outcome: .hitAndRefresh), misses),
    ]
}
