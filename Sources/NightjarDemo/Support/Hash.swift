import NightjarCrypto

/// Hashes of bytes in memory.
enum Hash {
    static func sha256(_ bytes: [UInt8]) -> [UInt8] { NightjarCrypto.Digest.sha256(bytes) }

    /// Returns the SHA-1 hash, which only the WebSocket handshake uses.
    static func sha1(_ bytes: [UInt8]) -> [UInt8] { NightjarCrypto.Digest.sha1(bytes) }

    /// Returns the MD5 hash, which only Digest authentication uses.
    static func md5(_ bytes: [UInt8]) -> [UInt8] { NightjarCrypto.Digest.md5(bytes) }
}
