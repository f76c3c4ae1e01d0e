import CSQLite
import Glibc

/// One connection to one SQLite file. One thread at a time: whoever owns it sees to that.
///
/// What a file says is not trusted: no trigger or view of it runs, and no value of it is larger than ``largestValue``.
public final class Database {
    public let path: String
    /// The file behind the name when it was opened.
    let identity: FileIdentity
    private let handle: OpaquePointer

    /// Opens a file that is there.
    ///
    /// - Parameters:
    ///   - patience: seconds that one statement waits for other processes.
    ///   - asItStands: reads the file alone and takes no lock, for files where that is all one may.
    convenience init(existing path: String, patience: Double, asItStands: Bool = false) throws(DatabaseError) {
        try self.init(
            path, as: asItStands ? Database.immutableURI(path) : path,
            asItStands ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE, patience: patience)
    }

    /// One in memory, which ends with it.
    convenience init() throws(DatabaseError) {
        try self.init(":memory:", as: ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, patience: 0)
    }

    private init(_ path: String, as name: String, _ mode: Int32, patience: Double) throws(DatabaseError) {
        var handle: OpaquePointer?
        // NOMUTEX: there is one thread at a time. EXRESCODE: a full disk is told from a broken one.
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
        wait(upTo: patience)
        sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Database.largestValue)
        sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0)
        guard ForkGate.inside({ csqlite_harden(handle) }) == SQLITE_OK else { throw error("opened") }
        // No mapped files: one that another process makes shorter would end this one.
        try execute("PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON")
    }

    /// Sets how many seconds one statement waits for other processes.
    func wait(upTo patience: Double) {
        ForkGate.waitForOthers(handle, patience: Int(max(0, min(patience, 3600)) * 1000))
    }

    /// Statements still alive keep the connection until they go.
    deinit { _ = ForkGate.inside { sqlite3_close_v2(handle) } }

    /// Bytes of a row, and of a line of SQL.
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

    /// Runs lines of SQL that give nothing back.
    public func execute(_ sql: String) throws(DatabaseError) {
        guard ForkGate.inside({ sqlite3_exec(handle, sql, nil, nil, nil) }) == SQLITE_OK else { throw error("used") }
    }

    /// Rewrites the file as one whose free pages can be returned to the file system. Not inside a transaction.
    func makeShrinkable() throws(DatabaseError) {
        // VACUUM attaches the file that it writes.
        sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 1)
        defer { sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0) }
        try execute("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
    }

    /// Compiles one line of SQL.
    public func prepare(_ sql: String) throws(DatabaseError) -> Statement {
        var statement: OpaquePointer?
        let code = ForkGate.inside {
            sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        }
        guard code == SQLITE_OK, let statement else { throw error("used") }
        return Statement(self, statement)
    }

    /// Does all of `body` or nothing, with no other writer in between. Not to be nested.
    public func transaction<Result>(
        _ body: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        // Immediate: taking the right to write at the first write instead could fail for want of waiting.
        try transaction("BEGIN IMMEDIATE", body)
    }

    /// Reads one state of the file, whatever others write meanwhile. Not to be nested.
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
            // Some failures have rolled back by themselves.
            if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
            throw error
        }
    }

    /// A number of the connection itself: `PRAGMA user_version` and the like.
    func number(_ sql: String) throws(DatabaseError) -> Int64 {
        try prepare(sql).first { $0.integer(0) ?? 0 } ?? 0
    }

    // MARK: Structure

    /// The tables and what belongs to them, as SQL that makes them.
    var objects: [String] {
        get throws(DatabaseError) {
            var objects: [String] = []
            try prepare(
                "SELECT type || ' ' || name || ' ' || sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY 1"
            ).each {
                objects.append($0.text(0) ?? "")
                return objects.count < Database.mostObjects
            }
            return objects
        }
    }

    static func objects(madeBy steps: some Sequence<String>) throws(DatabaseError) -> [String] {
        let model = try Database()
        for step in steps { try model.execute(step) }
        return try model.objects
    }

    /// More than any schema of ours has.
    private static let mostObjects = 1000

    // MARK: Others

    /// Changes when another connection, of this process or another, has changed the file.
    public var version: Int64 {
        get throws(DatabaseError) { try number("PRAGMA data_version") }
    }

    /// Whether the file that is open is no longer the one behind the name.
    public var isReplaced: Bool {
        FileIdentity(path) != identity
    }

    /// The failure that SQLite reported last.
    func error(_ what: String) -> DatabaseError {
        DatabaseError(sqlite3_extended_errcode(handle), path, doing: what, connection: handle)
    }
}

/// Which file a name stands for, whatever the name.
struct FileIdentity: Equatable {
    private var device: UInt64 = 0
    private var number: UInt64 = 0

    init() {}

    /// - Returns: nil when there is none.
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
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
    }
}
