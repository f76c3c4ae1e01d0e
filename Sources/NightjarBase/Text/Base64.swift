/// Base64 with padding (RFC 4648 section 4) and base64url (section 5).
@usableFromInline
package enum Base64 {
    @usableFromInline
    package static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    @inlinable
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        let count = (bytes.count + 2) / 3 * 4
        return String(unsafeUninitializedCapacity: count) { text in
            var at = 0
            var rest = bytes[...]
            while let first = rest.popFirst() {
                let second = rest.popFirst()
                let third = rest.popFirst()
                let group = Int(first) << 16 | Int(second ?? 0) << 8 | Int(third ?? 0)
                text[at] = alphabet[group >> 18]
                text[at + 1] = alphabet[group >> 12 & 63]
                text[at + 2] = second == nil ? UInt8(ascii: "=") : alphabet[group >> 6 & 63]
                text[at + 3] = third == nil ? UInt8(ascii: "=") : alphabet[group & 63]
                at += 4
            }
            return count
        }
    }
}

extension Base64 {
    /// Encodes as base64url without padding. RFC 4648 section 5.
    @inlinable
    package static func encodeForURL(_ bytes: some Collection<UInt8>) -> String {
        String(
            decoding: encode(bytes).utf8.lazy.filter { $0 != UInt8(ascii: "=") }.map { byte in
                switch byte {
                case UInt8(ascii: "+"): UInt8(ascii: "-")
                case UInt8(ascii: "/"): UInt8(ascii: "_")
                default: byte
                }
            }, as: UTF8.self)
    }

    /// Decodes base64. Padding is optional, and its length is not checked. Returns nil if the text is invalid or its
    /// unused trailing bits are not zero. RFC 4648 section 4.
    @inlinable
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        var bytes = Array(text)
        for _ in 0..<2 where bytes.last == UInt8(ascii: "=") { bytes.removeLast() }
        return decodeForURL(
            bytes.map { byte in
                switch byte {
                case UInt8(ascii: "+"): UInt8(ascii: "-")
                case UInt8(ascii: "/"): UInt8(ascii: "_")
                case UInt8(ascii: "-"), UInt8(ascii: "_"): UInt8(ascii: "=")
                default: byte
                }
            })
    }

    /// Decodes base64url without padding. Returns nil if the text is invalid, has padding, or if its unused trailing
    /// bits are not zero.
    @inlinable
    package static func decodeForURL(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 2)
        var group: UInt32 = 0
        var bits = 0
        for byte in text {
            let value: UInt8
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = byte - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = byte - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = byte - UInt8(ascii: "0") + 52
            case UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "_"): value = 63
            default: return nil
            }
            group = group << 6 | UInt32(value)
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
            group &= (1 << UInt32(bits)) - 1
        }
        return group == 0 ? bytes : nil
    }
}
