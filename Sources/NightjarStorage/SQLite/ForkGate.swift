import CSQLite
import Glibc

/// Holds back a fork of the process while a thread is inside of SQLite: the child, which has that thread no more, would find
/// SQLite's own locks taken for ever, and hang when it opens a database of its own.
///
/// Who waits for another process's lock is outside meanwhile, so a fork waits for milliseconds.
enum ForkGate {
    /// Readers are inside. Readers before a writer that waits, which is what glibc does by default, so that who is inside
    /// may enter again.
    nonisolated(unsafe) private static let lock: UnsafeMutablePointer<pthread_rwlock_t> = {
        let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
        pthread_rwlock_init(lock, nil)
        pthread_atfork(
            { pthread_rwlock_wrlock(ForkGate.lock) },
            { pthread_rwlock_unlock(ForkGate.lock) },
            // Not unlocked: the thread that holds it has another number here.
            { pthread_rwlock_init(ForkGate.lock, nil) })
        return lock
    }()

    @inline(__always)
    static func inside<Result>(_ body: () -> Result) -> Result {
        pthread_rwlock_rdlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return body()
    }

    /// Waits for other processes as `sqlite3_busy_timeout` does, but outside.
    ///
    /// - Parameter patience: milliseconds for one statement.
    static func waitForOthers(_ database: OpaquePointer, patience: Int) {
        guard patience > 0 else {
            sqlite3_busy_handler(database, nil, nil)
            return
        }
        sqlite3_busy_handler(
            database,
            { context, tries in
                let waited = (0..<min(tries, 1000)).reduce(0) { $0 + ForkGate.pause($1) }
                guard waited < Int(bitPattern: context) else { return 0 }
                pthread_rwlock_unlock(ForkGate.lock)
                usleep(UInt32(ForkGate.pause(tries)) * 1000)
                pthread_rwlock_rdlock(ForkGate.lock)
                return 1
            }, UnsafeMutableRawPointer(bitPattern: patience))
    }

    /// Milliseconds before the try after so many.
    private static func pause(_ tries: Int32) -> Int {
        switch tries {
        case ..<2: 1
        case ..<6: 5
        case ..<12: 20
        default: 50
        }
    }
}
