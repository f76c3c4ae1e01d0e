import CSQLite
import Glibc

/// Delays a fork of the process while a thread is inside SQLite. Otherwise SQLite's own locks could be held forever in
/// the child, which does not have that thread, and the child would hang when it opens a database.
///
/// A thread that waits for the lock of another process is not inside, so a fork waits only for milliseconds.
enum ForkGate {
    /// Threads inside hold a read lock. Readers are preferred to waiting writers, which is glibc's default, so that a
    /// thread inside may enter again.
    nonisolated(unsafe) private static let lock: UnsafeMutablePointer<pthread_rwlock_t> = {
        let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
        pthread_rwlock_init(lock, nil)
        pthread_atfork(
            { pthread_rwlock_wrlock(ForkGate.lock) },
            { pthread_rwlock_unlock(ForkGate.lock) },
            // Initialized again instead of unlocked: the holder's thread ID is different in the child.
            { pthread_rwlock_init(ForkGate.lock, nil) })
        return lock
    }()

    @inline(__always)
    static func inside<Result>(_ body: () -> Result) -> Result {
        pthread_rwlock_rdlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return body()
    }

    /// Waits for other processes like `sqlite3_busy_timeout`, but outside of the gate.
    ///
    /// - Parameter lockTimeout: milliseconds per statement.
    static func waitForOthers(_ database: OpaquePointer, lockTimeout: Int) {
        guard lockTimeout > 0 else {
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
            }, UnsafeMutableRawPointer(bitPattern: lockTimeout))
    }

    /// Returns the pause in milliseconds after the given number of attempts.
    private static func pause(_ tries: Int32) -> Int {
        switch tries {
        case ..<2: 1
        case ..<6: 5
        case ..<12: 20
        default: 50
        }
    }
}
