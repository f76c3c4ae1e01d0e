import DequeModule

/// Coalesces concurrent requests that miss the same cache entry into one fetch. RFC 9111 section 4.
///
///     idle ──fetch──▶ led ──stored──▶ waiters look up the cache again
///                      ├──not storable, or failed──▶ each waiter fetches for itself
///                      └──leader leaves──▶ the next waiter leads
///
/// A response that cannot be stored serves only its own request, so other requests should not wait for it. The keys of
/// such responses are remembered, and later requests for these keys do not wait until a response has been stored.
public struct SharedFetches: Sendable {
    /// The number of a request that needs a response. The caller assigns the numbers and never reuses a number.
    public typealias Member = UInt64

    public enum Role: Equatable, Sendable {
        /// The request fetches the response for all waiters.
        case leader
        case waiter
        /// The request fetches the response only for itself. No other request waits.
        case independent
    }

    private struct Queue {
        var leader: Member
        /// Waiters in order of arrival, including those that have left.
        var waiting: Deque<Member> = []
        var present: Set<Member> = []

        mutating func next() -> Member? {
            while let first = waiting.popFirst() {
                if present.remove(first) != nil { return first }
            }
            return nil
        }
    }

    private var queues: [CacheKey: Queue] = [:]
    /// The keys whose last response could not be stored.
    private var notStorableKeys: Set<CacheKey> = []

    public init() {}

    /// Adds a request that missed the cache, or found a response that must be validated.
    public mutating func join(_ key: CacheKey, _ member: Member) -> Role {
        if isKnownNotStorable(key) { return .independent }
        guard var queue = queues.removeValue(forKey: key) else {
            queues[key] = Queue(leader: member)
            return .leader
        }
        defer { queues[key] = queue }
        guard queue.leader != member else { return .leader }
        queue.waiting.append(member)
        queue.present.insert(member)
        return .waiter
    }

    /// Returns true if the key is remembered as not storable.
    public func isKnownNotStorable(_ key: CacheKey) -> Bool {
        !notStorableKeys.isEmpty && notStorableKeys.contains(key)
    }

    /// Ends a fetch whose response was stored.
    ///
    /// - Returns: the waiters, which look up the cache again.
    public mutating func stored(_ key: CacheKey, by member: Member) -> [Member] {
        notStorableKeys.remove(key)
        return end(key, member)
    }

    /// Ends a fetch whose response cannot be stored, and remembers the key.
    ///
    /// - Returns: the waiters, each of which fetches for itself.
    public mutating func notStorable(_ key: CacheKey, by member: Member) -> [Member] {
        if notStorableKeys.contains(key) { return [] }
        if notStorableKeys.count >= SharedFetches.maximumNotStorableKeys { notStorableKeys.removeAll() }
        notStorableKeys.insert(key)
        return end(key, member)
    }

    /// Ends a fetch that failed. The waiters then fetch concurrently, because consecutive failures would take too long.
    ///
    /// - Returns: the waiters, each of which fetches for itself.
    public mutating func failed(_ key: CacheKey, by member: Member) -> [Member] { end(key, member) }

    /// Removes a request that has a response or no longer needs it.
    ///
    /// - Returns: the waiter that becomes the leader, if there is one.
    public mutating func left(_ key: CacheKey, _ member: Member) -> Member? {
        guard var queue = queues.removeValue(forKey: key) else { return nil }
        guard queue.leader == member else {
            queue.present.remove(member)
            queues[key] = queue
            return nil
        }
        guard let next = queue.next() else { return nil }
        queue.leader = next
        queues[key] = queue
        return next
    }

    /// The number of fetches in progress that other requests can wait for.
    public var count: Int { queues.count }

    private mutating func end(_ key: CacheKey, _ member: Member) -> [Member] {
        guard let queue = queues[key], queue.leader == member else { return [] }
        queues[key] = nil
        return queue.waiting.filter(queue.present.contains)
    }

    /// The maximum number of remembered keys, which have about a hundred bytes each. If the limit is reached, all keys
    /// are forgotten.
    private static let maximumNotStorableKeys = 1024
}
