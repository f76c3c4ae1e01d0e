/// The intents of entries, in a transaction of a ``JournalConnection``.
extension JournalRows {
    private static let intentColumns = "number, name, key, payload, result, fence"

    func intents(of entry: Int64) throws(JournalError) -> [JournalIntent] {
        try intents("WHERE entry = ? ORDER BY number", [.integer(entry)])
    }

    func intent(_ name: String, of entry: Int64) throws(JournalError) -> JournalIntent? {
        try intents("WHERE entry = ? AND name = ?", [.integer(entry), .text(name)]).first
    }

    func intent(number: Int64, of entry: Int64) throws(JournalError) -> JournalIntent? {
        try intents("WHERE entry = ? AND number = ?", [.integer(entry), .integer(number)]).first
    }

    private func intents(_ condition: String, _ values: [SQLValue]) throws(JournalError) -> [JournalIntent] {
        var intents: [JournalIntent] = []
        var isDamaged = false
        try connection.each("SELECT \(JournalRows.intentColumns) FROM intent \(condition)", values) { row in
            guard let number = row.integer(0), let name = row.text(1), let payload = row.blob(3),
                let fence = row.integer(5)
            else {
                isDamaged = true
                return false
            }
            intents.append(
                JournalIntent(
                    number: number, name: name, key: row.text(2), payload: payload, result: row.blob(4), fence: fence))
            return true
        }
        if isDamaged { throw connection.damage }
        return intents
    }

    /// Returns the number of intents of an entry, and the number of a new intent.
    func nextIntent(of entry: Int64) throws(JournalError) -> (count: Int, number: Int64) {
        let found = try connection.first(
            "SELECT count(*), coalesce(max(number), 0) FROM intent WHERE entry = ?", [.integer(entry)]
        ) { row -> (Int, Int64)? in
            guard let count = row.integer(0), let last = row.integer(1) else { return nil }
            return (Int(clamping: count), last.inJournal + 1)
        }
        guard let found else { throw connection.damage }
        return found
    }

    func insert(_ intent: JournalIntent, of entry: Int64) throws(JournalError) {
        try connection.run(
            "INSERT INTO intent (entry, \(JournalRows.intentColumns)) VALUES (?, ?, ?, ?, ?, NULL, ?)",
            [
                .integer(entry), .integer(intent.number), .text(intent.name), intent.key.map { .text($0) } ?? .null,
                .blob(intent.payload), .integer(intent.fence),
            ])
    }

    func complete(_ number: Int64, of entry: Int64, with result: [UInt8]) throws(JournalError) {
        try connection.run(
            "UPDATE intent SET result = ? WHERE entry = ? AND number = ?",
            [.blob(result), .integer(entry), .integer(number)])
    }

    func removeIntent(_ number: Int64, of entry: Int64) throws(JournalError) {
        try connection.run(
            "DELETE FROM intent WHERE entry = ? AND number = ?", [.integer(entry), .integer(number)])
    }

    func hasUnresolvedIntents(_ entry: Int64) throws(JournalError) -> Bool {
        try connection.first(
            "SELECT EXISTS (SELECT 1 FROM intent WHERE entry = ? AND result IS NULL)", [.integer(entry)],
            read: { $0.flag(0) }) ?? false
    }

    /// Removes the intents without results. Returns the number of bytes that they used.
    func withdrawIntents(of entry: Int64) throws(JournalError) -> Int64 {
        var bytes: Int64 = 0
        for intent in try intents("WHERE entry = ? AND result IS NULL", [.integer(entry)]) {
            bytes += intent.bytes
            try removeIntent(intent.number, of: entry)
        }
        return bytes
    }
}

extension JournalIntent {
    /// The size of the intent in bytes.
    var bytes: Int64 {
        Int64(name.utf8.count + (key?.utf8.count ?? 0) + payload.count + (result?.count ?? 0) + JournalIntent.overhead)
    }

    private static let overhead = 64
}
