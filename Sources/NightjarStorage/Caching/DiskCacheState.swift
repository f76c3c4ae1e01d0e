import NightjarHTTP

struct PendingChange: Sendable {
    let change: CacheChange
    let ticket: UInt64
}

/// The state of a ``DiskCache``, under its lock. The index belongs to this state alone.
struct DiskCacheState: @unchecked Sendable {
    var index: DiskIndex?
    var condemned: CondemnedFile?
    /// For good.
    var isOff = false
    /// Off until then.
    var rests: ContinuousClock.Instant?
    /// Impatient until then: another process holds the index for long.
    var impatient: ContinuousClock.Instant?
    /// Why the index could not be used when it was tried last.
    var lastError: DatabaseError?
    /// Changes to write before the next look-up. Too many of them are replaced by the removal of all entries.
    var pending = PendingChanges<PendingChange>(capacity: DiskCache.mostPending) { _, last in
        PendingChange(change: .removeAll, ticket: last.ticket)
    }
    /// Entries removed by what was pending, since that was last asked.
    var settled = 0
    /// Hits by row, not yet written down.
    var uses: [Int64: Int] = [:]
    var verified = VerifiedBodies()
    var evictions = 0
    var damaged = 0
    var skipped = 0
    var notes: [String] = []
    var said: Set<DatabaseError.Cause> = []

    mutating func succeeded() {
        guard lastError != nil || impatient != nil else { return }
        lastError = nil
        impatient = nil
    }

    mutating func note(_ error: DatabaseError, _ folder: String) {
        lastError = error
        guard error.cause != .busy else {
            skipped += 1
            return
        }
        guard said.insert(error.cause).inserted || error.cause == .damaged && notes.count < 8 else { return }
        let consequence =
            switch error.cause {
            case .damaged: "is begun anew"
            case .newer: "is left alone, and nothing is cached there"
            case .foreign, .other: "is not used"
            case .full, .readOnly: "takes nothing"
            case .busy: "waits"
            }
        notes.append("the cache in \(quoted(folder)) \(consequence): \(error.description)")
    }
}
