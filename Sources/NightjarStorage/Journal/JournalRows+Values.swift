import NightjarHTTP

/// The values of entries: input, state and result.
extension JournalRows {
    enum Part: Int64 {
        case input = 0
        case state = 1
        case result = 2
    }

    /// Replaces a value of an entry. Returns the change of the entry's size in bytes.
    @discardableResult
    func write(_ content: [UInt8], _ part: Part, of number: Int64) throws(JournalError) -> Int64 {
        let place: [SQLValue] = [.integer(number), .integer(part.rawValue)]
        let old = try connection.first(
            "SELECT length(content) FROM value WHERE entry = ? AND part = ?", place, read: { $0.integer(0) })
        try connection.run("REPLACE INTO value (entry, part, content) VALUES (?, ?, ?)", place + [.blob(content)])
        return Int64(content.count) - (old ?? 0).inJournal
    }

    func value(_ part: Part, of number: Int64) throws(JournalError) -> [UInt8]? {
        try connection.first(
            "SELECT content FROM value WHERE entry = ? AND part = ?", [.integer(number), .integer(part.rawValue)],
            read: { $0.blob(0) })
    }

    func removeResult(of number: Int64) throws(JournalError) -> Int64 {
        let old = try value(.result, of: number)
        try connection.run(
            "DELETE FROM value WHERE entry = ? AND part = ?", [.integer(number), .integer(Part.result.rawValue)])
        return -Int64(old?.count ?? 0)
    }

    /// Returns an entry with its values.
    func entry(_ row: JournalRow, at now: JournalTime) throws(JournalError) -> JournalEntry {
        guard let input = try value(.input, of: row.number), let state = try value(.state, of: row.number) else {
            throw connection.damage
        }
        return JournalEntry(
            number: row.number, id: row.id, kind: row.kind, input: input, state: state,
            result: row.phase.isFinished ? try value(.result, of: row.number) ?? [] : nil, orderKey: row.orderKey,
            credential: row.credential, phase: row.phase,
            isCancelRequested: row.lifecycle.isCancelRequested && !row.phase.isFinished,
            isPaused: row.lifecycle.isPaused, isAcknowledged: row.lifecycle.isAcknowledged,
            attempts: Int(clamping: row.attempts), due: row.phase.isFinished ? nil : now.timestamp(at: row.due),
            created: Timestamp(millisecondsSince1970: row.created),
            updated: Timestamp(millisecondsSince1970: row.updated))
    }
}
