import CLinux
import Glibc
import NightjarHTTP
import NightjarStorage
import NightjarTransport
import Synchronization

/// A cookie jar with a lock, shared by the requests and the saver.
final class LockedJar: Sendable {
    private let jar: Mutex<CookieJar>

    init(_ jar: consuming CookieJar) { self.jar = Mutex(jar) }

    @inline(__always)
    func withLock<Result, Failure: Error>(
        _ body: (inout sending CookieJar) throws(Failure) -> sending Result
    ) throws(Failure) -> Result { try jar.withLock(body) }
}

/// Synchronizes a cookie jar with its file on a thread of its own, so that no call waits for the disk.
///
/// Changes are batched: the file is written about once a second. If writing fails, the jar keeps working and the save
/// is retried every 5 s.
final class CookieSaver: Sendable {
    private let jar: LockedJar
    private let birth = Fork.generation
    private let disk: Mutex<Disk>
    private let desk: Desk
    private let notes: @Sendable (LogLevel, String) -> Void

    /// The file and its state, used by one thread at a time.
    private struct Disk: ~Copyable {
        let file: CookieFile
        /// The revision of the jar that is in the file. Nil: none.
        var savedRevision: UInt64?
        /// The last error, so that it is logged once and not at each retry.
        var complaint: String?
    }

    /// The work to do. Members are protected by the monitor.
    private final class Desk: @unchecked Sendable {
        let monitor = Monitor()
        var hasWork = false
        var isClosed = false
        var thread: pthread_t?
    }

    /// Loads the file, on this thread.
    ///
    /// - Parameter notes: Receives log messages, on any thread.
    /// - Throws: An error if the file is unusable because it belongs to another program or its folder does not exist. A
    ///   disk that is full or read-only is no error; the save is retried later.
    init(
        _ path: String, keepsSession: Bool, _ jar: LockedJar,
        notes: @escaping @Sendable (LogLevel, String) -> Void
    ) throws(NightjarError) {
        self.jar = jar
        self.notes = notes
        desk = Desk()
        let file = CookieFile(path, keepsSession: keepsSession, patience: CookieSaver.longestWait)
        var complaint: String?
        var told: [(LogLevel, String)] = []
        var saved: UInt64?
        do throws(DatabaseError) {
            let content = try withoutFileSizeSignal { () throws(DatabaseError) in try file.load(at: CookieStorage.now) }
            saved = jar.take(content)
            told = file.takeNotes().map { (.warning, $0) }
        } catch {
            let readable = try? file.loadAsItStands()
            guard readable != nil || error.cause == .full || error.cause == .readOnly || error.cause == .busy else {
                throw error.failure
            }
            if let readable { saved = jar.take(readable) }
            complaint = CookieSaver.complaint(error)
            told = [(.error, CookieSaver.complaint(error))]
        }
        disk = Mutex(Disk(file: file, savedRevision: saved, complaint: complaint))
        for (level, text) in told { notes(level, text) }
    }

    /// Saves pending changes and ends the thread. Called once, by the last owner, never on the saver's own thread.
    func close() {
        guard !isOfParent else {
            // A forked child must not touch a database that its parent has open, not even to close it.
            return CookieSaver.abandoned.withLock { $0.append(self) }
        }
        let thread = desk.monitor.withLock { () -> pthread_t? in
            desk.isClosed = true
            desk.monitor.signal()
            return desk.thread.take()
        }
        if let thread { pthread_join(thread, nil) }
        try? save()
        disk.withLock { disk in withoutFileSizeSignal { disk.file.close() } }
    }

    // MARK: Any thread

    /// Whether this process is a forked child, which has neither the thread nor the right to use the connection.
    var isOfParent: Bool { Fork.hasHappened(since: birth) }

    /// Makes the thread synchronize the jar and the file soon.
    func wake() {
        guard !isOfParent else { return }
        desk.monitor.withLock {
            guard !desk.hasWork, !desk.isClosed else { return }
            desk.hasWork = true
            if desk.thread == nil { desk.thread = start() } else { desk.monitor.signal() }
        }
    }

    /// Saves pending changes on this thread.
    ///
    /// - Throws: `storage` if the file cannot be written; `forked`.
    func save() throws(NightjarError) {
        guard !isOfParent else {
            throw NightjarError(.forked, "this cookie file belongs to the parent process")
        }
        do throws(DatabaseError) {
            try exchange(asking: false)
        } catch {
            throw error.failure
        }
    }

    // MARK: The thread

    /// Returns nil if the system has no thread. The next change then tries again, and ``close()`` saves.
    private func start() -> pthread_t? {
        do throws(ThreadFailure) {
            return try startThread("nightjar-cookie") { [self] in run() }
        } catch {
            desk.hasWork = false
            return nil
        }
    }

    private func run() {
        var pause = Duration.zero
        while waitForWork(after: pause) {
            do throws(DatabaseError) {
                try exchange(asking: true)
                pause = CookieSaver.pause
            } catch {
                // Unsaved changes are pending work.
                desk.monitor.withLock { desk.hasWork = true }
                pause = CookieSaver.patience
            }
        }
    }

    /// - Returns: False if the thread must end.
    private func waitForWork(after pause: Duration) -> Bool {
        let earliest = Monitor.deadline(after: pause)
        return desk.monitor.withLock {
            while !desk.isClosed, !earliest.hasPassed { desk.monitor.wait(until: earliest) }
            while !desk.isClosed, !desk.hasWork { desk.monitor.wait(until: nil) }
            desk.hasWork = false
            return !desk.isClosed
        }
    }

    /// - Parameter asking: Whether the file is checked for changes by other processes if the jar has no changes.
    private func exchange(asking: Bool) throws(DatabaseError) {
        try disk.withLock { disk throws(DatabaseError) in
            let (content, revision) = jar.withLock { ($0.snapshot(), $0.revision) }
            do throws(DatabaseError) {
                if revision == disk.savedRevision {
                    guard asking, try disk.file.mayHaveNews() else { return }
                }
                let merged = try withoutFileSizeSignal { () throws(DatabaseError) in
                    try disk.file.exchange(content, at: CookieStorage.now)
                }
                disk.savedRevision = jar.take(merged, over: revision)
                for note in disk.file.takeNotes() { notes(.warning, note) }
                if disk.complaint.take() != nil {
                    notes(.info, "saving cookies works again:  \(quoted(disk.file.path))")
                }
            } catch {
                let complaint = CookieSaver.complaint(error)
                if disk.complaint != complaint { notes(.error, complaint) }
                disk.complaint = complaint
                throw error
            }
        }
    }

    private static func complaint(_ error: DatabaseError) -> String {
        "saving cookies failed and will be retried: \(error)"
    }

    /// Savers of the parent process. A forked child keeps them and never closes them.
    private static let abandoned = Mutex<[CookieSaver]>([])

    // MARK: Bounds

    /// The pause between two saves.
    private static let pause = Duration.seconds(1)
    /// The pause after a failed save.
    private static let patience = Duration.seconds(5)
    /// The seconds that a save waits for other processes, each of which locks the file for milliseconds.
    private static let longestWait = 5.0
}

extension LockedJar {
    /// Merges the content of the file.
    ///
    /// - Parameter revision: The jar's revision that the file already contains. Nil: the current one.
    /// - Returns: The jar's revision that is now in the file. Nil if the jar has changed meanwhile.
    fileprivate func take(_ content: CookieJar.Snapshot, over revision: UInt64? = nil) -> UInt64? {
        withLock { $0.take(content, over: revision, at: CookieStorage.now) }
    }
}
