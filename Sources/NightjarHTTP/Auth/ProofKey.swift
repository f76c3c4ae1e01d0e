/// Proof that who redeems a code is who has asked for it (PKCE), by S256. RFC 7636.
public struct ProofKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// Kept until the code is redeemed, and shown to nobody.
    public let verifier: String
    /// Goes with the user to the server.
    public let challenge: String

    /// As many as RFC 7636 section 4.1 recommends.
    public static let randomByteCount = 32

    /// - Parameters:
    ///   - random: ``randomByteCount`` bytes that cannot be guessed.
    ///   - sha256: the digest, 32 bytes: this module has no cryptography.
    /// - Returns: nil for another number of bytes.
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

    /// RFC 4648 section 5, without padding.
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
