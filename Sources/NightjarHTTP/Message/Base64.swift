/// RFC 4648 section 4, with padding.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encode(_ bytes: some Collection<UInt8>) -> String {
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
