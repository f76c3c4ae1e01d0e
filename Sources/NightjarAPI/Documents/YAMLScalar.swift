import NightjarHTTP

/// Interprets plain scalars by the core schema of YAML 1.2 (section 10.3.2). `yes`, `on` and dates are strings.
///
/// `.inf` and `.nan`, which JSON cannot represent, are strings too.
enum YAMLScalar {
    /// Returns the kind of a scalar, and the value of a boolean as `flag`.
    ///
    /// - Parameter text: a scalar without quotes.
    static func kind(_ text: UnsafeRawBufferPointer) -> (DocumentTree.Kind, flag: Bool) {
        guard let first = text.first else { return (.null, false) }
        switch first {
        case UInt8(ascii: "~"): return text.count == 1 ? (.null, false) : (.string, false)
        case UInt8(ascii: "n"), UInt8(ascii: "N"): return isWord(text, "null") ? (.null, false) : (.string, false)
        case UInt8(ascii: "t"), UInt8(ascii: "T"): return isWord(text, "true") ? (.bool, true) : (.string, false)
        case UInt8(ascii: "f"), UInt8(ascii: "F"): return isWord(text, "false") ? (.bool, false) : (.string, false)
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            return (number(text), false)
        default: return (.string, false)
        }
    }

    /// Returns true if `text` is `word` in lower case, in upper case, or with an uppercase first letter.
    private static func isWord(_ text: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
        let word = UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard ASCII.equalIgnoringCase(text, word) else { return false }
        let rest = text.dropFirst()
        return rest.elementsEqual(word.dropFirst())
            || text.allSatisfy { $0 &- UInt8(ascii: "A") < 26 }
    }

    private static func number(_ text: UnsafeRawBufferPointer) -> DocumentTree.Kind {
        if text.count > 2, text[0] == UInt8(ascii: "0"), text[1] == UInt8(ascii: "x") || text[1] == UInt8(ascii: "o") {
            let isHex = text[1] == UInt8(ascii: "x")
            let digits = text.dropFirst(2)
            let isGood = digits.allSatisfy { isHex ? ASCII.hexValue($0) != nil : $0 &- UInt8(ascii: "0") < 8 }
            return isGood ? .integer : .string
        }
        var rest = text[...]
        if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        let whole = rest.prefix(while: ASCII.isDigit)
        rest = rest[whole.endIndex...]
        if rest.isEmpty { return whole.isEmpty ? .string : .integer }
        var fraction = 0
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix(while: ASCII.isDigit)
            fraction = digits.count
            rest = rest[digits.endIndex...]
        }
        guard whole.count + fraction > 0 else { return .string }
        if let e = rest.first, e | 0x20 == UInt8(ascii: "e") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            guard !rest.isEmpty else { return .string }
            rest = rest.drop(while: ASCII.isDigit)
        }
        guard rest.isEmpty, case .number(let double) = number(ArraySlice(text)), double.isFinite else { return .string }
        return .number
    }

    /// Returns the value of a text of the kind `integer`. A number that does not fit 64 bits becomes a double, or a
    /// string if the number is too large for a double.
    static func integer(_ text: ArraySlice<UInt8>) -> JSONValue {
        var digits = text
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative || digits.first == UInt8(ascii: "+") { digits = digits.dropFirst() }
        var radix: UInt64 = 10
        if digits.count > 2, digits.first == UInt8(ascii: "0"), let letter = digits.dropFirst().first,
            !ASCII.isDigit(letter)
        {
            radix = letter == UInt8(ascii: "x") ? 16 : 8
            digits = digits.dropFirst(2)
        }
        var value: UInt64 = 0
        for digit in digits {
            let (product, over) = value.multipliedReportingOverflow(by: radix)
            let (sum, carry) = product.addingReportingOverflow(UInt64(ASCII.hexValue(digit) ?? 0))
            guard !over, !carry else { return wide(digits, radix: radix, isNegative: isNegative) }
            value = sum
        }
        if !isNegative { return Int64(exactly: value).map { .integer($0) } ?? .unsigned(value) }
        guard value <= UInt64(Int64.max) + 1 else { return .number(-Double(value)) }
        return .integer(Int64(truncatingIfNeeded: 0 &- value))
    }

    private static func wide(_ digits: ArraySlice<UInt8>, radix: UInt64, isNegative: Bool) -> JSONValue {
        let magnitude: Double
        if radix == 10 {
            guard case .number(let double) = number(digits) else { return .null }
            magnitude = double
        } else {
            magnitude = digits.reduce(0) { $0 * Double(radix) + Double(ASCII.hexValue($1) ?? 0) }
        }
        guard magnitude.isFinite else {
            return .string((isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self))
        }
        return .number(isNegative ? -magnitude : magnitude)
    }

    /// Returns the value of a text of the kind `number`.
    static func number(_ text: ArraySlice<UInt8>) -> JSONValue {
        // A text that is tagged `!!float` may be written as an integer: 0o17.
        Double(String(decoding: text, as: UTF8.self)).map { .number($0) } ?? integer(text)
    }
}
