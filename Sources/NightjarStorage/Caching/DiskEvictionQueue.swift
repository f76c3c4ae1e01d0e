/// The eviction order of a ``DiskIndex``: the two queues of ``EvictionQueue`` and its ghost list, in tables that all
/// processes share.
struct DiskEvictionQueue {
    struct Place {
        var isMain: Bool
        /// Increases within each queue. Independent of clocks.
        var position: Int64
        var uses: Int64 = 0
    }

    struct Candidate {
        let row: Int64
        let isMain: Bool
        let uses: Int64
        let name: Int64
    }

    struct Total {
        var small: Int64
        var main: Int64
        /// The time of the last sweep, in seconds since 1970.
        var swept: Int64
        var bytes: Int64 { small.addingReportingOverflow(main).partialValue }
    }

    private let lastPosition: Statement
    private let oldestQueued: Statement
    private let move: Statement
    private let countUse: Statement
    private let totals: Statement
    private let addTotals: Statement
    private let takeGhost: Statement
    private let putGhost: Statement
    private let database: Database

    init(_ database: Database) throws(DatabaseError) {
        self.database = database
        lastPosition = try database.prepare("SELECT max(position) FROM entry WHERE main = ?")
        oldestQueued = try database.prepare(
            "SELECT id, uses, key, variant, bytes FROM entry WHERE main = ? ORDER BY position LIMIT 1")
        move = try database.prepare(
            "UPDATE entry SET main = 1, position = ?2, uses = ?3 WHERE id = ?1")
        countUse = try database.prepare(
            "UPDATE entry SET uses = min(uses + ?2, \(EvictionQueue.maximumUses)) WHERE id = ?1")
        totals = try database.prepare("SELECT small, main, swept FROM total WHERE one = 1")
        addTotals = try database.prepare("UPDATE total SET small = small + ?, main = main + ? WHERE one = 1")
        takeGhost = try database.prepare("DELETE FROM ghost WHERE name = ? RETURNING name")
        putGhost = try database.prepare(
            "REPLACE INTO ghost VALUES (?, (SELECT coalesce(max(position), 0) + 1 FROM ghost))")
    }

    // MARK: Positions

    /// Returns the end of the small queue, or the end of the main queue if the entry was evicted recently.
    func placeForNew(_ key: [UInt8], _ variant: [UInt8]) throws(DatabaseError) -> Place {
        let isMain = try takeGhost.first([.integer(DiskEvictionQueue.name(key, variant))]) { _ in true } ?? false
        return Place(isMain: isMain, position: try nextPosition(isMain: isMain))
    }

    private func nextPosition(isMain: Bool) throws(DatabaseError) -> Int64 {
        let last = try lastPosition.first([.flag(isMain)]) { $0.integer(0) ?? 0 } ?? 0
        // The file is not trusted, so the addition must not trap.
        return last.addingReportingOverflow(1).partialValue
    }

    func oldest(isMain: Bool) throws(DatabaseError) -> Candidate? {
        try oldestQueued.first([.flag(isMain)]) { row in
            Candidate(
                row: row.integer(0) ?? 0, isMain: isMain, uses: row.integer(1) ?? 0,
                name: DiskEvictionQueue.name(row.blob(2) ?? [], row.blob(3) ?? []))
        }
    }

    /// Moves an entry of the small queue, or the oldest entry of the main queue, to the end of the main queue.
    func moveToMain(_ candidate: Candidate) throws(DatabaseError) {
        let bytes = try database.prepare("SELECT bytes FROM entry WHERE id = ?").first([.integer(candidate.row)]) {
            DiskEvictionQueue.plausible($0.integer(0))
        }
        let uses = candidate.isMain ? max(0, min(candidate.uses, Int64(EvictionQueue.maximumUses)) - 1) : 0
        try move.run([.integer(candidate.row), .integer(nextPosition(isMain: true)), .integer(uses)])
        guard !candidate.isMain, let bytes else { return }
        try add(-bytes, isMain: false)
        try add(bytes, isMain: true)
    }

    func use(_ row: Int64, _ count: Int) throws(DatabaseError) {
        try countUse.run([.integer(row), .integer(Int64(count))])
    }

    // MARK: Sums

    func total() throws(DatabaseError) -> Total {
        let total = try totals.first { row in
            Total(small: row.integer(0) ?? 0, main: row.integer(1) ?? 0, swept: row.integer(2) ?? 0)
        }
        guard let total else { throw DatabaseError(.damaged, database.path, "is damaged: its sums are missing") }
        return total
    }

    func add(_ bytes: some BinaryInteger, isMain: Bool) throws(DatabaseError) {
        let bytes = Int64(clamping: bytes)
        try addTotals.run([.integer(isMain ? 0 : bytes), .integer(isMain ? bytes : 0)])
    }

    func setTotal(small: Int64, main: Int64) throws(DatabaseError) {
        try database.prepare("UPDATE total SET small = ?, main = ?").run([.integer(small), .integer(main)])
    }

    func setSwept(_ seconds: Int64) throws(DatabaseError) {
        try database.prepare("UPDATE total SET swept = ?").run([.integer(seconds)])
    }

    func recount() throws(DatabaseError) {
        try database.execute(
            """
            UPDATE total SET
              small = (SELECT coalesce(sum(max(0, min(bytes, \(DiskEvictionQueue.largest)))), 0) FROM entry WHERE main = 0),
              main = (SELECT coalesce(sum(max(0, min(bytes, \(DiskEvictionQueue.largest)))), 0) FROM entry WHERE main <> 0)
            """)
    }

    /// Returns the size of an entry in bytes. The size is clamped because the file is not trusted.
    static func plausible(_ bytes: Int64?) -> Int64 { max(0, min(bytes ?? 0, largest)) }

    private static let largest: Int64 = 1 << 40

    // MARK: Ghosts

    func remember(_ candidate: Candidate) throws(DatabaseError) { try putGhost.run([.integer(candidate.name)]) }

    /// Removes the oldest ghosts. Keeps at most as many ghosts as there are entries, or 64 if there are fewer entries.
    func forgetGhosts() throws(DatabaseError) {
        try database.execute(
            """
            DELETE FROM ghost WHERE position <= (SELECT max(position) FROM ghost) -
              max(64, (SELECT count(*) FROM entry))
            """)
    }

    private static func name(_ key: [UInt8], _ variant: [UInt8]) -> Int64 {
        let number = zip(key, variant).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1.0 ^ $1.1) }
        return Int64(bitPattern: number)
    }
}
