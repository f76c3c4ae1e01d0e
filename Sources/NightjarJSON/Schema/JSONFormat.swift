/// The values of the keyword `format` that are validated.
enum JSONFormat: String, Sendable, CaseIterable {
    case dateTime = "date-time"
    case date
    case uuid
    case uri
    case email

    /// The format with an example, for messages.
    var description: String {
        switch self {
        case .dateTime: "a date-time like 2024-02-29T23:59:59Z"
        case .date: "a date like 2024-02-29"
        case .uuid: "a UUID like 123e4567-e89b-42d3-a456-426614174000"
        case .uri: "an absolute URI like https://example.com/a"
        case .email: "an email address like name@example.com"
        }
    }

    var example: String {
        switch self {
        case .dateTime: "2024-02-29T23:59:59Z"
        case .date: "2024-02-29"
        case .uuid: "123e4567-e89b-42d3-a456-426614174000"
        case .uri: "https://example.com/a"
        case .email: "name@example.com"
        }
    }

    func matches(_ text: String) -> Bool {
        switch self {
        case .dateTime: return Timestamp(rfc3339: text) != nil
        case .date:
            var reader = FieldReader(text.utf8)
            return reader.date() != nil && reader.isAtEnd
        case .uuid: return JSONFormat.isUUID(text.utf8)
        case .uri: return JSONFormat.isURI(text.utf8)
        case .email: return JSONFormat.isEmail(text.utf8)
        }
    }

    /// Returns true for a UUID with hyphens. RFC 9562 section 4.
    private static func isUUID(_ text: String.UTF8View) -> Bool {
        let groups = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12]
            && groups.allSatisfy { $0.allSatisfy { ASCII.hexValue($0) != nil } }
    }

    /// Requires a scheme, percent-encoding where needed, and a host for http and https. Does not check the other rules
    /// of RFC 3986.
    private static func isURI(_ text: String.UTF8View) -> Bool {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), let first = text.first, isLetter(first) else {
            return false
        }
        let scheme = text[..<colon]
        guard scheme.allSatisfy({ isLetter($0) || ASCII.isDigit($0) || "+-.".utf8.contains($0) }) else { return false }
        let rest = text[text.index(after: colon)...]
        guard PercentEncoding.isEncoded(rest) else { return false }
        let isHTTP = ASCII.equalIgnoringCase(scheme, "http".utf8) || ASCII.equalIgnoringCase(scheme, "https".utf8)
        guard isHTTP else { return true }
        guard rest.starts(with: "//".utf8) else { return false }
        return rest.dropFirst(2).first.map { !"/?#".utf8.contains($0) } ?? false
    }

    /// Requires a local part and a domain of allowed characters. Does not check the whole syntax of RFC 5321 section
    /// 4.1.2.
    private static func isEmail(_ text: String.UTF8View) -> Bool {
        guard text.count <= 320, let at = text.lastIndex(of: UInt8(ascii: "@")) else { return false }
        let local = text[..<at]
        let domain = text[text.index(after: at)...]
        let isQuoted = local.count > 2 && local.first == UInt8(ascii: "\"") && local.last == UInt8(ascii: "\"")
        guard !domain.isEmpty, isQuoted || isDotted(local) && local.allSatisfy(isMailbox) else { return false }
        if domain.first == UInt8(ascii: "["), domain.last == UInt8(ascii: "]") { return domain.count > 2 }
        return isDotted(domain)
            && domain.allSatisfy { isLetter($0) || ASCII.isDigit($0) || $0 >= 0x80 || "-.".utf8.contains($0) }
    }

    /// Returns true for one or more non-empty parts separated by dots.
    private static func isDotted(_ text: Substring.UTF8View) -> Bool {
        text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
    }

    private static func isMailbox(_ byte: UInt8) -> Bool {
        byte >= 0x80 || isLetter(byte) || ASCII.isDigit(byte) || ".!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { ASCII.lowercase(byte) &- UInt8(ascii: "a") < 26 }
}
