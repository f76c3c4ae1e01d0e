/// Recognizes credentials by the form of their values, regardless of their names.
enum SecretShape {
    /// Returns true if the value looks like a JSON Web Token (RFC 7519) or like the token of a well-known service. An
    /// authentication scheme may precede the token.
    static func isToken(_ value: some BidirectionalCollection<UInt8>) -> Bool {
        let token = withoutScheme(value)
        guard token.count >= shortestToken, token.count <= longest else { return false }
        return isJWT(token)
            || token.contains(where: ASCII.isDigit) && token.allSatisfy(isTokenByte)
                && prefixes.contains { token.starts(with: $0.utf8) }
    }

    /// Returns true if the value looks like a random token: long, with several changes between letters and digits.
    /// Returns false for a UUID, because a UUID is usually an identifier.
    static func isRandom(_ value: some BidirectionalCollection<UInt8>) -> Bool {
        let token = withoutScheme(value)
        guard token.count >= shortestRandom, token.count <= longest else { return false }
        var (changes, groups) = (0, 0)
        var previous: UInt8?
        for byte in token {
            guard isRandomByte(byte) else { return false }
            if let previous, ASCII.isDigit(previous) != ASCII.isDigit(byte), isAlphanumeric(previous),
                isAlphanumeric(byte)
            {
                changes += 1
            }
            if byte == UInt8(ascii: "-") { groups += 1 }
            previous = byte
        }
        return changes >= fewestChanges && !(token.count == 36 && groups == 4)
    }

    private static func withoutScheme<Bytes: BidirectionalCollection<UInt8>>(_ value: Bytes) -> Bytes.SubSequence {
        let trimmed = ASCII.trimmed(value)
        guard let space = trimmed.firstIndex(of: UInt8(ascii: " ")), trimmed[..<space].count <= 10 else {
            return trimmed
        }
        return trimmed[trimmed.index(after: space)...]
    }

    private static func isJWT(_ token: some Collection<UInt8>) -> Bool {
        guard token.starts(with: "eyJ".utf8) else { return false }
        var dots = 0
        for byte in token {
            if byte == UInt8(ascii: ".") { dots += 1 } else if !isTokenByte(byte) { return false }
        }
        // Signed tokens have three parts, and encrypted tokens have five.
        return dots == 2 || dots == 4
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool { ASCII.isLetter(byte) || ASCII.isDigit(byte) }

    static func isTokenByte(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    private static func isRandomByte(_ byte: UInt8) -> Bool {
        isTokenByte(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "=")
            || byte == UInt8(ascii: "~")
    }

    private static let shortestToken = 20
    private static let shortestRandom = 24
    private static let fewestChanges = 3
    private static let longest = 16384
    /// Prefixes of the tokens of GitHub, GitLab, Slack, Stripe, OpenAI, AWS, npm and Google.
    private static let prefixes = [
        "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "sk_live_",
        "sk_test_", "rk_live_", "sk-", "AKIA", "ASIA", "npm_", "AIza", "ya29",
    ]
}
