/// The key of stored responses: the requested URL and the owner's partition. RFC 9111 section 2.
public struct CacheKey: Hashable, Sendable {
    /// The absolute URL as requested, without user info and fragment. Its query may contain secrets, so it must not be
    /// shown.
    public let url: String
    public let partition: CachePartition
    /// The hash value, computed once because a key is looked up in several tables.
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

/// The owner of stored responses. A response to a request of one login is not served to a request of another login or
/// to a request without credentials.
public struct CachePartition: Hashable, Sendable {
    /// The first half of the identifier: a one-way hash of the fields that carry credentials or route the request, the
    /// lineage of a login, or a combination of both. `high` and `low` are zero if there is neither.
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates the partition of a login. It does not depend on the login's current token. See ``Token/lineage``.
    public init(lineage: UInt64) { self.init(high: lineage, low: 1) }

    /// The partition of requests without credentials and routing fields.
    public static let common = CachePartition(high: 0, low: 0)
}

extension RequestURL {
    /// The URL in the form of ``CacheKey/url``.
    public var cacheAddress: String { origin.description + target }
}
