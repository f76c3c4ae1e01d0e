import CPlatform
import NIOCore
import NightjarHTTP
import NightjarStorage
import NightjarSystem
import Synchronization

// Stores, invalidations and removals, and changes by other clients and processes.

extension CacheStorage {
    /// The changes that are known now, for a request that is about to be sent.
    var moment: CacheMoment { writes.moment }

    // MARK: Storing

    /// Stores a whole response.
    ///
    /// - Parameter moment: The changes that were known when the request was sent.
    func store(
        _ key: CacheKey, _ response: StoredResponse, _ body: ByteBuffer, shown: @autoclosure () -> String,
        since moment: CacheMoment
    ) {
        storeInMemory(key, response, body, since: moment)
        guard let disk, disk.hasRoom(for: body.readableBytes) else { return }
        let shown = shown()
        disk.run { cache in
            cache.store(key, response, displayURL: shown, body: body, since: moment)
            disk.connected(body.readableBytes)
            cache.evict(now: WallClock.now())
        }
    }

    /// Stores a response that the program supplies.
    ///
    /// - Parameter stored: Called on the loop of `gate` with whether the response is stored, after this function has
    ///   returned.
    /// - Returns: Whether the response is stored; nil if `stored` is called.
    func insert(
        _ key: CacheKey, _ response: StoredResponse, _ body: ByteBuffer, shown: String, since moment: CacheMoment,
        on gate: LoopGate, then stored: @escaping @Sendable (Bool) -> Void
    ) -> Bool? {
        let isInMemory = storeInMemory(key, response, body, since: moment) != nil
        guard let disk else { return isInMemory }
        let isRun = disk.run(
            { cache in
                let entry = cache.store(key, response, displayURL: shown, body: body, since: moment)
                cache.evict(now: WallClock.now())
                return isInMemory || entry != nil
            }, on: gate, then: stored)
        return isRun ? nil : isInMemory
    }

    /// - Returns: The entry, which is marked as invalidated if the resource was written to after `moment`. Nil if no
    ///   entry was stored, or if the resource was changed during the store.
    @discardableResult
    func storeInMemory(
        _ key: CacheKey, _ response: StoredResponse, _ body: ByteBuffer, since moment: CacheMoment
    ) -> MemoryCache.Entry? {
        let before = writes.verdict(key.url, since: moment)
        var response = response
        switch before {
        case .asIs: break
        case .invalidated:
            // If memory has a valid entry, it was requested after the write and must not be replaced.
            let isSuperseded = memory.find(key).contains {
                $0.response.selectsAs(response) && !$0.response.isInvalidated
            }
            if isSuperseded { return nil }
            response.isInvalidated = true
        case .refused: return nil
        }
        let entry = memory.store(key, response, body: body)
        guard writes.verdict(key.url, since: moment) > before else { return entry }
        // Another thread changed the resource during the store. The new entry may not reflect this change.
        memory.invalidate(key)
        return nil
    }

    /// Updates an entry with the fields of a 304 or HEAD response, in memory and on disk, or removes it.
    ///
    /// - Parameter moment: The changes that were known when the request of the 304 or HEAD response was sent.
    func update(_ entry: CachedEntry, _ key: CacheKey, _ update: CacheUpdate, since moment: CacheMoment) -> CachedEntry
    {
        let before = entry.response
        guard update.isKept else {
            remove(key) { $0.isSameResponse(as: before) }
            return entry
        }
        var updated = entry
        if case .memory(let known) = entry {
            var response = update.response
            if writes.verdict(key.url, since: moment) != .asIs { response.isInvalidated = true }
            if let other = memory.update(known, response) { updated = .memory(other) }
            if !response.isInvalidated, writes.verdict(key.url, since: moment) != .asIs { memory.invalidate(key) }
        }
        disk?.run { cache in
            for entry in cache.find(key) where entry.response.isSameResponse(as: before) {
                cache.update(entry, update.response, since: moment)
            }
            cache.evict(now: WallClock.now())
        }
        return updated
    }

    // MARK: Invalidating and removing

    func invalidate(_ url: String) {
        let ticket = note(.invalidates, url)
        memory.invalidate(url: url)
        write(ticket) { $0.invalidate(url: url, ticket: ticket) }
    }

    /// Removes the cache entries of a key that meet a condition.
    func remove(_ key: CacheKey, where isRemoved: @escaping @Sendable (StoredResponse) -> Bool) {
        let ticket = note(.removes, key.url)
        for entry in memory.find(key) where isRemoved(entry.response) { memory.remove(entry) }
        write(ticket) { cache in
            let entries = cache.find(key)
            // If the index cannot be read now, the removal of the key remains pending and precedes the next lookup.
            guard entries.contains(where: { !isRemoved($0.response) }) else { return cache.remove(key, ticket: ticket) }
            let obsolete = entries.filter { isRemoved($0.response) }
            guard !obsolete.isEmpty else { return 0 }
            for entry in obsolete { cache.remove(entry) }
            // The log has no change for a single variant. Other processes revalidate all in-memory entries of the key.
            return cache.invalidate(key, ticket: ticket)
        }
    }

    /// Removes the responses of a login.
    func remove(_ partition: CachePartition) {
        let ticket = note(.removes, nil)
        memory.remove(partition)
        write(ticket) { $0.remove(partition, ticket: ticket) }
    }

    func remove(origin: String) {
        let ticket = note(.removes, nil)
        memory.remove(origin: origin)
        write(ticket) { $0.remove(origin: origin, ticket: ticket) }
    }

    /// Records a change and returns its ticket. Must be called before memory is changed.
    func note(_ effect: ChangeEffect, _ url: String?) -> UInt64 {
        writes.note(effect, url, isWritten: disk == nil)
    }

    private func write(_ ticket: UInt64, _ change: @escaping @Sendable (DiskCache) -> Int?) {
        disk?.run(mustRun: true) { [writes] cache in
            _ = change(cache)
            writes.wrote(ticket)
        }
    }

    /// Removes entries on disk and waits until the removal is written.
    ///
    /// - Parameter count: The number of entries removed from memory.
    func removed(
        _ count: Int, _ ticket: UInt64, onDisk remove: @escaping @Sendable (DiskCache) -> Int?
    ) throws(NightjarError) -> Int {
        let onDisk = try disk?.remove { [writes] cache in
            defer { writes.wrote(ticket) }
            return remove(cache)
        }
        return max(count, onDisk ?? 0)
    }

    // MARK: Changes by others

    /// Whether memory entries may be used without reading the changes on disk. Other processes and other caches of the
    /// same folder may have changed entries. Always true without a disk. Any thread.
    var isCurrent: Bool {
        guard let disk else { return true }
        switch age {
        case .current: return true
        case .due:
            if !isChecking.exchange(true, ordering: .relaxed) {
                let isRun = disk.run { [self] cache in
                    catchUp(cache)
                    isChecking.store(false, ordering: .relaxed)
                }
                if !isRun { isChecking.store(false, ordering: .relaxed) }
            }
            return true
        case .outdated: return false
        }
    }

    private var age: MemoryTier.Age {
        MemoryTier.age(afterNanoseconds: cplatform_coarse_time() - checked.load(ordering: .acquiring))
    }

    /// Applies the changes that other processes and other caches of the folder have made. Runs on the disk's thread.
    ///
    /// - Returns: False if the log of changes cannot be read. Memory entries must then not be used.
    @discardableResult
    func catchUp(_ cache: DiskCache) -> Bool {
        let began = cplatform_coarse_time()
        switch cache.changes(for: writes.tier) {
        case .unknown: return false
        case .none: writes.lostIndex()
        case .read(let log, .everything):
            writes.note(nil)
            memory.removeAll()
            writes.caughtUp(with: log)
        case .read(let log, .some(let changes)):
            if !changes.isEmpty {
                writes.note(changes)
                urlNames.withLock { memory.apply(changes, &$0) }
            }
            writes.caughtUp(with: log)
        }
        checked.store(began, ordering: .releasing)
        return true
    }

    // MARK: Looking on disk

    /// Looks up the entries of a key on disk. Small entries are copied to memory.
    ///
    /// - Parameter deliver: Receives the entries, and whether memory entries may be used, too.
    /// - Returns: False if there is no disk cache or its thread cannot be started. `deliver` is then not called.
    func findOnDisk(
        _ key: CacheKey, on gate: LoopGate, then deliver: @escaping @Sendable ([CachedEntry], Bool) -> Void
    ) -> Bool {
        guard let disk else { return false }
        return disk.run(
            { [self] cache in
                let isCurrent = age == .current || catchUp(cache)
                // Read before the lookup, because the lookup may miss changes that are made meanwhile.
                let moment = writes.momentInIndex
                let entries = cache.find(key).map { entry in
                    promote(entry, cache, since: moment).map { CachedEntry.memory($0) } ?? .disk(entry)
                }
                return (entries, isCurrent)
            }, on: gate, then: { deliver($0.0, $0.1) })
    }

    /// Copies a disk entry to memory, unless memory has an entry that is at least as recent. Returns the entry in
    /// memory, or nil if the disk entry cannot be read or stored in memory.
    private func promote(_ entry: DiskEntry, _ cache: DiskCache, since moment: CacheMoment) -> MemoryCache.Entry? {
        guard entry.response.contentLength <= memory.maximumBody else { return nil }
        let known = memory.find(entry.key).first {
            $0.response.selectsAs(entry.response) && $0.response.received >= entry.response.received
        }
        if let known { return known }
        guard let body = cache.open(entry), let content = CacheStorage.content(body) else { return nil }
        return storeInMemory(entry.key, entry.response, content, since: moment)
    }

    private static func content(_ body: BodyReader) -> ByteBuffer? {
        body.count == 0 ? ByteBuffer() : try? body.read(upTo: body.count)
    }
}
