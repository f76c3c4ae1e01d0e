import NightjarCrypto
import NightjarHTTP

extension CachePartition {
    /// Whose answers a request may get.
    ///
    /// - Parameter login: of the login whose token it carries, where that is known by more than the token.
    static func of(_ facts: CacheFacts, login: CachePartition?) -> CachePartition {
        guard let login else { return facts.partition ?? .common }
        guard let other = facts.partitionBesideLogin else { return login }
        return CachePartition(high: login.high ^ other.high, low: login.low ^ other.low)
    }
}

extension PreparedRequest {
    var cacheFacts: CacheFacts {
        cacheFacts(digest: { Digest.sha256($0) }, fingerprint: CacheFacts.fingerprint)
    }
}

extension CacheFacts {
    /// Tells one credential from another in what is stored, without giving it away.
    static let fingerprint: CacheRequest.Fingerprint = { value in
        Digest.sha256(Array("nightjar".utf8) + value).prefix(16).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
