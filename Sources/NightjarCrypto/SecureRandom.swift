internal import CNIOBoringSSL

/// Cryptographically secure random bytes, for nonces, OAuth states and PKCE verifiers. Safe in the child of a fork.
package enum SecureRandom {
    package static func bytes(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            guard let start = buffer.baseAddress else { return }
            _ = RAND_bytes(start, count)  // always returns 1
            written = count
        }
    }
}
