import NightjarHTTP

/// The columns of an entry, without its values.
struct JournalRow {
    let number: Int64
    let id: String
    let kind: String
    let orderKey: String?
    let credential: String?
    var lifecycle: JournalLifecycle
    var attempts: Int64
    var fence: Int64
    /// The number of the ``JournalOwner`` that has the lease.
    var owner: Int64
    /// The duration of the lease in milliseconds.
    var lease: Int64
    /// The time of the next attempt, or the expiry of the lease.
    var due: Int64
    var ended: Int64?
    let created: Int64
    var updated: Int64
    var bytes: Int64

    var phase: JournalPhase { lifecycle.phase }
}

/// The entries of a journal, in a transaction of its ``JournalConnection``.
struct JournalRows {
    let connection: JournalConnection

    init(_ connection: JournalConnection) { self.connection = connection }

    // MARK: Time

    /// Adjusts all stored times if the last write was in another boot.
    func adjustTimes(to now: JournalTime) throws(JournalError) {
        let last = try connection.first("SELECT boot, uptime, wall FROM journal") { row -> JournalTime? in
            guard let boot = row.text(0), let uptime = row.integer(1), let wall = row.integer(2) else { return nil }
            return JournalTime(boot: boot, uptime: uptime, wall: wall)
        }
        guard let last else { throw connection.damage }
        guard let shift = last.shift(to: now) else { return }
        func adjusted(_ column: String) -> String {
            "max(\(-JournalSchema.bound), min(\(JournalSchema.bound), \(column) + ?1))"
        }
        // All leases expire with their boot.
        try connection.run(
            "UPDATE entry SET due = CASE phase WHEN 1 THEN ?2 ELSE \(adjusted("due")) END WHERE phase <= 1",
            [.integer(shift), .integer(now.uptime)])
        try connection.run(
            "UPDATE entry SET ended = \(adjusted("ended")) WHERE ended IS NOT NULL", [.integer(shift)])
    }

    /// Stores the time, and counts the write.
    func finishWrite(at now: JournalTime) throws(JournalError) {
        try connection.run(
            "UPDATE journal SET boot = ?, uptime = ?, wall = ?, changes = (changes + 1) % \(JournalSchema.bound)",
            [.text(now.boot), .integer(now.uptime), .integer(now.wall)])
    }

    func changeNumber() throws(JournalError) -> Int64 {
        guard let number = try connection.first("SELECT changes FROM journal", read: { $0.integer(0) }) else {
            throw connection.damage
        }
        return number
    }

    /// Returns a fencing number that no lease has.
    func nextFence() throws(JournalError) -> Int64 {
        try connection.run("UPDATE journal SET fence = fence + 1")
        guard let fence = try connection.first("SELECT fence FROM journal", read: { $0.integer(0) }) else {
            throw connection.damage
        }
        return fence
    }

    // MARK: Rows

    private static let columns = """
        number, id, kind, order_key, credential, phase, cancel, paused, acknowledged, attempts, fence, owner, lease, due, \
        ended, created, updated, bytes, \
        EXISTS (SELECT 1 FROM intent WHERE intent.entry = entry.number AND result IS NULL)
        """

    func find(_ id: String) throws(JournalError) -> JournalRow? {
        try rows("WHERE id = ?", [.text(id)]).first
    }

    func find(number: Int64) throws(JournalError) -> JournalRow? {
        try rows("WHERE number = ?", [.integer(number)]).first
    }

    /// - Parameter condition: an SQL condition.
    func rows(_ condition: String, _ values: [SQLValue]) throws(JournalError) -> [JournalRow] {
        var rows: [JournalRow] = []
        var isDamaged = false
        try connection.each("SELECT \(JournalRows.columns) FROM entry \(condition)", values) { row in
            guard let row = JournalRow(row) else {
                isDamaged = true
                return false
            }
            rows.append(row)
            return true
        }
        if isDamaged { throw connection.damage }
        return rows
    }

    func insert(_ entry: NewJournalEntry, at now: JournalTime) throws(JournalError) -> JournalRow {
        try connection.run(
            """
            INSERT INTO entry (id, kind, order_key, credential, phase, cancel, paused, acknowledged, attempts, fence,
            owner, lease, due, created, updated, bytes) VALUES (?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, 0, ?, ?, ?, ?)
            """,
            [
                .text(entry.id), .text(entry.kind), .text(entry.orderKey), .text(entry.credential),
                .integer((now.uptime + entry.delay.inJournal).inJournal), .integer(now.wall), .integer(now.wall),
                .integer(Int64(JournalRows.size(of: entry))),
            ])
        guard let row = try find(entry.id) else { throw connection.damage }
        try write(entry.input, .input, of: row.number)
        try write(entry.state, .state, of: row.number)
        return row
    }

    static func size(of entry: NewJournalEntry) -> Int {
        JournalLimits.overhead + entry.input.count + entry.state.count
    }

    func save(_ row: JournalRow) throws(JournalError) {
        try connection.run(
            """
            UPDATE entry SET phase = ?, cancel = ?, paused = ?, acknowledged = ?, attempts = ?, fence = ?, owner = ?,
            lease = ?, due = ?, ended = ?, updated = ?, bytes = ? WHERE number = ?
            """,
            [
                .integer(row.phase.rawValue), .flag(row.lifecycle.isCancelRequested), .flag(row.lifecycle.isPaused),
                .flag(row.lifecycle.isAcknowledged), .integer(row.attempts.inJournal), .integer(row.fence),
                .integer(row.owner), .integer(row.lease), .integer(row.due.inJournal),
                row.ended.map { .integer($0) } ?? .null, .integer(row.updated), .integer(row.bytes.inJournal),
                .integer(row.number),
            ])
    }

    func remove(_ number: Int64) throws(JournalError) {
        try connection.run("DELETE FROM intent WHERE entry = ?", [.integer(number)])
        try connection.run("DELETE FROM value WHERE entry = ?", [.integer(number)])
        try connection.run("DELETE FROM entry WHERE number = ?", [.integer(number)])
    }
}

extension JournalRow {
    /// Reads the columns of ``JournalRows``. Nil if one has an invalid value.
    fileprivate init?(_ row: Row) {
        guard let number = row.integer(0), let id = row.text(1), let kind = row.text(2),
            let phase = row.integer(5).flatMap({ JournalPhase(rawValue: $0) }), let isCancelRequested = row.flag(6),
            let isPaused = row.flag(7), let isAcknowledged = row.flag(8), let attempts = row.integer(9),
            let fence = row.integer(10), let owner = row.integer(11), let lease = row.integer(12),
            let due = row.integer(13), let created = row.integer(15), let updated = row.integer(16),
            let bytes = row.integer(17), let hasUnresolvedIntents = row.flag(18)
        else { return nil }
        self.init(
            number: number, id: id, kind: kind, orderKey: row.text(3), credential: row.text(4),
            lifecycle: JournalLifecycle(
                phase, isCancelRequested: isCancelRequested, isPaused: isPaused, isAcknowledged: isAcknowledged,
                hasUnresolvedIntents: hasUnresolvedIntents),
            attempts: attempts.inJournal, fence: fence, owner: owner, lease: lease.inJournal, due: due.inJournal,
            ended: row.integer(14), created: created, updated: updated, bytes: bytes.inJournal)
    }
}

extension SQLValue {
    fileprivate static func text(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
}
