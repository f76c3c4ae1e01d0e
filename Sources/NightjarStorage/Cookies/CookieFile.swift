import NightjarHTTP

/// The cookies of any number of processes in one SQLite file.
///
/// What a process changed and what is in the file meet in one transaction, cookie by cookie by the rules of
/// ``CookieJar/merge(_:at:)``: the last change wins, whoever made it, and a deletion is not undone by an older copy. So it
/// does not matter how old the cookies are that a process brings, or whether it ends in the middle.
///
/// A file that breaks while it is used, or that somebody removes, is begun anew with what this process knows. One thread
/// at a time.
public final class CookieFile {
    /// What its owner should know of; not an error, for work goes on.
    public typealias Note = String

    public let path: String
    /// Whether cookies are kept that were to end with the program that got them.
    public let keepsSession: Bool
    private let patience: Double
    private var connection: Connection?
    private var condemned: CondemnedFile?
    /// What the jar was given last, also where the file has been opened anew since.
    private var given = CookieJar.Snapshot()
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
        self.keepsSession = keepsSession
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
        return visible(try CookieRows(database).read())
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
                let changes = changes.withDeletions(of: given)
                let content = try connection.exchange(changes, at: now, keepsSession: keepsSession)
                self.connection = connection
                given = visible(content)
                return given.news(for: changes, keepsSession: keepsSession)
            } catch {
                if error.cause == .damaged { condemned = connection.map { CondemnedFile($0.database, error) } }
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
        return Connection(
            database: opened.database, rows: try CookieRows(opened.database), content: CookieJar.Snapshot(),
            version: Connection.unread)
    }

    /// Without the session's, which a process that does not share them must not get either.
    private func visible(_ content: CookieJar.Snapshot) -> CookieJar.Snapshot {
        guard !keepsSession else { return content }
        var content = content
        content.cookies.removeAll { $0.expires == nil }
        return content
    }
}

extension CookieFile.Connection {
    /// No `PRAGMA data_version` has it.
    fileprivate static let unread: Int64 = -1

    fileprivate mutating func exchange(
        _ changes: CookieJar.Snapshot, at now: Double, keepsSession: Bool
    ) throws(DatabaseError) -> CookieJar.Snapshot {
        let (database, rows) = (database, rows)
        let (known, knownVersion) = (content, version)
        let result = try database.transaction { () throws(DatabaseError) -> (CookieJar.Snapshot, Int64) in
            // Within the transaction nobody else writes, so this is the file's state and not a moment of it.
            let version = try database.version
            let before = version == knownVersion ? known : try rows.read()
            // Of whom a cookie may be is for the jars that use them to say.
            var jar = CookieJar(isPublicSuffix: { _ in false })
            jar.merge(before, at: now)
            jar.merge(keepsSession ? changes : changes.withoutSession(replacing: before), at: now)
            let after = jar.snapshot()
            return (try rows.write(after, over: before), version)
        }
        (content, version) = result
        return content
    }
}

extension CookieJar.Snapshot {
    /// With what the jar was `given` and does not have any more among the deletions: a jar remembers a bounded number of
    /// them, and one that it forgot must not leave the cookie in the file for the next program.
    fileprivate func withDeletions(of given: CookieJar.Snapshot) -> CookieJar.Snapshot {
        let kept = Set(cookies.map(\.identity))
        var result = self
        for cookie in given.cookies
        where !kept.contains(cookie.identity) && cookie.modified > max(cleared, deletions[cookie.identity] ?? 0) {
            result.deletions[cookie.identity] = cookie.modified
        }
        return result
    }

    /// What a jar that knows `known` has to merge of this.
    fileprivate func news(for known: CookieJar.Snapshot, keepsSession: Bool) -> CookieJar.Snapshot {
        var theirs = Dictionary(known.cookies.map { ($0.identity, $0) }) { $1 }
        var news = self
        news.cookies.removeAll { mine in
            theirs.removeValue(forKey: mine.identity).map {
                $0.modified == mine.modified && $0.value.isExactly(mine.value) && $0.expires == mine.expires
                    && $0.created == mine.created
            } ?? false
        }
        news.deletions = deletions.filter { known.deletions[$0.key] != $0.value }
        // What the file did not take, the jar must not keep: it was deleted, and that has been forgotten.
        for cookie in theirs.values where keepsSession || cookie.expires != nil {
            news.deletions[cookie.identity] = max(deletions[cookie.identity] ?? 0, cookie.modified)
        }
        return news
    }

    /// The lasting cookies. Where a session cookie took the place of one in the file, the file's is gone.
    fileprivate func withoutSession(replacing stored: CookieJar.Snapshot) -> CookieJar.Snapshot {
        var result = self
        result.cookies = cookies.filter { $0.expires != nil }
        guard result.cookies.count < cookies.count else { return result }
        let known = Set(stored.cookies.map(\.identity))
        for cookie in cookies where cookie.expires == nil && known.contains(cookie.identity) {
            // A moment before it: the deletion comes back with the merge and must not end the new one.
            result.deletions[cookie.identity] = cookie.modified.nextDown
        }
        return result
    }
}
