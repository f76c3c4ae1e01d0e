/// Hexadecimal digits of bytes, two for each byte.
package enum Hexadecimal {
    /// Encodes with lower-case digits.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var digits: [UInt8] = []
        for byte in bytes {
            digits.append(alphabet[Int(byte >> 4)])
            digits.append(alphabet[Int(byte & 15)])
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// Decodes lower-case or upper-case digits. Returns nil if the count is odd or a byte is not a hexadecimal digit.
    package static func decode(_ digits: some Collection<UInt8>) -> [UInt8]? {
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        var high: UInt8?
        for digit in digits {
            guard let value = ASCII.hexValue(digit) else { return nil }
            if let first = high.take() { bytes.append(first << 4 | value) } else { high = value }
        }
        return bytes
    }

    private static let alphabet = Array("0123456789abcdef".utf8)
}
