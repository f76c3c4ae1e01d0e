/// Reads text that consists of fields of fixed width.
package struct FieldReader {
    private var rest: Substring.UTF8View

    package init(_ text: String.UTF8View) { rest = text[...] }

    package var isAtEnd: Bool { rest.isEmpty }

    /// Reads the next byte if it is one of `bytes`. Returns nil otherwise.
    package mutating func take(_ bytes: StaticString) -> UInt8? {
        guard let byte = rest.first, bytes.withUTF8Buffer({ $0.contains(byte) }) else { return nil }
        rest.removeFirst()
        return byte
    }

    /// Reads exactly `count` digits as a number. Returns nil if there are fewer.
    package mutating func number(_ count: Int) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy(ASCII.isDigit) else { return nil }
        rest.removeFirst(count)
        return digits.reduce(0) { $0 * 10 + Int($1 & 0xF) }
    }

    /// Reads a decimal fraction as billionths. Digits after the ninth are ignored.
    mutating func billionths() -> Int? {
        let digits = rest.prefix(while: ASCII.isDigit)
        guard !digits.isEmpty else { return nil }
        rest.removeFirst(digits.count)
        let kept = digits.prefix(9)
        return (kept.count..<9).reduce(kept.reduce(0) { $0 * 10 + Int($1 & 0xF) }) { number, _ in number * 10 }
    }

    /// Reads a date such as `2024-02-29` as days since 1970. Returns nil if the date is invalid.
    package mutating func date() -> Int64? {
        guard let year = number(4), take("-") != nil, let month = number(2), take("-") != nil, let day = number(2)
        else { return nil }
        return CalendarTime.daysSince1970(year: year, month: month, day: day)
    }
}
