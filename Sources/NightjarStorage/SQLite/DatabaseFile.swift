import CPlatform
import CSQLite
import NightjarSystem

/// The definition of a kind of database.
package struct DatabaseSchema: Sendable {
    /// The number in the header of each file of this kind. Files with another number are not used.
    package let applicationID: Int32
    /// The version of the schema, from 1. Files of later versions are not read.
    package let version: Int32
    /// The SQL statements that upgrade from each version to the next. The first step upgrades an empty file to version
    /// 1.
    package let steps: [String]
    /// True if new files can return free pages to the file system (`PRAGMA incremental_vacuum`).
    let shrinks: Bool

    /// - Parameter applicationID: four ASCII characters.
    package init(_ applicationID: StaticString, steps: [String], shrinks: Bool = false) {
        self.shrinks = shrinks
        var number: UInt32 = 0
        applicationID.withUTF8Buffer { for byte in $0.prefix(4) { number = number << 8 | UInt32(byte) } }
        self.applicationID = Int32(bitPattern: number)
        self.version = Int32(truncatingIfNeeded: steps.count)
        self.steps = steps
    }
}

/// A file that was found damaged after it was opened. Its ``Database`` must be closed before the file is moved.
package struct CorruptFile {
    let identity: FileIdentity
    let error: DatabaseError

    package init(_ database: Database, _ error: DatabaseError) {
        identity = database.identity
        self.error = error
    }
}

/// Opens or creates a database file.
///
/// A new file is accessible only to its owner. By default, a file that is damaged or of a later version is moved aside,
/// and a new file is created. The content of another program's database is not changed.
package enum DatabaseFile {
    package struct Opened {
        package let database: Database
        /// The new path of the file that existed before, and the reason for moving it.
        package let movedAside: (path: String, error: DatabaseError)?
    }

    /// Opens the file, or creates it.
    ///
    /// - Parameters:
    ///   - lockTimeout: seconds that one statement waits for other processes.
    ///   - corruptFile: a file that was found damaged during use. It is moved aside if it is still at `path`.
    ///   - leavesUnreadable: true to throw instead of moving a file aside.
    ///   - leavesNewer: true to throw instead of moving a file of a later version aside.
    ///   - checksPages: true to read and check the whole file. False for large files whose rows are checked when they
    ///     are read.
    package static func open(
        _ path: String, _ schema: DatabaseSchema, lockTimeout: Double = 5, corruptFile: CorruptFile? = nil,
        leavesUnreadable: Bool = false, leavesNewer: Bool = false, checksPages: Bool = true
    ) throws(DatabaseError) -> Opened {
        var moved: (path: String, error: DatabaseError)?
        var attempts = 0
        if let corruptFile, let place = try moveAside(path, corruptFile.identity) { moved = (place, corruptFile.error) }
        while true {
            attempts += 1
            try create(path)
            try checkOwner(path)
            let identity = FileIdentity(path)
            do throws(DatabaseError) {
                let database = try openExisting(path, schema, lockTimeout, checksPages: checksPages)
                // Checked again: a process with write access to the folder could have replaced the file after the first
                // check.
                try checkOwner(path)
                return Opened(database: database, movedAside: moved)
            } catch {
                // Another process may replace the file concurrently, so there are several attempts.
                guard !leavesUnreadable, error.cause == .damaged || error.cause == .newer && !leavesNewer,
                    attempts < 4, let identity
                else { throw error }
                if let place = try moveAside(path, identity) { moved = (place, error) }
            }
        }
    }

    /// Opens an existing file read-only and without locks.
    ///
    /// - Throws: `readOnly` if the file is of an earlier version, because an upgrade writes to it.
    package static func openWithoutLocks(_ path: String, _ schema: DatabaseSchema) throws(DatabaseError) -> Database {
        try checkOwner(path, orRoot: true)
        let database = try Database(existing: path, lockTimeout: 0, withoutLocks: true)
        switch try content(of: database, schema) {
        case .current: return database
        case .empty: throw DatabaseError(.foreign, path, "is empty")
        case .earlier(let version):
            throw DatabaseError(
                .readOnly, path,
                "has version \(version), written by an earlier release; make the file and its folder writable, so that it can be upgraded"
            )
        }
    }

    /// Creates an empty file, which is a valid empty database. Does nothing if the file exists.
    private static func create(_ path: String) throws(DatabaseError) {
        // An existing file is never opened here: closing it would release SQLite's locks on it. POSIX locks belong to
        // the process and are released when the process closes any descriptor of the file.
        let descriptor = NightjarSystem.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            close(descriptor)
            return
        }
        guard errno == EEXIST else { throw DatabaseError(errno: errno, path, doing: "created") }
    }

    /// Checks that the file and SQLite's files beside it belong to this user and are not accessible to others. A
    /// database contains secrets, and the database of another user may contain anything.
    ///
    /// The check does not open the files; see ``create(_:)``.
    ///
    /// - Parameter orRoot: also accepts files of root, for reading.
    private static func checkOwner(_ path: String, orRoot: Bool = false) throws(DatabaseError) {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let name = path + suffix
            var status = stat()
            guard lstat(name, &status) == 0 else {
                // SQLite's other files may be removed at any time.
                guard suffix.isEmpty, errno != ENOENT || orRoot else { continue }
                throw DatabaseError(errno: errno, name, doing: "opened")
            }
            if status.st_mode & S_IFMT == S_IFLNK, suffix.isEmpty {
                guard status.st_uid == geteuid() || status.st_uid == 0 else {
                    throw DatabaseError(
                        .foreign, name,
                        "is a symbolic link of another user (uid \(status.st_uid)), who controls its target; use another path"
                    )
                }
                guard stat(name, &status) == 0 else { throw DatabaseError(errno: errno, name, doing: "opened") }
            }
            if orRoot, status.st_uid == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o022 == 0 { continue }
            // A file of this user that others can only read is made private.
            if status.st_uid == geteuid(), status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o033 == 0,
                status.st_mode & 0o044 != 0, chmod(name, 0o600) == 0
            {
                continue
            }
            switch cplatform_check_private(&status) {
            case 0: break
            case CPLATFORM_NO_FILE.rawValue:
                throw DatabaseError(.foreign, name, "is not a regular file; use another path")
            case CPLATFORM_FOREIGN.rawValue:
                throw DatabaseError(
                    .foreign, name,
                    "belongs to another user (uid \(status.st_uid)); remove it, or use another path")
            default:
                let mode = String(status.st_mode & 0o777, radix: 8)
                throw DatabaseError(
                    .foreign, name,
                    "is accessible to other users (mode \(mode)), who may have read or changed it; remove it, or run chmod 600 on it"
                )
            }
        }
    }

    private static func openExisting(
        _ path: String, _ schema: DatabaseSchema, _ lockTimeout: Double, checksPages: Bool
    ) throws(DatabaseError) -> Database {
        let database = try Database(existing: path, lockTimeout: lockTimeout)
        switch try content(of: database, schema, checksPages: checksPages) {
        case .empty, .earlier:
            // `auto_vacuum` must be set before the first page is written.
            if schema.shrinks { try database.execute("PRAGMA auto_vacuum = INCREMENTAL") }
            try useWriteAheadLog(database, lockTimeout)
            try migrate(database, schema)
        case .current:
            if try database.prepare("PRAGMA journal_mode").first(read: { $0.text(0) }) != "wal" {
                try useWriteAheadLog(database, lockTimeout)
            }
        }
        // A crash of the process loses nothing. A power failure may lose the last changes but does not damage the file.
        try database.execute("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 1048576")
        return database
    }

    /// Enables the write-ahead log: readers and the writer do not wait for each other, and a change is a single append.
    private static func useWriteAheadLog(_ database: Database, _ lockTimeout: Double) throws(DatabaseError) {
        // SQLite does not wait by itself if two processes open a new file at the same time.
        let deadline = ContinuousClock.now + .seconds(lockTimeout)
        while true {
            do throws(DatabaseError) {
                return try database.execute("PRAGMA journal_mode = WAL")
            } catch {
                guard error.cause == .busy, ContinuousClock.now < deadline else { throw error }
                usleep(10_000)
            }
        }
    }

    /// The content of a file that this release can use.
    private enum Content {
        case empty
        case earlier(version: Int64)
        case current
    }

    /// Checks the tables of the file.
    private static func content(
        of database: Database, _ schema: DatabaseSchema, checksPages: Bool = true
    ) throws(DatabaseError) -> Content {
        // One transaction, because another process may be creating the tables.
        try database.reading { () throws(DatabaseError) in try check(database, schema, checksPages: checksPages) }
    }

    private static func check(
        _ database: Database, _ schema: DatabaseSchema, checksPages: Bool
    ) throws(DatabaseError) -> Content {
        let identifier = try database.number("PRAGMA application_id")
        let version = try database.number("PRAGMA user_version")
        let objects = try database.number("SELECT count(*) FROM sqlite_schema")
        if identifier == 0, version == 0, objects == 0 { return .empty }
        guard identifier == schema.applicationID else {
            throw DatabaseError(
                .foreign, database.path,
                "belongs to another program or has another purpose; it was not changed; use another path")
        }
        guard version <= schema.version else {
            throw DatabaseError(
                .newer, database.path,
                "has version \(version), written by a later release; this release supports up to version \(schema.version)"
            )
        }
        guard version > 0, try database.objects == Database.objects(madeBy: schema.steps.prefix(Int(version))) else {
            throw DatabaseError(.damaged, database.path, "is damaged: its tables were changed")
        }
        if checksPages { try checkPages(database) }
        return version == schema.version ? .current : .earlier(version: version)
    }

    /// Checks all pages of the file.
    ///
    /// - Throws: `damaged` if the pages are inconsistent.
    static func checkPages(_ database: Database) throws(DatabaseError) {
        let finding = try database.prepare("PRAGMA quick_check(1)").first { $0.text(0) } ?? nil
        guard finding == "ok" else {
            throw DatabaseError(.damaged, database.path, "is damaged: \(finding ?? "it cannot be checked")")
        }
    }

    private static func migrate(_ database: Database, _ schema: DatabaseSchema) throws(DatabaseError) {
        try database.transaction { () throws(DatabaseError) in
            // Another process may have upgraded the file already.
            let version = try database.number("PRAGMA user_version")
            guard version < schema.version else { return }
            for step in schema.steps.dropFirst(Int(version)) { try database.execute(step) }
            try database.execute(
                "PRAGMA application_id = \(schema.applicationID); PRAGMA user_version = \(schema.version)")
        }
    }

    // MARK: Moving aside

    /// Renames the file, its write-ahead log and the index of the log. The file must not be open in this process.
    ///
    /// If several processes find the file damaged, a lock on the file ensures that only one of them moves it.
    ///
    /// - Parameter identity: the file that was found damaged.
    /// - Returns: the new path; nil if another process has already moved or replaced the file.
    private static func moveAside(_ path: String, _ identity: FileIdentity) throws(DatabaseError) -> String? {
        let descriptor = NightjarSystem.open(path, O_RDONLY | O_CLOEXEC)
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
        let place = unusedName(beside: path)
        // The database itself is renamed last: otherwise its log could be mistaken for the log of a new database of the
        // same name.
        for suffix in ["-wal", "-shm", ""] where rename(path + suffix, place + suffix) != 0 {
            guard !suffix.isEmpty, errno == ENOENT else {
                throw DatabaseError(errno: errno, path, doing: "moved aside")
            }
        }
        return place
    }

    /// Returns `PATH.damaged-20250131T235959Z`, followed by a number if a file of that name exists.
    private static func unusedName(beside path: String) -> String {
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
