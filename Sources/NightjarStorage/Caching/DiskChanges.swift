import NightjarHTTP

/// An invalidation or removal of entries, made by one process and logged for all processes.
package enum CacheChange: Sendable, Equatable {
    case invalidateKey(CacheKeyName)
    case invalidateURL([UInt8])
    /// Removes an entry unless it was changed after it was read. Not logged.
    case removeEntry(Int64, digest: [UInt8])
    case removeKey(CacheKeyName)
    case removeURL([UInt8])
    case removePrefix(String)
    case removeOrigin(String)
    case removePartition([UInt8])
    case removeAll

    package var effect: ChangeEffect {
        switch self {
        case .invalidateKey, .invalidateURL: .invalidates
        default: .removes
        }
    }

    /// The name of the URL that the change names; nil for the other changes.
    package var url: [UInt8]? {
        switch self {
        case .invalidateKey(let key), .removeKey(let key): key.url
        case .invalidateURL(let url), .removeURL(let url): url
        default: nil
        }
    }

    /// Returns the name of a URL: the first 16 bytes of its SHA-256.
    package static func name(ofURL url: String) -> [UInt8] { DiskNames.url(url) }
}

/// The names of a key in an index, for a ``CacheChange``.
package struct CacheKeyName: Sendable, Equatable {
    let key: [UInt8]
    let url: [UInt8]
    let partition: [UInt8]

    init(_ names: DiskNames) { (key, url, partition) = (names.key, names.url, names.partition) }

    /// Creates a name from a row of the log, which does not contain the key.
    fileprivate init(url: [UInt8], partition: [UInt8]) {
        (key, self.url, self.partition) = ([], url, partition)
    }
}

/// The log of changes of a ``DiskIndex``. It covers at least the last 1024 changes of all processes.
///
/// A change is logged in the last transaction that applies it. The log is read to decide whether a response may be
/// stored, and to apply changes of other cache objects to memory caches.
struct DiskChanges {
    private let extent: Statement
    private let advance: Statement
    private let insert: Statement
    private let replace: Statement
    private let matching: Statement
    private let ofOthers: Statement
    private let trim: Statement
    private let setHorizon: Statement
    private let database: Database

    static let tables = """
        CREATE TABLE change (
          number INTEGER PRIMARY KEY, writer INTEGER NOT NULL, ticket INTEGER NOT NULL, kind INTEGER NOT NULL,
          effect INTEGER NOT NULL, url BLOB, name BLOB NOT NULL
        ) STRICT;
        CREATE INDEX change_url ON change (url, number);
        CREATE TABLE journal (
          one INTEGER PRIMARY KEY, file INTEGER NOT NULL, latest INTEGER NOT NULL, horizon INTEGER NOT NULL
        ) STRICT;
        INSERT INTO journal VALUES (1, random(), 0, 0);
        """

    init(_ database: Database) throws(DatabaseError) {
        self.database = database
        extent = try database.prepare("SELECT file, latest, horizon FROM journal")
        advance = try database.prepare("UPDATE journal SET latest = latest + 1 RETURNING latest")
        insert = try database.prepare("INSERT INTO change VALUES (?, ?, ?, ?, ?, ?, ?)")
        replace = try database.prepare(
            "DELETE FROM change WHERE url = ? AND writer = ? AND kind = ? AND name = ? RETURNING ticket")
        matching = try database.prepare(
            "SELECT number, writer, ticket, effect FROM change WHERE number > ?1 AND (url = ?2 OR url IS NULL)")
        ofOthers = try database.prepare(
            "SELECT kind, url, name FROM change WHERE number > ? AND writer <> ? ORDER BY number")
        trim = try database.prepare("DELETE FROM change WHERE number <= ?")
        setHorizon = try database.prepare("UPDATE journal SET horizon = ?")
    }

    func log() throws(DatabaseError) -> ChangeLog {
        let log = try extent.first { row in
            ChangeLog(index: row.integer(0) ?? 0, latest: row.integer(1) ?? 0, horizon: row.integer(2) ?? 0)
        }
        guard let log else { throw DatabaseError(.damaged, database.path, "is damaged: its log of changes is missing") }
        return log
    }

    // MARK: Writing

    /// Logs a change. Must be called in the last transaction that applies the change.
    func add(_ change: CacheChange, by writer: Int64, ticket: UInt64) throws(DatabaseError) {
        guard let (kind, name) = DiskChanges.encode(change) else { return }
        var ticket = ticket
        if let url = change.url {
            // Only the last of several equal changes of a writer is kept. Threads may log changes in another order
            // than their tickets.
            try replace.each([.blob(url), .integer(writer), .integer(kind.rawValue), .blob(name)]) { row in
                ticket = max(ticket, row.integer(0).map { UInt64(bitPattern: $0) } ?? ticket)
                return true
            }
        }
        let number = try advance.first(read: { $0.integer(0) ?? 0 }) ?? 0
        try insert.run([
            .integer(number), .integer(writer), .integer(Int64(bitPattern: ticket)), .integer(kind.rawValue),
            .integer(change.effect.rawValue), change.url.map { .blob($0) } ?? .null, .blob(name),
        ])
        guard let horizon = try log().trimmed(keeping: DiskChanges.kept) else { return }
        try trim.run([.integer(horizon)])
        try setHorizon.run([.integer(horizon)])
    }

    /// The minimum number of latest changes that the log covers.
    static let kept: Int64 = 1024

    // MARK: Reading

    /// Decides whether the response to a request for this URL may be stored.
    ///
    /// - Parameter moment: when the request was sent.
    func verdict(_ url: [UInt8], since moment: CacheMoment, by writer: Int64) throws(DatabaseError) -> StoreVerdict {
        let log = try log()
        guard log.reaches(moment), log.latest > moment.shared else { return log.verdict(since: moment, by: writer, []) }
        var changes: [LoggedChange] = []
        try matching.each([.integer(moment.shared), .blob(url)]) { row in
            // An invalid row counts as a removal.
            let effect = row.integer(3).flatMap { ChangeEffect(rawValue: $0) } ?? .removes
            changes.append(
                LoggedChange(
                    number: row.integer(0) ?? .max, writer: row.integer(1) ?? 0,
                    ticket: UInt64(bitPattern: row.integer(2) ?? -1), effect: effect))
            return true
        }
        return log.verdict(since: moment, by: writer, changes)
    }

    /// Returns the changes after `number` made by writers other than `writer`; nil if some cannot be read.
    func ofOthers(than writer: Int64, after number: Int64) throws(DatabaseError) -> [CacheChange]? {
        var changes: [CacheChange] = []
        var isWhole = true
        try ofOthers.each([.integer(number), .integer(writer)]) { row in
            guard let kind = row.integer(0).flatMap({ Kind(rawValue: $0) }), let name = row.blob(2),
                let change = DiskChanges.decode(kind, url: row.blob(1), name)
            else {
                isWhole = false
                return false
            }
            changes.append(change)
            return true
        }
        return isWhole ? changes : nil
    }

    // MARK: Rows

    private enum Kind: Int64 {
        case invalidateKey = 1
        case invalidateURL, removeKey, removeURL, removePrefix, removeOrigin, removePartition, removeAll
    }

    private static func encode(_ change: CacheChange) -> (kind: Kind, name: [UInt8])? {
        switch change {
        case .invalidateKey(let key): (.invalidateKey, key.partition)
        case .invalidateURL: (.invalidateURL, [])
        case .removeEntry: nil
        case .removeKey(let key): (.removeKey, key.partition)
        case .removeURL: (.removeURL, [])
        // The query is cut off, because it may contain a secret. Removing too many entries only costs additional
        // requests.
        case .removePrefix(let prefix): (.removePrefix, Array(prefix.utf8.prefix { $0 != UInt8(ascii: "?") }))
        case .removeOrigin(let origin): (.removeOrigin, Array(origin.utf8))
        case .removePartition(let partition): (.removePartition, partition)
        case .removeAll: (.removeAll, [])
        }
    }

    private static func decode(_ kind: Kind, url: [UInt8]?, _ name: [UInt8]) -> CacheChange? {
        let text = String(validating: name, as: UTF8.self)
        return switch kind {
        case .invalidateKey: url.map { .invalidateKey(CacheKeyName(url: $0, partition: name)) }
        case .invalidateURL: url.map { .invalidateURL($0) }
        case .removeKey: url.map { .removeKey(CacheKeyName(url: $0, partition: name)) }
        case .removeURL: url.map { .removeURL($0) }
        case .removePrefix: text.map { .removePrefix($0) }
        case .removeOrigin: text.map { .removeOrigin($0) }
        case .removePartition: .removePartition(name)
        case .removeAll: .removeAll
        }
    }
}
