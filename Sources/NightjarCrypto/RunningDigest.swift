internal import CNIOBoringSSL

/// SHA-256 of bytes that come in pieces. FIPS 180-4. One thread at a time.
public final class RunningDigest {
    private var context = SHA256_CTX()

    public init() { _ = SHA256_Init(&context) }

    public func update(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        _ = SHA256_Update(&context, start, bytes.count)
    }

    /// 32 bytes. Nothing may follow.
    public func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { buffer, written in
            guard let start = buffer.baseAddress else { return }
            _ = SHA256_Final(start, &context)
            written = 32
        }
    }
}
