import NightjarHTTP

/// The cookies of any number of processes in one SQLite file.
///
/// ``CookieExchange`` decides what is in the file after each exchange: the last change wins, whoever made it, and a deletion
/// is not undone by an older copy. So it does not matter how old the cookies are that a process brings, or whether it ends in
/// the middle.
///
/// A file that breaks while it is used, or that somebody removes, is begun anew with what this process knows. One thread
/// at a time.
public final class CookieFile {
    /// What its owner should know of; not an error, for work goes on.
    public typealias Note = String

    public let path: String
    private let patience: Double
    private var connection: Connection?
    private var condemned: CondemnedFile?
    private var decisions: CookieExchange
    private var notes: [Note] = []

    /// A file that is open, and what is in it.
    fileprivate struct Connection {
        let database: Database
        let rows: CookieRows
        var content: CookieJar.Snapshot
        /// ``Database/version`` of ``content``.
        var version: Int64
    }

    /// Touches nothing yet.
    ///
    /// - Parameter patience: seconds to wait for other processes.
    public init(_ path: String, keepsSession: Bool = false, patience: Double = 5) {
        self.path = path
        decisions = CookieExchange(keepsSession: keepsSession)
        self.patience = patience
    }

    /// What happened since this was last asked: a file that was moved aside.
    public func takeNotes() -> [Note] {
        defer { notes = [] }
        return notes
    }

    /// Lets go of the file. What comes next opens it again.
    public func close() { connection = nil }

    // MARK: Loading

    /// The cookies of the file, which is made when there is none.
    public func load(at now: Double) throws(DatabaseError) -> CookieJar.Snapshot {
        // An exchange of nothing: it also puts away what has expired.
        try exchange(CookieJar.Snapshot(), at: now)
    }

    /// The cookies of a file that cannot be written, as far as it can be read.
    public func loadAsItStands() throws(DatabaseError) -> CookieJar.Snapshot {
        let database = try DatabaseFile.openAsItStands(path, CookieRows.schema)
        return decisions.visible(try CookieRows(database).read())
    }

    // MARK: Exchanging

    /// Whether an ``exchange(_:at:)`` would bring something from other processes, as far as that is cheap to know.
    public func mayHaveNews() throws(DatabaseError) -> Bool {
        guard let connection else { return true }
        if connection.database.isReplaced { return true }
        return try connection.database.version != connection.version
    }

    /// Puts what is newer among `changes` into the file.
    ///
    /// - Parameter changes: all that the jar knows which merged what was returned before.
    /// - Returns: what is in the file now and not among the changes, for the jar to merge: mostly nothing.
    public func exchange(
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
                if error.cause == .damaged, let connection { condemned = CondemnedFile(connection.database, error) }
                // Whatever it was, the next begins with a fresh look at the file.
                connection = nil
                guard error.cause == .damaged, attempts < 2 else { throw error }
            }
        }
    }

    private func open() throws(DatabaseError) -> Connection {
        if let connection, !connection.database.isReplaced { return connection }
        // Closed first: the file may be about to be moved.
        connection = nil
        let opened = try DatabaseFile.open(path, CookieRows.schema, patience: patience, condemned: condemned)
        condemned = nil
        if let moved = opened.movedAside {
            notes.append("\(moved.error.description); it was moved to \(quoted(moved.path)), and a new one begun")
        }
        do throws(DatabaseError) {
            return Connection(
                database: opened.database, rows: try CookieRows(opened.database), content: CookieJar.Snapshot(),
                version: Connection.unread)
        } catch {
            if error.cause == .damaged { condemned = CondemnedFile(opened.database, error) }
            throw error
        }
    }
}

extension CookieFile.Connection {
    /// No `PRAGMA data_version` has it.
    fileprivate static let unread: Int64 = -1

    fileprivate mutating func write(
        _ changes: CookieJar.Snapshot, by exchange: CookieExchange, at now: Double
    ) throws(DatabaseError) -> CookieJar.Snapshot {
        let (database, rows) = (database, rows)
        let (known, knownVersion) = (content, version)
        let result = try database.transaction { () throws(DatabaseError) -> (CookieJar.Snapshot, Int64) in
            // Within the transaction nobody else writes, so this is the file's state and not a moment of it.
            let version = try database.version
            let before = version == knownVersion ? known : try rows.read()
            let after = exchange.content(changes, over: before, at: now)
            return (try rows.write(after, over: before), version)
        }
        (content, version) = result
        return content
    }
}
