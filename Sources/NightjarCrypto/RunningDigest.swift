internal import CNIOBoringSSL

/// Computes the SHA-256 digest of bytes that arrive in pieces. FIPS 180-4. Not thread-safe.
package final class RunningDigest {
    private var context = SHA256_CTX()

    package init() { _ = SHA256_Init(&context) }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        _ = SHA256_Update(&context, start, bytes.count)
    }

    /// Returns the 32 bytes of the digest. No other call may follow.
    package func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { buffer, written in
            guard let start = buffer.baseAddress else { return }
            _ = SHA256_Final(start, &context)
            written = 32
        }
    }
}
