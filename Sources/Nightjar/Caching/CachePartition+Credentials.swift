import NightjarCrypto
import NightjarHTTP

/// Whose answers a request may get.
extension CachePartition {
    /// - Parameters:
    ///   - fields: of the request.
    ///   - login: of the login whose token it carries, where that is known by more than the token.
    static func of(_ request: PreparedRequest, _ fields: Headers, login: CachePartition?) -> CachePartition {
        let credentials = request.credentials(among: fields, withAuthorization: login == nil)
        guard !credentials.isEmpty else { return login ?? .common }
        let digest = Digest.sha256(credentials + bytes(login?.high ?? 0) + bytes(login?.low ?? 0))
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        // Never the partition that all share.
        return CachePartition(high: number(digest[0..<8]) | 1, low: number(digest[8..<16]))
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    /// Tells one credential from another in what is stored, without giving it away.
    static let fingerprint: CacheRequest.Fingerprint = { value in
        Digest.sha256(Array("nightjar".utf8) + value).prefix(16).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
