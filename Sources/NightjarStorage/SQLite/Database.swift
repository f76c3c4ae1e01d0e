import CSQLite
import NightjarSystem

/// A connection to an SQLite file. Not thread-safe: the owner ensures that only one thread uses it at a time.
///
/// The file is not trusted: its triggers and views are disabled, and no value may be larger than ``largestValue``.
package final class Database {
    package let path: String
    /// The identity of the file when it was opened.
    let identity: FileIdentity
    private let handle: OpaquePointer

    /// Opens an existing file.
    ///
    /// - Parameters:
    ///   - lockTimeout: seconds that one statement waits for other processes.
    ///   - withoutLocks: opens the file read-only and without locks, for files that this process may only read.
    convenience init(existing path: String, lockTimeout: Double, withoutLocks: Bool = false) throws(DatabaseError) {
        try self.init(
            path, as: withoutLocks ? Database.immutableURI(path) : path,
            withoutLocks ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE, lockTimeout: lockTimeout)
    }

    /// Creates a database in memory.
    convenience init() throws(DatabaseError) {
        try self.init(":memory:", as: ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, lockTimeout: 0)
    }

    private init(_ path: String, as name: String, _ mode: Int32, lockTimeout: Double) throws(DatabaseError) {
        var handle: OpaquePointer?
        // NOMUTEX: only one thread uses the connection at a time. EXRESCODE: distinguishes a full disk from a failing
        // disk.
        let code = ForkGate.inside {
            sqlite3_open_v2(name, &handle, mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        }
        guard code == SQLITE_OK, let handle else {
            let error = DatabaseError(code, path, doing: "opened", connection: handle)
            _ = ForkGate.inside { sqlite3_close_v2(handle) }
            throw error
        }
        self.path = path
        self.handle = handle
        identity = FileIdentity(path) ?? FileIdentity()
        wait(upTo: lockTimeout)
        sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Database.largestValue)
        sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0)
        guard ForkGate.inside({ csqlite_harden(handle) }) == SQLITE_OK else { throw error("opened") }
        // No memory mapping: if another process truncated a mapped file, an access would end this process.
        try execute("PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON")
    }

    /// Sets how many seconds one statement waits for other processes.
    func wait(upTo lockTimeout: Double) {
        ForkGate.waitForOthers(handle, lockTimeout: Int(max(0, min(lockTimeout, 3600)) * 1000))
    }

    /// Statements that are still alive keep the connection open.
    deinit { _ = ForkGate.inside { sqlite3_close_v2(handle) } }

    /// The largest value and the largest row, in bytes.
    private static let largestValue: Int32 = 16 << 20

    private static func immutableURI(_ path: String) -> String {
        var text = "file:"
        for byte in path.utf8 {
            let digits = String(byte, radix: 16, uppercase: true)
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "_"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += (byte < 0x10 ? "%0" : "%") + digits
            }
        }
        return text + "?immutable=1"
    }

    // MARK: Work

    /// Runs SQL statements without results.
    package func execute(_ sql: String) throws(DatabaseError) {
        guard ForkGate.inside({ sqlite3_exec(handle, sql, nil, nil, nil) }) == SQLITE_OK else { throw error("used") }
    }

    /// Rewrites the file so that its free pages can be returned to the file system. Must not be called inside a
    /// transaction.
    func makeShrinkable() throws(DatabaseError) {
        // VACUUM attaches the database that it writes.
        sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 1)
        defer { sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0) }
        try execute("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
    }

    /// Compiles one SQL statement.
    package func prepare(_ sql: String) throws(DatabaseError) -> Statement {
        var statement: OpaquePointer?
        let code = ForkGate.inside {
            sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        }
        guard code == SQLITE_OK, let statement else { throw error("used") }
        return Statement(self, statement)
    }

    /// Runs `body` in a transaction, which is rolled back on an error. No other process can write during the
    /// transaction. Must not be nested.
    package func transaction<Result>(
        _ body: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        // With a plain BEGIN, the first write would acquire the write lock and could fail without waiting.
        try transaction("BEGIN IMMEDIATE", body)
    }

    /// Runs `body` in a read transaction: all reads see the same state of the file. Must not be nested.
    func reading<Result>(_ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
        try transaction("BEGIN", body)
    }

    private func transaction<Result>(
        _ beginning: String, _ body: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        try execute(beginning)
        do throws(DatabaseError) {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            // SQLite rolls back by itself after some errors.
            if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
            throw error
        }
    }

    /// Returns the first column of the first row as a number, such as for `PRAGMA user_version`. Returns 0 if there is
    /// none.
    func number(_ sql: String) throws(DatabaseError) -> Int64 {
        try prepare(sql).first { $0.integer(0) ?? 0 } ?? 0
    }

    // MARK: Structure

    /// The type, the name and the SQL text of each table, index, view and trigger, sorted. Without the indexes that
    /// SQLite creates for constraints.
    var objects: [String] {
        get throws(DatabaseError) {
            var objects: [String] = []
            try prepare(
                "SELECT type || ' ' || name || ' ' || sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY 1"
            ).each {
                objects.append($0.text(0) ?? "")
                return objects.count < Database.maximumObjects
            }
            return objects
        }
    }

    static func objects(madeBy steps: some Sequence<String>) throws(DatabaseError) -> [String] {
        let model = try Database()
        for step in steps { try model.execute(step) }
        return try model.objects
    }

    /// The maximum number of objects that are read: more than any schema of this library has.
    private static let maximumObjects = 1000

    // MARK: Changes by other connections

    /// A number that changes when another connection, of this or another process, has changed the file.
    package var version: Int64 {
        get throws(DatabaseError) { try number("PRAGMA data_version") }
    }

    /// Whether the path now refers to another file than the open file, or to no file.
    package var isReplaced: Bool {
        FileIdentity(path) != identity
    }

    /// Returns the last error reported by SQLite.
    func error(_ what: String) -> DatabaseError {
        DatabaseError(sqlite3_extended_errcode(handle), path, doing: what, connection: handle)
    }
}

/// The identity of a file, independent of its name.
struct FileIdentity: Equatable {
    private var device: UInt64 = 0
    private var number: UInt64 = 0

    init() {}

    /// Identifies the file at a path. Returns nil if the file does not exist or cannot be accessed.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(status.st_ino)
    }
}
