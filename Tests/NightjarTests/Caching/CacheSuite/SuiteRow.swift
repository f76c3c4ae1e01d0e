import Testing

@testable import Nightjar
@testable import NightjarHTTP

/// A behavior that the public test suite for HTTP caches (http-tests/cache-tests on GitHub) requires of a private
/// cache.
///
/// The rows omit the suite's tests of shared caches, and its tests of kind "check", which only gather information.
struct SuiteRow: Sendable, CustomTestStringConvertible {
    enum Kind: Sendable {
        /// A failure violates an RFC.
        case required
        /// A failure misses an opportunity to reuse a response.
        case optimal
    }

    /// The identifier of the test in the suite.
    let id: String
    let kind: Kind
    let scenario: CacheScenario
    /// Why the cache does not behave as expected; nil if it does.
    var deviation: String?
    /// Why a call fails although the cache behaves as expected: the response is rejected before the cache gets it.
    var failure: String?

    var testDescription: String { "\(id): \(scenario.section)" }

    static func required(_ id: String, _ section: String, _ name: String, _ steps: CacheScenario.Step...) -> SuiteRow {
        SuiteRow(id: id, kind: .required, scenario: CacheScenario(section, name, steps))
    }

    static func optimal(_ id: String, _ section: String, _ name: String, _ steps: CacheScenario.Step...) -> SuiteRow {
        SuiteRow(id: id, kind: .optimal, scenario: CacheScenario(section, name, steps))
    }

    func deviating(_ reason: String) -> SuiteRow {
        var row = self
        row.deviation = reason
        return row
    }

    func failing(_ reason: String) -> SuiteRow {
        var row = self
        row.failure = reason
        return row
    }

    /// Whether a client with a cache passes the test of the suite.
    var passes: Bool { deviation == nil && failure == nil }

    /// The rows of all files.
    static let all: [SuiteRow] = [
        lifetimes, ages, expirations, expirationDates, heuristics, statuses, directives, staleness, fields, updates,
        conditions, variants, anyVariants, writes, parts, others,
    ].flatMap { $0 }
}

// MARK: Parts of rows

extension SuiteRow {
    typealias Fields = [(String, String)]

    /// Longer than the lifetime of ``second``.
    static let wait = Duration.milliseconds(1100)
    static let second = control("max-age=1")
    static let hour = control("max-age=3600")

    static func control(_ value: String) -> Fields { [("Cache-Control", value)] }

    /// A date relative to the start of the test run, in seconds. A row must also pass if it runs minutes later.
    static func date(_ seconds: Int64) -> String {
        HTTPDate.text(WallClock.now().later(by: .seconds(seconds)) ?? .epoch)
    }

    static func at(_ name: String, _ seconds: Int64) -> Fields { [(name, date(seconds))] }

    /// A first response.
    static func stores(_ response: Fields, status: Int = 200, then pause: Duration = .zero) -> CacheScenario.Step {
        CacheScenario.Step(
            status: status, response: response, body: status == 204 ? "" : "content", pause: pause)
    }

    static let hits = CacheScenario.Step(outcome: .hit)
    static let misses = CacheScenario.Step()
    static let validates = CacheScenario.Step(outcome: .validated)
}
