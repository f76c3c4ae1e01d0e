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
    /// The lineage of a login. Without a login, the first half of a one-way hash of the fields that carry credentials or
    /// route the request, or zero if there are none.
    public let high: UInt64
    /// With a login, 1, or a hash of those fields if there are any. Otherwise the second half of their hash.
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates the partition of a login. It does not depend on the login's current token. See ``Token/lineage``.
    public init(lineage: UInt64) { self.init(high: lineage, low: 1) }

    /// Returns the partition of requests of this login that also have other credentials, such as cookies.
    ///
    /// - Parameter other: the partition of the other credentials.
    public func combined(with other: CachePartition) -> CachePartition {
        CachePartition(high: high, low: (other.high ^ other.low) | 2)
    }

    /// Returns true if this is the partition `login`, or a partition of the same login with other credentials.
    package func belongs(to login: CachePartition) -> Bool { high == login.high && low != 0 }

    /// The partition of requests without credentials and routing fields.
    public static let common = CachePartition(high: 0, low: 0)
}

extension RequestURL {
    /// The URL in the form of `CacheKey/url`.
    public var cacheAddress: String { origin.description + target }
}
