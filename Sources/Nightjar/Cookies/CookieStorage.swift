import Glibc
import NightjarHTTP
import Synchronization

/// The cookies of a client, or of several that share them. Any thread.
///
/// Behind a lock, and not on the loop as the rest of a client's state: programs list and change cookies and want the
/// answer at once, several clients may share a jar, and an uncontended lock costs a request less than its Cookie field.
///
/// With a file they outlive the process, and other processes may use the same file at the same time. A call never waits
/// for the disk: what changes is saved in the background about once a second, and at the end; what other processes
/// change comes in as slowly. All storages of one process for one file share its cookies, each with its own policy.
public final class CookieStorage: Sendable {
    private let jar: LockedJar
    private let policy: CookieJar.Policy
    private let keeper: CookieKeeper?
    private let birth = Fork.generation
    /// When the file was last asked for news, seconds since 1970 as the bits of a Double.
    private let lastAsked = Atomic<UInt64>(0)

    /// In memory.
    public init(_ policy: CookieJar.Policy = .all) {
        jar = LockedJar(CookieJar(policy: policy, isPublicSuffix: PublicSuffix.contains))
        self.policy = policy
        keeper = nil
    }

    /// In a file, which is read now and made when there is none, for its owner's eyes alone.
    ///
    /// A file of garbage is moved aside and a new one begun. When the disk is full or may not be written, cookies are kept
    /// in memory and saved later. The log of a client that uses them tells of both.
    ///
    /// - Parameter keepsSession: whether cookies are saved that are to end with the program.
    /// - Throws: `storage` when the file can never serve: its folder is not there, or it is another program's.
    public init(
        file: String, policy: CookieJar.Policy = .all, keepsSession: Bool = false
    ) throws(NightjarError) {
        let keeper = try CookieKeeper.of(file, keepsSession: keepsSession)
        self.keeper = keeper
        self.policy = policy
        jar = keeper.jar
    }

    /// Whether they outlive the process.
    public var isPersistent: Bool { keeper != nil }

    /// Writes what is not in the file yet, on this thread. Of no effect without a file.
    ///
    /// - Throws: `storage` when the disk does not take it; it is tried again later all the same. `forked`.
    public func flush() throws(NightjarError) {
        try checkProcess()
        try keeper?.saver.save()
    }

    private func change<Result, Failure: Error>(
        _ body: (inout CookieJar) throws(Failure) -> sending Result
    ) throws(Failure) -> Result {
        let (result, hasChanged) = try jar.withLock { jar throws(Failure) in
            jar.policy = policy
            let before = jar.revision
            let result = try body(&jar)
            return (result, jar.revision != before)
        }
        if hasChanged { keeper?.saver.wake() }
        return result
    }

    /// What a request to `url` carries; nil for none.
    func field(for url: RequestURL, isSafeMethod: Bool, firstParty: Origin?) -> String? {
        let now = CookieStorage.now
        if let keeper { askForNews(keeper, now) }
        return change { $0.retrieve(for: url, at: now, isSafeMethod: isSafeMethod, firstParty: firstParty) }
    }

    private func askForNews(_ keeper: CookieKeeper, _ now: Double) {
        let last = Double(bitPattern: lastAsked.load(ordering: .relaxed))
        // A clock that was put back must not end the asking.
        guard abs(now - last) >= CookieStorage.newsInterval else { return }
        lastAsked.store(now.bitPattern, ordering: .relaxed)
        keeper.saver.wake()
    }

    /// Takes the Set-Cookie fields of an answer.
    ///
    /// - Returns: why those were refused that were.
    func store(_ headers: Headers, from url: RequestURL, firstParty: Origin?) -> [CookieRefusal] {
        change { $0.store(from: headers, of: url, at: CookieStorage.now, firstParty: firstParty) }
    }

    // MARK: Telling

    /// Tells `listener` what happens to the file, on any thread, until ``unlisten(_:)``.
    func listen(_ listener: @escaping @Sendable (LogLevel, String) -> Void) -> Int? { keeper?.listen(listener) }

    func unlisten(_ number: Int) { keeper?.unlisten(number) }

    // MARK: By hand
    //
    // In the child of a fork nothing is read or changed: another thread of the parent may have held the jar's lock.

    /// Whether the jar belongs to the parent of this forked process.
    public var isOfParent: Bool { Fork.hasHappened(since: birth) }

    /// - Throws: `forked` in the child of a fork.
    func checkProcess() throws(NightjarError) {
        guard !isOfParent else {
            throw NightjarError(.forked, "this cookie jar belongs to the parent process; make a new one after fork")
        }
    }

    /// All that have not expired, by domain, path and name. Empty in the child of a fork.
    public var all: [Cookie] { isOfParent ? [] : jar.withLock { $0.list(at: CookieStorage.now) } }

    /// Stores one that no server sent, in the place of the one of the same name, domain and path.
    ///
    /// - Throws: `invalid_argument` with the reason.
    public func add(_ cookie: Cookie) throws(NightjarError) {
        try checkProcess()
        try change { jar throws(NightjarError) in
            do throws(CookieRefusal) {
                if case .refused(let refusal) = try jar.add(cookie, at: CookieStorage.now) { throw refusal }
            } catch {
                throw NightjarError(.invalidArgument, "the cookie \(quoted(cookie.name)) cannot be kept: \(error)")
            }
        }
    }

    /// Stores what a Set-Cookie field says, as if `url` had sent it.
    ///
    /// - Throws: `invalid_argument` with the reason.
    public func set(_ setCookie: String, for url: RequestURL) throws(NightjarError) {
        try checkProcess()
        let outcome = change { $0.store(setCookie: setCookie, from: url, at: CookieStorage.now) }
        if case .refused(let refusal) = outcome {
            throw NightjarError(.invalidArgument, "the cookie cannot be kept: \(refusal)")
        }
    }

    /// Deletes those that match all that is given.
    ///
    /// - Parameter domain: matches itself alone.
    /// - Returns: how many there were.
    @discardableResult
    public func delete(name: String? = nil, domain: String? = nil, path: String? = nil) -> Int {
        guard !isOfParent else { return 0 }
        return change { $0.delete(name: name, domain: domain, path: path, at: CookieStorage.now) }
    }

    public func clear() {
        guard !isOfParent else { return }
        change { $0.clear(at: CookieStorage.now) }
    }

    // MARK: cookies.txt

    /// As curl's `--cookie-jar` writes them.
    public func exportText() -> String { CookiesText.format(all).text }

    /// Adds what a file of that form holds; a line that is wrong is skipped and reported.
    @discardableResult
    public func importText(_ text: String) -> CookiesText.Report { importText(Array(text.utf8)) }

    @discardableResult
    public func importText(_ bytes: [UInt8]) -> CookiesText.Report {
        change { jar in bytes.withUnsafeBytes { CookiesText.read($0, into: &jar, at: CookieStorage.now) } }
    }

    /// Seconds since 1970: cookies expire by the calendar.
    static var now: Double {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) * 1e-9
    }

    /// Seconds.
    private static let newsInterval = 1.0
}
