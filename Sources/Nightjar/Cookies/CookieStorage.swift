import NightjarHTTP
import NightjarSystem
import Synchronization

/// A cookie jar for one or several clients. Any thread.
///
/// A lock protects the jar. The jar does not belong to a client's loop, because programs list and change cookies
/// synchronously, and several clients may share a jar. An uncontended lock costs less than writing the Cookie field.
///
/// With a file, cookies outlive the process; session cookies do so only with `keepsSession`. Other processes may use
/// the same file at the same time. A call never waits for the disk: a background thread saves changes and, while
/// requests are sent, reads the changes of other processes about once a second. All storages of one process for one
/// file share its cookies, each with its own policy. Releasing the last of them saves the remaining changes.
public final class CookieStorage: Sendable {
    /// The cookies that a jar stores and sends.
    public typealias Policy = CookiePolicy
    /// The result of reading a file in Netscape's format.
    public typealias ImportReport = CookiesText.Report

    private let jar: LockedJar
    private let policy: CookiePolicy
    private let sharedFile: SharedCookieFile?
    private let forkGeneration = Fork.generation
    /// When the file was last checked for changes: seconds since 1970 as the bits of a Double.
    private let lastPoll = Atomic<UInt64>(0)

    /// Creates a cookie jar in memory.
    public init(_ policy: CookiePolicy = .all) {
        jar = LockedJar(CookieJar(policy: policy, isPublicSuffix: PublicSuffix.contains))
        self.policy = policy
        sharedFile = nil
    }

    /// Opens a cookie file, or creates it with access for its owner only.
    ///
    /// A damaged file is renamed and replaced by a new file. If the disk is full or read-only, cookies are kept in
    /// memory and saved later. The clients that use the jar log both conditions.
    ///
    /// - Parameter keepsSession: Whether session cookies are saved.
    /// - Throws: `storage` if the file is unusable, for example because its folder does not exist or it belongs to
    ///   another program; `invalid_argument` for an invalid path, and if the file is open with another `keepsSession`;
    ///   `forked` if the parent process has the file open.
    public init(
        file: String, policy: CookiePolicy = .all, keepsSession: Bool = false
    ) throws(NightjarError) {
        let sharedFile = try SharedCookieFile.of(file, keepsSession: keepsSession)
        self.sharedFile = sharedFile
        self.policy = policy
        jar = sharedFile.jar
    }

    /// Whether the jar has a file.
    public var isPersistent: Bool { sharedFile != nil }

    /// Saves pending changes on this thread. Has no effect without a file.
    ///
    /// - Throws: `storage` if the file cannot be written; the save is retried later. `forked`.
    public func flush() throws(NightjarError) {
        try checkProcess()
        try sharedFile?.saver.save()
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
        if hasChanged { sharedFile?.saver.wake() }
        return result
    }

    /// Returns the Cookie field of a request to `url`; nil: none.
    func field(for url: RequestURL, isSafeMethod: Bool, firstParty: Origin?) -> String? {
        let now = CookieStorage.now
        if let sharedFile { pollForChanges(sharedFile, now) }
        return change { $0.retrieve(for: url, at: now, isSafeMethod: isSafeMethod, firstParty: firstParty) }
    }

    private func pollForChanges(_ sharedFile: SharedCookieFile, _ now: Double) {
        let last = Double(bitPattern: lastPoll.load(ordering: .relaxed))
        // The absolute difference, so that the checks continue after the clock was set back.
        guard abs(now - last) >= CookieStorage.newsInterval else { return }
        lastPoll.store(now.bitPattern, ordering: .relaxed)
        sharedFile.saver.wake()
    }

    /// Stores the cookies of a response's Set-Cookie fields.
    ///
    /// - Returns: The reasons for rejected cookies.
    func store(
        _ headers: Headers, from url: RequestURL, firstParty: Origin?, owner: Cookie.Owner?
    ) -> [CookieRefusal] {
        change { $0.store(from: headers, of: url, at: CookieStorage.now, firstParty: firstParty, owner: owner) }
    }

    /// Deletes the cookies of logins that have ended. See `CookieJar.deleteCookies(of:host:at:)`.
    func deleteCookies(of logins: [UInt64], host: String?) {
        guard !isOfParent else { return }
        change { _ = $0.deleteCookies(of: logins, host: host, at: CookieStorage.now) }
    }

    /// Saves pending changes on this thread, and removes deleted cookies from all parts of the file.
    ///
    /// - Throws: As ``flush()``.
    func erase() throws(NightjarError) {
        try checkProcess()
        try sharedFile?.saver.erase()
    }

    // MARK: Logging

    /// Registers a listener for log messages of the file until ``unlisten(_:)``. The listener is called on any thread.
    func listen(_ listener: @escaping @Sendable (LogSink.Level, String) -> Void) -> Int? {
        sharedFile?.listen(listener)
    }

    func unlisten(_ number: Int) { sharedFile?.unlisten(number) }

    // MARK: Manual access
    //
    // These methods must not use the jar in a forked child, because a thread of the parent may have held the jar's
    // lock.

    /// Whether the jar belongs to the parent of this forked process.
    public var isOfParent: Bool { Fork.hasForked(since: forkGeneration) }

    /// - Throws: `forked` in the child of a fork.
    func checkProcess() throws(NightjarError) {
        guard !isOfParent else {
            throw NightjarError(
                .forked, "this cookie jar belongs to the parent process; create a new one after the fork")
        }
    }

    /// All cookies that have not expired, sorted by domain, path and name. Empty in the child of a fork.
    public var all: [Cookie] { isOfParent ? [] : jar.withLock { $0.list(at: CookieStorage.now) } }

    /// Stores a cookie. Replaces a cookie of the same name, domain and path.
    ///
    /// - Throws: `invalid_argument` with the reason; `forked`.
    public func add(_ cookie: Cookie) throws(NightjarError) {
        try checkProcess()
        try change { jar throws(NightjarError) in
            do throws(CookieRefusal) {
                if case .refused(let refusal) = try jar.add(cookie, at: CookieStorage.now) { throw refusal }
            } catch {
                throw NightjarError(.invalidArgument, "storing the cookie \(quoted(cookie.name)) failed: \(error)")
            }
        }
    }

    /// Stores the cookie of a Set-Cookie field, as if `url` had sent it.
    ///
    /// - Throws: `invalid_argument` with the reason; `forked`.
    public func set(_ setCookie: String, for url: RequestURL) throws(NightjarError) {
        try checkProcess()
        let outcome = change { $0.store(setCookie: setCookie, from: url, at: CookieStorage.now) }
        if case .refused(let refusal) = outcome {
            throw NightjarError(.invalidArgument, "storing the cookie failed: \(refusal)")
        }
    }

    /// Deletes the cookies that match all given arguments.
    ///
    /// - Parameter domain: Matches only this domain, not its subdomains.
    /// - Returns: The number of deleted cookies.
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

    /// Returns the cookies in the format of curl's `--cookie-jar`.
    public func exportText() -> String { CookiesText.format(all).text }

    /// Adds the cookies of a cookies.txt file. Invalid lines are skipped and reported.
    ///
    /// - Throws: `forked` in the child of a fork.
    @discardableResult
    public func importText(_ text: String) throws(NightjarError) -> CookiesText.Report {
        try importText(Array(text.utf8))
    }

    @discardableResult
    public func importText(_ bytes: [UInt8]) throws(NightjarError) -> CookiesText.Report {
        try checkProcess()
        return change { jar in bytes.withUnsafeBytes { CookiesText.read($0, into: &jar, at: CookieStorage.now) } }
    }

    /// The current time in seconds since 1970. The realtime clock determines when cookies expire.
    static var now: Double {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) * 1e-9
    }

    /// The interval in seconds between two checks for changes by other processes.
    private static let newsInterval = 1.0
}
