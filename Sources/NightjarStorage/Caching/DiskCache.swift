import Glibc
import NIOCore
import NightjarCrypto
import NightjarHTTP
import Synchronization

/// Answers on disk, bounded by bytes, for all processes that name the same folder. Blocking: for worker threads, any of them.
///
/// Its index is SQLite's and takes one thread at a time; bodies are written and read beside it. Nothing here is ever an error
/// to a caller: what cannot be done is not done, and what cannot be had is not there. ``takeNotes()`` tells why.
///
///     unopened ──first use──▶ open ──damaged──▶ begun anew
///         └──cannot be──▶ off, for half a minute; for good when it is of a later release or somebody else's
///
/// An invalidation or a removal is never skipped: while one is pending, because another process holds the index or the disk
/// is full, nothing is found. ``settle(within:)`` waits until all are in the index, and reports why they are not.
public final class DiskCache: Sendable {
    public struct Statistics: Sendable, Equatable {
        /// Of all processes.
        public var entries = 0
        /// Of all processes, with what it costs to have them. What two entries share counts for each.
        public var bytes = 0
        /// By this process: for want of room,
        public var evictions = 0
        /// because they were not what was written,
        public var damaged = 0
        /// and operations skipped because others held the index for too long.
        public var skipped = 0
        /// Whether it is of no use now.
        public var isOff = false
    }

    public let maximumBytes: Int
    let bodies: BodyFolder
    private let patience: Double
    let process = getpid()
    /// In the log of changes; no other cache object has the same.
    let writer = Int64.random(in: 1 ... .max)
    let state = Mutex(DiskCacheState())

    /// Touches nothing yet.
    ///
    /// - Parameters:
    ///   - folder: made when there is none, for its owner alone.
    ///   - maximumBytes: of all that is in it. Among processes that say different things the smallest wins.
    ///   - patience: seconds that an operation waits for other processes.
    public init(folder: String, maximumBytes: Int, patience: Double = 0.5) {
        bodies = BodyFolder(path: folder)
        self.maximumBytes = max(0, min(maximumBytes, DiskCache.largest))
        self.patience = patience
    }

    deinit { close() }

    public var folder: String { bodies.path }

    /// Bytes of content beyond which an answer is not for this cache.
    public var maximumBody: Int { maximumBytes / DiskCache.largestShare }

    // MARK: Looking up

    /// The variants of a key, the oldest first.
    public func find(_ key: CacheKey) -> [DiskEntry] {
        use([]) { (index, state) throws(DatabaseError) in
            let found = try index.find(key)
            if !found.damaged.isEmpty {
                state.damaged += found.damaged.count
                try index.drop(damaged: found.damaged)
            }
            return found.entries
        }
    }

    /// The body of an entry, verified from its first byte to its last. It counts as a hit.
    ///
    /// - Returns: nil when it is gone, or is not what it was. There is no such entry any more then.
    public func open(_ entry: DiskEntry) -> BodyReader? {
        let reader = entry.inline.map { openInline($0, entry) } ?? openFile(entry)
        if reader != nil, entry.uses < Int64(EvictionQueue.mostUses) { count(entry.row) }
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
            case 0, ELOOP, ENXIO, EISDIR: return lost(entry, isDamaged: true)
            default: return nil
            }
        }
        let count = entry.response.contentLength
        guard status.st_size == count else {
            Glibc.close(descriptor)
            return lost(entry, isDamaged: true)
        }
        if count <= DiskCache.largestAtOnce {
            let (bytes, code) = BodyReader.read(descriptor, from: 0, count: count)
            Glibc.close(descriptor)
            guard let bytes else { return code == 0 ? lost(entry, isDamaged: true) : nil }
            let digest = RunningDigest()
            bytes.withUnsafeReadableBytes { digest.update($0) }
            return digest.finish() == entry.content ? BodyReader(bytes) : lost(entry, isDamaged: true)
        }
        let mark = VerifiedBodies.Mark(status)
        if !state.withLock({ $0.verified.isVerified(mark, as: entry.content) }) {
            guard BodyReader.digest(descriptor, count: count) == entry.content else {
                Glibc.close(descriptor)
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

    /// Written once in a while, so that reading is reading.
    private func count(_ row: Int64) {
        writeUses { uses in
            uses[row, default: 0] += 1
            return uses.count >= DiskCache.mostUncounted
        }
    }

    private func writeUses(if isDue: (inout [Int64: Int]) -> Bool) {
        let due = state.withLock { state -> [Int64: Int] in
            guard isDue(&state.uses) else { return [:] }
            // Also where it fails then: they are worth no second attempt.
            defer { state.uses = [:] }
            return state.uses
        }
        if !due.isEmpty { use(()) { (index, _) throws(DatabaseError) in try index.use(due) } }
    }

    // MARK: Storing

    /// Begins to take in a body.
    ///
    /// - Parameter expecting: its length, where it is known.
    /// - Returns: nil when there is no room for so much, or the cache is off.
    public func beginBody(expecting length: Int? = nil) -> BodyWriter? {
        guard length ?? 0 <= maximumBody else { return nil }
        return use(nil) { (_, _) throws(DatabaseError) in BodyWriter(self, limit: self.maximumBody) }
    }

    /// Stores what is at hand.
    ///
    /// - Parameter moment: when the request was sent; nil: no change since then concerns the response.
    @discardableResult
    public func store(
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
            // There is room again: it may be told when there is none.
            state.said.remove(.full)
            return entry
        }
    }

    /// Gives an entry other headers, as a 304 does. Its body and its selecting fields stay.
    ///
    /// - Parameter moment: when the request was sent that brought them; nil: no change since then concerns the entry.
    /// - Returns: what is in its place; nil when it was not there any more, or has become too large.
    @discardableResult
    public func update(_ entry: DiskEntry, _ response: StoredResponse, since moment: CacheMoment? = nil) -> DiskEntry? {
        var response = response
        response.contentLength = entry.response.contentLength
        response.selecting = entry.response.selecting
        return use(nil) { [response] (index, _) throws(DatabaseError) in
            try index.update(entry, response, since: moment)
        }
    }

    // MARK: Keeping it small

    /// Removes what is too much, and once a day what belongs to nothing. For a worker thread, after writing.
    ///
    /// - Returns: how many entries went.
    @discardableResult
    public func evict(now: Timestamp) -> Int {
        var count = 0
        for _ in 0..<DiskCache.mostBatches {
            // A batch at a time: others come in between.
            let gone = use(nil as Int?) { (index, state) throws(DatabaseError) in
                guard let gone = try index.evict(counting: state.uses) else { return nil }
                state.uses = [:]
                state.evictions += gone
                return gone
            }
            guard let gone else { break }
            count += gone
        }
        shrink()
        sweep(now)
        return count
    }

    func shrink() {
        for _ in 0..<DiskCache.mostBatches {
            guard use(false, { (index, _) throws(DatabaseError) in try index.shrink() }) else { return }
        }
    }

    private func sweep(_ now: Timestamp) {
        let isOurs = use(false) { (index, _) throws(DatabaseError) in try index.claimSweep(now) }
        guard isOurs else { return }
        for name in BodyFolder.names(in: bodies.temporaries) { bodies.removeTemporary(name, at: now) }
        bodies.removeDamaged()
        for first in UInt8.min...UInt8.max {
            use(()) { (index, _) throws(DatabaseError) in try index.sweep(folder: first) }
        }
        use(()) { (index, _) throws(DatabaseError) in try index.heal() }
    }

    public var statistics: Statistics {
        let bytes: (Int, Int)? = use(nil) { (index, _) throws(DatabaseError) in
            (
                Int(clamping: try index.database.number("SELECT count(*) FROM entry")),
                Int(clamping: try index.line.total().bytes)
            )
        }
        return state.withLock { state in
            Statistics(
                entries: bytes?.0 ?? 0, bytes: bytes?.1 ?? 0, evictions: state.evictions, damaged: state.damaged,
                skipped: state.skipped, isOff: state.index == nil)
        }
    }

    /// What happened since this was last asked, for a log: why the cache is off, or was begun anew. Each is said once.
    public func takeNotes() -> [String] {
        state.withLock { state in
            defer { state.notes = [] }
            return state.notes
        }
    }

    /// Writes down what is still to be, and lets go of the index. What comes next opens it again.
    public func close() {
        // In a forked child it is the parent's, and neither to be used nor to be closed.
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

    /// - Returns: `nothing` when it could not be done.
    @discardableResult
    func use<Result: Sendable>(
        _ nothing: Result, _ body: (DiskIndex, inout DiskCacheState) throws(DatabaseError) -> Result
    ) -> Result {
        // A forked child may find the lock taken for ever.
        guard getpid() == process else { return nothing }
        return state.withLock { state in
            withoutFileSizeSignal {
                for _ in 0..<2 {
                    guard let index = open(&state) else { return nothing }
                    do throws(DatabaseError) {
                        // After a wait that failed, the next operations do not wait as long again.
                        let isImpatient = state.impatient.map { ContinuousClock.now < $0 } ?? false
                        index.wait(upTo: isImpatient ? 0 : patience)
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
        if error.cause == .busy, !(state.impatient.map { ContinuousClock.now < $0 } ?? false) {
            state.impatient = ContinuousClock.now + .seconds(patience)
        }
        guard error.cause == .damaged else { return }
        // Closed before it is moved.
        state.condemned = CondemnedFile(index.database, error)
        state.index = nil
    }

    func open(_ state: inout DiskCacheState) -> DiskIndex? {
        if let index = state.index {
            if !index.database.isReplaced { return index }
            state.index = nil
        }
        guard !state.isOff, state.rests.map({ ContinuousClock.now >= $0 }) ?? true else { return nil }
        // Found damaged by the statements that it does not compile; the next attempt replaces it.
        var condemned: CondemnedFile?
        do throws(DatabaseError) {
            try bodies.prepare()
            let opened = try DatabaseFile.open(
                bodies.index, DiskIndex.schema, patience: patience, condemned: state.condemned, leavesNewer: true,
                checksPages: false)
            state.condemned = nil
            if let moved = opened.movedAside {
                // Nobody wants it: all that is in it can be had again.
                bodies.removeIndex(moved.path)
                state.note(moved.error, folder)
            }
            do throws(DatabaseError) {
                state.index = try DiskIndex(opened.database, bodies, maximumBytes: maximumBytes, writer: writer)
            } catch {
                if error.cause == .damaged { condemned = CondemnedFile(opened.database, error) }
                throw error
            }
            state.rests = nil
        } catch {
            state.condemned = condemned
            state.note(error, folder)
            switch error.cause {
            case .newer, .foreign: state.isOff = true
            case .busy: state.rests = ContinuousClock.now + DiskCache.rest / 30
            case .damaged, .full, .readOnly, .other: state.rests = ContinuousClock.now + DiskCache.rest
            }
        }
        return state.index
    }

    func note(_ error: DatabaseError) {
        state.withLock { $0.note(error, folder) }
    }

    // MARK: Numbers

    /// More than any disk has, and far from what overflows.
    private static let largest = 1 << 50
    /// Bytes of a body that is part of the index: below, a file costs more than its content.
    static let largestInline = 8 << 10
    /// No entry may have more than this part of the whole, or a few would be all that there is.
    static let largestShare = 8
    /// Bytes of a body that is read, verified and handed out in one go.
    private static let largestAtOnce = 256 << 10
    /// Entries with hits that are not yet written down.
    private static let mostUncounted = 64
    static let mostPending = 256
    /// Many more than ever.
    private static let mostBatches = 10_000
    /// Before another attempt at a folder that could not be used.
    private static let rest = Duration.seconds(30)
}
