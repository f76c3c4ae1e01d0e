import NightjarHTTP
import NightjarStorage
import NightjarSystem
import Synchronization

/// A cookie jar and its file. All storages of this process for the same file share one instance.
///
/// Pending changes are saved when the last storage releases the instance.
final class SharedCookieFile: Sendable {
    let jar: LockedJar
    let saver: CookieWriter
    private let keepsSession: Bool
    private let journal: CookieJournal
    private let lease = FileLease()

    private init(_ path: String, keepsSession: Bool) throws(NightjarError) {
        jar = LockedJar(CookieJar(isPublicSuffix: PublicSuffix.contains))
        journal = CookieJournal()
        self.keepsSession = keepsSession
        saver = try CookieWriter(path, keepsSession: keepsSession, jar) { [journal] in journal.write($0, $1) }
    }

    deinit {
        saver.close()
        lease.end()
    }

    // MARK: Sharing

    private struct Entry: Sendable {
        weak let sharedFile: SharedCookieFile?
        let lease: FileLease
    }

    /// Whether a file is open. A forked child never uses a file that the parent had open. SQLite would treat the
    /// parent's locks as the child's, so the child could damage the file.
    private final class FileLease: Sendable {
        private let forkGeneration = Fork.generation
        private let isOver = Atomic<Bool>(false)

        var isOfParent: Bool { Fork.hasForked(since: forkGeneration) && !isOver.load(ordering: .acquiring) }
        var hasEnded: Bool { isOver.load(ordering: .acquiring) }

        func end() {
            guard !Fork.hasForked(since: forkGeneration) else { return }
            isOver.store(true, ordering: .releasing)
        }
    }

    /// The open files by resolved path.
    private static let open = Mutex<[ExactText: Entry]>([:])

    /// Returns the shared instance for a file. Loads the file unless it is already open.
    ///
    /// - Throws: `storage` if the file is unusable; `invalid_argument` if the path is invalid, or if the file is in use
    ///   with another `keepsSession`; `forked` in the child of a process that had the file open.
    static func of(_ path: String, keepsSession: Bool) throws(NightjarError) -> SharedCookieFile {
        let place = try realPath(path)
        let key = ExactText(place)
        return try open.withLock { open throws(NightjarError) in
            if let entry = open[key], entry.lease.isOfParent {
                throw NightjarError(
                    .forked,
                    "the cookie file \(quoted(path)) was opened before this process was forked, "
                        + "so this process cannot use it; use another file")
            }
            if let sharedFile = open[key]?.sharedFile {
                guard sharedFile.keepsSession == keepsSession else {
                    throw NightjarError(
                        .invalidArgument,
                        "the cookie file \(quoted(path)) is already open with keep_session \(!keepsSession); use "
                            + "the same value")
                }
                return sharedFile
            }
            open = open.filter { !$0.value.lease.hasEnded }
            let sharedFile = try SharedCookieFile(place, keepsSession: keepsSession)
            open[key] = Entry(sharedFile: sharedFile, lease: sharedFile.lease)
            return sharedFile
        }
    }

    /// Returns the resolved path of a file that may not exist yet, in an existing folder.
    private static func realPath(_ path: String) throws(NightjarError) -> String {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw NightjarError(.invalidArgument, "the path of a cookie file is empty or contains a NUL")
        }
        if let resolved = resolve(path) { return resolved }
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { String(path[...$0]) } ?? "."
        let name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        guard let resolved = resolve(folder), !name.isEmpty else {
            let code = errno
            throw NightjarError(
                .storage, "creating the cookie file \(quoted(path)) failed: \(String(cString: strerror(code)))",
                code: code)
        }
        return resolved == "/" ? "/" + name : "\(resolved)/\(name)"
    }

    private static func resolve(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    // MARK: Logging

    /// Registers a listener for log messages until ``unlisten(_:)``. The listener is called on any thread.
    func listen(_ listener: @escaping @Sendable (LogSink.Level, String) -> Void) -> Int { journal.add(listener) }

    func unlisten(_ number: Int) { journal.remove(number) }
}

/// The log messages of a file, for the clients that use the file. While no listener is registered, up to 16 messages
/// are kept for the next listener.
private final class CookieJournal: Sendable {
    private struct State {
        var listeners: [Int: @Sendable (LogSink.Level, String) -> Void] = [:]
        var next = 0
        var unreported: [(LogSink.Level, String)] = []
    }

    private let state = Mutex(State())

    func add(_ listener: @escaping @Sendable (LogSink.Level, String) -> Void) -> Int {
        state.withLock { state in
            for (level, text) in state.unreported { listener(level, text) }
            state.unreported = []
            state.next += 1
            state.listeners[state.next] = listener
            return state.next
        }
    }

    func remove(_ number: Int) { state.withLock { $0.listeners[number] = nil } }

    /// Calls the listeners under the lock, so that a listener is never called after ``remove(_:)``.
    func write(_ level: LogSink.Level, _ text: String) {
        state.withLock { state in
            for listener in state.listeners.values { listener(level, text) }
            guard state.listeners.isEmpty, state.unreported.count < CookieJournal.longest else { return }
            state.unreported.append((level, text))
        }
    }

    private static let longest = 16
}
