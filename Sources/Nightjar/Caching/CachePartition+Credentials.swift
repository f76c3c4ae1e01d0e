import NightjarCrypto
import NightjarHTTP

extension CacheFacts {
    /// Returns the cache key of the request, which includes the request's partition.
    ///
    /// - Parameter login: The partition of the login whose token the request carries; nil: the request carries no
    ///   token, or the token has no partition.
    func key(login: CachePartition?) -> CacheKey {
        guard let login else { return key }
        guard let other = partitionBesideLogin else { return CacheKey(url: key.url, partition: login) }
        return CacheKey(url: key.url, partition: login.combined(with: other))
    }
}

extension PreparedRequest {
    /// - Parameter cookies: Must be the setting of the client that created this request.
    func cacheFacts(_ cookies: LoginCookies) -> CacheFacts {
        knownCacheFacts
            ?? cacheFacts(cookies: cookies, digest: { Digest.sha256($0) }, fingerprint: CacheFacts.fingerprint)
    }
}

extension CacheFacts {
    /// Distinguishes credentials in stored entries without revealing them.
    static let fingerprint: CacheRequest.Fingerprint = { value in
        Hexadecimal.encode(Digest.sha256(Array("nightjar".utf8) + value).prefix(16))
    }
}
