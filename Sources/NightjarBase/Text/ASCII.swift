#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Bytes as US-ASCII, the alphabet of everything that HTTP compares.
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

    /// Whether `bytes` are `text` to the byte. `elementsEqual` would go through them one by one.
    @inlinable
    public static func isSame(_ bytes: UnsafeRawBufferPointer, _ text: String) -> Bool {
        let same = text.utf8.withContiguousStorageIfAvailable { text in
            guard text.count == bytes.count else { return false }
            guard let a = bytes.baseAddress, let b = text.baseAddress else { return text.isEmpty }
            return memcmp(a, b, text.count) == 0
        }
        return same ?? bytes.elementsEqual(text.utf8)
    }

    /// Whether `bytes` are `text`, which is in lower case, in whatever case.
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

    /// Space, tab and the ends of lines.
    @inlinable
    public static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    /// Without whitespace at either end.
    @inlinable
    public static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes.SubSequence {
        let rest = bytes.drop(while: isWhitespace)
        guard let last = rest.lastIndex(where: { !isWhitespace($0) }) else { return rest }
        return rest[...last]
    }

    /// The value of a hexadecimal digit.
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

/// `text` in quotes for a message: cut after `limit` characters; escaped is what would act on a terminal or turn the direction
/// of writing, for the text may come from a stranger.
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

/// Bytes from the network in quotes for a message, escaped and cut as text is.
package func quoted(_ bytes: UnsafeRawBufferPointer) -> String {
    quoted(String(decoding: bytes.prefix(4 * 81), as: UTF8.self))
}

extension String {
    /// Its UTF-8, borrowed; `withUTF8` for a body that throws our errors.
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
