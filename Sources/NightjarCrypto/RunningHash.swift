internal import CNIOBoringSSL

/// A hash function. SHA-1 and MD5 are provided for peers that support nothing better; they are not collision-resistant.
package enum HashFunction: Int32, Sendable, CaseIterable {
    /// RFC 1321.
    case md5 = 0
    /// FIPS 180-4 specifies this function and the following ones.
    case sha1 = 1
    case sha256 = 2
    case sha384 = 3
    case sha512 = 4

    /// The size of the longest digest in bytes.
    package static let longest = 64

    fileprivate var implementation: OpaquePointer? {
        switch self {
        case .md5: EVP_md5()
        case .sha1: EVP_sha1()
        case .sha256: EVP_sha256()
        case .sha384: EVP_sha384()
        case .sha512: EVP_sha512()
        }
    }
}

/// Computes the digest of bytes that arrive in pieces or, with a key, their HMAC (RFC 2104). Not thread-safe.
package final class RunningHash {
    private let digest: UnsafeMutablePointer<EVP_MD_CTX>?
    private let code: UnsafeMutablePointer<HMAC_CTX>?

    /// - Parameter key: the key of the HMAC, of any length. Nil for a plain digest.
    /// - Returns: nil if memory could not be allocated.
    package init?(_ function: HashFunction, key: UnsafeRawBufferPointer? = nil) {
        if let key {
            digest = nil
            code = HMAC_CTX_new()
            guard code != nil else { return nil }
            // A NULL key would mean "use the previous key".
            let isReady = withUnsafeBytes(of: UInt8(0)) { nothing in
                HMAC_Init_ex(code, key.baseAddress ?? nothing.baseAddress, key.count, function.implementation, nil)
            }
            guard isReady == 1 else { return nil }
        } else {
            code = nil
            digest = EVP_MD_CTX_new()
            guard digest != nil, EVP_DigestInit_ex(digest, function.implementation, nil) == 1 else { return nil }
        }
    }

    deinit {
        EVP_MD_CTX_free(digest)
        HMAC_CTX_free(code)
    }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        if digest != nil { _ = EVP_DigestUpdate(digest, start, bytes.count) }
        if code != nil { _ = HMAC_Update(code, start, bytes.count) }
    }

    /// Returns the 16 to 64 bytes of the result. No other call may follow.
    package func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: HashFunction.longest) { buffer, written in
            guard let start = buffer.baseAddress else { return }
            var count: UInt32 = 0
            if digest != nil { _ = EVP_DigestFinal_ex(digest, start, &count) }
            if code != nil { _ = HMAC_Final(code, start, &count) }
            written = Int(count)
        }
    }
}
