import NightjarCrypto
import NightjarHTTP

extension CacheFacts {
    /// Under which a request finds its answers, and whose those are.
    ///
    /// - Parameter login: of the login whose token it carries, where that is known by more than the token.
    func key(login: CachePartition?) -> CacheKey {
        guard let login else { return key }
        guard let other = partitionBesideLogin else { return CacheKey(url: key.url, partition: login) }
        return CacheKey(
            url: key.url, partition: CachePartition(high: login.high ^ other.high, low: login.low ^ other.low))
    }
}

extension PreparedRequest {
    /// - Parameter cookies: always those of the client that made this request.
    func cacheFacts(_ cookies: LoginCookies) -> CacheFacts {
        knownCacheFacts
            ?? cacheFacts(cookies: cookies, digest: { Digest.sha256($0) }, fingerprint: CacheFacts.fingerprint)
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
