import NightjarHTTP

/// Reads and writes the rows of the tables `entry` and `content` of a ``DiskIndex``.
struct DiskEntryRows {
    private let byKey: Statement
    private let byVariant: Statement
    private let countOfKey: Statement
    private let oldestOfKey: Statement
    private let byContent: Statement
    private let shownOf: Statement
    private let insertEntry: Statement
    private let updateEntry: Statement
    private let deleteEntry: Statement
    private let replaceContent: Statement
    private let deleteContent: Statement
    private let database: Database

    init(_ database: Database) throws(DatabaseError) {
        self.database = database
        byKey = try database.prepare(
            """
            SELECT id, variant, url, partition, shown, head, content, digest, valid, uses, hash, size, body
              FROM entry LEFT JOIN content ON hash = content WHERE key = ? ORDER BY id LIMIT 64
            """)
        byVariant = try database.prepare("SELECT id, valid <> 0 FROM entry WHERE key = ? AND variant = ?")
        countOfKey = try database.prepare("SELECT count(*) FROM entry WHERE key = ?")
        oldestOfKey = try database.prepare("SELECT min(id) FROM entry WHERE key = ?")
        byContent = try database.prepare("SELECT id FROM entry WHERE content = ?")
        shownOf = try database.prepare("SELECT shown, bytes, main FROM entry WHERE id = ? AND digest = ?")
        insertEntry = try database.prepare(
            "INSERT INTO entry VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id")
        updateEntry = try database.prepare("UPDATE entry SET head = ?, digest = ?, valid = ?, bytes = ? WHERE id = ?")
        deleteEntry = try database.prepare(
            "DELETE FROM entry WHERE id = ? RETURNING content, bytes, main, position, uses")
        replaceContent = try database.prepare("REPLACE INTO content VALUES (?, ?, ?)")
        // Not `body IS NULL`, which is never true in RETURNING (SQLite 3.40).
        deleteContent = try database.prepare("DELETE FROM content WHERE hash = ? RETURNING typeof(body) = 'null'")
    }

    // MARK: Reading

    func find(_ key: CacheKey) throws(DatabaseError) -> (entries: [DiskEntry], damaged: [Int64]) {
        let names = DiskNames(key)
        var entries: [DiskEntry] = []
        var damaged: [Int64] = []
        try byKey.each([.blob(names.key)]) { row in
            guard let id = row.integer(0) else { return true }
            if let entry = entry(row, id, key, names) { entries.append(entry) } else { damaged.append(id) }
            return true
        }
        return (entries, damaged)
    }

    /// Decodes a row.
    ///
    /// - Returns: nil if the row is damaged.
    private func entry(_ row: Row, _ id: Int64, _ key: CacheKey, _ names: DiskNames) -> DiskEntry? {
        guard let variant = row.blob(1), row.blob(2) == names.url, row.blob(3) == names.partition,
            let shown = row.text(4), let head = row.blob(5), let content = row.blob(6), let digest = row.blob(7),
            let valid = row.integer(8), let uses = row.integer(9)
        else { return nil }
        let seal = DiskNames.seal(names, variant: variant, shown: shown, head: head, content: content)
        guard seal.digest == digest, var response = StoredRecord.decode(head), row.blob(10) == content,
            row.integer(11) == Int64(response.contentLength)
        else { return nil }
        response.isInvalidated = valid != seal.valid
        return DiskEntry(
            key: key, response: response, row: id, digest: digest, content: content, inline: row.blob(12), uses: uses)
    }

    func row(_ key: [UInt8], _ variant: [UInt8]) throws(DatabaseError) -> (id: Int64, isValid: Bool)? {
        try byVariant.first([.blob(key), .blob(variant)]) { row in
            row.integer(0).map { ($0, row.flag(1) ?? false) }
        } ?? nil
    }

    func count(_ key: [UInt8]) throws(DatabaseError) -> Int64 {
        try countOfKey.first([.blob(key)]) { $0.integer(0) ?? 0 } ?? 0
    }

    func oldest(_ key: [UInt8]) throws(DatabaseError) -> Int64? {
        try oldestOfKey.first([.blob(key)]) { $0.integer(0) } ?? nil
    }

    /// Returns the displayed URL, the size and the queue of an entry, or nil if the row no longer has this digest.
    func shown(
        _ row: Int64, digest: [UInt8]
    ) throws(DatabaseError) -> (shown: String, bytes: Int64, isMain: Bool)? {
        try shownOf.first([.integer(row), .blob(digest)]) { row in
            row.text(0).map { ($0, DiskEvictionQueue.plausible(row.integer(1)), row.flag(2) ?? false) }
        } ?? nil
    }

    func rows(content: [UInt8]) throws(DatabaseError) -> [Int64] {
        var rows: [Int64] = []
        try byContent.each([.blob(content)]) {
            if let row = $0.integer(0) { rows.append(row) }
            return true
        }
        return rows
    }

    func isUsed(_ content: [UInt8]) throws(DatabaseError) -> Bool {
        try byContent.first([.blob(content)]) { _ in true } ?? false
    }

    func isKnown(_ content: [UInt8]) throws(DatabaseError) -> Bool {
        try database.prepare("SELECT 1 FROM content WHERE hash = ?").first([.blob(content)]) { _ in true } ?? false
    }

    func withoutContent() throws(DatabaseError) -> [Int64] {
        var rows: [Int64] = []
        try database.prepare("SELECT id FROM entry WHERE content NOT IN (SELECT hash FROM content)").each {
            if let row = $0.integer(0) { rows.append(row) }
            return true
        }
        return rows
    }

    /// Returns the hashes of the contents that satisfy an SQL condition.
    func contents(_ condition: String) throws(DatabaseError) -> [[UInt8]] {
        try hashes(try database.prepare("SELECT hash FROM content WHERE \(condition)"), [])
    }

    /// Returns the hashes that begin with the given byte. Includes only contents that are in files.
    func contents(startingWith first: UInt8) throws(DatabaseError) -> [[UInt8]] {
        let statement = try database.prepare("SELECT hash FROM content WHERE body IS NULL AND hash >= ? AND hash < ?")
        // For ff, the upper bound is longer than any hash.
        let end = first == 255 ? [UInt8](repeating: 255, count: 33) : [first + 1]
        return try hashes(statement, [.blob([first]), .blob(end)])
    }

    private func hashes(_ statement: Statement, _ values: [SQLValue]) throws(DatabaseError) -> [[UInt8]] {
        var hashes: [[UInt8]] = []
        try statement.each(values) {
            if let hash = $0.blob(0) { hashes.append(hash) }
            return true
        }
        return hashes
    }

    // MARK: Writing

    /// The values of a new row.
    struct NewEntry {
        let names: DiskNames
        let variant: [UInt8]
        let shown: String
        let head: [UInt8]
        let content: [UInt8]
        let digest: [UInt8]
        let valid: Int64
        let bytes: Int
        let place: DiskEvictionQueue.Place
    }

    func insert(_ new: NewEntry) throws(DatabaseError) -> Int64 {
        try insertEntry.first([
            .blob(new.names.key), .blob(new.variant), .blob(new.names.url), .blob(new.names.partition),
            .text(new.shown), .blob(new.head), .blob(new.content), .blob(new.digest), .integer(new.valid),
            .integer(Int64(new.bytes)), .flag(new.place.isMain), .integer(new.place.position),
            .integer(new.place.uses),
        ]) { $0.integer(0) ?? 0 } ?? 0
    }

    func update(
        _ row: Int64, _ head: [UInt8], _ digest: [UInt8], _ valid: Int64, _ bytes: Int
    ) throws(DatabaseError) {
        try updateEntry.run([
            .blob(head), .blob(digest), .integer(valid), .integer(Int64(bytes)), .integer(row),
        ])
    }

    /// Removes an entry.
    ///
    /// - Returns: the hash of the entry's content, the size of the entry and its place in the eviction queues; nil if
    ///   the entry did not exist.
    func remove(
        _ row: Int64
    ) throws(DatabaseError) -> (content: [UInt8], bytes: Int64, place: DiskEvictionQueue.Place)? {
        try deleteEntry.first([.integer(row)]) { row in
            (
                row.blob(0) ?? [], DiskEvictionQueue.plausible(row.integer(1)),
                DiskEvictionQueue.Place(
                    isMain: row.flag(2) ?? false, position: row.integer(3) ?? 0, uses: row.integer(4) ?? 0)
            )
        }
    }

    func putContent(_ body: DiskIndex.Body, size: Int) throws(DatabaseError) {
        try replaceContent.run([
            .blob(body.hash), .integer(Int64(size)), body.inline.map { .blob($0) } ?? .null,
        ])
    }

    /// Removes a row of the table `content`.
    ///
    /// - Returns: false if the row contained the body; true if the body was in a file or the row did not exist.
    func removeContent(_ hash: [UInt8]) throws(DatabaseError) -> Bool {
        try deleteContent.first([.blob(hash)]) { $0.flag(0) ?? true } ?? true
    }
}
