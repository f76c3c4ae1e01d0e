import NightjarCrypto

/// Hashes of bytes at hand.
enum Hash {
    static func sha256(_ bytes: [UInt8]) -> [UInt8] { NightjarCrypto.Digest.sha256(bytes) }

    /// Only Digest still asks for it.
    static func md5(_ bytes: [UInt8]) -> [UInt8] { NightjarCrypto.Digest.md5(bytes) }
}
