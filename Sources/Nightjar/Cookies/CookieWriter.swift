import CPlatform
import NightjarHTTP
import NightjarStorage
import NightjarSystem
import NightjarTransport
import Synchronization

/// A cookie jar with a lock, shared by requests and the ``CookieWriter``.
final class LockedJar: Sendable {
    private let jar: Mutex<CookieJar>

    init(_ jar: consuming CookieJar) { self.jar = Mutex(jar) }

    @inline(__always)
    func withLock<Result, Failure: Error>(
        _ body: (inout sending CookieJar) throws(Failure) -> sending Result
    ) throws(Failure) -> Result { try jar.withLock(body) }
}

/// Synchronizes a cookie jar with its file on a dedicated thread, so that no call waits for the disk.
///
/// Changes are batched: the thread writes the file at most about once a second. If writing fails, the jar keeps
/// working, and the thread retries the save every 5 s.
final class CookieWriter: Sendable {
    private let jar: LockedJar
    private let forkGeneration = Fork.generation
    private let disk: Mutex<Disk>
    private let pendingWork: PendingWork
    private let notes: @Sendable (LogSink.Level, String) -> Void

    /// The file and its state, used by one thread at a time.
    private struct Disk: ~Copyable {
        let file: CookieFile
        /// The revision of the jar that is in the file. Nil if the file must be written.
        var savedRevision: UInt64?
        /// The last error, so that it is logged once and not at each retry.
        var failureMessage: String?
    }

    /// The work for the thread. The monitor protects the members.
    private final class PendingWork: @unchecked Sendable {
        let monitor = Monitor()
        var hasWork = false
        var isClosed = false
        var thread: pthread_t?
    }

    /// Loads the file, on this thread.
    ///
    /// - Parameter notes: Receives log messages, on any thread.
    /// - Throws: `storage` if the file is unusable, for example because it belongs to another program. A full or
    ///   read-only disk, a locked file, and a file that can only be read are not errors; the save is retried later.
    init(
        _ path: String, keepsSession: Bool, _ jar: LockedJar,
        notes: @escaping @Sendable (LogSink.Level, String) -> Void
    ) throws(NightjarError) {
        self.jar = jar
        self.notes = notes
        pendingWork = PendingWork()
        let file = CookieFile(path, keepsSession: keepsSession, lockTimeout: CookieWriter.longestWait)
        var failureMessage: String?
        var messages: [(LogSink.Level, String)] = []
        var saved: UInt64?
        do throws(DatabaseError) {
            let content = try withoutFileSizeSignal { () throws(DatabaseError) in try file.load(at: CookieStorage.now) }
            saved = jar.take(content)
            messages = file.takeNotes().map { (.warning, $0) }
        } catch {
            let readable = try? file.loadWithoutLocks()
            guard readable != nil || error.cause == .full || error.cause == .readOnly || error.cause == .busy else {
                throw error.failure
            }
            if let readable { saved = jar.take(readable) }
            failureMessage = CookieWriter.failureMessage(error)
            messages = [(.error, CookieWriter.failureMessage(error))]
        }
        disk = Mutex(Disk(file: file, savedRevision: saved, failureMessage: failureMessage))
        for (level, text) in messages { notes(level, text) }
    }

    /// Saves pending changes and ends the thread. Called once, by the last owner, but never on that thread.
    func close() {
        guard !isOfParent else {
            // A forked child must not use or close a database that its parent has open.
            return CookieWriter.abandoned.withLock { $0.append(self) }
        }
        let thread = pendingWork.monitor.withLock { () -> pthread_t? in
            pendingWork.isClosed = true
            pendingWork.monitor.signal()
            return pendingWork.thread.take()
        }
        if let thread { pthread_join(thread, nil) }
        try? save()
        disk.withLock { disk in withoutFileSizeSignal { disk.file.close() } }
    }

    // MARK: Any thread

    /// Whether the jar belongs to the parent of this forked process. The child has no thread and must not use the file.
    var isOfParent: Bool { Fork.hasForked(since: forkGeneration) }

    /// Makes the thread synchronize the jar and the file soon.
    func wake() {
        guard !isOfParent else { return }
        pendingWork.monitor.withLock {
            guard !pendingWork.hasWork, !pendingWork.isClosed else { return }
            pendingWork.hasWork = true
            if pendingWork.thread == nil { pendingWork.thread = start() } else { pendingWork.monitor.signal() }
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
            try exchange(polling: false)
        } catch {
            throw error.failure
        }
    }

    /// Saves pending changes on this thread, and removes deleted cookies from all parts of the file.
    ///
    /// - Throws: As ``save()``.
    func erase() throws(NightjarError) {
        try save()
        disk.withLock { disk in withoutFileSizeSignal { disk.file.removeLog() } }
    }

    // MARK: The thread

    /// Starts the thread. Returns nil if the thread cannot be started. The next call of ``wake()`` then tries again,
    /// and ``close()`` saves.
    private func start() -> pthread_t? {
        do throws(ThreadFailure) {
            return try startThread("nightjar-cookie") { [self] in run() }
        } catch {
            pendingWork.hasWork = false
            return nil
        }
    }

    private func run() {
        var pause = Duration.zero
        while waitForWork(after: pause) {
            do throws(DatabaseError) {
                try exchange(polling: true)
                pause = CookieWriter.pause
            } catch {
                // Unsaved changes are pending work.
                pendingWork.monitor.withLock { pendingWork.hasWork = true }
                pause = CookieWriter.retryInterval
            }
        }
    }

    /// - Returns: False if the thread must end.
    private func waitForWork(after pause: Duration) -> Bool {
        let earliest = Monitor.deadline(after: pause)
        return pendingWork.monitor.withLock {
            while !pendingWork.isClosed, !earliest.hasPassed { pendingWork.monitor.wait(until: earliest) }
            while !pendingWork.isClosed, !pendingWork.hasWork { pendingWork.monitor.wait(until: nil) }
            pendingWork.hasWork = false
            return !pendingWork.isClosed
        }
    }

    /// - Parameter polling: Whether the file is checked for changes by other processes even if the jar has no changes.
    private func exchange(polling: Bool) throws(DatabaseError) {
        try disk.withLock { disk throws(DatabaseError) in
            let (content, revision) = jar.withLock { ($0.snapshot(), $0.revision) }
            do throws(DatabaseError) {
                if revision == disk.savedRevision {
                    guard polling, try disk.file.mayHaveChanged() else { return }
                }
                let merged = try withoutFileSizeSignal { () throws(DatabaseError) in
                    try disk.file.exchange(content, at: CookieStorage.now)
                }
                disk.savedRevision = jar.take(merged, over: revision)
                for note in disk.file.takeNotes() { notes(.warning, note) }
                if disk.failureMessage.take() != nil {
                    notes(.info, "saving cookies works again: \(quoted(disk.file.path))")
                }
            } catch {
                let failureMessage = CookieWriter.failureMessage(error)
                if disk.failureMessage != failureMessage { notes(.error, failureMessage) }
                disk.failureMessage = failureMessage
                throw error
            }
        }
    }

    private static func failureMessage(_ error: DatabaseError) -> String {
        "saving cookies failed and will be retried: \(error)"
    }

    /// Writers of the parent process. A forked child retains them and never closes their files.
    private static let abandoned = Mutex<[CookieWriter]>([])

    // MARK: Bounds

    /// The pause of the thread after a successful save.
    private static let pause = Duration.seconds(1)
    /// The pause after a failed save.
    private static let retryInterval = Duration.seconds(5)
    /// The maximum time in seconds that a save waits for other processes. Each of them locks the file for milliseconds.
    private static let longestWait = 5.0
}

extension LockedJar {
    /// Merges the content of the file.
    ///
    /// - Parameter revision: The revision of the jar that was written to the file. Nil if the file was only read.
    /// - Returns: The jar's revision that is now in the file. Nil if the jar has changed since it was written.
    fileprivate func take(_ content: CookieJar.Snapshot, over revision: UInt64? = nil) -> UInt64? {
        withLock { $0.take(content, over: revision, at: CookieStorage.now) }
    }
}
