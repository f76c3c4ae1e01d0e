internal import CNIOBoringSSL

/// Bytes that nobody can guess: for nonces, keys, states and proofs. Also right in the child of a fork.
public enum SecureRandom {
    public static func bytes(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            guard let start = buffer.baseAddress else { return }
            _ = RAND_bytes(start, count)  // always 1: it has no other result
            written = count
        }
    }
}
