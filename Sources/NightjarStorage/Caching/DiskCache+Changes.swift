import NightjarHTTP
import NightjarSystem
import Synchronization

// Invalidations and removals by this process and by other processes.

extension DiskCache {
    // MARK: Invalidation and removal
    //
    // Each function returns the number of entries that this change and earlier pending changes have removed. It returns
    // nil if the change is still pending, for example because another process holds the index or the disk fails.
    // `ticket` is the position of the change among the changes of the caller. See `CacheMoment.local`. The default,
    // `.max`, is later than every moment.

    /// Marks all variants of a key as invalidated: they must be revalidated before they are used.
    @discardableResult
    package func invalidate(_ key: CacheKey, ticket: UInt64 = .max) -> Int? {
        change(.invalidateKey(CacheKeyName(DiskNames(key))), ticket)
    }

    /// Marks all responses of a URL as invalidated, in all partitions.
    @discardableResult
    package func invalidate(url: String, ticket: UInt64 = .max) -> Int? {
        change(.invalidateURL(DiskNames.url(url)), ticket)
    }

    @discardableResult
    package func remove(_ entry: DiskEntry) -> Int? { change(.removeEntry(entry.row, digest: entry.digest), .max) }

    @discardableResult
    package func remove(_ key: CacheKey, ticket: UInt64 = .max) -> Int? {
        change(.removeKey(CacheKeyName(DiskNames(key))), ticket)
    }

    /// Removes all responses of a URL, in all partitions.
    @discardableResult
    package func remove(url: String, ticket: UInt64 = .max) -> Int? { change(.removeURL(DiskNames.url(url)), ticket) }

    /// Removes all responses whose displayed URL begins with `prefix`.
    ///
    /// - Parameter prefix: the beginning of a URL without secrets, as it is displayed.
    @discardableResult
    package func remove(prefix: String, ticket: UInt64 = .max) -> Int? { change(.removePrefix(prefix), ticket) }

    /// Removes all responses of an origin.
    ///
    /// - Parameter origin: scheme, host and a non-default port, as in the URLs.
    @discardableResult
    package func remove(origin: String, ticket: UInt64 = .max) -> Int? { change(.removeOrigin(origin), ticket) }

    /// Removes all responses of a login, also those to requests that had other credentials in addition.
    @discardableResult
    package func remove(_ login: CachePartition, ticket: UInt64 = .max) -> Int? {
        change(.removePartition(DiskNames.bytes(login)), ticket)
    }

    @discardableResult
    package func removeAll(ticket: UInt64 = .max) -> Int? { change(.removeAll, ticket) }

    private func change(_ change: CacheChange, _ ticket: UInt64) -> Int? {
        state.withLock { $0.pending.add(PendingChange(change: change, ticket: ticket)) }
        // `use` writes the pending changes before it calls the closure.
        let count: Int? = use(nil) { (_, state) throws(DatabaseError) in
            defer { state.settled = 0 }
            return state.settled
        }
        if count != nil, change.effect == .removes { shrink() }
        return count
    }

    /// Whether some changes are not yet in the index.
    package var hasPendingChanges: Bool { state.withLock { !$0.pending.isEmpty } }

    /// Waits until all changes are in the index. Changes that could not be written stay pending.
    ///
    /// - Parameter seconds: the time after which no further attempt is made while other processes hold the index.
    /// - Returns: the number of removed entries, or the error that prevented the changes from being written.
    package func settle(within seconds: Double) -> Result<Int, DatabaseError> {
        let end = ContinuousClock.now + .seconds(seconds)
        var count = 0
        while true {
            let isDone: Bool = use(false) { (_, state) throws(DatabaseError) in
                count += state.settled
                state.settled = 0
                return true
            }
            let (isPending, error) = state.withLock { (!$0.pending.isEmpty, $0.lastError) }
            guard !isDone, isPending else { return .success(count) }
            let failure = error ?? DatabaseError(.other, bodies.index, "cannot be used")
            guard failure.cause == .busy, ContinuousClock.now < end else { return .failure(failure) }
            // The next attempt may fail without waiting for the lock, so pause before it.
            usleep(5000)
        }
    }

    // MARK: Changes by other cache objects

    /// The changes that other cache objects of this or another process have made in the folder.
    package enum ExternalChanges: Sendable {
        /// The folder cannot be used, so this process shares no changes with others.
        case none
        /// The index cannot be read at the moment.
        case unknown
        case read(ChangeLog, CacheChanges)
    }

    /// The changes that a memory cache of this index must apply.
    package enum CacheChanges: Sendable {
        case some([CacheChange])
        /// The changes are unknown: the memory cache must be cleared.
        case everything
    }

    /// Reads the log of changes, without the write lock of the index. Does not write pending changes.
    package func changes(for tier: MemoryTier) -> ExternalChanges {
        guard getpid() == process else { return .none }
        return state.withLock { state in
            withoutFileSizeSignal {
                guard let index = open(&state) else {
                    return state.lastError?.cause == .busy ? .unknown : .none
                }
                do throws(DatabaseError) {
                    return try index.database.reading { () throws(DatabaseError) in
                        let log = try index.changes.log()
                        switch tier.need(for: log) {
                        case .nothing: return .read(log, .some([]))
                        case .everything: return .read(log, .everything)
                        case .changes(let number):
                            let changes = try index.changes.ofOthers(than: writer, after: number)
                            return .read(log, changes.map { .some($0) } ?? .everything)
                        }
                    }
                } catch {
                    failed(error, index, &state)
                    return .unknown
                }
            }
        }
    }
}
