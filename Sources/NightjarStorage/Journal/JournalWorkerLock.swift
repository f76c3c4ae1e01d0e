import NightjarHTTP

/// The lock of the worker process of a journal: at most one process holds it. The system releases it when the process ends.
///
/// The lock is a byte of `PATH.lock`, after those of the owners of leases.
package final class JournalWorkerLock: Sendable {
    private let lock: FileLock

    /// - Returns: Nil if another process holds the lock.
    /// - Throws: `storage` if the lock file cannot be used.
    package init?(journal path: String) throws(NightjarError) {
        let place: String
        do throws(DatabaseError) { place = try JournalPath.prepare(path) } catch { throw JournalError(error).failure }
        guard let lock = try FileLock.take(place + ".lock", byte: JournalWorkerLock.byte) else { return nil }
        self.lock = lock
    }

    deinit { lock.unlock() }

    private static let byte: Int64 = 1 << 61
}
