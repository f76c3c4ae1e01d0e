import CSQLite
import NightjarHTTP
import NightjarSystem

/// An error of a database. ``failure`` is the error for callers of the library.
package struct DatabaseError: Error, Sendable, CustomStringConvertible {
    package enum Cause: Sendable {
        /// The file is not a database, its pages are inconsistent, or its tables or rows are not those of the library.
        case damaged
        /// A later version of this library wrote the file.
        case newer
        /// The file must not be used and is not changed: for example, the file belongs to another program or user, is
        /// accessible to other users, or is another kind of database of this library.
        case foreign
        /// Another connection, of this or another process, kept the file locked for longer than the lock timeout. Also
        /// the cause if a sweep of the disk cache removed a temporary file in use.
        case busy
        /// The disk has no space left, or a disk quota or the file size limit of the process is exceeded.
        case full
        /// The file, its folder or the file system is not writable, or access is denied.
        case readOnly
        /// Any other error, such as a missing folder, lack of memory or a failing disk.
        case other
    }

    package let cause: Cause
    package let path: String
    /// The operation that failed, and the reason. Completes the sentence `the database "name" …`.
    package let reason: String
    /// SQLite's extended result code, or an errno value if SQLite was not involved; 0 for none.
    package let code: Int32

    package init(_ cause: Cause, _ path: String, _ reason: String, code: Int32 = 0) {
        self.cause = cause
        self.path = path
        self.reason = reason
        self.code = code
    }

    /// Creates an error from a result code of SQLite and the message of the connection's last error.
    init(_ code: Int32, _ path: String, doing what: String, connection: OpaquePointer?) {
        let text = connection.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
        self.init(Cause(code), path, "cannot be \(what): \(text)", code: code)
    }

    init(errno code: Int32, _ path: String, doing what: String) {
        let cause: Cause =
            switch code {
            case ENOSPC, EDQUOT, EFBIG: .full
            case EROFS, EACCES, EPERM: .readOnly
            default: .other
            }
        self.init(cause, path, "cannot be \(what): \(String(cString: strerror(code)))", code: code)
    }

    package var failure: NightjarError { NightjarError(.storage, description, code: code) }
    package var description: String { "the database \(quoted(path)) \(reason)" }
}

extension DatabaseError.Cause {
    /// - Parameter code: a primary or extended result code.
    init(_ code: Int32) {
        self =
            switch code & 0xFF {
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_MISMATCH, SQLITE_FORMAT: .damaged
            // The library's statements fit its tables, and its values are bounded. If SQLite rejects a statement,
            // another program has changed the tables.
            case SQLITE_ERROR, SQLITE_TOOBIG, SQLITE_CONSTRAINT: .damaged
            case SQLITE_BUSY, SQLITE_LOCKED: .busy
            case SQLITE_FULL: .full
            case SQLITE_READONLY, SQLITE_PERM: .readOnly
            // SQLITE_IOERR_WRITE and SQLITE_IOERR_SHMSIZE: usually a lack of space, such as an exceeded quota.
            case SQLITE_IOERR where code == SQLITE_IOERR | (3 << 8) || code == SQLITE_IOERR | (19 << 8): .full
            default: .other
            }
    }
}
