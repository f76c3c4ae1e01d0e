internal import CNIOBoringSSL

/// AES-256-GCM: encrypts bytes and detects modifications. NIST SP 800-38D.
package enum AEAD {
    /// The size of a key in bytes.
    package static let keySize = 32
    /// The size of a nonce in bytes. A nonce must not be used twice with the same key. Nonces from ``SecureRandom`` are
    /// safe for 2³² messages.
    package static let nonceSize = 12
    /// The number of bytes that sealing adds.
    package static let tagSize = 16

    /// Encrypts and authenticates bytes.
    ///
    /// - Parameter context: additional authenticated data. It is not part of the result, and
    ///   ``open(_:key:nonce:context:)`` needs the same bytes.
    /// - Returns: nil if the key or the nonce has the wrong size.
    package static func seal(
        _ bytes: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8] = []
    ) -> [UInt8]? {
        transform(key, nonce, capacity: bytes.count + tagSize) { cipher, out, written, room in
            EVP_AEAD_CTX_seal(
                cipher, out, written, room, nonce, nonce.count, bytes, bytes.count, context, context.count)
        }
    }

    /// Decrypts bytes that ``seal(_:key:nonce:context:)`` has encrypted.
    ///
    /// - Returns: nil if `bytes` was modified, or if the key, the nonce or the context is not the one used to encrypt.
    package static func open(
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
        // A failure adds its reason to this thread's error queue. A later TLS operation would find it there.
        if !succeeded { ERR_clear_error() }
        return succeeded ? result : nil
    }
}
