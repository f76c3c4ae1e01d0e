import NightjarHTTP

/// An SQLite file with cookies that any number of processes share.
///
/// ``CookieExchange`` decides the content of the file after each exchange. The last change wins, even if another
/// process made it, and an older copy of a cookie does not undo a deletion. Processes may therefore have outdated
/// cookies, and may end at any time.
///
/// If the file is damaged or removed during use, it is recreated with the cookies of this process. Not thread-safe.
package final class CookieFile {
    /// An event for the owner's log. Not an error, because the file remains usable.
    package typealias Note = String

    package let path: String
    private let lockTimeout: Double
    private var connection: Connection?
    private var corruptFile: CorruptFile?
    private var decisions: CookieExchange
    private var notes: [Note] = []

    /// An open file and its content.
    fileprivate struct Connection {
        let database: Database
        let rows: CookieRows
        var content: CookieJar.Snapshot
        /// The ``Database/version`` at which ``content`` was read or written.
        var version: Int64
    }

    /// Creates the object. Does not access the disk yet.
    ///
    /// - Parameter lockTimeout: seconds that one statement waits for other processes.
    package init(_ path: String, keepsSession: Bool = false, lockTimeout: Double = 5) {
        self.path = path
        decisions = CookieExchange(keepsSession: keepsSession)
        self.lockTimeout = lockTimeout
    }

    /// Returns the events since the last call, such as a file that was moved aside.
    package func takeNotes() -> [Note] {
        defer { notes = [] }
        return notes
    }

    /// Closes the file. The next operation opens it again.
    package func close() { connection = nil }

    // MARK: Loading

    /// Returns the cookies of the file. Creates the file if it does not exist.
    package func load(at now: Double) throws(DatabaseError) -> CookieJar.Snapshot {
        // An exchange without changes also removes expired cookies.
        try exchange(CookieJar.Snapshot(), at: now)
    }

    /// Returns the cookies of a file that this process cannot write.
    package func loadWithoutLocks() throws(DatabaseError) -> CookieJar.Snapshot {
        let database = try DatabaseFile.openWithoutLocks(path, CookieRows.schema)
        return decisions.visible(try CookieRows(database).read())
    }

    // MARK: Exchanging

    /// Returns whether ``exchange(_:at:)`` might return changes of other processes. This check is cheap, but not exact.
    package func mayHaveChanged() throws(DatabaseError) -> Bool {
        guard let connection else { return true }
        if connection.database.isReplaced { return true }
        return try connection.database.version != connection.version
    }

    /// Writes the parts of `changes` that are newer than the file's content.
    ///
    /// - Parameter changes: the whole content of the jar, into which the results of earlier calls have been merged.
    /// - Returns: the content of the file that is not in `changes` and that the jar must merge. Usually empty.
    package func exchange(
        _ changes: CookieJar.Snapshot, at now: Double
    ) throws(DatabaseError) -> CookieJar.Snapshot {
        var attempts = 0
        while true {
            attempts += 1
            do throws(DatabaseError) {
                var connection = try open()
                self.connection = connection
                let changes = decisions.changes(changes)
                let content = try connection.write(changes, by: decisions, at: now)
                self.connection = connection
                return decisions.committed(content, after: changes)
            } catch {
                if error.cause == .damaged, let connection { corruptFile = CorruptFile(connection.database, error) }
                // After any error, the next attempt opens the file again.
                connection = nil
                guard error.cause == .damaged, attempts < 2 else { throw error }
            }
        }
    }

    /// Removes the earlier content of the file from its write-ahead log. Has no effect while another process reads the
    /// file; the log is then removed later.
    package func removeLog() { try? connection?.database.execute("PRAGMA wal_checkpoint(TRUNCATE)") }

    private func open() throws(DatabaseError) -> Connection {
        if let connection, !connection.database.isReplaced { return connection }
        // The file is closed first, because it may be moved.
        connection = nil
        let opened = try DatabaseFile.open(path, CookieRows.schema, lockTimeout: lockTimeout, corruptFile: corruptFile)
        corruptFile = nil
        // Deleted cookies are overwritten, because they are usually secrets.
        try opened.database.execute("PRAGMA secure_delete = ON")
        if let moved = opened.movedAside {
            notes.append("\(moved.error.description); it was moved to \(quoted(moved.path)) and recreated")
        }
        do throws(DatabaseError) {
            return Connection(
                database: opened.database, rows: try CookieRows(opened.database), content: CookieJar.Snapshot(),
                version: Connection.unread)
        } catch {
            if error.cause == .damaged { corruptFile = CorruptFile(opened.database, error) }
            throw error
        }
    }
}

extension CookieFile.Connection {
    /// A value that `PRAGMA data_version` never has.
    fileprivate static let unread: Int64 = -1

    fileprivate mutating func write(
        _ changes: CookieJar.Snapshot, by exchange: CookieExchange, at now: Double
    ) throws(DatabaseError) -> CookieJar.Snapshot {
        let (database, rows) = (database, rows)
        let (known, knownVersion) = (content, version)
        let result = try database.transaction { () throws(DatabaseError) -> (CookieJar.Snapshot, Int64) in
            // No other process can write during the transaction, so the version belongs to the content.
            let version = try database.version
            let before = version == knownVersion ? known : try rows.read()
            let after = exchange.content(changes, over: before, at: now)
            return (try rows.write(after, over: before), version)
        }
        (content, version) = result
        return content
    }
}
