import NightjarHTTP

/// An open journal file. Not thread-safe.
final class JournalConnection {
    let database: Database
    let owner: JournalOwner
    private var statements: [String: Statement] = [:]

    /// - Parameter place: the path with all symbolic links resolved.
    init(_ database: Database, _ place: String) throws(DatabaseError) {
        // Each commit is durable before its function returns, and removed values are not left in the file.
        try database.execute("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON")
        do throws(NightjarError) { owner = try JournalOwner(place) } catch {
            throw DatabaseError(opening: place, error)
        }
        self.database = database
    }

    // MARK: Transactions

    /// Runs `body` in a transaction, which is rolled back on an error. No other process writes meanwhile.
    func write<Result>(
        _ clock: JournalClock, _ body: (JournalRows, JournalTime) throws(JournalError) -> Result
    ) throws(JournalError) -> Result {
        try transaction(isWriting: true) { (rows) throws(JournalError) in
            // The time is read after the wait for other processes.
            let now = clock.now()
            let before = try totalChanges()
            try rows.adjustTimes(to: now)
            let result = try body(rows, now)
            if try totalChanges() != before { try rows.finishWrite(at: now) }
            return result
        }
    }

    /// Runs `body` in a read transaction, which does not wait for other processes.
    func read<Result>(
        _ body: (JournalRows) throws(JournalError) -> Result
    ) throws(JournalError) -> Result {
        try transaction(isWriting: false, body)
    }

    private func transaction<Result>(
        isWriting: Bool, _ body: (JournalRows) throws(JournalError) -> Result
    ) throws(JournalError) -> Result {
        var rejection: JournalError?
        func run() throws(DatabaseError) -> Result {
            do throws(JournalError) {
                return try body(JournalRows(self))
            } catch {
                if case .database(let error) = error.cause { throw error }
                rejection = error
                // Ends the transaction. The caller receives the rejection.
                throw DatabaseError(.other, database.path, "was not changed")
            }
        }
        do throws(DatabaseError) {
            return try isWriting ? database.transaction(run) : database.reading(run)
        } catch {
            throw rejection ?? JournalError(error)
        }
    }

    /// The number of rows that this connection has changed.
    private func totalChanges() throws(JournalError) -> Int64 {
        try first("SELECT total_changes()") { $0.integer(0) } ?? 0
    }

    // MARK: Statements

    func run(_ sql: String, _ values: [SQLValue] = []) throws(JournalError) {
        do throws(DatabaseError) { try statement(sql).run(values) } catch { throw JournalError(error) }
    }

    /// Returns the result of `read` for the first row, or nil if there is no row.
    func first<Result>(
        _ sql: String, _ values: [SQLValue] = [], read: (Row) -> Result?
    ) throws(JournalError) -> Result? {
        do throws(DatabaseError) {
            return try statement(sql).first(values, read: read) ?? nil
        } catch {
            throw JournalError(error)
        }
    }

    /// Calls `body` for each row until `body` returns false.
    func each(_ sql: String, _ values: [SQLValue] = [], _ body: (Row) -> Bool) throws(JournalError) {
        do throws(DatabaseError) { try statement(sql).each(values, body) } catch { throw JournalError(error) }
    }

    private func statement(_ sql: String) throws(DatabaseError) -> Statement {
        if let statement = statements[sql] { return statement }
        let statement = try database.prepare(sql)
        statements[sql] = statement
        return statement
    }

    /// The error for a row that the tables of the library do not allow.
    var damage: JournalError {
        JournalError(DatabaseError(.damaged, database.path, "is damaged: a row has an invalid value"))
    }
}
