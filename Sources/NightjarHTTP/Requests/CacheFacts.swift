/// What the cache wants of a request, found once for all calls that send it again.
public final class CacheFacts: Sendable {
    /// Under which its answers are, with all credentials that it carries.
    public let key: CacheKey
    /// Of those beside Authorization, which may be a login's token; nil: there are none.
    public let partitionBesideLogin: CachePartition?
    private let asked: CacheRequest

    /// - Parameters:
    ///   - cookies: the cookies that count as credentials.
    ///   - digest: 32 bytes that do not give away what they are made of.
    ///   - fingerprint: see ``CacheRequest``.
    init(
        _ request: PreparedRequest, _ cookies: LoginCookies, _ digest: ([UInt8]) -> [UInt8],
        _ fingerprint: @escaping CacheRequest.Fingerprint
    ) {
        let fields = request.fields
        asked = CacheRequest(request.method, fields, fingerprint: fingerprint)
        func made(withAuthorization authorization: Bool) -> CachePartition? {
            let credentials = request.credentials(
                among: fields, withAuthorization: authorization, cookies: cookies)
            return credentials.isEmpty ? nil : CachePartition(digest: digest(credentials))
        }
        let partition = made(withAuthorization: true)
        key = CacheKey(url: request.url.cacheAddress, partition: partition ?? .common)
        partitionBesideLogin = asked.hasAuthorization ? made(withAuthorization: false) : partition
    }

    public func asked(_ policy: CachePolicy, wantsDecoded: Bool) -> CacheRequest {
        asked.asking(policy, wantsDecoded: wantsDecoded)
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
        // Never the partition that all share.
        self.init(high: number(digest.prefix(8)) | 1, low: number(digest.dropFirst(8).prefix(8)))
    }
}
