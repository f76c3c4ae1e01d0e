/// A PKCE proof key with the S256 method. Proves that the same client requests and redeems a code. RFC 7636.
public struct ProofKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The secret verifier, kept until the code is redeemed.
    public let verifier: String
    /// The challenge, sent in the authorization URL.
    public let challenge: String

    /// The number of random bytes that RFC 7636 section 4.1 recommends.
    public static let randomByteCount = 32

    /// - Parameters:
    ///   - random: ``randomByteCount`` unpredictable bytes.
    ///   - sha256: computes the 32-byte digest.
    /// - Returns: nil if `random` has another length, or the digest is not 32 bytes long.
    public init?(random: [UInt8], sha256: ([UInt8]) -> [UInt8]) {
        guard random.count == ProofKey.randomByteCount else { return nil }
        let verifier = ProofKey.base64URL(random)
        let digest = sha256(Array(verifier.utf8))
        guard digest.count == 32 else { return nil }
        self.verifier = verifier
        challenge = ProofKey.base64URL(digest)
    }

    public var description: String { "proof key ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Encodes as base64url without padding. RFC 4648 section 5.
    static func base64URL(_ bytes: [UInt8]) -> String {
        let text = Base64.encode(bytes).utf8.compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
