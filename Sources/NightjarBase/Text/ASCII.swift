import NightjarSystem

/// Operations on US-ASCII bytes, the character set of HTTP's syntax.
public enum ASCII {
    @inlinable
    public static func lowercase(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }

    @inlinable
    public static func equalIgnoringCase(_ a: some Collection<UInt8>, _ b: some Collection<UInt8>) -> Bool {
        a.count == b.count && zip(a, b).allSatisfy { lowercase($0) == lowercase($1) }
    }

    @inlinable
    public static func equalIgnoringCase(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
        guard a.count == b.count else { return false }
        var at = 0
        while at < a.count, lowercase(a[at]) == lowercase(b[at]) { at += 1 }
        return at == a.count
    }

    /// Returns true if `bytes` equals the UTF-8 of `text`. Uses memcmp if the string is contiguous.
    @inlinable
    public static func isSame(_ bytes: UnsafeRawBufferPointer, _ text: String) -> Bool {
        let same = text.utf8.withContiguousStorageIfAvailable { text in
            guard text.count == bytes.count else { return false }
            guard let a = bytes.baseAddress, let b = text.baseAddress else { return text.isEmpty }
            return memcmp(a, b, text.count) == 0
        }
        return same ?? bytes.elementsEqual(text.utf8)
    }

    /// Returns true if `bytes` equals `text`, ignoring case. `text` must be in lower case.
    @inlinable
    public static func isCaseless(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
        guard bytes.count == text.utf8CodeUnitCount else { return false }
        var at = 0
        while at < bytes.count, bytes[at] | (isLetter(text.utf8Start[at]) ? 0x20 : 0) == text.utf8Start[at] { at += 1 }
        return at == bytes.count
    }

    @inlinable
    public static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }

    @inlinable
    public static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    /// Returns true for space, tab, CR and LF.
    @inlinable
    public static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    /// Returns the bytes without white space at both ends.
    @inlinable
    public static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes.SubSequence {
        let rest = bytes.drop(while: isWhitespace)
        guard let last = rest.lastIndex(where: { !isWhitespace($0) }) else { return rest }
        return rest[...last]
    }

    /// Returns the value of a hexadecimal digit, or nil if `byte` is not a digit.
    @inlinable
    public static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte &- UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte &- UInt8(ascii: "a") &+ 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte &- UInt8(ascii: "A") &+ 10
        default: nil
        }
    }
}

/// Quotes `text` for an error message. Truncates it after `limit` code points. Escapes characters that affect a
/// terminal or the direction of text, because the text may come from an untrusted peer.
public func quoted(_ text: some StringProtocol, limit: Int = 80) -> String {
    var result = "\""
    for (position, scalar) in text.unicodeScalars.enumerated() {
        if position == limit {
            result += "..."
            break
        }
        switch scalar {
        case "\"", "\\": result += "\\\(scalar)"
        case "\r": result += "\\r"
        case "\n": result += "\\n"
        case "\t": result += "\\t"
        case _ where scalar.value < 0x20 || scalar.value == 0x7F: result += "\\x" + String(scalar.value, radix: 16)
        case _ where scalar.isASCII: result.unicodeScalars.append(scalar)
        default:
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse:
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
    return result + "\""
}

/// Quotes bytes from the network for an error message. Escapes and truncates them like text.
package func quoted(_ bytes: UnsafeRawBufferPointer) -> String {
    quoted(String(decoding: bytes.prefix(4 * 81), as: UTF8.self))
}

/// Returns a number with its unit, in the plural unless the number is 1: `1 element`, `2 elements`.
///
/// - Parameter unit: the singular of a noun whose plural ends in `s`.
package func counted(_ count: Int, _ unit: String) -> String { count == 1 ? "1 \(unit)" : "\(count) \(unit)s" }

extension String {
    /// Calls `body` with the UTF-8 bytes of the string. Equivalent to `withUTF8` for a body that throws
    /// `NightjarError`.
    @inlinable
    @inline(__always)
    package func withRawBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws(NightjarError) -> Result
    ) throws(NightjarError) -> Result {
        var text = self
        return try text.withUTF8 { bytes in
            Swift.Result { () throws(NightjarError) in try body(UnsafeRawBufferPointer(bytes)) }
        }.get()
    }
}
