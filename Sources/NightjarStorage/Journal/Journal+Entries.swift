import NightjarHTTP

/// Adding and reading entries.
extension Journal {
    /// Adds an entry, or returns the entry that has the same id, kind and input.
    ///
    /// The returned entry may be finished. Its work is then not repeated.
    ///
    /// - Parameter quota: The limits of the entries of this kind that are not finished. Nil: unlimited.
    /// - Throws: `conflict` if an entry has the same id and another kind or input; `limit` if the journal or the quota is
    ///   full or a value is too large; `invalidArgument`.
    package func add(_ entry: NewJournalEntry, within quota: JournalQuota? = nil) throws(JournalError) -> JournalEntry {
        try options.limits.check(entry)
        return try write { (rows, now) throws(JournalError) in
            try rows.applyRetention(options.retention, at: now)
            if let row = try rows.find(entry.id) {
                let found = try rows.entry(row, at: now)
                let hasSameKind = found.kind.isExactly(entry.kind)
                guard hasSameKind, found.input == entry.input else {
                    let difference = hasSameKind ? "another input" : "the kind \(quoted(found.kind))"
                    throw JournalError(
                        .conflict,
                        "the journal has an entry \(quoted(entry.id)) with \(difference); use another id, or acknowledge the entry first"
                    )
                }
                return found
            }
            if let quota {
                try Journal.check(quota, of: entry, rows)
            } else {
                try checkTotal(rows, JournalRows.size(of: entry))
            }
            return try rows.entry(try rows.insert(entry, at: now), at: now)
        }
    }

    private static func check(
        _ quota: JournalQuota, of entry: NewJournalEntry, _ rows: JournalRows
    ) throws(JournalError) {
        let (total, size) = (try rows.pending(entry.kind), JournalRows.size(of: entry))
        guard total.entries < quota.entries else {
            throw JournalError(
                .limit(.maximumEntries),
                "adding the entry \(quoted(entry.id)) failed: \(total.entries) entries are not done, and max_entries is \(quota.entries); wait until entries are done, or remove some"
            )
        }
        guard total.bytes <= quota.bytes, size <= quota.bytes - total.bytes else {
            throw JournalError(
                .limit(.maximumBytes),
                "adding the entry \(quoted(entry.id)) failed: the entries that are not done use \(total.bytes) bytes, and max_bytes is \(quota.bytes), which leaves no space for \(size) bytes; wait until entries are done, or remove some"
            )
        }
    }

    private func checkTotal(_ rows: JournalRows, _ size: Int) throws(JournalError) {
        let total = try rows.totalWithoutQuota()
        let limits = options.limits
        guard total.entries < limits.maximumEntries else {
            throw JournalError(
                .limit(.maximumEntries),
                "the journal \(quoted(path)) has \(total.entries) entries, and maximum_entries is \(limits.maximumEntries); acknowledge finished entries"
            )
        }
        guard total.bytes <= limits.maximumBytes, size <= limits.maximumBytes - total.bytes else {
            throw JournalError(
                .limit(.maximumBytes),
                "the journal \(quoted(path)) uses \(total.bytes) bytes, and maximum_bytes is \(limits.maximumBytes), which leaves no space for \(size) bytes; acknowledge finished entries"
            )
        }
    }

    /// Returns an entry, or nil if there is none.
    package func entry(_ id: String) throws(JournalError) -> JournalEntry? {
        try read { (rows, now) throws(JournalError) in
            guard let row = try rows.find(id) else { return nil }
            return try rows.entry(row, at: now)
        }
    }

    /// Returns the intents of an entry, in their order.
    ///
    /// - Throws: `notFound`.
    package func intents(_ id: String) throws(JournalError) -> [JournalIntent] {
        try read { (rows, _) throws(JournalError) in
            guard let row = try rows.find(id) else { throw .notFound(id) }
            return try rows.intents(of: row.number)
        }
    }

    /// Returns a page of entries in the order in which they were added.
    ///
    /// - Parameters:
    ///   - kind: nil for all kinds.
    ///   - phase: nil for all phases.
    ///   - number: the ``JournalEntry/number`` of the last entry of the page before.
    ///   - limit: the maximum number of entries, at most 1000. A page that has 16 MiB ends early, and has at least one
    ///     entry.
    /// - Returns: an empty array after the last page.
    package func entries(
        kind: String? = nil, phase: JournalPhase? = nil, after number: Int64 = 0, limit: Int = 100
    ) throws(JournalError) -> [JournalEntry] {
        try read { (rows, now) throws(JournalError) in
            let found = try rows.rows(
                """
                WHERE number > ?1 AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR phase = ?3) ORDER BY number LIMIT ?4
                """,
                [
                    .integer(number), kind.map { .text($0) } ?? .null, phase.map { .integer($0.rawValue) } ?? .null,
                    .integer(Int64(max(1, min(limit, Journal.largestPage)))),
                ])
            var entries: [JournalEntry] = []
            var bytes = 0
            for row in found {
                let entry = try rows.entry(row, at: now)
                entries.append(entry)
                bytes += entry.input.count + entry.state.count + (entry.result?.count ?? 0)
                if bytes >= Journal.largestPageBytes { break }
            }
            return entries
        }
    }

    private static let largestPage = 1000
    private static let largestPageBytes = 16 << 20

    /// Returns the number and the size in bytes of the entries that are not acknowledged.
    package func total() throws(JournalError) -> (entries: Int, bytes: Int) {
        try read { (rows, _) throws(JournalError) in try rows.total() }
    }
}
