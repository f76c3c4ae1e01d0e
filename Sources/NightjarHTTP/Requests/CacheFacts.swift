/// Values that the cache derives from a prepared request. They are computed once for all calls that share the request.
public final class CacheFacts: Sendable {
    /// The cache key, partitioned by the fields that carry credentials or route the request.
    public let key: CacheKey
    /// The partition by these fields without Authorization, which may contain the token of a login. Nil if the request
    /// has no such field.
    public let partitionBesideLogin: CachePartition?
    private let cacheRequest: CacheRequest

    /// - Parameters:
    ///   - cookies: the cookies that count as credentials.
    ///   - digest: a 32-byte one-way hash.
    ///   - fingerprint: the fingerprint function of ``CacheRequest``.
    init(
        _ request: PreparedRequest, _ cookies: LoginCookies, _ digest: ([UInt8]) -> [UInt8],
        _ fingerprint: @escaping CacheRequest.Fingerprint
    ) {
        let fields = request.fields
        cacheRequest = CacheRequest(request.method, fields, fingerprint: fingerprint)
        func made(withAuthorization authorization: Bool) -> CachePartition? {
            let credentials = request.credentials(
                among: fields, withAuthorization: authorization, cookies: cookies)
            return credentials.isEmpty ? nil : CachePartition(digest: digest(credentials))
        }
        let partition = made(withAuthorization: true)
        key = CacheKey(url: request.url.cacheAddress, partition: partition ?? .common)
        partitionBesideLogin = cacheRequest.hasAuthorization ? made(withAuthorization: false) : partition
    }

    public func cacheRequest(_ policy: CachePolicy, acceptsDecoded: Bool) -> CacheRequest {
        cacheRequest.with(policy, acceptsDecoded: acceptsDecoded)
    }
}

extension PreparedRequest {
    public var knownCacheFacts: CacheFacts? { facts.load() }

    public func cacheFacts(
        cookies: LoginCookies, digest: ([UInt8]) -> [UInt8], fingerprint: @escaping CacheRequest.Fingerprint
    ) -> CacheFacts {
        facts.storeIfNil(CacheFacts(self, cookies, digest, fingerprint))
    }
}

extension CachePartition {
    fileprivate init(digest: [UInt8]) {
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        // `| 1` ensures that the partition never equals the common partition.
        self.init(high: number(digest.prefix(8)) | 1, low: number(digest.dropFirst(8).prefix(8)))
    }
}
