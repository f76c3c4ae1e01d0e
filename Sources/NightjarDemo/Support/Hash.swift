import NightjarCrypto

/// Hashes of byte arrays.
enum Hash {
    static func sha256(_ bytes: [UInt8]) -> [UInt8] { NightjarCrypto.Digest.sha256(bytes) }

    /// Only Digest still uses MD5.
    static func md5(_ bytes: [UInt8]) -> [UInt8] { NightjarCrypto.Digest.md5(bytes) }
}
