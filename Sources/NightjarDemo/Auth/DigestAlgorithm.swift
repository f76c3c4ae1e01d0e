/// The algorithm of a Digest exchange (RFC 7616 section 3.3).
enum DigestAlgorithm: String, CaseIterable {
    case sha256 = "SHA-256"
    case md5 = "MD5"
    case sha256OfSession = "SHA-256-sess"
    case md5OfSession = "MD5-sess"

    private static let both = "both"

    /// The allowed values of the query parameter `algorithm`.
    static var choices: [String] { allCases.map(\.rawValue) + [both] }

    /// Returns the algorithms of a choice, in order of preference. Empty if `choice` is not one of ``choices``.
    static func named(_ choice: String) -> [DigestAlgorithm] {
        choice == both ? [.sha256, .md5] : allCases.filter { $0.rawValue == choice }
    }

    /// True if the key is derived once per session.
    var isOfSession: Bool { self == .sha256OfSession || self == .md5OfSession }

    /// Returns the hash of a text in lower-case hexadecimal digits.
    func hash(_ text: String) -> String {
        let bytes = Array(text.utf8)
        switch self {
        case .sha256, .sha256OfSession: return DigestAlgorithm.hexadecimal(Hash.sha256(bytes))
        case .md5, .md5OfSession: return DigestAlgorithm.hexadecimal(Hash.md5(bytes))
        }
    }

    static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
