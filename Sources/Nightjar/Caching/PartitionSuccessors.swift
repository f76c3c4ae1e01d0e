import DequeModule
import NightjarHTTP
import Synchronization

/// Maps a cache partition to an earlier partition whose entries it shares. A mapping is added when a reusable response
/// replaces or adds cookies: see ``CookieChange``. Mappings are kept in memory only: after a restart, responses for the
/// new cookies are requested again. Any thread.
final class PartitionSuccessors: Sendable {
    /// A partition of one origin. Cookies of other origins may have the same values.
    private struct Successor: Hashable {
        let origin: Origin
        let partition: CachePartition
        /// Nil for all URLs of the origin.
        let url: String?
    }

    private struct Table {
        var ancestors: [Successor: CachePartition] = [:]
        var order: Deque<Successor> = []
    }

    private let isUsed = Atomic<Bool>(false)
    private let table = Mutex(Table())

    /// Returns the key under which the responses for `key` are stored.
    func resolve(_ key: CacheKey, _ origin: Origin) -> CacheKey {
        guard let ancestor = ancestor(origin, key.partition, url: nil) else { return key }
        return CacheKey(url: key.url, partition: ancestor)
    }

    /// Returns the key of the response that set the cookies of `key`. The request for that response did not carry the
    /// cookies. Nil if no stored response set the cookies.
    func origin(of key: CacheKey, _ origin: Origin) -> CacheKey? {
        ancestor(origin, key.partition, url: key.url).map { CacheKey(url: key.url, partition: $0) }
    }

    private func ancestor(_ origin: Origin, _ partition: CachePartition, url: String?) -> CachePartition? {
        guard isUsed.load(ordering: .relaxed) else { return nil }
        return table.withLock { $0.ancestors[Successor(origin: origin, partition: partition, url: url)] }
    }

    /// Lets `partition` use the entries of `ancestor`, for all URLs of the origin or for one URL.
    func add(_ partition: CachePartition, of ancestor: CachePartition, _ origin: Origin, url: String? = nil) {
        guard partition != ancestor else { return }
        isUsed.store(true, ordering: .relaxed)
        let successor = Successor(origin: origin, partition: partition, url: url)
        table.withLock { table in
            guard table.ancestors.updateValue(ancestor, forKey: successor) == nil else { return }
            table.order.append(successor)
            if table.order.count > PartitionSuccessors.maximum, let oldest = table.order.popFirst() {
                table.ancestors[oldest] = nil
            }
        }
    }

    /// The maximum number of successors, each of about 200 bytes. A client whose cookie changes with each response
    /// needs only the last few.
    private static let maximum = 4096
}
