/// A test case for one claim of a specification. A failed test prints the section, the claim and the input.
public struct RFCRow<Input: Sendable, Expected: Sendable>: Sendable, CustomStringConvertible {
    /// The section of the suite's RFC. A section of another RFC begins with the name of that RFC: `RFC 9110 13.1.5`.
    public let section: String
    public let claim: String
    public let input: Input
    public let expected: Expected

    public init(_ section: String, _ claim: String, _ input: Input, _ expected: Expected) {
        self.section = section
        self.claim = claim
        self.input = input
        self.expected = expected
    }

    public var description: String { "section \(section), \(claim): \(input)" }

    /// Returns one row per case, all with the same section and claim.
    public static func rows(_ section: String, _ claim: String, _ cases: [(Input, Expected)]) -> [RFCRow] {
        cases.map { RFCRow(section, claim, $0.0, $0.1) }
    }
}
