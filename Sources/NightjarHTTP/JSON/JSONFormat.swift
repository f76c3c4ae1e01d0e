/// Strings with a grammar of their own, as the keyword `format` of JSON Schema names them.
enum JSONFormat: String, Sendable, CaseIterable {
    case dateTime = "date-time"
    case date
    case uuid
    case uri
    case email

    /// For messages: with an example, which tells more than a name.
    var description: String {
        switch self {
        case .dateTime: "a date-time like 2024-02-29T23:59:59Z"
        case .date: "a date like 2024-02-29"
        case .uuid: "a UUID like 123e4567-e89b-42d3-a456-426614174000"
        case .uri: "an absolute URI like https://example.com/a"
        case .email: "an email address like name@example.com"
        }
    }

    func matches(_ text: String) -> Bool {
        switch self {
        case .dateTime: return JSONFormat.isDateTime(text.utf8)
        case .date:
            var reader = FormatReader(text.utf8)
            return reader.date() && reader.isAtEnd
        case .uuid: return JSONFormat.isUUID(text.utf8)
        case .uri: return JSONFormat.isURI(text.utf8)
        case .email: return JSONFormat.isEmail(text.utf8)
        }
    }

    /// RFC 3339 section 5.6.
    private static func isDateTime(_ text: String.UTF8View) -> Bool {
        var reader = FormatReader(text)
        guard reader.date(), reader.take("Tt") != nil,
            let hour = reader.number(2), hour < 24, reader.take(":") != nil,
            let minute = reader.number(2), minute < 60, reader.take(":") != nil,
            let second = reader.number(2), second <= 60
        else { return false }
        if reader.take(".") != nil, !reader.digits() { return false }
        var offset = 0
        if reader.take("Zz") == nil {
            guard let sign = reader.take("+-"), let hours = reader.number(2), hours < 24, reader.take(":") != nil,
                let minutes = reader.number(2), minutes < 60
            else { return false }
            offset = (hours * 60 + minutes) * (sign == UInt8(ascii: "+") ? 1 : -1)
        }
        guard reader.isAtEnd else { return false }
        // A leap second ends a day of UTC. Section 5.7.
        let day = 24 * 60
        return second < 60 || (hour * 60 + minute - offset + 2 * day) % day == day - 1
    }

    /// RFC 9562 section 4.
    private static func isUUID(_ text: String.UTF8View) -> Bool {
        let groups = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12]
            && groups.allSatisfy { $0.allSatisfy { ASCII.hexValue($0) != nil } }
    }

    /// RFC 3986, as far as mistakes go: a scheme, no character that must be encoded, and a host where http has one.
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

    /// RFC 5321 section 4.1.2, as far as mistakes go: whether somebody reads it, only a mail can tell.
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

    /// Parts of at least one byte with dots between them.
    private static func isDotted(_ text: Substring.UTF8View) -> Bool {
        text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
    }

    private static func isMailbox(_ byte: UInt8) -> Bool {
        byte >= 0x80 || isLetter(byte) || ASCII.isDigit(byte) || ".!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { ASCII.lowercase(byte) &- UInt8(ascii: "a") < 26 }
}

/// Reads a text of fixed fields from its front.
private struct FormatReader {
    private var rest: Substring.UTF8View

    init(_ text: String.UTF8View) { rest = text[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// One of these bytes.
    mutating func take(_ bytes: StaticString) -> UInt8? {
        guard let byte = rest.first, bytes.withUTF8Buffer({ $0.contains(byte) }) else { return nil }
        rest.removeFirst()
        return byte
    }

    /// Exactly so many digits; at most four are asked for.
    mutating func number(_ count: Int) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy(ASCII.isDigit) else { return nil }
        rest.removeFirst(count)
        return digits.reduce(0) { $0 * 10 + Int($1 & 0xF) }
    }

    /// One digit or more.
    mutating func digits() -> Bool {
        let digits = rest.prefix(while: ASCII.isDigit)
        rest.removeFirst(digits.count)
        return !digits.isEmpty
    }

    /// `2024-02-29`, a day that there is.
    mutating func date() -> Bool {
        guard let year = number(4), take("-") != nil, let month = number(2), take("-") != nil, let day = number(2)
        else {
            return false
        }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return days.indices.contains(month - 1) && (1...days[month - 1]).contains(day)
    }
}
