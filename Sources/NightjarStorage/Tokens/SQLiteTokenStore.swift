import NightjarCrypto
import NightjarHTTP
import NightjarSystem

/// Stores one login in an SQLite file. The file may contain the logins of several accounts. `PATH.lock` is the lock
/// file, with one byte for each account.
///
/// The file is open only during an operation. A forked child may use the store, unless the parent forked during an
/// operation of any SQLite token store.
public struct SQLiteTokenStore: TokenStore {
    public let path: String
    public let account: String
    private let key: EncryptionKey?
    private let lockTimeout: Double
    private let file: PrivateFile

    /// Creates the store. Does not access the disk yet.
    ///
    /// - Parameters:
    ///   - account: the name of the login in the file; any text.
    ///   - key: encrypts this login with AES-256-GCM. A record that is copied to another file or account is rejected.
    ///   - lockTimeout: seconds that one statement waits for other processes.
    public init(path: String, account: String, key: EncryptionKey? = nil, lockTimeout: Double = 5) {
        self.path = path
        self.account = account
        self.key = key
        self.lockTimeout = lockTimeout
        file = PrivateFile(path, "token database")
    }

    public var name: String { "database \(quoted(path)) (account \(quoted(account)))" }

    public func load() throws(NightjarError) -> StoredLogin? {
        let place = try file.place()
        guard try isThere(place) else { return nil }
        return try use(place) { (database) throws(DatabaseError) -> Result<StoredLogin?, NightjarError> in
            try database.reading { () throws(DatabaseError) in try read(database, place) }
        }
    }

    public func save(_ login: StoredLogin, replacing version: LoginVersion?) throws(NightjarError) -> Bool {
        let place = try file.place()
        guard let record = LoginRecord.encode(login, key: key, place: recordPlace(place)) else {
            throw failure("cannot store the login: its record would be larger than 1 MiB")
        }
        let isNew = try !isThere(place)
        var isRepeated = false
        let isSaved = try use(place) { (database) throws(DatabaseError) -> Result<Bool, NightjarError> in
            try database.transaction { () throws(DatabaseError) -> Result<Bool, NightjarError> in
                // A record that cannot be read is not overwritten.
                switch try read(database, place) {
                case .failure(let error): return .failure(error)
                case .success(let stored):
                    guard login.mayReplace(stored, of: version) else { return .success(false) }
                    isRepeated = stored == login
                }
                try database.prepare("REPLACE INTO login (account, record) VALUES (?, ?)")
                    .run([.text(account), .blob(record)])
                return .success(true)
            }
        }
        if isNew || isRepeated { try file.syncFolder(of: place) }
        return isSaved
    }

    public func tryLock() throws(NightjarError) -> (any TokenLock)? {
        let digest = Digest.sha256(Array(account.utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let place = try file.place()
        // The shift keeps the offset below the maximum file length. If two accounts have the same offset by chance,
        // they only wait for each other.
        guard let lock = try FileLock.take(place + ".lock", byte: Int64(digest >> 2)) else { return nil }
        do throws(NightjarError) {
            if try isThere(place) { try settle(place) }
            return lock
        } catch {
            lock.unlock()
            throw error
        }
    }

    /// Completes or discards a save that was interrupted because its process was killed.
    ///
    /// The interrupted change may be at the end of SQLite's log. It would become visible later, when a process recovers
    /// the log. A write by this process recovers the log now.
    private func settle(_ place: String) throws(NightjarError) {
        try use(place) { (database) throws(DatabaseError) -> Result<Void, NightjarError> in
            try database.transaction { () throws(DatabaseError) -> Result<Void, NightjarError> in
                try database.execute("UPDATE turn SET number = number + 1")
                return .success(())
            }
        }
    }

    /// Returns the associated data of an encrypted record. A record copied to another account or file is rejected.
    private func recordPlace(_ place: String) -> String { "sqlite\0\(place)\0\(account)" }

    // MARK: Database

    private static let schema = DatabaseSchema(
        "njtk",
        steps: [
            """
            CREATE TABLE login (account TEXT PRIMARY KEY, record BLOB NOT NULL) STRICT, WITHOUT ROWID;
            CREATE TABLE turn (number INTEGER NOT NULL) STRICT;
            INSERT INTO turn VALUES (0);
            """
        ])

    /// Returns whether the file exists. Does not open the file: closing it would release the locks that SQLite holds on
    /// the file in this process.
    private func isThere(_ place: String) throws(NightjarError) -> Bool {
        var status = stat()
        guard stat(place, &status) == 0 else {
            guard errno == ENOENT else {
                throw failure("cannot be opened: \(String(cString: strerror(errno)))", code: errno)
            }
            return false
        }
        try file.check(status)
        return true
    }

    private func use<Value>(
        _ place: String, _ body: (Database) throws(DatabaseError) -> Result<Value, NightjarError>
    ) throws(NightjarError) -> Value {
        let result: Result<Value, NightjarError>?
        do throws(DatabaseError) {
            result = try ForkWatch.usingDatabases { () throws(DatabaseError) in
                try withoutFileSizeSignal { () throws(DatabaseError) in
                    let opened = try DatabaseFile.open(
                        place, SQLiteTokenStore.schema, lockTimeout: lockTimeout, leavesUnreadable: true)
                    // Each commit is durable, and overwritten data is not left in the file.
                    try opened.database.execute("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON")
                    return try body(opened.database)
                }
            }
        } catch {
            // The error may concern a file of SQLite beside the database. "Remove it" must not refer to the database.
            let reason = error.path == place ? error.reason : "cannot be opened: \(quoted(error.path)) \(error.reason)"
            throw failure(reason + SQLiteTokenStore.advice(error.cause), code: error.code)
        }
        guard let result else {
            throw NightjarError(
                .forked,
                "the token \(name) cannot be used: the parent process was using a token database when it forked; fork when none is in use"
            )
        }
        return try result.get()
    }

    private func read(_ database: Database, _ place: String) throws(DatabaseError) -> Result<
        StoredLogin?, NightjarError
    > {
        let record = try database.prepare("SELECT record FROM login WHERE account = ?").first([.text(account)]) {
            $0.blob(0)
        }
        guard let record else { return .success(nil) }
        do throws(LoginRecord.Failure) {
            return .success(try LoginRecord.decode(record ?? [], key: key, place: recordPlace(place)))
        } catch {
            return .failure(failure(error.fileReason))
        }
    }

    /// Returns the end of the message: what the caller can do.
    private static func advice(_ cause: DatabaseError.Cause) -> String {
        switch cause {
        case .damaged: "; it was not changed; move it away and log in again"
        // The reason already contains the advice, which depends on what is foreign: the file, its owner or its mode.
        case .foreign: ""
        case .newer: ""
        case .busy: "; another process or client kept it locked for too long; try again"
        case .full: "; free some disk space; the previous content is unchanged"
        case .readOnly: "; the file and its folder must be writable by this process"
        case .other: ""
        }
    }
}
