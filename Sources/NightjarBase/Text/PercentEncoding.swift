import NIOCore

/// Percent-encoding. RFC 3986 section 2.
@usableFromInline
package enum PercentEncoding {
    /// Unreserved bytes, which are never encoded. Section 2.3.
    package static let unreserved = ByteSet(low: 0x03ff_6000_0000_0000, high: 0x47ff_fffe_87ff_fffe)

    /// Bytes that are allowed unencoded in a path or query. Sections 3.3 and 3.4.
    private static let target = ByteSet(low: 0xafff_ffd2_0000_0000, high: 0x47ff_fffe_87ff_ffff)

    /// Reserved and unreserved bytes. Sections 2.2 and 2.3.
    @usableFromInline
    package static let reservedOrUnreserved = ByteSet(low: 0xafff_ffda_0000_0000, high: 0x47ff_fffe_afff_ffff)

    /// Returns true if `byte` is allowed in user info, or is `%`. RFC 3986 section 3.2.1.
    package static func isUserInfoByte(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "%") || target.contains(byte) && !"/?@".utf8.contains(byte)
    }

    /// Writes a path or query that may be incompletely encoded. Allowed bytes and `%XX` are kept. Other bytes (spaces,
    /// double quotes, UTF-8, a lone `%`) are encoded.
    ///
    /// - Throws: `invalid_url` for a control character, which is never valid in a URL and often indicates an injection.
    package static func writeTarget(
        _ bytes: UnsafeRawBufferPointer, into buffer: inout ByteBuffer
    ) throws(NightjarError) {
        var start = 0
        while true {
            var end = start
            while end < bytes.count, target.contains(bytes[end]) { end += 1 }
            buffer.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
            guard end < bytes.count else { return }
            let byte = bytes[end]
            guard byte >= 0x20, byte != 0x7F else { throw controlCharacter(byte) }
            if byte == UInt8(ascii: "%"), end + 2 < bytes.count, ASCII.hexValue(bytes[end + 1]) != nil,
                ASCII.hexValue(bytes[end + 2]) != nil
            {
                buffer.writeInteger(byte)
            } else {
                writeEncoded(byte, into: &buffer)
            }
            start = end + 1
        }
    }

    package static func controlCharacter(_ byte: UInt8) -> NightjarError {
        NightjarError(
            .invalidURL,
            "the URL contains the control character 0x\(String(byte, radix: 16)); remove or encode the character"
        )
    }

    /// Writes `text` with every byte encoded except the unreserved bytes, so that decoding restores `text`.
    package static func writeComponent(_ text: String, into buffer: inout ByteBuffer) {
        var text = text
        text.withUTF8 { bytes in
            var start = 0
            while true {
                var end = start
                while end < bytes.count, unreserved.contains(bytes[end]) { end += 1 }
                buffer.writeBytes(UnsafeBufferPointer(rebasing: bytes[start..<end]))
                guard end < bytes.count else { return }
                writeEncoded(bytes[end], into: &buffer)
                start = end + 1
            }
        }
    }

    /// Writes text for any part of a URL. Reserved characters, unreserved characters and `%XX` are kept. Other bytes
    /// are encoded.
    @inlinable
    package static func writeReserved(_ bytes: some Collection<UInt8>, into buffer: inout ByteBuffer) {
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            let isEscape =
                byte == UInt8(ascii: "%") && rest.prefix(2).count == 2
                && rest.prefix(2).allSatisfy { ASCII.hexValue($0) != nil }
            if isEscape || reservedOrUnreserved.contains(byte) {
                buffer.writeInteger(byte)
            } else {
                writeEncoded(byte, into: &buffer)
            }
        }
    }

    /// Returns true if `bytes` contains only reserved characters, unreserved characters and `%XX`.
    @inlinable
    package static func isEncoded(_ bytes: some Collection<UInt8>) -> Bool {
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard rest.prefix(2).count == 2, rest.prefix(2).allSatisfy({ ASCII.hexValue($0) != nil }) else {
                    return false
                }
            } else if !reservedOrUnreserved.contains(byte) {
                return false
            }
        }
        return true
    }

    @usableFromInline
    package static func writeEncoded(_ byte: UInt8, into buffer: inout ByteBuffer) {
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10 }
        buffer.writeMultipleIntegers(UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 0xF))
    }

    /// Decodes each `%XX`. Invalid escapes are kept.
    @inlinable
    package static func decoded(_ text: some Collection<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(ASCII.hexValue),
                let low = rest.dropFirst().first.flatMap(ASCII.hexValue)
            {
                result.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}
