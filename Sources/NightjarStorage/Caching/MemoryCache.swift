import NIOCore
import NightjarHTTP
import Synchronization

/// A cache of responses in memory, bounded in bytes and shared by clients. Thread-safe.
///
/// A hit on a key with a single variant costs one lock, one lookup and one retain and allocates nothing.
/// ``EvictionQueue`` selects the entries to evict.
package final class MemoryCache: Sendable {
    /// One variant of a response. Immutable: an update or invalidation replaces the entry with a new entry. Holders of
    /// the old entry may continue to read it.
    package final class Entry: Sendable {
        package let key: CacheKey
        package let response: StoredResponse
        package let body: ByteBuffer
        fileprivate let slot: EvictionQueue.Slot
        fileprivate let weight: Int

        fileprivate init(
            _ key: CacheKey, _ response: StoredResponse, _ body: ByteBuffer, slot: EvictionQueue.Slot, weight: Int
        ) {
            self.key = key
            self.response = response
            self.body = body
            self.slot = slot
            self.weight = weight
        }
    }

    package struct Statistics: Sendable, Equatable {
        package var entries = 0
        /// The size of the entries in bytes, including overhead.
        package var bytes = 0
        /// The number of entries that were evicted for lack of space.
        package var evictions = 0
    }

    fileprivate struct State {
        /// The variants of each key, oldest first. No list is empty.
        var keys: [CacheKey: [Entry]] = [:]
        /// The partitions with responses, by URL.
        var partitions: [String: Set<CachePartition>] = [:]
        /// The entries by slot.
        var entries: [Entry?] = []
        var queue: EvictionQueue
        var evictions = 0
    }

    package let maximumBytes: Int
    private let state: Mutex<State>

    package init(maximumBytes: Int) {
        self.maximumBytes = max(maximumBytes, 0)
        state = Mutex(State(queue: EvictionQueue(capacity: max(maximumBytes, 0))))
    }

    /// The size in bytes above which a body is not stored in memory. A slightly smaller body may not be stored either.
    package var maximumBody: Int { min(MemoryCache.largestBody, maximumBytes / MemoryCache.largestShare) }

    // MARK: Lookup

    /// Returns the variants of a key, oldest first. A single variant counts as used. If there are several, call
    /// ``use(_:)`` with the selected variant.
    package func find(_ key: CacheKey) -> [Entry] {
        state.withLock { state in
            guard let entries = state.keys[key] else { return [] }
            if entries.count == 1 { state.queue.touch(entries[0].slot) }
            return entries
        }
    }

    /// Records which of several variants was used.
    ///
    /// - Returns: false if the entry no longer exists.
    @discardableResult
    package func use(_ entry: Entry) -> Bool {
        state.withLock { state in
            guard state.isThere(entry) else { return false }
            state.queue.touch(entry.slot)
            return true
        }
    }

    package var statistics: Statistics {
        state.withLock { Statistics(entries: $0.queue.count, bytes: $0.queue.weight, evictions: $0.evictions) }
    }

    var urls: [String] { state.withLock { Array($0.partitions.keys) } }

    // MARK: Storing

    /// Stores a response and replaces the variant with the same selecting fields.
    ///
    /// - Returns: nil if the response is too large or there is no memory for it. The previous variant is then removed.
    @discardableResult
    package func store(_ key: CacheKey, _ response: StoredResponse, body: ByteBuffer) -> Entry? {
        let compact = body.readableBytes <= MemoryCache.largestBody ? MemoryCache.compact(body) : nil
        let body = compact ?? ByteBuffer()
        let weight = MemoryCache.weight(key, response, body)
        let fits = compact != nil && weight <= maximumBytes / MemoryCache.largestShare
        // Removed entries are released outside of the lock, because releasing large entries takes time.
        let (entry, removed) = state.withLock { state -> (Entry?, [Entry]) in
            var removed: [Entry] = []
            let others = state.keys[key] ?? []
            let same = others.first { $0.response.selectsAs(response) }
            if let same { removed.append(state.remove(same)) }
            guard fits else { return (nil, removed) }
            let count = others.count - (same == nil ? 0 : 1)
            if count >= MemoryCache.maximumVariants, let oldest = others.first(where: { $0 !== same }) {
                removed.append(state.remove(oldest))
            }
            let slot = state.queue.insert(MemoryCache.fingerprint(key, response), weight: weight)
            let entry = Entry(key, response, body, slot: slot, weight: weight)
            state.add(entry)
            state.evict(into: &removed)
            return (entry, removed)
        }
        withExtendedLifetime(removed) {}
        return entry
    }

    /// Replaces the headers of an entry after a 304 response. The body is kept.
    ///
    /// - Returns: the new entry; nil if the entry no longer exists.
    @discardableResult
    package func update(_ entry: Entry, _ response: StoredResponse) -> Entry? {
        let weight = MemoryCache.weight(entry.key, response, entry.body)
        let (updated, removed) = state.withLock { state -> (Entry?, [Entry]) in
            guard state.isThere(entry) else { return (nil, []) }
            let updated = Entry(entry.key, response, entry.body, slot: entry.slot, weight: weight)
            state.queue.change(entry.slot, weight: weight)
            state.replace(entry, updated)
            var removed: [Entry] = [entry]
            state.evict(into: &removed)
            return (updated, removed)
        }
        withExtendedLifetime(removed) {}
        return updated
    }

    // MARK: Invalidation and removal

    /// Marks all variants of a key as invalidated: they must be revalidated before they are used.
    package func invalidate(_ key: CacheKey) {
        state.withLock { $0.invalidate(key) }
    }

    /// Marks all responses of a URL as invalidated, in all partitions.
    package func invalidate(url: String) {
        state.withLock { state in
            for partition in state.partitions[url] ?? [] { state.invalidate(CacheKey(url: url, partition: partition)) }
        }
    }

    package func remove(_ entry: Entry) {
        state.withLock { if $0.isThere(entry) { _ = $0.remove(entry) } }
    }

    /// Removes all variants of a key. This function and the following functions return the number of removed entries.
    @discardableResult
    package func remove(_ key: CacheKey) -> Int {
        removeEntries(chosenBy: { $0.keys[key] ?? [] })
    }

    /// Removes all responses of a URL, in all partitions.
    @discardableResult
    package func remove(url: String) -> Int {
        removeEntries(chosenBy: { state in
            (state.partitions[url] ?? []).flatMap { state.keys[CacheKey(url: url, partition: $0)] ?? [] }
        })
    }

    /// Removes all responses whose URL begins with `prefix`.
    ///
    /// - Parameter prefix: a prefix of the URL, compared as bytes.
    @discardableResult
    package func remove(prefix: String) -> Int { removeKeys { CacheURL.hasPrefix($0.url, prefix) } }

    /// Removes all responses of an origin.
    ///
    /// - Parameter origin: scheme, host and a non-default port, as in the URLs.
    @discardableResult
    package func remove(origin: String) -> Int { removeKeys { CacheURL.isOf(origin: origin, $0.url) } }

    /// Removes all responses of a login, also those to requests that had other credentials in addition.
    @discardableResult
    package func remove(_ login: CachePartition) -> Int { removeKeys { $0.partition.belongs(to: login) } }

    @discardableResult
    package func removeAll() -> Int { removeKeys { _ in true } }

    private func removeKeys(where isRemoved: (CacheKey) -> Bool) -> Int {
        removeEntries(chosenBy: { state in state.keys.filter { isRemoved($0.key) }.flatMap(\.value) })
    }

    private func removeEntries(chosenBy choose: (borrowing State) -> [Entry]) -> Int {
        let removed = state.withLock { state in
            let removed = choose(state)
            for entry in removed { _ = state.remove(entry) }
            return removed
        }
        return removed.count
    }

    // MARK: Sizes

    /// The maximum size of a body in bytes: enough for a large page of an API, but not for most downloads.
    package static let largestBody = 1 << 20
    /// A new entry may use at most one eighth of ``maximumBytes``, so that a few entries cannot fill the cache.
    private static let largestShare = 8
    /// The maximum number of variants of one key. If `Vary` names a header with many values, almost every request adds
    /// a variant.
    static let maximumVariants = 32
    /// The approximate size in bytes of an entry's objects and its places in the tables.
    private static let overhead = 640

    /// Returns the approximate size of an entry in bytes. Headers count twice, because a response head that is created
    /// from the entry copies them.
    private static func weight(_ key: CacheKey, _ response: StoredResponse, _ body: ByteBuffer) -> Int {
        var text = response.headers.byteCount + response.trailers.byteCount
        for field in response.variantFields { text += field.name.utf8.count + (field.value?.utf8.count ?? 0) + 32 }
        return overhead + key.url.utf8.count * 2 + text * 2 + (body.readableBytes == 0 ? 0 : body.storageCapacity)
    }

    /// Copies a body if its buffer is much larger than the body, so that the cache does not keep the whole buffer
    /// alive. Returns nil if there is no memory for the copy.
    private static func compact(_ body: ByteBuffer) -> ByteBuffer? {
        let count = body.readableBytes
        if count == 0 { return ByteBuffer() }
        if body.storageCapacity - count <= max(count / 4, 256) { return body }
        var copy = ByteBuffer()
        return (try? copy.append(body, for: "a cached body")) == nil ? nil : copy
    }

    private static func fingerprint(_ key: CacheKey, _ response: StoredResponse) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(key)
        hasher.combine(response.variantFields)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}

extension MemoryCache.State {
    fileprivate func isThere(_ entry: MemoryCache.Entry) -> Bool { entries[entry.slot] === entry }

    fileprivate mutating func add(_ entry: MemoryCache.Entry) {
        while entries.count <= entry.slot { entries.append(nil) }
        entries[entry.slot] = entry
        keys[entry.key, default: []].append(entry)
        partitions[entry.key.url, default: []].insert(entry.key.partition)
    }

    fileprivate mutating func replace(_ entry: MemoryCache.Entry, _ other: MemoryCache.Entry) {
        entries[entry.slot] = other
        guard let index = keys[entry.key]?.firstIndex(where: { $0 === entry }) else { return }
        keys[entry.key]?[index] = other
    }

    fileprivate mutating func remove(_ entry: MemoryCache.Entry) -> MemoryCache.Entry {
        queue.remove(entry.slot)
        forget(entry)
        return entry
    }

    private mutating func forget(_ entry: MemoryCache.Entry) {
        entries[entry.slot] = nil
        keys[entry.key]?.removeAll { $0 === entry }
        guard keys[entry.key]?.isEmpty ?? true else { return }
        keys[entry.key] = nil
        partitions[entry.key.url]?.remove(entry.key.partition)
        if partitions[entry.key.url]?.isEmpty ?? false { partitions[entry.key.url] = nil }
    }

    fileprivate mutating func evict(into removed: inout [MemoryCache.Entry]) {
        while let slot = queue.evict() {
            guard let entry = entries[slot] else { continue }
            evictions += 1
            forget(entry)
            removed.append(entry)
        }
    }

    fileprivate mutating func invalidate(_ key: CacheKey) {
        for entry in keys[key] ?? [] where !entry.response.isInvalidated {
            var response = entry.response
            response.isInvalidated = true
            replace(
                entry, MemoryCache.Entry(key, response, entry.body, slot: entry.slot, weight: entry.weight))
        }
    }
}

extension StoredResponse {
    /// Returns whether both responses have the same selecting fields, in any order.
    package func selectsAs(_ other: StoredResponse) -> Bool {
        variantFields == other.variantFields
            || variantFields.count == other.variantFields.count && Set(variantFields) == Set(other.variantFields)
    }
}

/// Compares URLs of keys byte by byte.
enum CacheURL {
    static func hasPrefix(_ url: String, _ prefix: String) -> Bool { url.utf8.starts(with: prefix.utf8) }

    /// Returns whether a URL belongs to an origin: `https://a/b` belongs to `https://a`, but `https://ab/` does not.
    static func isOf(origin: String, _ url: String) -> Bool {
        guard hasPrefix(url, origin) else { return false }
        guard let next = url.utf8.dropFirst(origin.utf8.count).first else { return true }
        return next == UInt8(ascii: "/") || next == UInt8(ascii: "?")
    }
}
