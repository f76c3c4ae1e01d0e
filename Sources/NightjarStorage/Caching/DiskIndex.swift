import Glibc
import NightjarCrypto
import NightjarHTTP

/// The index of a ``DiskCache``: what there is, whose, and in which order it goes. One thread at a time.
///
/// Files of bodies get their names and lose them inside of transactions, of which there is one at a time over all
/// processes: so a body is there when its row is, whoever evicts meanwhile. Who is killed in the middle leaves a file without
/// a row, which ``sweep(folder:)`` finds, or a row without a file, which counts as not there.
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

    /// Content on its way in: small and at hand, or in a temporary file.
    struct Body {
        let hash: [UInt8]
        var inline: [UInt8]?
        var file: String?
    }

    let database: Database
    let bodies: BodyFolder
    let maximumBytes: Int
    let entries: DiskEntryRows
    let line: DiskLine
    let changes: DiskChanges
    /// The cache object that uses this, unique among processes.
    private let writer: Int64
    /// Seconds that a statement waits for other processes, where that was set.
    private var patience: Double?
    /// Pages may have become free.
    private var mayShrink = false

    init(
        _ database: Database, _ bodies: BodyFolder, maximumBytes: Int, writer: Int64
    ) throws(DatabaseError) {
        self.database = database
        self.bodies = bodies
        self.maximumBytes = maximumBytes
        self.writer = writer
        // A cache is worth no wait for the disk: the log is made durable when it is put into the file, and not before.
        try database.execute("PRAGMA synchronous = NORMAL; PRAGMA secure_delete = FAST")
        entries = try DiskEntryRows(database)
        line = try DiskLine(database)
        changes = try DiskChanges(database)
    }

    /// Sets how many seconds a statement waits for other processes.
    func wait(upTo seconds: Double) {
        guard seconds != patience else { return }
        patience = seconds
        database.wait(upTo: seconds)
    }

    // MARK: Looking up

    /// - Returns: also the rows that are not as they were written.
    func find(_ key: CacheKey) throws(DatabaseError) -> (entries: [DiskEntry], damaged: [Int64]) {
        try entries.find(key)
    }

    // MARK: Storing

    /// - Parameter moment: when the request was sent; nil: no change since then concerns the response.
    /// - Returns: nil when it may not be stored.
    func put(
        _ key: CacheKey, _ response: StoredResponse, shown: String, _ body: Body, since moment: CacheMoment?
    ) throws(DatabaseError) -> DiskEntry? {
        do throws(DatabaseError) {
            return try store(key, response, shown: shown, body, since: moment)
        } catch {
            // On a full disk, what is in its place without a row would take room until the next sweep.
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
                // A valid entry has been requested after the write.
                if previous?.isValid ?? false { return nil }
                response.isInvalidated = true
            case .refused: return nil
            }
            var place = try line.placeForNew(names.key, variant)
            if let previous {
                // As popular as what it replaces.
                place = try drop(previous.id) ?? place
            }
            if try entries.count(names.key) >= DiskIndex.mostVariants, let oldest = try entries.oldest(names.key) {
                _ = try drop(oldest)
            }
            if let file = body.file {
                let code = bodies.place(file, as: body.hash)
                guard code == 0 else {
                    // Gone: another process has swept it, which took it for old by its clock.
                    guard code != ENOENT else { throw DatabaseError(.busy, file, "has been removed", code: code) }
                    throw DatabaseError(errno: code, bodies.file(body.hash), doing: "written")
                }
            }
            try entries.putContent(body, size: response.contentLength)
            let seal = DiskNames.seal(names, variant: variant, shown: shown, head: head, content: body.hash)
            let row = try entries.insert(
                names, variant, shown, head, body.hash, seal.digest, response.isInvalidated ? 0 : seal.valid, bytes,
                place)
            try line.add(bytes, isMain: place.isMain)
            try evictIfForgotten()
            return DiskEntry(
                key: key, response: response, row: row, digest: seal.digest, content: body.hash, inline: body.inline,
                uses: 0)
        }
    }

    /// - Parameter moment: when the request was sent that brought the new headers.
    /// - Returns: nil when the entry is not there any more, or has become too large, and is gone.
    func update(
        _ entry: DiskEntry, _ response: StoredResponse, since moment: CacheMoment?
    ) throws(DatabaseError) -> DiskEntry? {
        var response = response
        let head = StoredRecord.encode(response).flatMap { $0.count <= largestHead ? $0 : nil }
        let names = DiskNames(entry.key)
        let variant = DiskNames.variant(entry.response)
        return try database.transaction { () throws(DatabaseError) -> DiskEntry? in
            // What another process has put there since stays.
            guard let row = try entries.shown(entry.row, digest: entry.digest) else { return nil }
            guard let head else {
                _ = try drop(entry.row)
                return nil
            }
            if try verdict(names, since: moment) != .asIs { response.isInvalidated = true }
            let bytes = DiskIndex.weight(head, row.shown, response)
            let seal = DiskNames.seal(names, variant: variant, shown: row.shown, head: head, content: entry.content)
            try entries.update(entry.row, head, seal.digest, response.isInvalidated ? 0 : seal.valid, bytes)
            try line.add(Int64(bytes) - row.bytes, isMain: row.isMain)
            try evictIfForgotten()
            return DiskEntry(
                key: entry.key, response: response, row: entry.row, digest: seal.digest, content: entry.content,
                inline: entry.inline, uses: entry.uses)
        }
    }

    /// Counts hits.
    func use(_ rows: [Int64: Int]) throws(DatabaseError) {
        try database.transaction { () throws(DatabaseError) in
            for (row, count) in rows { try line.use(row, count) }
        }
    }

    /// Whoever forgets to evict: beyond a quarter too much, writing does it.
    private func evictIfForgotten() throws(DatabaseError) {
        if try line.total().bytes > maximumBytes + maximumBytes / 4 { _ = try evictSome() }
    }

    private func verdict(_ names: DiskNames, since moment: CacheMoment?) throws(DatabaseError) -> StoreVerdict {
        guard let moment else { return .asIs }
        return try changes.verdict(names.url, since: moment, by: writer)
    }

    // MARK: Taking back

    /// Carries out a change and logs it.
    ///
    /// - Parameter ticket: its position among the changes of the cache object that makes it.
    /// - Returns: how many entries went.
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
        case .removePartition(let partition): try drop("partition = ?1", .blob(partition))
        case .removeAll: try dropEverything(ticket)
        }
    }

    /// - Parameter finish: runs in the last transaction, after which none of them is left: who hears of a removal must not
    ///   find what it removes.
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
            try line.setTotal(small: 0, main: 0)
            try changes.add(.removeAll, by: writer, ticket: ticket)
            return Int(clamping: count)
        }
    }

    /// Those that are not as they were written.
    func drop(damaged rows: [Int64]) throws(DatabaseError) {
        try database.transaction { () throws(DatabaseError) in for row in rows { _ = try drop(row) } }
    }

    /// All that have a body which is not what it was, or gone.
    func drop(content hash: [UInt8]) throws(DatabaseError) {
        try database.transaction { () throws(DatabaseError) in
            for row in try entries.rows(content: hash) { _ = try drop(row) }
            try release(hash)
        }
    }

    /// - Returns: where it stood in line; nil when it was not there.
    private func drop(_ row: Int64) throws(DatabaseError) -> DiskLine.Place? {
        guard let (content, bytes, place) = try entries.remove(row) else { return nil }
        mayShrink = true
        try line.add(-bytes, isMain: place.isMain)
        try release(content)
        return place
    }

    /// Content goes with the last that has it.
    private func release(_ content: [UInt8]) throws(DatabaseError) {
        guard try !entries.isUsed(content) else { return }
        if try entries.removeContent(content) { bodies.remove(content) }
    }

    // MARK: Eviction

    /// The rules of ``EvictionQueue``, over rows: what is to go now, a bounded number of them. In a transaction.
    private func evictSome() throws(DatabaseError) -> Int {
        var gone = 0
        for _ in 0..<DiskIndex.batch * 4 where gone < DiskIndex.batch {
            let total = try line.total()
            guard total.bytes > maximumBytes - maximumBytes / DiskIndex.slack else { break }
            let isSmall = total.small > maximumBytes / EvictionQueue.smallShare
            var candidate = try line.oldest(isMain: !isSmall)
            if candidate == nil { candidate = try line.oldest(isMain: isSmall) }
            guard let candidate else {
                // Nothing is there, whatever the sum says.
                try line.recount()
                break
            }
            let isStaying = candidate.uses >= (candidate.isMain ? 1 : Int64(EvictionQueue.usesForMain))
            if isStaying {
                try line.moveToMain(candidate)
            } else {
                _ = try drop(candidate.row)
                if !candidate.isMain { try line.remember(candidate) }
                gone += 1
            }
        }
        return gone
    }

    /// - Returns: how many went; nil when nothing had to.
    func evict(counting uses: [Int64: Int]) throws(DatabaseError) -> Int? {
        guard try line.total().bytes > maximumBytes else { return nil }
        return try database.transaction { () throws(DatabaseError) -> Int in
            for (row, count) in uses { try line.use(row, count) }
            let gone = try evictSome()
            try line.forgetGhosts()
            return gone
        }
    }

    // MARK: Shrinking

    /// Returns some of the pages to the file system that evicted and removed entries have left free.
    ///
    /// - Returns: whether there is more to return.
    func shrink() throws(DatabaseError) -> Bool {
        guard mayShrink else { return false }
        let free = try database.number("PRAGMA freelist_count")
        // Some stay for what is stored next.
        guard try free > max(DiskIndex.freePages, database.number("PRAGMA page_count") / 16) else {
            mayShrink = false
            return false
        }
        try database.execute("PRAGMA incremental_vacuum(\(DiskIndex.pagesAtOnce))")
        return true
    }

    // MARK: Sweeping

    /// Takes the next sweep upon itself, if it is time for one.
    func claimSweep(_ now: Timestamp) throws(DatabaseError) -> Bool {
        func isDue(_ total: DiskLine.Total) -> Bool {
            // A clock that was put back does not put off the sweep for as long.
            total.swept > now.seconds || now.seconds - total.swept >= DiskIndex.sweepInterval
        }
        guard try isDue(line.total()) else { return false }
        return try database.transaction { () throws(DatabaseError) -> Bool in
            guard try isDue(line.total()) else { return false }
            try line.setSwept(now.seconds)
            return true
        }
    }

    /// Puts rows and files of one of the folders together again.
    func sweep(folder first: UInt8) throws(DatabaseError) {
        let folder = bodies.folder(first)
        try database.transaction { () throws(DatabaseError) in
            var files = Set(BodyFolder.names(in: folder))
            for hash in try entries.contents(startingWith: first) {
                // A row without a file: nothing to be had.
                guard files.remove(BodyFolder.hex(hash.dropFirst())) == nil else { continue }
                for row in try entries.rows(content: hash) { _ = try drop(row) }
                try release(hash)
            }
            // Nobody gives a file its name outside of a transaction, so what is left is nobody's.
            for name in files { bodies.removeFile(folder + "/" + name) }
        }
    }

    /// Checks the pages, drops rows that belong to nothing, and counts anew.
    func heal() throws(DatabaseError) {
        try DatabaseFile.checkPages(database)
        if try database.number("PRAGMA auto_vacuum") == 0 {
            // Made by a version whose files could not shrink.
            try database.makeShrinkable()
        }
        mayShrink = true
        try database.transaction { () throws(DatabaseError) in
            for row in try entries.withoutContent() { _ = try drop(row) }
            for hash in try entries.contents("hash NOT IN (SELECT content FROM entry)") { try release(hash) }
            try line.recount()
        }
    }

    // MARK: Numbers

    private static func weight(_ head: [UInt8], _ shown: String, _ response: StoredResponse) -> Int {
        overhead + head.count + shown.utf8.count * 2 + response.contentLength
    }

    /// Bytes of the headers of one entry: no more than its body may have.
    private var largestHead: Int { max(maximumBytes / DiskCache.largestShare, DiskIndex.smallestLargestHead) }
    private static let smallestLargestHead = 4096
    /// Free pages that stay: 256 KiB.
    private static let freePages: Int64 = 64
    /// Pages returned in one transaction.
    private static let pagesAtOnce = 256
    /// Entries dropped in one transaction.
    private static let batch = 64
    /// The part of the whole that is freed beyond what must be, so that not each write evicts.
    private static let slack = 64
    private static let mostVariants = MemoryCache.mostVariants
    /// A row with its places in the indexes, roughly.
    private static let overhead = 512
    /// Seconds: a day.
    private static let sweepInterval: Int64 = 86_400
}
