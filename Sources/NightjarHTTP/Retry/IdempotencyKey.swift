/// A key by which a server recognizes a repeated request (draft-ietf-httpapi-idempotency-key-header).
///
/// The same key is sent with each attempt of a call. If the caller stores the key, another process can complete the
/// call.
public struct IdempotencyKey: Sendable, Hashable, CustomStringConvertible {
    public static let fieldName = "Idempotency-Key"
    /// The maximum length in bytes.
    private static let maximumLength = 255

    /// The field value. The client adds no quotes, because many servers treat quotes as part of the key.
    public let text: String

    public var description: String { text }

    /// Creates a key from a random UUID (RFC 9562 section 5.4).
    public init(using random: inout some RandomNumberGenerator) {
        let high = random.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = random.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let digits = Array("0123456789abcdef".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(36)
        for index in 0..<32 {
            if [8, 12, 16, 20].contains(index) { bytes.append(UInt8(ascii: "-")) }
            let half = index < 16 ? high : low
            bytes.append(digits[Int(half >> UInt64(60 - index % 16 * 4) & 0xF)])
        }
        text = String(decoding: bytes, as: UTF8.self)
    }

    /// Creates a key from a string that the caller chose or stored.
    ///
    /// - Returns: nil unless `text` is 1 to 255 printable ASCII characters without spaces.
    public init?(_ text: String) {
        guard 1...IdempotencyKey.maximumLength ~= text.utf8.count, text.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else { return nil }
        self.text = text
    }
}

extension IdempotencyKey {
    /// The source of a request's idempotency key.
    public enum Choice: Sendable, Equatable {
        /// No key, except an Idempotency-Key field in the request's headers.
        case none
        /// A new key for each call, unless the request's headers contain an Idempotency-Key field.
        case generated
        /// A key that the caller chose or stored. Replaces an Idempotency-Key field in the request's headers.
        case key(IdempotencyKey)
    }
}
