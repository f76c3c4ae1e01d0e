import NightjarHTTP
import NightjarSystem
import Synchronization

/// The owner of leases: one open ``Journal`` object.
///
/// The owner has a random number and locks the byte of this number in `PATH.lock` while it is open. The system releases
/// the lock when the process ends, however it ends. Another process that can lock the byte has therefore established
/// that the owner has ended, and adopts its leases before they expire. Unlike process numbers, this works across
/// containers, and a number is not reused.
final class JournalOwner {
    let number: Int64
    private let place: String
    private let lock: FileLock

    /// - Parameter place: the path of the journal with all symbolic links resolved.
    init(_ place: String) throws(NightjarError) {
        self.place = place
        for _ in 0..<16 {
            let number = Int64.random(in: 1..<1 << 61)
            guard let lock = try FileLock.take(JournalOwner.lockFile(place), byte: number) else { continue }
            self.number = number
            self.lock = lock
            return
        }
        throw NightjarError(.storage, "the lock file of the journal \(quoted(place)) cannot be locked; try again")
    }

    /// Returns whether another owner has ended. False if this cannot be found out.
    func hasEnded(_ owner: Int64) -> Bool {
        // The lock is released again at once. Another process that checks meanwhile finds the byte locked, and adopts
        // the leases later.
        guard owner > 0, owner < 1 << 61, owner != number,
            let lock = try? FileLock.take(JournalOwner.lockFile(place), byte: owner)
        else { return false }
        lock.unlock()
        return true
    }

    private static func lockFile(_ place: String) -> String { place + ".lock" }
}

/// Counts the open journals of the process, so that a forked child can recognize that its parent had one open.
///
/// SQLite's records of open files are wrong in such a child: it would use the file without the lock that prevents other
/// processes from removing the write-ahead log.
enum JournalProcess {
    private static let process = Atomic<Int32>(0)
    private static let openJournals = Atomic<Int>(0)

    /// Registers a journal that is about to be opened.
    ///
    /// - Returns: false in a child of a process that had a journal open when it forked.
    static func enter() -> Bool {
        let own = getpid()
        let user = process.load(ordering: .acquiring)
        if user != own {
            guard openJournals.load(ordering: .acquiring) == 0 else { return false }
            _ = process.compareExchange(expected: user, desired: own, ordering: .acquiringAndReleasing)
        }
        openJournals.add(1, ordering: .acquiringAndReleasing)
        return true
    }

    /// Unregisters a journal after it was closed.
    static func leave() { openJournals.subtract(1, ordering: .acquiringAndReleasing) }
}
