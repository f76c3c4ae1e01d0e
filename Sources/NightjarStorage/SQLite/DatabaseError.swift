import CSQLite
import Glibc
import NightjarHTTP

/// Why a database could not do what was asked. ``failure`` is what a caller of the library gets to see.
public struct DatabaseError: Error, Sendable, CustomStringConvertible {
    /// What its owner does differently for it.
    public enum Cause: Sendable {
        /// The content of the file is no database, or its pages contradict each other, or SQLite cannot use the tables.
        case damaged
        /// A later version of this library wrote it.
        case newer
        /// Another program's database, or another kind of ours. It is left alone.
        case foreign
        /// Other processes held it for longer than was waited.
        case busy
        /// No room on the disk.
        case full
        /// The file, its folder or the whole disk may not be written.
        case readOnly
        /// Everything else: no such folder, no permission, no memory, a failing disk.
        case other
    }

    public let cause: Cause
    public let path: String
    /// What failed, and why: it ends the sentence `the database "name" …`.
    public let reason: String
    /// SQLite's extended result code, or the system's number where SQLite was not reached; 0 for none.
    public let code: Int32

    public init(_ cause: Cause, _ path: String, _ reason: String, code: Int32 = 0) {
        self.cause = cause
        self.path = path
        self.reason = reason
        self.code = code
    }

    /// A result code of SQLite, with its text for the latest failure of the connection.
    init(_ code: Int32, _ path: String, doing what: String, connection: OpaquePointer?) {
        let text = connection.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
        self.init(Cause(code), path, "cannot be \(what): \(text)", code: code)
    }

    /// A number of the system.
    init(errno code: Int32, _ path: String, doing what: String) {
        let cause: Cause =
            switch code {
            case ENOSPC, EDQUOT, EFBIG: .full
            case EROFS, EACCES, EPERM: .readOnly
            default: .other
            }
        self.init(cause, path, "cannot be \(what): \(String(cString: strerror(code)))", code: code)
    }

    public var failure: NightjarError { NightjarError(.storage, description, code: code) }
    public var description: String { "the database \(quoted(path)) \(reason)" }
}

extension DatabaseError.Cause {
    /// - Parameter code: extended or not.
    init(_ code: Int32) {
        self =
            switch code & 0xFF {
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_MISMATCH, SQLITE_FORMAT: .damaged
            // Our statements are constants that fit our tables, and our values keep their bounds. A statement that SQLite
            // rejects means that the tables are no longer as they were made.
            case SQLITE_ERROR, SQLITE_TOOBIG, SQLITE_CONSTRAINT: .damaged
            case SQLITE_BUSY, SQLITE_LOCKED: .busy
            case SQLITE_FULL: .full
            case SQLITE_READONLY, SQLITE_PERM: .readOnly
            // A short write is how a full disk shows that had room for a part.
            case SQLITE_IOERR where code == SQLITE_IOERR | (3 << 8) || code == SQLITE_IOERR | (19 << 8): .full
            default: .other
            }
    }
}
