/// Under what answers are stored: the URL that was asked, and whose they are. RFC 9111 section 2.
public struct CacheKey: Hashable, Sendable {
    /// Absolute, as it was asked for, without user info and fragment. Its query may hold a secret: not to be shown.
    public let url: String
    public let partition: CachePartition
    /// Tables are asked for one key more than once.
    private let hash: Int

    public init(url: String, partition: CachePartition = .common) {
        self.url = url
        self.partition = partition
        var hasher = Hasher()
        hasher.combine(url)
        hasher.combine(partition)
        hash = hasher.finalize()
    }

    public static func == (a: CacheKey, b: CacheKey) -> Bool {
        a.hash == b.hash && a.partition == b.partition && a.url == b.url
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

/// Whose answers: those that were asked for with one credential are never given to who comes with another, or with none.
public struct CachePartition: Hashable, Sendable {
    /// Made of the credential, so that it does not give it away; both zero for none.
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Of a login, whatever its token is by now. See ``Token/lineage``.
    public init(lineage: UInt64) { self.init(high: lineage, low: 1) }

    /// Of requests without a credential.
    public static let common = CachePartition(high: 0, low: 0)
}

extension RequestURL {
    /// As ``CacheKey/url`` has it.
    public var cacheAddress: String { origin.description + target }
}
