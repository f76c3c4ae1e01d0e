import NightjarHTTP
import Testing

@Suite struct PinningTests {
    // MARK: Pins

    /// The digest of the empty text. RFC 7469 section 2.4 defines the form.
    private static let example = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    @Test func pinKeepsItsText() throws {
        #expect(try Pinning.Pin(PinningTests.example).description == PinningTests.example)
        #expect(try Pinning.Pin(String(PinningTests.example.dropLast())).description == PinningTests.example)
    }

    @Test(arguments: [
        ("", "it does not begin with \"sha256/\""),
        ("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "it does not begin with \"sha256/\""),
        ("sha1/2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "it does not begin with \"sha256/\""),
        ("SHA256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "it does not begin with \"sha256/\""),
        ("sha256/", "it has 0 bytes instead of 32"),
        ("sha256/2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "it has 20 bytes instead of 32"),
        ("sha256/47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=", "the text after \"sha256/\" is not Base64"),
        ("sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFV=", "the text after \"sha256/\" is not Base64"),
        ("sha256/e3b0c442 98fc1c14", "the text after \"sha256/\" is not Base64"),
    ]) func malformedPinIsRejected(text: String, reason: String) throws {
        let error = #expect(throws: NightjarError.self) { try Pinning.Pin(text) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message.contains(": \(reason); write \"sha256/\" and ") == true, "\(error?.message ?? "")")
    }

    @Test func twoDifferentPinsAreRequired() throws {
        for pins in [[], [1], [1, 1]] as [[UInt8]] {
            let error = #expect(throws: NightjarError.self) { try Pinning.Pins(pins.map(pin)) }
            #expect(error?.message.contains("got \(Set(pins).count);") == true)
        }
        #expect(try Pinning.Pins([pin(1), pin(2), pin(1)]).all == [pin(1), pin(2)])
    }

    @Test(
        arguments: [
            ("2027-01-31", 1_801_353_600), ("2027-01-31T12:00:00Z", 1_801_396_800),
            ("2027-01-31T12:00:00+02:00", 1_801_389_600),
            ("2027-02-30", nil), ("31.01.2027", nil), ("2027-01-31 12:00:00Z", nil), ("2027-01-31T12:00:00", nil),
            ("", nil),
            ("20270131", nil), ("2027-01-31Z", nil),
        ] as [(String, Int64?)]) func dateIsRFC3339(text: String, seconds: Int64?) throws
    {
        if let seconds {
            #expect(try Pinning.Pins.date(text).seconds == seconds)
        } else {
            let error = #expect(throws: NightjarError.self) { try Pinning.Pins.date(text) }
            #expect(error?.kind == .invalidArgument)
        }
    }

    @Test func modesAreOrdered() throws {
        #expect(Pinning.Mode.off < .report)
        #expect(Pinning.Mode.report < .enforce)
        #expect(try Pinning.Mode(named: "report") == .report)
        #expect(throws: NightjarError.self) { try Pinning.Mode(named: "Enforce") }
    }

    // MARK: Decisions

    /// A decision about a chain with the pins of ``rules``. Pins are numbers.
    struct Row: Sendable, CustomTestStringConvertible {
        var host = "api.example.com"
        var chain: [UInt8]
        var now: Int64 = 0
        var mode = Pinning.Mode.enforce
        var result: String

        var testDescription: String { "\(host) \(chain) at \(now), \(mode)" }
    }

    private func rules() throws -> Pinning {
        Pinning([
            try HostPattern("api.example.com"): try Pinning.Pins([pin(1), pin(2)]),
            try HostPattern("*.example.com"): try Pinning.Pins([pin(3), pin(4), pin(5)]),
            try HostPattern("old.example.org"): try Pinning.Pins(
                [pin(6), pin(7)], reportOnlyAfter: Timestamp(secondsSince1970: 1000)),
            try HostPattern("192.0.2.1"): try Pinning.Pins([pin(8), pin(9)]),
        ])
    }

    private static let rows = [
        // One pinned key in any position of the chain is sufficient (RFC 7469 section 2.6).
        Row(chain: [1], result: "matched"),
        Row(chain: [50, 51, 2], result: "matched"),
        Row(chain: [50, 1, 51], result: "matched"),
        Row(chain: [1, 2, 51], result: "matched without backup"),
        Row(chain: [50, 51], result: "enforced 1 2"),
        Row(chain: [], result: "enforced 1 2"),
        Row(chain: [50], mode: .report, result: "reported 1 2"),
        Row(chain: [50], mode: .off, result: "not pinned"),
        Row(chain: [1, 2], mode: .report, result: "matched without backup"),
        // The exact name takes precedence over the wildcard.
        Row(chain: [3], result: "enforced 1 2"),
        Row(host: "www.example.com", chain: [3], result: "matched"),
        Row(host: "www.example.com", chain: [3, 4], result: "matched"),
        Row(host: "www.example.com", chain: [3, 4, 5], result: "matched without backup"),
        Row(host: "www.example.com", chain: [1], result: "enforced 3 4 5"),
        Row(host: "www.example.com.", chain: [1], result: "enforced 3 4 5"),
        // A wildcard stands for exactly one label.
        Row(host: "example.com", chain: [50], result: "not pinned"),
        Row(host: "a.b.example.com", chain: [50], result: "not pinned"),
        Row(host: "wwwexample.com", chain: [50], result: "not pinned"),
        Row(host: "192.0.2.1", chain: [50], result: "enforced 8 9"),
        Row(host: "192.0.2.2", chain: [50], result: "not pinned"),
        // From the date, mismatches are only reported.
        Row(host: "old.example.org", chain: [50], now: 999, result: "enforced 6 7"),
        Row(host: "old.example.org", chain: [50], now: 1000, result: "reported 6 7"),
        Row(host: "old.example.org", chain: [50], now: 1001, result: "reported 6 7"),
        Row(host: "old.example.org", chain: [6], now: 1001, result: "matched"),
        Row(host: "old.example.org", chain: [50], now: 999, mode: .report, result: "reported 6 7"),
        Row(host: "old.example.org", chain: [50], now: 1001, mode: .off, result: "not pinned"),
    ]

    @Test(arguments: rows) func chainIsCompared(row: Row) throws {
        let now = try #require(Timestamp(secondsSince1970: row.now))
        let decision = try rules().decide(row.host, chain: row.chain.map(pin), now: now, mode: row.mode)
        #expect(try text(decision) == row.result)
        guard case .mismatch(let report) = decision else { return }
        #expect(report.host == row.host)
        #expect(try report.served == row.chain.map(pin))
    }

    @Test func clientWithoutPinsComparesNothing() throws {
        #expect(Pinning().decide("example.com", chain: [], now: .epoch, mode: .enforce) == .notPinned)
    }

    @Test func reportNamesExpectedAndServedPins() throws {
        let decision = try rules().decide("api.example.com", chain: [pin(50)], now: .epoch, mode: .enforce)
        guard case .mismatch(let report) = decision else {
            Issue.record("\(decision)")
            return
        }
        #expect(
            try report.description == "the certificate chain of api.example.com has none of the pinned keys: expected "
                + "\(pin(1)), \(pin(2)); the chain has \(pin(50))")
    }

    private func pin(_ number: UInt8) throws -> Pinning.Pin {
        try #require(Pinning.Pin(digest: [UInt8](repeating: number, count: 32)))
    }

    private func text(_ decision: Pinning.Decision) throws -> String {
        switch decision {
        case .notPinned: return "not pinned"
        case .matched: return "matched"
        case .matchedWithoutBackup: return "matched without backup"
        case .mismatch(let report):
            let numbers = try report.expected.map { expected in
                try #require((0...9).first { try pin($0) == expected })
            }
            return ([report.isEnforced ? "enforced" : "reported"] + numbers.map { "\($0)" }).joined(separator: " ")
        }
    }
}
