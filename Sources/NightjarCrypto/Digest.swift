internal import CNIOBoringSSL

/// Digests of bytes at hand, by the library that TLS has brought along.
public enum Digest {
    /// 32 bytes. FIPS 180-4.
    public static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        digest(of: 32) { _ = SHA256(bytes, bytes.count, $0) }
    }

    /// 32 bytes: not those of SHA-256, nor the first of SHA-512. FIPS 180-4 section 5.3.6.2.
    public static func sha512_256(_ bytes: [UInt8]) -> [UInt8] {
        digest(of: 32) { _ = SHA512_256(bytes, bytes.count, $0) }
    }

    /// 16 bytes. For servers that know no better (RFC 7616 section 3.2), and for nothing of ours. RFC 1321.
    public static func md5(_ bytes: [UInt8]) -> [UInt8] {
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
