import CLinux
import Glibc
import NightjarHTTP
import NightjarStorage
import NightjarTransport
import Synchronization

/// A jar behind its lock, where two share it: who uses it and who saves it.
final class LockedJar: Sendable {
    private let jar: Mutex<CookieJar>

    init(_ jar: consuming CookieJar) { self.jar = Mutex(jar) }

    @inline(__always)
    func withLock<Result, Failure: Error>(
        _ body: (inout sending CookieJar) throws(Failure) -> sending Result
    ) throws(Failure) -> Result { try jar.withLock(body) }
}

/// Keeps a jar and a file alike, on a thread of its own: a disk may take its time, and no call waits for it.
///
/// Changes are gathered: one exchange with the file serves all of about a second. When the disk does not take them the jar
/// works on, and another try is made every ``patience``.
final class CookieSaver: Sendable {
    private let jar: LockedJar
    private let birth = Fork.generation
    private let disk: Mutex<Disk>
    private let desk: Desk
    private let notes: @Sendable (LogLevel, String) -> Void

    /// The file's side, one thread at a time.
    private struct Disk: ~Copyable {
        let file: CookieFile
        /// Of the jar, as it is in the file. Nil: none is.
        var savedRevision: UInt64?
        /// What was wrong last, so that it is told once and not at every try.
        var complaint: String?
    }

    /// What there is to do. Its members are guarded by its monitor.
    private final class Desk: @unchecked Sendable {
        let monitor = Monitor()
        var hasWork = false
        var isClosed = false
        var thread: pthread_t?
    }

    /// Loads what is in the file, on this thread.
    ///
    /// - Parameter notes: told what a log should know; any thread.
    /// - Throws: when the file can never serve: it is another program's, or its folder is not there. A disk that is full
    ///   or may not be written is one for which the jar can wait.
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

    /// Saves what is not saved and ends the thread. Once, by the last owner; never on the saver's own thread.
    func close() {
        guard !isOfParent else {
            // The child of a fork must not touch a database that its parent has open, not even to close it.
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

    /// Whether this is the child of a fork, which has neither the thread nor the right to the connection.
    var isOfParent: Bool { Fork.hasHappened(since: birth) }

    /// Has the thread look after jar and file soon.
    func wake() {
        guard !isOfParent else { return }
        desk.monitor.withLock {
            guard !desk.hasWork, !desk.isClosed else { return }
            desk.hasWork = true
            if desk.thread == nil { desk.thread = start() } else { desk.monitor.signal() }
        }
    }

    /// Saves now, on this thread, what is not saved.
    ///
    /// - Throws: `storage` when the file does not take it; `forked`.
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

    /// Returns nil if the system has no thread. Then the next change tries again, and ``close()`` saves.
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
                // What could not be saved is work that is left.
                desk.monitor.withLock { desk.hasWork = true }
                pause = CookieSaver.patience
            }
        }
    }

    /// - Returns: false when it is to end.
    private func waitForWork(after pause: Duration) -> Bool {
        let earliest = Monitor.deadline(after: pause)
        return desk.monitor.withLock {
            while !desk.isClosed, !earliest.hasPassed { desk.monitor.wait(until: earliest) }
            while !desk.isClosed, !desk.hasWork { desk.monitor.wait(until: nil) }
            desk.hasWork = false
            return !desk.isClosed
        }
    }

    /// - Parameter asking: whether the file is asked for news where the jar has none; else it is left alone.
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
                    notes(.info, "cookies are saved again in \(quoted(disk.file.path))")
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
        "cookies are kept in memory for now and saved later: \(error)"
    }

    /// Those of the parent that a forked child had and never ends.
    private static let abandoned = Mutex<[CookieSaver]>([])

    // MARK: Bounds

    /// Between two exchanges.
    private static let pause = Duration.seconds(1)
    /// Before the next try where one failed.
    private static let patience = Duration.seconds(5)
    /// Seconds that one exchange waits for other processes, each of which holds the file for milliseconds.
    private static let longestWait = 5.0
}

extension LockedJar {
    /// Merges what is in the file.
    ///
    /// - Parameter revision: the jar's, as the file has it already. Nil: whatever it is now.
    /// - Returns: the jar's revision that is in the file now; nil when the jar has gone on meanwhile.
    fileprivate func take(_ content: CookieJar.Snapshot, over revision: UInt64? = nil) -> UInt64? {
        withLock { $0.take(content, over: revision, at: CookieStorage.now) }
    }
}
