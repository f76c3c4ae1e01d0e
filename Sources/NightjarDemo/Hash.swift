internal import CNIOBoringSSL

/// Hashes of bytes at hand, by the library that the client's TLS has brought along: another one would add 9 MB to the
/// command.
enum Hash {
    /// 32 bytes (FIPS 180-4).
    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        hash(of: 32) { _ = SHA256(bytes, bytes.count, $0) }
    }

    /// 16 bytes (RFC 1321). Only Digest still asks for it.
    static func md5(_ bytes: [UInt8]) -> [UInt8] {
        hash(of: 16) { _ = MD5(bytes, bytes.count, $0) }
    }

    private static func hash(of count: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Void) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            guard let start = buffer.baseAddress else { return }
            write(start)
            written = count
        }
    }
}
