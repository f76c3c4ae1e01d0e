import NightjarHTTP

/// The lock of the worker process of a journal: at most one process holds it. The system releases it when the process ends.
///
/// The lock is a byte of `PATH.lock`, after those of the owners of leases. The next byte is the lock of the process that waits
/// for it, and the one after that is the lock of ``JournalSpool``.
package final class JournalWorkerLock: Sendable {
    private let lock: FileLock

    /// - Parameter isSuccessor: Whether the lock is that of the process that waits for the worker.
    /// - Returns: Nil if another process holds the lock.
    /// - Throws: `storage` if the lock file cannot be used.
    package init?(journal path: String, isSuccessor: Bool = false) throws(NightjarError) {
        let place: String
        do throws(DatabaseError) { place = try JournalPath.prepare(path) } catch { throw JournalError(error).failure }
        guard let lock = try FileLock.take(place + ".lock", byte: JournalWorkerLock.byte + (isSuccessor ? 1 : 0)) else {
            return nil
        }
        self.lock = lock
    }

    deinit { lock.unlock() }

    private static let byte: Int64 = 1 << 61
    static let spoolByte = byte + 2
}
