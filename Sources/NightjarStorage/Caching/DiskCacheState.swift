import NightjarHTTP

struct PendingChange: Sendable {
    let change: CacheChange
    let ticket: UInt64
}

/// The state of a ``DiskCache``, protected by its lock. No other object refers to the index.
struct DiskCacheState: @unchecked Sendable {
    var index: DiskIndex?
    var corruptFile: CorruptFile?
    /// True if the cache is permanently off.
    var isOff = false
    /// The cache is off until this time.
    var suspendedUntil: ContinuousClock.Instant?
    /// Until this time, operations do not wait for other processes, because another process has held the index for too
    /// long.
    var skipsLockUntil: ContinuousClock.Instant?
    /// The error of the last operation or opening that failed, until an operation succeeds.
    var lastError: DatabaseError?
    /// Changes to write before the next lookup. Too many changes are replaced by the removal of all entries.
    var pending = PendingChanges<PendingChange>(capacity: DiskCache.maximumPending) { _, last in
        PendingChange(change: .removeAll, ticket: last.ticket)
    }
    /// The number of entries that pending changes have removed since this number was last read.
    var settled = 0
    /// The number of unwritten hits by row.
    var uses: [Int64: Int] = [:]
    var verified = VerifiedBodies()
    var evictions = 0
    var damaged = 0
    var skipped = 0
    var notes: [String] = []
    var reportedCauses: Set<DatabaseError.Cause> = []

    mutating func succeeded() {
        guard lastError != nil || skipsLockUntil != nil else { return }
        lastError = nil
        skipsLockUntil = nil
    }

    mutating func note(_ error: DatabaseError, _ folder: String) {
        lastError = error
        guard error.cause != .busy else {
            skipped += 1
            return
        }
        guard reportedCauses.insert(error.cause).inserted || error.cause == .damaged && notes.count < 8 else { return }
        let consequence =
            switch error.cause {
            case .damaged: "is recreated"
            case .newer: "is not used or changed"
            case .foreign, .other: "is not used"
            case .full, .readOnly: "stores nothing"
            case .busy: "waits"
            }
        notes.append("the cache in \(quoted(folder)) \(consequence): \(error.description)")
    }
}
