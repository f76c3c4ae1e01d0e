import NightjarHTTP

/// The searches of a ``Journal``, in a transaction of its ``JournalConnection``.
extension JournalRows {
    // MARK: Taking

    /// The condition for entries of a kind that are pending or running, not paused, and not blocked.
    private static let takeable = "kind = ?1 AND phase <= 1 AND paused = 0 AND NOT \(blocked)"

    /// The condition for entries with an earlier entry of the same kind and order key that is pending, running or in
    /// doubt. An entry in doubt that is acknowledged does not count.
    private static let blocked = """
        EXISTS (SELECT 1 FROM entry AS earlier WHERE earlier.kind = entry.kind AND earlier.order_key = entry.order_key
        AND earlier.order_key IS NOT NULL AND earlier.phase <= 2 AND earlier.acknowledged = 0
        AND earlier.number < entry.number)
        """

    /// Returns the entry to be taken next.
    func next(_ kind: String, at now: JournalTime) throws(JournalError) -> JournalRow? {
        try rows(
            "WHERE \(JournalRows.takeable) AND due <= ?2 ORDER BY due, number LIMIT 1",
            [.text(kind), .integer(now.uptime)]
        ).first
    }

    /// Returns the time at which the next entry can be taken.
    func nextDue(_ kind: String) throws(JournalError) -> Int64? {
        try connection.first("SELECT min(due) FROM entry WHERE \(JournalRows.takeable)", [.text(kind)]) {
            $0.integer(0)
        }
    }

    /// Returns whether an earlier entry of the same order key is not finished, or is in doubt.
    func isBlocked(_ row: JournalRow) throws(JournalError) -> Bool {
        try connection.first(
            "SELECT \(JournalRows.blocked) FROM entry WHERE number = ?", [.integer(row.number)], read: { $0.flag(0) }
        ) ?? false
    }

    /// Returns the owners of current leases that have ended. Checks a bounded number of owners.
    func endedOwners(_ kind: String, at now: JournalTime) throws(JournalError) -> [Int64] {
        var owners: [Int64] = []
        // The condition contains that of the index.
        try connection.each(
            """
            SELECT DISTINCT owner FROM entry WHERE kind = ? AND phase <= 1 AND phase = 1 AND due > ? AND paused = 0
            LIMIT \(JournalRows.maximumOwners)
            """, [.text(kind), .integer(now.uptime)]
        ) {
            if let owner = $0.integer(0) { owners.append(owner) }
            return true
        }
        return owners.filter { connection.owner.hasEnded($0) }
    }

    /// Expires the leases of owners that have ended.
    func expireLeases(of owners: [Int64], at now: JournalTime) throws(JournalError) {
        for owner in owners {
            try connection.run(
                "UPDATE entry SET due = ? WHERE phase = 1 AND owner = ? AND due > ?",
                [.integer(now.uptime), .integer(owner), .integer(now.uptime)])
        }
    }

    private static let maximumOwners: Int64 = 256

    // MARK: Sizes

    /// Returns the number and the size of the entries that are not acknowledged.
    func total() throws(JournalError) -> (entries: Int, bytes: Int) { try total("acknowledged = 0") }

    /// Returns the number and the size of the entries to which the limits of the journal apply. Outboxes have their own
    /// quotas, so their entries do not count.
    func totalWithoutQuota() throws(JournalError) -> (entries: Int, bytes: Int) {
        try total("acknowledged = 0 AND kind NOT GLOB '\(Journal.outboxKind)*'")
    }

    private func total(_ condition: String) throws(JournalError) -> (entries: Int, bytes: Int) {
        let total = try connection.first(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM entry WHERE \(condition)"
        ) { row -> (Int, Int)? in
            guard let entries = row.integer(0), let bytes = row.integer(1) else { return nil }
            return (Int(clamping: entries), Int(clamping: bytes))
        }
        guard let total else { throw connection.damage }
        return total
    }

    /// Removes the finished entries that the options do not keep.
    func applyRetention(_ retention: JournalRetention, at now: JournalTime) throws(JournalError) {
        func removeAll(_ condition: String, _ values: [SQLValue]) throws(JournalError) {
            var numbers: [Int64] = []
            try connection.each("SELECT number FROM entry WHERE \(condition)", values) {
                if let number = $0.integer(0) { numbers.append(number) }
                return true
            }
            for number in numbers { try remove(number) }
        }
        func time(_ age: Duration) -> SQLValue { .integer((now.uptime - age.inJournal).inJournal) }
        try removeAll("acknowledged = 1 AND ended <= ?", [time(retention.acknowledgedAge)])
        if let age = retention.unacknowledgedAge {
            try removeAll("acknowledged = 0 AND ended <= ? AND phase >= 3", [time(age)])
        }
        let isAnyLeft = try connection.first(
            "SELECT EXISTS (SELECT 1 FROM entry WHERE acknowledged = 1)", read: { $0.flag(0) })
        guard isAnyLeft == true else { return }
        try removeAll(
            """
            number IN (SELECT number FROM (
              SELECT number, row_number() OVER newest AS position, sum(bytes) OVER newest AS total FROM entry
              WHERE acknowledged = 1 WINDOW newest AS (ORDER BY ended DESC, number DESC))
            WHERE position > ? OR total > ?)
            """,
            [.integer(Int64(retention.acknowledgedEntries)), .integer(Int64(retention.acknowledgedBytes))])
    }
}
