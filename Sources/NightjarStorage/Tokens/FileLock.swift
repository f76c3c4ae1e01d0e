import CPlatform
import NightjarHTTP
import NightjarSystem
import Synchronization

/// A lock on one byte of a lock file. At most one client in all processes holds it.
///
/// The lock belongs to the open file description (F_OFD_SETLK). Two clients of a process therefore exclude each other,
/// and the system releases the lock when the process ends.
///
/// The file is never removed. Otherwise, a process that waits for the old file and a process that created a new file
/// could both hold the lock.
final class FileLock: TokenLock {
    private let descriptor: Int32
    private let byte: Int64
    private let process = getpid()
    private let isReleased = Atomic<Bool>(false)

    private init(_ descriptor: Int32, _ byte: Int64) { (self.descriptor, self.byte) = (descriptor, byte) }

    deinit { unlock() }

    /// Takes the lock without waiting.
    ///
    /// - Parameter path: the path of the lock file, with all symbolic links resolved.
    /// - Returns: nil while another client holds the lock.
    static func take(_ path: String, byte: Int64) throws(NightjarError) -> FileLock? {
        let file = PrivateFile(path, "lock file")
        for _ in 0..<maximumReplacements {
            let descriptor = ForkWatch.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0o600)
            guard descriptor >= 0 else { throw failure(file, errno) }
            var isTaken = false
            defer { if !isTaken { ForkWatch.close(descriptor) } }
            // The mode is set explicitly. The umask may have removed permissions of the owner, and other users must not
            // be able to open and lock the file.
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw failure(file, errno) }
            if status.st_uid == geteuid(), status.st_mode & 0o777 != 0o600 {
                guard fchmod(descriptor, 0o600) == 0, fstat(descriptor, &status) == 0 else {
                    throw failure(file, errno)
                }
            }
            try file.check(status)
            switch cplatform_lock_byte(descriptor, Int16(F_WRLCK), off_t(byte)) {
            case 0: break
            case EAGAIN, EACCES: return nil
            case let code: throw failure(file, code)
            }
            // The file may have been removed since it was opened, and another process may hold a lock on a new file.
            guard FileIdentity(descriptor: descriptor) == FileIdentity(path) else { continue }
            isTaken = true
            return FileLock(descriptor, byte)
        }
        throw file.failure("was replaced repeatedly; do not remove it while it is used")
    }

    /// Waits until the lock is available. Throws `storage` after `lockTimeout`.
    static func wait(
        _ path: String, byte: Int64, lockTimeout: Duration
    ) throws(NightjarError) -> FileLock {
        let deadline = ContinuousClock.now + lockTimeout
        while true {
            if let lock = try take(path, byte: byte) { return lock }
            guard ContinuousClock.now < deadline else {
                throw PrivateFile(path, "lock file").failure("has been held by another client for \(lockTimeout)")
            }
            usleep(2000)
        }
    }

    func unlock() {
        guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // In a forked child, the descriptor was already closed, and its number may belong to another file.
        guard getpid() == process else { return }
        // A child that was just forked may have a copy of the descriptor, which would hold the lock.
        _ = cplatform_lock_byte(descriptor, Int16(F_UNLCK), off_t(byte))
        ForkWatch.close(descriptor)
    }

    private static func failure(_ file: PrivateFile, _ code: Int32) -> NightjarError {
        file.failure(
            "cannot be used: \(String(cString: strerror(code))); its folder must be writable, and "
                + "the file system must support locks", code: code)
    }

    /// The maximum number of attempts while other processes replace the lock file.
    private static let maximumReplacements = 4
}
