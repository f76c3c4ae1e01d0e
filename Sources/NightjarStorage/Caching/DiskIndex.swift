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
            """
        ])

    /// Content on its way in: small and at hand, or in a temporary file.
    struct Body {
        let hash: [UInt8]
        var inline: [UInt8]?
        var file: String?
    }

    /// What is taken back. It is done or owed, and nothing is found as long as it is owed.
    enum Change: Sendable {
        case invalidateKey([UInt8])
        case invalidateURL([UInt8])
        case removeEntry(Int64, digest: [UInt8])
        case removeKey([UInt8])
        case removeURL([UInt8])
        case removePrefix(String)
        case removeOrigin(String)
        case removePartition([UInt8])
        case removeAll
    }

    let database: Database
    let bodies: BodyFolder
    let maximumBytes: Int
    let entries: DiskEntryRows
    let line: DiskLine

    init(_ database: Database, _ bodies: BodyFolder, maximumBytes: Int) throws(DatabaseError) {
        self.database = database
        self.bodies = bodies
        self.maximumBytes = maximumBytes
        // A cache is worth no wait for the disk: the log is made durable when it is put into the file, and not before.
        try database.execute("PRAGMA synchronous = NORMAL; PRAGMA secure_delete = FAST")
        entries = try DiskEntryRows(database)
        line = try DiskLine(database)
    }

    // MARK: Looking up

    /// - Returns: also the rows that are not as they were written.
    func find(_ key: CacheKey) throws(DatabaseError) -> (entries: [DiskEntry], damaged: [Int64]) {
        try entries.find(key)
    }

    // MARK: Storing

    func put(
        _ key: CacheKey, _ response: StoredResponse, shown: String, _ body: Body
    ) throws(DatabaseError) -> DiskEntry? {
        do throws(DatabaseError) {
            return try store(key, response, shown: shown, body)
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
        _ key: CacheKey, _ response: StoredResponse, shown: String, _ body: Body
    ) throws(DatabaseError) -> DiskEntry? {
        guard let head = StoredRecord.encode(response) else { return nil }
        let names = DiskNames(key)
        let variant = DiskNames.variant(response)
        let bytes = DiskIndex.overhead + head.count + shown.utf8.count * 2 + response.contentLength
        return try database.transaction { () throws(DatabaseError) -> DiskEntry? in
            var place = try line.placeForNew(names.key, variant)
            if let previous = try entries.row(names.key, variant) {
                // As popular as what it replaces.
                place = try drop(previous) ?? place
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
            let total = try line.total()
            // Whoever forgets to evict: beyond a quarter too much, writing does it.
            if total.bytes > maximumBytes + maximumBytes / 4 { _ = try evictSome() }
            return DiskEntry(
                key: key, response: response, row: row, digest: seal.digest, content: body.hash, inline: body.inline,
                uses: 0)
        }
    }

    func update(_ entry: DiskEntry, _ response: StoredResponse) throws(DatabaseError) -> DiskEntry? {
        guard let head = StoredRecord.encode(response) else { return nil }
        let names = DiskNames(entry.key)
        let variant = DiskNames.variant(entry.response)
        return try database.transaction { () throws(DatabaseError) -> DiskEntry? in
            // What another process has put there since stays.
            guard let shown = try entries.shown(entry.row, digest: entry.digest) else { return nil }
            let seal = DiskNames.seal(names, variant: variant, shown: shown, head: head, content: entry.content)
            try entries.update(entry.row, head, seal.digest, response.isInvalidated ? 0 : seal.valid)
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

    // MARK: Taking back

    /// - Returns: how many entries went.
    func apply(_ change: Change) throws(DatabaseError) -> Int {
        switch change {
        case .invalidateKey(let key):
            try database.prepare("UPDATE entry SET valid = 0 WHERE key = ?").run([.blob(key)])
            return 0
        case .invalidateURL(let url):
            try database.prepare("UPDATE entry SET valid = 0 WHERE url = ?").run([.blob(url)])
            return 0
        case .removeEntry(let row, let digest):
            return try dropAll("id = \(row) AND digest = ?1", .blob(digest))
        case .removeKey(let key): return try dropAll("key = ?1", .blob(key))
        case .removeURL(let url): return try dropAll("url = ?1", .blob(url))
        case .removePrefix(let prefix): return try dropAll("substr(shown, 1, length(?1)) = ?1", .text(prefix))
        case .removeOrigin(let origin):
            return try dropAll(
                "shown = ?1 OR substr(shown, 1, length(?1) + 1) IN (?1 || '/', ?1 || '?')", .text(origin))
        case .removePartition(let partition): return try dropAll("partition = ?1", .blob(partition))
        case .removeAll: return try dropEverything()
        }
    }

    private func dropAll(_ condition: String, _ value: SQLValue) throws(DatabaseError) -> Int {
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
                return rows.count
            }
            count += dropped
            if dropped < DiskIndex.batch { return count }
        }
    }

    private func dropEverything() throws(DatabaseError) -> Int {
        try database.transaction { () throws(DatabaseError) -> Int in
            let count = try database.number("SELECT count(*) FROM entry")
            for hash in try entries.contents("body IS NULL") { bodies.remove(hash) }
            try database.execute("DELETE FROM entry; DELETE FROM content; DELETE FROM ghost")
            try line.setTotal(small: 0, main: 0)
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
        try database.transaction { () throws(DatabaseError) in
            for row in try entries.withoutContent() { _ = try drop(row) }
            for hash in try entries.contents("hash NOT IN (SELECT content FROM entry)") { try release(hash) }
            try line.recount()
        }
    }

    // MARK: Numbers

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
