/// What tells a server that a request is the repetition of one that it may have seen
/// (draft-ietf-httpapi-idempotency-key-header).
///
/// Made once a call and sent with every attempt. A caller that keeps it can finish the call in another process.
public struct IdempotencyKey: Sendable, Hashable, CustomStringConvertible {
    public static let fieldName = "Idempotency-Key"
    /// In bytes; what servers accept ends at 255.
    private static let maximumLength = 255

    /// As the field carries it, without quotes: servers that are in use take them for a part of the key.
    public let text: String

    public var description: String { text }

    /// A random UUID (RFC 9562 section 5.4).
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

    /// One that the caller has chosen or kept.
    ///
    /// - Returns: nil unless it is 1 to 255 printable ASCII characters without spaces.
    public init?(_ text: String) {
        guard 1...IdempotencyKey.maximumLength ~= text.utf8.count, text.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else { return nil }
        self.text = text
    }
}

extension IdempotencyKey {
    /// Which key a request carries.
    public enum Choice: Sendable, Equatable {
        /// None, or what its headers say.
        case none
        /// A new one for each call.
        case generated
        /// One that the caller has kept, so that a call can be finished by another process.
        case key(IdempotencyKey)
    }
}
