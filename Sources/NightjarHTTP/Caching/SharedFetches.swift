import DequeModule

/// Coalesces concurrent requests that miss the same cache entry into one fetch. RFC 9111 section 4.
///
///     idle ──fetch──▶ led ──stored──▶ waiters look up the cache again
///                      ├──not storable, or failed──▶ each waiter fetches for itself
///                      └──leader leaves──▶ the next waiter leads
///
/// A response that cannot be stored serves only its own request, so other requests should not wait for it. The keys of
/// such responses are remembered, and later requests for these keys do not wait.
public struct SharedFetches: Sendable {
    /// The number of a request that needs a response. The caller assigns the numbers and never reuses a number.
    public typealias Member = UInt64

    public enum Place: Equatable, Sendable {
        /// The request fetches the response for all waiters.
        case leads
        case waits
        /// The request fetches the response only for itself. No other request waits.
        case isIndependent
    }

    private struct Line {
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

    private var lines: [CacheKey: Line] = [:]
    /// The keys whose last response could not be stored.
    private var notStorableKeys: Set<CacheKey> = []

    public init() {}

    /// Adds a request that missed the cache, or found a response that must be validated.
    public mutating func join(_ key: CacheKey, _ member: Member) -> Place {
        if isKnownNotStorable(key) { return .isIndependent }
        guard var line = lines.removeValue(forKey: key) else {
            lines[key] = Line(leader: member)
            return .leads
        }
        defer { lines[key] = line }
        guard line.leader != member else { return .leads }
        line.waiting.append(member)
        line.present.insert(member)
        return .waits
    }

    /// Returns true if the last response for the key could not be stored.
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
        guard var line = lines.removeValue(forKey: key) else { return nil }
        guard line.leader == member else {
            line.present.remove(member)
            lines[key] = line
            return nil
        }
        guard let next = line.next() else { return nil }
        line.leader = next
        lines[key] = line
        return next
    }

    /// The number of fetches in progress that other requests can wait for.
    public var count: Int { lines.count }

    private mutating func end(_ key: CacheKey, _ member: Member) -> [Member] {
        guard let line = lines[key], line.leader == member else { return [] }
        lines[key] = nil
        return line.waiting.filter(line.present.contains)
    }

    /// The maximum number of remembered keys, which have about a hundred bytes each. If the limit is reached, all keys
    /// are forgotten.
    private static let maximumNotStorableKeys = 1024
}
