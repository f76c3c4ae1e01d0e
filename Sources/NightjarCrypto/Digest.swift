internal import CNIOBoringSSL

/// Digests of bytes in memory, computed by BoringSSL.
package enum Digest {
    /// Returns the SHA-256 digest: 32 bytes. FIPS 180-4.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        digest(of: 32) { _ = SHA256(bytes, bytes.count, $0) }
    }

    /// Returns the SHA-512/256 digest: 32 bytes. It differs from SHA-256 and from truncated SHA-512. FIPS 180-4 section
    /// 5.3.6.2.
    package static func sha512_256(_ bytes: [UInt8]) -> [UInt8] {
        digest(of: 32) { _ = SHA512_256(bytes, bytes.count, $0) }
    }

    /// Returns the SHA-1 digest: 20 bytes. Used only for the WebSocket handshake, where it protects nothing (RFC 6455
    /// section 10.8). FIPS 180-4.
    package static func sha1(_ bytes: [UInt8]) -> [UInt8] {
        digest(of: 20) { _ = SHA1(bytes, bytes.count, $0) }
    }

    /// Returns the MD5 digest: 16 bytes. Used only for servers that support nothing better (RFC 7616 section 3.2). RFC
    /// 1321.
    package static func md5(_ bytes: [UInt8]) -> [UInt8] {
        digest(of: 16) { _ = MD5(bytes, bytes.count, $0) }
    }

    private static func digest(of count: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Void) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            guard let start = buffer.baseAddress else { return }
            write(start)
            written = count
        }
    }
}
