/// UTF-8 as defined by RFC 3629.
package enum UTF8Text {
    /// Returns whether bytes are valid UTF-8. ASCII is checked eight bytes at a time.
    package static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if word & 0x8080_8080_8080_8080 != 0 { break }
            index += 8
        }
        while index < bytes.count, bytes[index] < 0x80 { index += 1 }
        guard index < bytes.count else { return true }
        return String(validating: bytes[index...], as: UTF8.self) != nil
    }
}
