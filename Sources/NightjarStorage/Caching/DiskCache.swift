import NIOCore
import NightjarCrypto
import NightjarHTTP
import NightjarSystem
import Synchronization

/// A cache of responses on disk, bounded in bytes and shared by all processes that use the same folder. Its functions
/// block and may be called from any worker thread.
///
/// The index is an SQLite database used by one thread at a time. A body that is too large for the index is a file,
/// which threads read and write without the lock of the index. Except for ``settle(within:)``, operations do not report
/// errors: a failed operation does nothing or finds nothing. ``takeNotes()`` returns messages about errors of the index
/// and of writing bodies, unless another process held the index.
///
///     unopened ──first use──▶ open ──damaged──▶ recreated
///         └──failure──▶ off for 30 s, or for 1 s if another process holds the index;
///                       permanently off if the index is of a later release, or index or folder are foreign
///
/// An invalidation or removal that cannot be written stays pending, for example while another process holds the index
/// or the disk is full. Lookups then find nothing. ``settle(within:)`` waits until all changes are in the index, and
/// returns the error if some are not.
package final class DiskCache: Sendable {
    package struct Statistics: Sendable, Equatable {
        /// The number of entries of all processes.
        package var entries = 0
        /// The size of the entries of all processes in bytes, including overhead. If two entries share content, the
        /// content counts twice.
        package var bytes = 0
        /// The number of entries that ``DiskCache/evict(now:)`` of this cache object evicted.
        package var evictions = 0
        /// The number of damaged entries and damaged bodies that this cache object found.
        package var damaged = 0
        /// The number of operations that failed because another process held the index for too long.
        package var skipped = 0
        /// Whether the cache is currently unusable.
        package var isOff = false
    }

    package let maximumBytes: Int
    let bodies: BodyFolder
    private let lockTimeout: Double
    let process = getpid()
    /// Identifies this cache object in the log of changes.
    let writer = Int64.random(in: 1 ... .max)
    let state = Mutex(DiskCacheState())

    /// Creates the cache object. Does not access the disk yet.
    ///
    /// - Parameters:
    ///   - folder: created if it does not exist, accessible only to its owner.
    ///   - maximumBytes: the limit for the size of all entries in the folder. If processes use different limits, each
    ///     process evicts entries beyond its own limit.
    ///   - lockTimeout: seconds that one statement waits for other processes.
    package init(folder: String, maximumBytes: Int, lockTimeout: Double = 0.5) {
        bodies = BodyFolder(path: folder)
        self.maximumBytes = max(0, min(maximumBytes, DiskCache.largest))
        self.lockTimeout = lockTimeout
    }

    deinit { close() }

    package var folder: String { bodies.path }

    /// The largest body in bytes that the cache stores.
    package var maximumBody: Int { maximumBytes / DiskCache.largestShare }

    // MARK: Lookup

    /// Returns the variants of a key, oldest first.
    package func find(_ key: CacheKey) -> [DiskEntry] {
        use([]) { (index, state) throws(DatabaseError) in
            let found = try index.find(key)
            if !found.damaged.isEmpty {
                state.damaged += found.damaged.count
                try index.drop(damaged: found.damaged)
            }
            return found.entries
        }
    }

    /// Opens the body of an entry after verifying its checksum. Counts as a hit.
    ///
    /// - Returns: nil if the body cannot be read. Entries with a missing or damaged body are removed.
    package func open(_ entry: DiskEntry) -> BodyReader? {
        let reader = entry.inline.map { openInline($0, entry) } ?? openFile(entry)
        if reader != nil, entry.uses < Int64(EvictionQueue.maximumUses) { count(entry.row) }
        return reader
    }

    private func openInline(_ bytes: [UInt8], _ entry: DiskEntry) -> BodyReader? {
        guard bytes.count == entry.response.contentLength, Digest.sha256(bytes) == entry.content else {
            return lost(entry, isDamaged: true)
        }
        return BodyReader(ByteBuffer(bytes: bytes))
    }

    private func openFile(_ entry: DiskEntry) -> BodyReader? {
        guard let (descriptor, status) = bodies.open(entry.content) else {
            switch errno {
            case ENOENT, ENOTDIR: return lost(entry, isDamaged: false)
            case 0, ELOOP, ENXIO, EISDIR, EOPNOTSUPP: return lost(entry, isDamaged: true)
            default: return nil
            }
        }
        let count = entry.response.contentLength
        guard status.st_size == count else {
            NightjarSystem.close(descriptor)
            return lost(entry, isDamaged: true)
        }
        if count <= DiskCache.largestAtOnce {
            let (bytes, code) = BodyReader.read(descriptor, from: 0, count: count)
            NightjarSystem.close(descriptor)
            guard let bytes else { return code == 0 ? lost(entry, isDamaged: true) : nil }
            let digest = RunningDigest()
            bytes.withUnsafeReadableBytes { digest.update($0) }
            return digest.finish() == entry.content ? BodyReader(bytes) : lost(entry, isDamaged: true)
        }
        let mark = VerifiedBodies.Mark(status)
        if !state.withLock({ $0.verified.isVerified(mark, as: entry.content) }) {
            guard BodyReader.digest(descriptor, count: count) == entry.content else {
                NightjarSystem.close(descriptor)
                return lost(entry, isDamaged: true)
            }
            state.withLock { $0.verified.add(mark, as: entry.content) }
        }
        return BodyReader(descriptor: descriptor, count: count, name: bodies.file(entry.content))
    }

    private func lost(_ entry: DiskEntry, isDamaged: Bool) -> BodyReader? {
        use(()) { (index, state) throws(DatabaseError) in
            if isDamaged { state.damaged += 1 }
            try index.drop(content: entry.content)
        }
        return nil
    }

    /// Counts a hit. Hits are written in batches, so that most lookups do not write.
    private func count(_ row: Int64) {
        writeUses { uses in
            uses[row, default: 0] += 1
            return uses.count >= DiskCache.maximumUncounted
        }
    }

    private func writeUses(if isDue: (inout [Int64: Int]) -> Bool) {
        let due = state.withLock { state -> [Int64: Int] in
            guard isDue(&state.uses) else { return [:] }
            // Cleared even if writing fails: hit counts are not worth a retry.
            defer { state.uses = [:] }
            return state.uses
        }
        if !due.isEmpty { use(()) { (index, _) throws(DatabaseError) in try index.use(due) } }
    }

    // MARK: Storing

    /// Starts writing a body.
    ///
    /// - Parameter length: the length of the body in bytes, if known.
    /// - Returns: nil if `length` exceeds ``maximumBody`` or the cache cannot be used now.
    package func beginBody(expecting length: Int? = nil) -> BodyWriter? {
        guard length ?? 0 <= maximumBody else { return nil }
        return use(nil) { (_, _) throws(DatabaseError) in BodyWriter(self, limit: self.maximumBody) }
    }

    /// Stores a complete body.
    ///
    /// - Parameter moment: when the request was sent. Nil: later changes to the cache are not checked.
    @discardableResult
    package func store(
        _ key: CacheKey, _ response: StoredResponse, displayURL: String, body: ByteBuffer,
        since moment: CacheMoment? = nil
    ) -> DiskEntry? {
        guard let writer = beginBody(expecting: body.readableBytes), writer.write(body) else { return nil }
        return writer.commit(key, response, displayURL: displayURL, since: moment)
    }

    func put(
        _ key: CacheKey, _ response: StoredResponse, _ displayURL: String, _ body: DiskIndex.Body,
        _ moment: CacheMoment?
    ) -> DiskEntry? {
        let limit = maximumBody
        return use(nil) { (index, state) throws(DatabaseError) in
            guard response.contentLength <= limit else { return nil }
            let entry = try index.put(key, response, shown: displayURL, body, since: moment)
            // The disk probably has space again, so the next lack of space is reported again.
            state.reportedCauses.remove(.full)
            return entry
        }
    }

    /// Replaces the headers of an entry after a 304 response. The body and the selecting fields are kept.
    ///
    /// - Parameter moment: when the request for the new headers was sent. Nil: later changes to the cache are not
    ///   checked.
    /// - Returns: the new entry; nil if the entry no longer exists, has become too large or cannot be updated.
    @discardableResult
    package func update(_ entry: DiskEntry, _ response: StoredResponse, since moment: CacheMoment? = nil) -> DiskEntry?
    {
        var response = response
        response.contentLength = entry.response.contentLength
        response.variantFields = entry.response.variantFields
        return use(nil) { [response] (index, _) throws(DatabaseError) in
            try index.update(entry, response, since: moment)
        }
    }

    // MARK: Bounding the size

    /// Evicts entries beyond the limit and shrinks the index. Once a day, also removes unreferenced files and repairs
    /// the index. Called on a worker thread after writing.
    ///
    /// - Returns: the number of evicted entries.
    @discardableResult
    package func evict(now: Timestamp) -> Int {
        var count = 0
        for _ in 0..<DiskCache.maximumBatches {
            // One batch per transaction, so that other processes can access the index in between.
            let removed = use(nil as Int?) { (index, state) throws(DatabaseError) in
                guard let removed = try index.evict(counting: state.uses) else { return nil }
                state.uses = [:]
                state.evictions += removed
                return removed
            }
            guard let removed else { break }
            count += removed
        }
        shrink()
        sweep(now)
        return count
    }

    func shrink() {
        for _ in 0..<DiskCache.maximumBatches {
            guard use(false, { (index, _) throws(DatabaseError) in try index.shrink() }) else { return }
        }
    }

    private func sweep(_ now: Timestamp) {
        let isOwn = use(false) { (index, _) throws(DatabaseError) in try index.acquireSweep(now) }
        guard isOwn else { return }
        for name in BodyFolder.names(in: bodies.temporaries) { bodies.removeTemporary(name, at: now) }
        bodies.removeDamaged()
        for first in UInt8.min...UInt8.max {
            use(()) { (index, _) throws(DatabaseError) in try index.sweep(folder: first) }
        }
        use(()) { (index, _) throws(DatabaseError) in try index.repair() }
    }

    package var statistics: Statistics {
        let bytes: (Int, Int)? = use(nil) { (index, _) throws(DatabaseError) in
            (
                Int(clamping: try index.database.number("SELECT count(*) FROM entry")),
                Int(clamping: try index.evictionQueue.total().bytes)
            )
        }
        return state.withLock { state in
            Statistics(
                entries: bytes?.0 ?? 0, bytes: bytes?.1 ?? 0, evictions: state.evictions, damaged: state.damaged,
                skipped: state.skipped, isOff: state.index == nil)
        }
    }

    /// Returns the events for the log since the last call, such as the reason why the cache is off or was recreated.
    /// Each cause is reported only once, with two exceptions: damage, and lack of space after another entry was stored.
    /// An index that another process holds is not reported.
    package func takeNotes() -> [String] {
        state.withLock { state in
            defer { state.notes = [] }
            return state.notes
        }
    }

    /// Writes pending data if possible, and closes the index. The next operation opens it again.
    package func close() {
        // In a forked child, the index belongs to the parent. It must be neither used nor closed.
        guard getpid() == process else {
            state.withLock { state in
                if let index = state.index { _ = Unmanaged.passRetained(index) }
                state.index = nil
            }
            return
        }
        if hasPendingChanges { _ = settle(within: 0) }
        if state.withLock({ $0.index != nil }) { writeUses { _ in true } }
        state.withLock { state in withoutFileSizeSignal { state.index = nil } }
    }

    // MARK: The index

    /// Writes the pending changes to the index, then runs `body`.
    ///
    /// - Returns: `nothing` if the operation was not possible.
    @discardableResult
    func use<Result: Sendable>(
        _ nothing: Result, _ body: (DiskIndex, inout DiskCacheState) throws(DatabaseError) -> Result
    ) -> Result {
        // In a forked child, the lock may be held forever by a thread that exists only in the parent.
        guard getpid() == process else { return nothing }
        return state.withLock { state in
            withoutFileSizeSignal {
                for _ in 0..<2 {
                    guard let index = open(&state) else { return nothing }
                    do throws(DatabaseError) {
                        // For `lockTimeout` seconds after a timeout, or until an operation succeeds, operations do not
                        // wait.
                        let skipsLock = state.skipsLockUntil.map { ContinuousClock.now < $0 } ?? false
                        index.wait(upTo: skipsLock ? 0 : lockTimeout)
                        while let change = state.pending.first {
                            state.settled += try index.apply(change.change, ticket: change.ticket)
                            state.pending.wroteFirst()
                        }
                        let result = try body(index, &state)
                        state.succeeded()
                        return result
                    } catch {
                        failed(error, index, &state)
                        guard error.cause == .damaged else { return nothing }
                    }
                }
                return nothing
            }
        }
    }

    func failed(_ error: DatabaseError, _ index: DiskIndex, _ state: inout DiskCacheState) {
        state.note(error, folder)
        if error.cause == .busy, !(state.skipsLockUntil.map { ContinuousClock.now < $0 } ?? false) {
            state.skipsLockUntil = ContinuousClock.now + .seconds(lockTimeout)
        }
        guard error.cause == .damaged else { return }
        // The index is closed before its file is moved.
        state.corruptFile = CorruptFile(index.database, error)
        state.index = nil
    }

    func open(_ state: inout DiskCacheState) -> DiskIndex? {
        if let index = state.index {
            if !index.database.isReplaced { return index }
            state.index = nil
        }
        guard !state.isOff, state.suspendedUntil.map({ ContinuousClock.now >= $0 }) ?? true else { return nil }
        // Set if preparing the statements finds damage. The next attempt to open the index replaces it.
        var corruptFile: CorruptFile?
        do throws(DatabaseError) {
            try bodies.prepare()
            let opened = try DatabaseFile.open(
                bodies.index, DiskIndex.schema, lockTimeout: lockTimeout, corruptFile: state.corruptFile,
                leavesNewer: true,
                checksPages: false)
            state.corruptFile = nil
            if let moved = opened.movedAside {
                // The moved file is not needed, because a cache can be refilled.
                bodies.removeIndex(moved.path)
                state.note(moved.error, folder)
            }
            do throws(DatabaseError) {
                state.index = try DiskIndex(opened.database, bodies, maximumBytes: maximumBytes, writer: writer)
            } catch {
                if error.cause == .damaged { corruptFile = CorruptFile(opened.database, error) }
                throw error
            }
            state.suspendedUntil = nil
        } catch {
            state.corruptFile = corruptFile
            state.note(error, folder)
            switch error.cause {
            case .newer, .foreign: state.isOff = true
            case .busy: state.suspendedUntil = ContinuousClock.now + DiskCache.folderRetryDelay / 30
            case .damaged, .full, .readOnly, .other:
                state.suspendedUntil = ContinuousClock.now + DiskCache.folderRetryDelay
            }
        }
        return state.index
    }

    func note(_ error: DatabaseError) {
        state.withLock { $0.note(error, folder) }
    }

    // MARK: Numbers

    /// The upper limit of ``maximumBytes``: larger than any disk, but small enough that sums do not overflow.
    private static let largest = 1 << 50
    /// The largest body in bytes that is stored in the index. A file for a smaller body would cost more than its
    /// content.
    static let largestInline = 8 << 10
    /// A body may use at most one eighth of ``maximumBytes``, so that a few entries cannot fill the cache.
    static let largestShare = 8
    /// The largest body file in bytes that is read and verified as a whole when it is opened.
    private static let largestAtOnce = 256 << 10
    /// The number of entries with unwritten hits at which the hits are written.
    private static let maximumUncounted = 64
    static let maximumPending = 256
    /// The maximum number of transactions in which one call of ``evict(now:)`` evicts entries, and of one call of
    /// ``shrink()``.
    private static let maximumBatches = 10_000
    /// The time before the next attempt to use a folder that could not be used.
    private static let folderRetryDelay = Duration.seconds(30)
}
