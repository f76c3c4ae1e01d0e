import CLinux
import Glibc
import NightjarHTTP
import Synchronization

/// One byte of a file that is there for nothing else, locked for one client among all of all processes.
///
/// The lock belongs to the open description (F_OFD_SETLK): two clients of a process exclude each other, and the system
/// releases it with the process, however that ends. The file is never removed: who waits for one and who made a new one
/// would both have it.
final class FileLock: TokenLock {
    private let descriptor: Int32
    private let process = getpid()
    private let isReleased = Atomic<Bool>(false)

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { unlock() }

    /// - Parameter path: behind all symbolic links.
    /// - Returns: nil while another has the byte.
    static func take(_ path: String, byte: Int64) throws(NightjarError) -> FileLock? {
        let file = PrivateFile(path, "lock file")
        for _ in 0..<mostReplacements {
            let descriptor = ForkWatch.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0o600)
            guard descriptor >= 0 else { throw failure(file, errno) }
            var isTaken = false
            defer { if !isTaken { ForkWatch.close(descriptor) } }
            // A umask takes rights away; others could lock a file that they may open.
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw failure(file, errno) }
            if status.st_uid == geteuid(), status.st_mode & 0o777 != 0o600 {
                guard fchmod(descriptor, 0o600) == 0, fstat(descriptor, &status) == 0 else {
                    throw failure(file, errno)
                }
            }
            try file.check(status)
            switch clinux_lock_byte(descriptor, Int16(F_WRLCK), off_t(byte)) {
            case 0: break
            case EAGAIN, EACCES: return nil
            case let code: throw failure(file, code)
            }
            // Somebody may have removed it since it was opened, and locked another one.
            guard FileIdentity(descriptor: descriptor) == FileIdentity(path) else { continue }
            isTaken = true
            return FileLock(descriptor)
        }
        throw file.failure("is replaced again and again; leave it where it is")
    }

    /// Waits for it.
    static func wait(
        _ path: String, byte: Int64, patience: Duration
    ) throws(NightjarError) -> FileLock {
        let deadline = ContinuousClock.now + patience
        while true {
            if let lock = try take(path, byte: byte) { return lock }
            guard ContinuousClock.now < deadline else {
                throw PrivateFile(path, "lock file").failure("has been held by another process for \(patience)")
            }
            usleep(2000)
        }
    }

    func unlock() {
        guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // The child of a fork has it closed already, and the number may be another file's.
        guard getpid() == process else { return }
        ForkWatch.close(descriptor)
    }

    private static func failure(_ file: PrivateFile, _ code: Int32) -> NightjarError {
        file.failure(
            "cannot be used: \(String(cString: strerror(code))); it has to be made beside what it is for, in a folder that "
                + "this process may write in, on a file system with locks", code: code)
    }

    /// Once is an accident.
    private static let mostReplacements = 4
}
