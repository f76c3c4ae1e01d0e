import CSQLite
import NightjarSystem

/// Delays a fork of the process while a thread is inside SQLite.
///
/// Without the delay, the child could inherit a locked mutex of SQLite without the thread that holds it. The child
/// would then hang when it opens a database. A thread that waits for the lock of another process leaves the gate, so a
/// fork usually waits only for milliseconds. A check of all pages of a large file can take longer.
enum ForkGate {
    /// Threads inside SQLite hold a read lock.
    nonisolated(unsafe) private static let lock: UnsafeMutablePointer<pthread_rwlock_t> = {
        let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
        pthread_rwlock_init(lock, nil)
        pthread_atfork(
            { pthread_rwlock_wrlock(ForkGate.lock) },
            { pthread_rwlock_unlock(ForkGate.lock) },
            // Initialized again instead of unlocked: the holder's thread ID is different in the child. macOS does not
            // initialize memory that contains a held lock.
            {
                ForkGate.lock.initialize(to: pthread_rwlock_t())
                pthread_rwlock_init(ForkGate.lock, nil)
            })
        return lock
    }()

    @inline(__always)
    static func inside<Result>(_ body: () -> Result) -> Result {
        pthread_rwlock_rdlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return body()
    }

    /// Sets a busy handler that waits like `sqlite3_busy_timeout`, but leaves the gate while it sleeps.
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
