/// Base64 (RFC 4648 section 4) and the alphabet for URLs (section 5).
enum Base64 {
    /// Encodes with padding.
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let bytes = Array(bytes)
        let text = encode(bytes, standard)
        return text + String(repeating: "=", count: (3 - bytes.count % 3) % 3)
    }

    /// Encodes with `-` and `_`, without padding.
    static func encodeForURL(_ bytes: some Sequence<UInt8>) -> String {
        encode(Array(bytes), urlSafe)
    }

    /// Decodes base64 (section 4), with or without padding. Nil if `text` is invalid.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var held = 0
        var digits = Array(text.utf8)
        for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        for digit in digits {
            guard let value = standard.firstIndex(of: digit) else { return nil }
            bits = (bits << 6 | UInt32(value)) & 0xFFFF
            held += 6
            if held >= 8 {
                held -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
            }
        }
        return digits.count % 4 == 1 ? nil : bytes
    }

    private static func encode(_ bytes: [UInt8], _ alphabet: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for index in 0..<3 {
                bits = bits << 8 | (index < group.count ? UInt32(group[start + index]) : 0)
            }
            for index in 0...group.count {
                text.append(alphabet[Int(bits >> (18 - 6 * UInt32(index)) & 63)])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    private static let standard = Array("\(letters)+/".utf8)
    private static let urlSafe = Array("\(letters)-_".utf8)
}
