internal import CNIOBoringSSL

/// AES-256 in Galois/counter mode: hides bytes and shows when somebody has changed them. NIST SP 800-38D.
public enum AEAD {
    /// Of a key.
    public static let keySize = 32
    /// Of a nonce, which with one key is used once: ``SecureRandom`` makes one that will not come again in 2³² messages.
    public static let nonceSize = 12
    /// By so much is what is sealed longer than what was.
    public static let tagSize = 16

    /// - Parameter context: is not hidden and not in the result, and must be the same when it is opened.
    /// - Returns: nil for a key or a nonce of another size.
    public static func seal(
        _ bytes: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8] = []
    ) -> [UInt8]? {
        transform(key, nonce, capacity: bytes.count + tagSize) { cipher, out, written, room in
            EVP_AEAD_CTX_seal(
                cipher, out, written, room, nonce, nonce.count, bytes, bytes.count, context, context.count)
        }
    }

    /// - Returns: nil where a byte of `bytes`, the key, the nonce or the context is not as it was.
    public static func open(
        _ bytes: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8] = []
    ) -> [UInt8]? {
        guard bytes.count >= tagSize else { return nil }
        return transform(key, nonce, capacity: bytes.count) { cipher, out, written, room in
            EVP_AEAD_CTX_open(
                cipher, out, written, room, nonce, nonce.count, bytes, bytes.count, context, context.count)
        }
    }

    private static func transform(
        _ key: [UInt8], _ nonce: [UInt8], capacity: Int,
        _ body: (UnsafePointer<EVP_AEAD_CTX>, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<Int>, Int) -> Int32
    ) -> [UInt8]? {
        guard key.count == keySize, nonce.count == nonceSize,
            let cipher = EVP_AEAD_CTX_new(EVP_aead_aes_256_gcm(), key, key.count, tagSize)
        else { return nil }
        defer { EVP_AEAD_CTX_free(cipher) }
        var succeeded = false
        let result = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, written in
            guard let start = buffer.baseAddress else { return }
            succeeded = body(cipher, start, &written, capacity) == 1
            if !succeeded { written = 0 }
        }
        // A failure leaves its reason in this thread's list, where the next one to use TLS would find it.
        if !succeeded { ERR_clear_error() }
        return succeeded ? result : nil
    }
}
