import CSQLite

/// A value in an SQLite database.
package enum SQLValue: Sendable, Equatable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    package static func flag(_ value: Bool) -> SQLValue { .integer(value ? 1 : 0) }
    package static func real(_ value: Double?) -> SQLValue { value.map { .real($0) } ?? .null }
}

/// A compiled SQL statement that can be run repeatedly with different values. Not thread-safe, like its ``Database``.
package final class Statement {
    private let database: Database
    private let handle: OpaquePointer

    init(_ database: Database, _ handle: OpaquePointer) {
        self.database = database
        self.handle = handle
    }

    deinit { _ = ForkGate.inside { sqlite3_finalize(handle) } }

    /// Runs the statement to completion.
    package func run(_ values: [SQLValue] = []) throws(DatabaseError) {
        try each(values) { _ in true }
    }

    /// Returns the result of `read` for the first row, or nil if there is no row.
    package func first<Result>(_ values: [SQLValue] = [], read: (Row) -> Result) throws(DatabaseError) -> Result? {
        var result: Result?
        try each(values) {
            result = read($0)
            return false
        }
        return result
    }

    /// Calls `body` for each row until `body` returns false. The row is valid until `body` returns.
    package func each(_ values: [SQLValue] = [], _ body: (Row) -> Bool) throws(DatabaseError) {
        // Always reset, because an unfinished statement keeps its lock on the file.
        defer {
            _ = ForkGate.inside {
                sqlite3_reset(handle)
                return sqlite3_clear_bindings(handle)
            }
        }
        for (index, value) in values.enumerated() { try bind(value, at: Int32(truncatingIfNeeded: index + 1)) }
        while true {
            let code = ForkGate.inside { sqlite3_step(handle) }
            switch code {
            case SQLITE_ROW: guard body(Row(handle)) else { return }
            case SQLITE_DONE: return
            default: throw database.error("used")
            }
        }
    }

    private func bind(_ value: SQLValue, at index: Int32) throws(DatabaseError) {
        guard ForkGate.inside({ code(ofBinding: value, at: index) }) == SQLITE_OK else { throw database.error("used") }
    }

    private func code(ofBinding value: SQLValue, at index: Int32) -> Int32 {
        switch value {
        case .null: sqlite3_bind_null(handle, index)
        case .integer(let number): sqlite3_bind_int64(handle, index, number)
        case .real(let number): sqlite3_bind_double(handle, index, number)
        case .text(var text):
            text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) {
                    // The address of an empty string may be nil, and SQLite stores a nil address as NULL.
                    sqlite3_bind_text64(
                        handle, index, $0.baseAddress ?? Statement.nothing, UInt64($0.count), csqlite_transient(),
                        UInt8(SQLITE_UTF8))
                }
            }
        case .blob(let bytes):
            bytes.isEmpty
                ? sqlite3_bind_zeroblob(handle, index, 0)
                : bytes.withUnsafeBytes {
                    sqlite3_bind_blob64(handle, index, $0.baseAddress, UInt64($0.count), csqlite_transient())
                }
        }
    }

    nonisolated(unsafe) private static let nothing: UnsafePointer<CChar> = {
        let text: StaticString = ""
        return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    }()
}

/// A row of a ``Statement``. Columns are numbered from 0. Must not be stored.
///
/// The file is not trusted. A value of another type is read as nil, and so is text that is not valid UTF-8.
/// ``real(_:)`` also accepts integers.
package struct Row {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    package func integer(_ column: Int32) -> Int64? {
        guard sqlite3_column_type(handle, column) == SQLITE_INTEGER else { return nil }
        return sqlite3_column_int64(handle, column)
    }

    package func flag(_ column: Int32) -> Bool? { integer(column).map { $0 != 0 } }

    package func real(_ column: Int32) -> Double? {
        let type = sqlite3_column_type(handle, column)
        guard type == SQLITE_FLOAT || type == SQLITE_INTEGER else { return nil }
        return sqlite3_column_double(handle, column)
    }

    package func text(_ column: Int32) -> String? {
        guard sqlite3_column_type(handle, column) == SQLITE_TEXT, let start = sqlite3_column_text(handle, column) else {
            return nil
        }
        let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
        return String(validating: bytes, as: UTF8.self)
    }

    package func blob(_ column: Int32) -> [UInt8]? {
        guard sqlite3_column_type(handle, column) == SQLITE_BLOB else { return nil }
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
