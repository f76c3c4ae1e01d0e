import CLinux
import CSQLite
import Glibc

/// What a kind of database of ours consists of.
public struct DatabaseSchema: Sendable {
    /// In the header of each file of this kind, so that no other file is taken for one.
    public let applicationID: Int32
    /// From 1. A file of a later one is not read.
    public let version: Int32
    /// The lines of SQL that lead from each version to the next; the first from an empty file to version 1.
    public let steps: [String]
    /// Free pages can be returned to the file system (`PRAGMA incremental_vacuum`). Of new files alone.
    let shrinks: Bool

    /// - Parameter applicationID: four letters.
    public init(_ applicationID: StaticString, steps: [String], shrinks: Bool = false) {
        self.shrinks = shrinks
        var number: UInt32 = 0
        applicationID.withUTF8Buffer { for byte in $0.prefix(4) { number = number << 8 | UInt32(byte) } }
        self.applicationID = Int32(bitPattern: number)
        self.version = Int32(truncatingIfNeeded: steps.count)
        self.steps = steps
    }
}

/// A file that turned out to be damaged after it was opened. Its ``Database`` must be gone when it is moved.
public struct CondemnedFile {
    let identity: FileIdentity
    let error: DatabaseError

    public init(_ database: Database, _ error: DatabaseError) {
        identity = database.identity
        self.error = error
    }
}

/// Opens a database in a file, whatever is there.
///
/// A new file is for its owner's eyes alone. One that cannot be read, because it is garbage or of a later version, is
/// moved aside, for somebody may want it, and a new one begun. A database of another program is never touched.
public enum DatabaseFile {
    public struct Opened {
        public let database: Database
        /// Where the file that was there before is now, and why it is.
        public let movedAside: (path: String, error: DatabaseError)?
    }

    /// - Parameters:
    ///   - patience: seconds that one statement waits for other processes.
    ///   - condemned: a file that was found damaged while it was used, and is moved aside if it is still there.
    ///   - leavesUnreadable: throws for what would be moved aside: somebody has to look at it first.
    ///   - leavesNewer: throws for a file of a later version alone.
    ///   - checksPages: reads the whole file to see whether it is sound. Not for one of many megabytes whose rows are
    ///     checked when they are read.
    public static func open(
        _ path: String, _ schema: DatabaseSchema, patience: Double = 5, condemned: CondemnedFile? = nil,
        leavesUnreadable: Bool = false, leavesNewer: Bool = false, checksPages: Bool = true
    ) throws(DatabaseError) -> Opened {
        var moved: (path: String, error: DatabaseError)?
        var attempts = 0
        if let condemned, let place = try moveAside(path, condemned.identity) { moved = (place, condemned.error) }
        while true {
            attempts += 1
            try create(path)
            try checkOwner(path)
            let identity = FileIdentity(path)
            do throws(DatabaseError) {
                let database = try openExisting(path, schema, patience, checksPages: checksPages)
                // Whoever may rename in the folder can have replaced it since.
                try checkOwner(path)
                return Opened(database: database, movedAside: moved)
            } catch {
                // The second may be one that another process has just made; a third time is no accident.
                guard !leavesUnreadable, error.cause == .damaged || error.cause == .newer && !leavesNewer,
                    attempts < 4, let identity
                else { throw error }
                if let place = try moveAside(path, identity) { moved = (place, error) }
            }
        }
    }

    /// Opens what may only be read.
    public static func openAsItStands(_ path: String, _ schema: DatabaseSchema) throws(DatabaseError) -> Database {
        try checkOwner(path, orRoot: true)
        let database = try Database(existing: path, patience: 0, asItStands: true)
        guard try isCurrent(database, schema) else { throw DatabaseError(.foreign, path, "is empty") }
        return database
    }

    /// An empty file, which is an empty database, unless there is one.
    private static func create(_ path: String) throws(DatabaseError) {
        // Never opened when it is there: closing it again would let go of the locks that SQLite has on it for this
        // process (POSIX locks belong to the process, and go with the first descriptor that is closed).
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            close(descriptor)
            return
        }
        guard errno == EEXIST else { throw DatabaseError(errno: errno, path, doing: "made") }
    }

    /// A database holds secrets, and another user's may hold anything: it and what SQLite keeps beside it must be files of this
    /// user alone. Not opened for it; see ``create(_:)``.
    ///
    /// - Parameter orRoot: the system's own will do, to be read.
    private static func checkOwner(_ path: String, orRoot: Bool = false) throws(DatabaseError) {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let name = path + suffix
            var status = stat()
            guard lstat(name, &status) == 0 else {
                // A file that is beside it may go at any moment.
                guard suffix.isEmpty, errno != ENOENT || orRoot else { continue }
                throw DatabaseError(errno: errno, name, doing: "opened")
            }
            if status.st_mode & S_IFMT == S_IFLNK, suffix.isEmpty {
                guard status.st_uid == geteuid() || status.st_uid == 0 else {
                    throw DatabaseError(.foreign, name, "is a symbolic link of the user with number \(status.st_uid)")
                }
                guard stat(name, &status) == 0 else { throw DatabaseError(errno: errno, name, doing: "opened") }
            }
            if orRoot, status.st_uid == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o022 == 0 { continue }
            // Ours, and only read by others so far: no more from now on.
            if status.st_uid == geteuid(), status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o033 == 0,
                status.st_mode & 0o044 != 0, chmod(name, 0o600) == 0
            {
                continue
            }
            switch clinux_check_private(&status) {
            case 0: break
            case CLINUX_NO_FILE.rawValue: throw DatabaseError(.foreign, name, "is not a file")
            case CLINUX_FOREIGN.rawValue:
                throw DatabaseError(
                    .foreign, name,
                    "belongs to the user with number \(status.st_uid) and not to the one this process runs as; remove it, or name "
                        + "another")
            default:
                let mode = String(status.st_mode & 0o777, radix: 8)
                throw DatabaseError(
                    .foreign, name,
                    "is open to other users (mode \(mode)), who may have read or changed it; remove it, or chmod 600 it"
                )
            }
        }
    }

    private static func openExisting(
        _ path: String, _ schema: DatabaseSchema, _ patience: Double, checksPages: Bool
    ) throws(DatabaseError) -> Database {
        let database = try Database(existing: path, patience: patience)
        if try !isCurrent(database, schema, checksPages: checksPages) {
            // Before the first page is written, or it is of no effect.
            if schema.shrinks { try database.execute("PRAGMA auto_vacuum = INCREMENTAL") }
            try useWriteAheadLog(database, patience)
            try migrate(database, schema)
        } else if try database.prepare("PRAGMA journal_mode").first(read: { $0.text(0) }) != "wal" {
            try useWriteAheadLog(database, patience)
        }
        // Survives the end of the process at any moment; the end of the power may cost the last changes, and never
        // the file.
        try database.execute("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 1048576")
        return database
    }

    /// Readers and the writer do not wait for each other, and a change is one write at the end of one file.
    private static func useWriteAheadLog(_ database: Database, _ patience: Double) throws(DatabaseError) {
        // SQLite does not wait by itself where two open a new file at once.
        let deadline = ContinuousClock.now + .seconds(patience)
        while true {
            do throws(DatabaseError) {
                return try database.execute("PRAGMA journal_mode = WAL")
            } catch {
                guard error.cause == .busy, ContinuousClock.now < deadline else { throw error }
                usleep(10_000)
            }
        }
    }

    /// - Returns: false when the file is empty or of an earlier version.
    private static func isCurrent(
        _ database: Database, _ schema: DatabaseSchema, checksPages: Bool = true
    ) throws(DatabaseError) -> Bool {
        // Another process may be making it at this moment: all or nothing of that is seen.
        try database.reading { () throws(DatabaseError) in try check(database, schema, checksPages: checksPages) }
    }

    private static func check(
        _ database: Database, _ schema: DatabaseSchema, checksPages: Bool
    ) throws(DatabaseError) -> Bool {
        let identifier = try database.number("PRAGMA application_id")
        let version = try database.number("PRAGMA user_version")
        let objects = try database.number("SELECT count(*) FROM sqlite_schema")
        if identifier == 0, version == 0, objects == 0 { return false }
        guard identifier == schema.applicationID else {
            throw DatabaseError(.foreign, database.path, "is of another program or for another purpose")
        }
        guard version <= schema.version else {
            throw DatabaseError(
                .newer, database.path,
                "is of version \(version), written by a later release; this one knows version \(schema.version)")
        }
        guard version > 0, try database.objects == Database.objects(madeBy: schema.steps.prefix(Int(version))) else {
            throw DatabaseError(.damaged, database.path, "is damaged: its tables are not as they were made")
        }
        if checksPages { try checkPages(database) }
        return version == schema.version
    }

    /// Reads the whole file.
    ///
    /// - Throws: `damaged` when something in it contradicts something else.
    static func checkPages(_ database: Database) throws(DatabaseError) {
        let finding = try database.prepare("PRAGMA quick_check(1)").first { $0.text(0) } ?? nil
        guard finding == "ok" else {
            throw DatabaseError(.damaged, database.path, "is damaged: \(finding ?? "it cannot be checked")")
        }
    }

    private static func migrate(_ database: Database, _ schema: DatabaseSchema) throws(DatabaseError) {
        try database.transaction { () throws(DatabaseError) in
            // Another process may have been quicker.
            let version = try database.number("PRAGMA user_version")
            guard version < schema.version else { return }
            for step in schema.steps.dropFirst(Int(version)) { try database.execute(step) }
            try database.execute(
                "PRAGMA application_id = \(schema.applicationID); PRAGMA user_version = \(schema.version)")
        }
    }

    // MARK: Moving aside

    /// Gives the file another name, and what SQLite keeps beside it.
    ///
    /// Nobody of this process may have it open. Of several processes that want to, one does: they take turns by a lock on
    /// the damaged file itself, and the name must still stand for it.
    ///
    /// - Parameter identity: the file that was found damaged.
    /// - Returns: nil when another process was quicker.
    private static func moveAside(_ path: String, _ identity: FileIdentity) throws(DatabaseError) -> String? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw DatabaseError(errno: errno, path, doing: "moved aside")
        }
        defer { close(descriptor) }
        guard FileIdentity(descriptor: descriptor) == identity else { return nil }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw DatabaseError(errno: errno, path, doing: "moved aside") }
        }
        guard FileIdentity(path) == identity else { return nil }
        let place = freeName(beside: path)
        // The file itself last: beside a new one of its name, its log would be taken for the new one's.
        for suffix in ["-wal", "-shm", ""] where rename(path + suffix, place + suffix) != 0 {
            guard !suffix.isEmpty, errno == ENOENT else {
                throw DatabaseError(errno: errno, path, doing: "moved aside")
            }
        }
        return place
    }

    /// `NAME.damaged-20250131T235959Z`, with a number behind it when there is one of that second.
    private static func freeName(beside path: String) -> String {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + String(number) }
        let date = "\(parts.tm_year + 1900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))"
        let base = "\(path).damaged-\(date)T\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec))Z"
        var name = base
        var number = 1
        while FileIdentity(name) != nil {
            number += 1
            name = "\(base)-\(number)"
        }
        return name
    }
}
