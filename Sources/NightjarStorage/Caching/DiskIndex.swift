import NightjarCrypto
import NightjarHTTP
import NightjarSystem

/// The index of a ``DiskCache``: its entries, their contents and their order of eviction. Not thread-safe.
///
/// Body files are renamed into place and removed inside transactions. Only one transaction of all processes writes at a
/// time. A body file therefore exists while its row exists, even if other processes evict entries.
///
/// A transaction that is not committed, for example because its process is killed, may leave a file without a row,
/// which ``sweep(folder:)`` removes. It may also leave a row without a file, which counts as a missing body.
final class DiskIndex {
    static let schema = DatabaseSchema(
        "njhc",
        steps: [
            """
            CREATE TABLE entry (
              id INTEGER PRIMARY KEY, key BLOB NOT NULL, variant BLOB NOT NULL, url BLOB NOT NULL,
              partition BLOB NOT NULL, shown TEXT NOT NULL, head BLOB NOT NULL, content BLOB NOT NULL,
              digest BLOB NOT NULL, valid INTEGER NOT NULL, bytes INTEGER NOT NULL,
              main INTEGER NOT NULL, position INTEGER NOT NULL, uses INTEGER NOT NULL,
              UNIQUE (key, variant)
            ) STRICT;
            CREATE INDEX entry_url ON entry (url);
            CREATE INDEX entry_content ON entry (content);
            CREATE INDEX entry_line ON entry (main, position);
            CREATE TABLE content (hash BLOB PRIMARY KEY, size INTEGER NOT NULL, body BLOB) STRICT;
            CREATE TABLE ghost (name INTEGER PRIMARY KEY, position INTEGER NOT NULL) STRICT;
            CREATE INDEX ghost_line ON ghost (position);
            CREATE TABLE total (
              one INTEGER PRIMARY KEY, small INTEGER NOT NULL, main INTEGER NOT NULL, swept INTEGER NOT NULL
            ) STRICT;
            INSERT INTO total VALUES (1, 0, 0, 0);
            """,
            DiskChanges.tables,
        ], shrinks: true)

    /// A body to be stored: inline if it is small, otherwise in a temporary file.
    struct Body {
        let hash: [UInt8]
        var inline: [UInt8]?
        var file: String?
    }

    let database: Database
    let bodies: BodyFolder
    let maximumBytes: Int
    let entries: DiskEntryRows
    let evictionQueue: DiskEvictionQueue
    let changes: DiskChanges
    /// Identifies the cache object that uses this index. Unique among processes.
    private let writer: Int64
    /// The last value of ``wait(upTo:)`` in seconds.
    private var lockTimeout: Double?
    /// True if the file may have free pages to return.
    var mayShrink = false

    init(
        _ database: Database, _ bodies: BodyFolder, maximumBytes: Int, writer: Int64
    ) throws(DatabaseError) {
        self.database = database
        self.bodies = bodies
        self.maximumBytes = maximumBytes
        self.writer = writer
        // Commits do not wait for the disk: the write-ahead log is synced only when it is copied into the file.
        try database.execute("PRAGMA synchronous = NORMAL; PRAGMA secure_delete = FAST")
        entries = try DiskEntryRows(database)
        evictionQueue = try DiskEvictionQueue(database)
        changes = try DiskChanges(database)
    }

    /// Sets how many seconds a statement waits for other processes.
    func wait(upTo seconds: Double) {
        guard seconds != lockTimeout else { return }
        lockTimeout = seconds
        database.wait(upTo: seconds)
    }

    // MARK: Lookup

    /// Returns the entries of a key, and the rows that are damaged.
    func find(_ key: CacheKey) throws(DatabaseError) -> (entries: [DiskEntry], damaged: [Int64]) {
        try entries.find(key)
    }

    // MARK: Storing

    /// Stores a response with its body.
    ///
    /// - Parameter moment: when the request was sent. Nil: later changes to the cache are not checked.
    /// - Returns: nil if the response must not be stored or its headers are too large.
    func put(
        _ key: CacheKey, _ response: StoredResponse, shown: String, _ body: Body, since moment: CacheMoment?
    ) throws(DatabaseError) -> DiskEntry? {
        do throws(DatabaseError) {
            return try store(key, response, shown: shown, body, since: moment)
        } catch {
            // A file without a row would use space until the next sweep, possibly on a full disk.
            if body.file != nil {
                try? database.transaction { () throws(DatabaseError) in
                    if try !entries.isKnown(body.hash) { bodies.remove(body.hash) }
                }
            }
            throw error
        }
    }

    private func store(
        _ key: CacheKey, _ response: StoredResponse, shown: String, _ body: Body, since moment: CacheMoment?
    ) throws(DatabaseError) -> DiskEntry? {
        var response = response
        guard let head = StoredRecord.encode(response), head.count <= largestHead else { return nil }
        let names = DiskNames(key)
        let variant = DiskNames.variant(response)
        let bytes = DiskIndex.weight(head, shown, response)
        return try database.transaction { () throws(DatabaseError) -> DiskEntry? in
            let previous = try entries.row(names.key, variant)
            switch try verdict(names, since: moment) {
            case .asIs: break
            case .invalidated:
                // A valid previous entry is kept, because its request was usually sent after the invalidation.
                if previous?.isValid ?? false { return nil }
                response.isInvalidated = true
            case .refused: return nil
            }
            var place = try evictionQueue.placeForNew(names.key, variant)
            if let previous {
                // The new entry keeps the queue place and the hits of the entry that it replaces.
                place = try drop(previous.id) ?? place
            }
            if try entries.count(names.key) >= DiskIndex.maximumVariants, let oldest = try entries.oldest(names.key) {
                _ = try drop(oldest)
            }
            if let file = body.file {
                let code = bodies.place(file, as: body.hash)
                guard code == 0 else {
                    // A sweep removed the temporary file: nothing was written for an hour, or the clock of the process
                    // that swept differs by more than an hour.
                    guard code != ENOENT else { throw DatabaseError(.busy, file, "was removed", code: code) }
                    throw DatabaseError(errno: code, bodies.file(body.hash), doing: "written")
                }
            }
            try entries.putContent(body, size: response.contentLength)
            let seal = DiskNames.seal(names, variant: variant, shown: shown, head: head, content: body.hash)
            let row = try entries.insert(
                DiskEntryRows.NewEntry(
                    names: names, variant: variant, shown: shown, head: head, content: body.hash, digest: seal.digest,
                    valid: response.isInvalidated ? 0 : seal.valid, bytes: bytes, place: place))
            try evictionQueue.add(bytes, isMain: place.isMain)
            try evictIfOverdue()
            return DiskEntry(
                key: key, response: response, row: row, digest: seal.digest, content: body.hash, inline: body.inline,
                uses: 0)
        }
    }

    /// Replaces the headers of an entry.
    ///
    /// - Parameter moment: when the request for the new headers was sent.
    /// - Returns: nil if the entry no longer exists, or became too large and was removed.
    func update(
        _ entry: DiskEntry, _ response: StoredResponse, since moment: CacheMoment?
    ) throws(DatabaseError) -> DiskEntry? {
        var response = response
        let head = StoredRecord.encode(response).flatMap { $0.count <= largestHead ? $0 : nil }
        let names = DiskNames(entry.key)
        let variant = DiskNames.variant(entry.response)
        return try database.transaction { () throws(DatabaseError) -> DiskEntry? in
            // If another process has replaced the row since it was read, the new row is kept.
            guard let row = try entries.shown(entry.row, digest: entry.digest) else { return nil }
            guard let head else {
                _ = try drop(entry.row)
                return nil
            }
            if try verdict(names, since: moment) != .asIs { response.isInvalidated = true }
            let bytes = DiskIndex.weight(head, row.shown, response)
            let seal = DiskNames.seal(names, variant: variant, shown: row.shown, head: head, content: entry.content)
            try entries.update(entry.row, head, seal.digest, response.isInvalidated ? 0 : seal.valid, bytes)
            try evictionQueue.add(Int64(bytes) - row.bytes, isMain: row.isMain)
            try evictIfOverdue()
            return DiskEntry(
                key: entry.key, response: response, row: entry.row, digest: seal.digest, content: entry.content,
                inline: entry.inline, uses: entry.uses)
        }
    }

    /// Adds hits to the counters of entries.
    func use(_ rows: [Int64: Int]) throws(DatabaseError) {
        try database.transaction { () throws(DatabaseError) in
            for (row, count) in rows { try evictionQueue.use(row, count) }
        }
    }

    /// Evicts some entries if the cache is more than a quarter over its limit, for example because the owner has not
    /// called ``evict(counting:)``.
    private func evictIfOverdue() throws(DatabaseError) {
        if try evictionQueue.total().bytes > maximumBytes + maximumBytes / 4 { _ = try evictSome() }
    }

    private func verdict(_ names: DiskNames, since moment: CacheMoment?) throws(DatabaseError) -> StoreVerdict {
        guard let moment else { return .asIs }
        return try changes.verdict(names.url, since: moment, by: writer)
    }

    // MARK: Removal

    /// Applies a change, and logs it unless it removes a single entry.
    ///
    /// - Parameter ticket: the position of the change among the changes of the cache object that makes it.
    /// - Returns: the number of removed entries, which is 0 for an invalidation.
    func apply(_ change: CacheChange, ticket: UInt64) throws(DatabaseError) -> Int {
        func invalidate(_ condition: String, _ value: [UInt8]) throws(DatabaseError) -> Int {
            try database.transaction { () throws(DatabaseError) -> Int in
                try database.prepare("UPDATE entry SET valid = 0 WHERE \(condition)").run([.blob(value)])
                try changes.add(change, by: writer, ticket: ticket)
                return 0
            }
        }
        func drop(_ condition: String, _ value: SQLValue) throws(DatabaseError) -> Int {
            try dropAll(condition, value) { () throws(DatabaseError) in
                try changes.add(change, by: writer, ticket: ticket)
            }
        }
        return switch change {
        case .invalidateKey(let key): try invalidate("key = ?", key.key)
        case .invalidateURL(let url): try invalidate("url = ?", url)
        case .removeEntry(let row, let digest): try drop("id = \(row) AND digest = ?1", .blob(digest))
        case .removeKey(let key): try drop("key = ?1", .blob(key.key))
        case .removeURL(let url): try drop("url = ?1", .blob(url))
        case .removePrefix(let prefix): try drop("substr(shown, 1, length(?1)) = ?1", .text(prefix))
        case .removeOrigin(let origin):
            try drop("shown = ?1 OR substr(shown, 1, length(?1) + 1) IN (?1 || '/', ?1 || '?')", .text(origin))
        case .removePartition(let login):
            // The partitions of a login have the same first half. See CachePartition.belongs(to:).
            try erasing { () throws(DatabaseError) in
                try drop(
                    "substr(partition, 1, 8) = substr(?1, 1, 8) AND substr(partition, 9) <> zeroblob(8)", .blob(login))
            }
        case .removeAll: try dropEverything(ticket)
        }
    }

    /// Overwrites the rows that `drop` removes, also in the write-ahead log, unless another process reads it.
    private func erasing(_ drop: () throws(DatabaseError) -> Int) throws(DatabaseError) -> Int {
        try database.execute("PRAGMA secure_delete = ON")
        defer { try? database.execute("PRAGMA secure_delete = FAST; PRAGMA wal_checkpoint(TRUNCATE)") }
        return try drop()
    }

    /// - Parameter finish: logs the removal. Called in the last transaction, which removes the last matching entries. A
    ///   process that has read the removal from the log therefore cannot find the entries.
    private func dropAll(
        _ condition: String, _ value: SQLValue, _ finish: () throws(DatabaseError) -> Void
    ) throws(DatabaseError) -> Int {
        let chosen = try database.prepare("SELECT id FROM entry WHERE \(condition) LIMIT \(DiskIndex.batch)")
        var count = 0
        while true {
            let dropped = try database.transaction { () throws(DatabaseError) -> Int in
                var rows: [Int64] = []
                try chosen.each([value]) {
                    if let row = $0.integer(0) { rows.append(row) }
                    return true
                }
                for row in rows { _ = try drop(row) }
                if rows.count < DiskIndex.batch { try finish() }
                return rows.count
            }
            count += dropped
            if dropped < DiskIndex.batch { return count }
        }
    }

    private func dropEverything(_ ticket: UInt64) throws(DatabaseError) -> Int {
        mayShrink = true
        return try database.transaction { () throws(DatabaseError) -> Int in
            let count = try database.number("SELECT count(*) FROM entry")
            for hash in try entries.contents("body IS NULL") { bodies.remove(hash) }
            try database.execute("DELETE FROM entry; DELETE FROM content; DELETE FROM ghost")
            try evictionQueue.setTotal(small: 0, main: 0)
            try changes.add(.removeAll, by: writer, ticket: ticket)
            return Int(clamping: count)
        }
    }

    func drop(damaged rows: [Int64]) throws(DatabaseError) {
        try database.transaction { () throws(DatabaseError) in for row in rows { _ = try drop(row) } }
    }

    /// Removes all entries with this body, which is damaged or missing.
    func drop(content hash: [UInt8]) throws(DatabaseError) {
        try database.transaction { () throws(DatabaseError) in
            for row in try entries.rows(content: hash) { _ = try drop(row) }
            try release(hash)
        }
    }

    /// Removes an entry. Returns its place in the eviction queues, or nil if the entry did not exist.
    func drop(_ row: Int64) throws(DatabaseError) -> DiskEvictionQueue.Place? {
        guard let (content, bytes, place) = try entries.remove(row) else { return nil }
        mayShrink = true
        try evictionQueue.add(-bytes, isMain: place.isMain)
        try release(content)
        return place
    }

    /// Removes a content and its body file if no entry refers to the content.
    func release(_ content: [UInt8]) throws(DatabaseError) {
        guard try !entries.isUsed(content) else { return }
        if try entries.removeContent(content) { bodies.remove(content) }
    }

    // MARK: Eviction

    /// Evicts a bounded number of entries according to the rules of ``EvictionQueue``. Must be called in a transaction.
    private func evictSome() throws(DatabaseError) -> Int {
        var removed = 0
        for _ in 0..<DiskIndex.batch * 4 where removed < DiskIndex.batch {
            let total = try evictionQueue.total()
            guard total.bytes > maximumBytes - maximumBytes / DiskIndex.slack else { break }
            let isSmall = total.small > maximumBytes / EvictionQueue.smallShare
            var candidate = try evictionQueue.oldest(isMain: !isSmall)
            if candidate == nil { candidate = try evictionQueue.oldest(isMain: isSmall) }
            guard let candidate else {
                // There are no entries although the sum is not 0, so the sum is recomputed.
                try evictionQueue.recount()
                break
            }
            let isRetained = candidate.uses >= (candidate.isMain ? 1 : Int64(EvictionQueue.usesForMain))
            if isRetained {
                try evictionQueue.moveToMain(candidate)
            } else {
                _ = try drop(candidate.row)
                if !candidate.isMain { try evictionQueue.remember(candidate) }
                removed += 1
            }
        }
        return removed
    }

    /// Writes the hits and evicts entries if the cache exceeds its limit.
    ///
    /// - Returns: the number of evicted entries; nil if the cache is within its limit.
    func evict(counting uses: [Int64: Int]) throws(DatabaseError) -> Int? {
        guard try evictionQueue.total().bytes > maximumBytes else { return nil }
        return try database.transaction { () throws(DatabaseError) -> Int in
            for (row, count) in uses { try evictionQueue.use(row, count) }
            let removed = try evictSome()
            try evictionQueue.forgetGhosts()
            return removed
        }
    }

    // MARK: Numbers

    private static func weight(_ head: [UInt8], _ shown: String, _ response: StoredResponse) -> Int {
        overhead + head.count + shown.utf8.count * 2 + response.contentLength
    }

    /// The maximum size of an entry's headers in bytes: the limit for a body, but at least 4096. ``StoredRecord`` also
    /// limits the size.
    private var largestHead: Int { max(maximumBytes / DiskCache.largestShare, DiskIndex.smallestLargestHead) }
    private static let smallestLargestHead = 4096
    /// The maximum number of entries that one transaction of an eviction, or of a change other than
    /// ``CacheChange/removeAll``, drops.
    private static let batch = 64
    /// An eviction additionally frees one 64th of the limit, so that not every write evicts.
    private static let slack = 64
    private static let maximumVariants = MemoryCache.maximumVariants
    /// The approximate size in bytes of a row's fixed columns and of its entries in the SQL indexes.
    private static let overhead = 512
}
