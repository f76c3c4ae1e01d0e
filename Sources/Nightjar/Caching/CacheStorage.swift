import NIOCore
import NightjarHTTP
import NightjarStorage
import NightjarSystem
import Synchronization

/// An HTTP cache (RFC 9111) in memory and, with a disk limit, on disk. Several clients can share it. Any thread.
///
/// The cache is private: a response to a request with credentials is not returned to requests with other credentials or
/// without credentials. A refreshed token of the same login does not count as another credential.
/// ``Configuration/loginCookies`` determines which cookies are credentials, and whether a cookie that a response
/// replaces is another credential.
///
/// Entries on disk outlive the process. Other processes can use the same folder at the same time. A disk that is full,
/// slow, damaged or read-only causes misses. A call fails only if the disk fails while a cached body is streamed, or if
/// the call must use the cache: with a policy that allows no request, or to insert a response. The clients log the
/// problem.
public final class CacheStorage: Sendable {
    /// The settings of a cache that is opened later.
    public struct Settings: Sendable, Equatable {
        /// The limit of memory in bytes, including overhead. Default: 20 MiB. Bodies above 1 MiB, or above an eighth of
        /// this limit, are not stored in memory.
        public var memory = 20 << 20
        /// The limit of disk space in bytes. Nil disables the disk cache.
        public var disk: Int?
        /// The folder on disk. Default: `nightjar` in the user's cache directory (`XDG_CACHE_HOME`, else `~/.cache`).
        public var folder: String?

        public init(memory: Int = 20 << 20, disk: Int? = nil, folder: String? = nil) {
            self.memory = memory
            self.disk = disk
            self.folder = folder
        }
    }

    let memory: MemoryCache
    let disk: CacheDisk?
    let counts = Counts()
    let writes = RecentWrites()
    /// When the last check for changes by other processes began; see ``isCurrent``.
    let checked = Atomic<Int64>(-(1 << 62))
    let isChecking = Atomic<Bool>(false)
    let urlNames = Mutex(URLNames())
    let successors = PartitionSuccessors()
    private let forkGeneration = Fork.generation

    /// Whether the cache belongs to the parent of this forked process. Threads that do not exist in the child may hold
    /// the locks of the cache.
    public var isOfParent: Bool { Fork.hasForked(since: forkGeneration) }

    static let forked = NightjarError(
        .forked, "this cache belongs to the parent process; create a new one after the fork")

    /// Creates a cache without accessing the disk.
    ///
    /// - Throws: `invalid_argument` if the settings have a disk limit but no folder is known, or a folder but no disk
    ///   limit.
    public convenience init(_ settings: Settings = Settings()) throws(NightjarError) {
        try self.init(settings, gracePeriod: CacheDisk.gracePeriod)
    }

    /// - Parameter gracePeriod: Seconds that a removal, a flush and closing a client wait for other processes.
    init(_ settings: Settings, gracePeriod: Double) throws(NightjarError) {
        memory = MemoryCache(maximumBytes: settings.memory)
        guard let size = settings.disk else {
            guard settings.folder == nil else {
                throw NightjarError(.invalidArgument, "the cache has a folder but no disk limit; set the option disk")
            }
            disk = nil
            return
        }
        guard let folder = settings.folder ?? CacheStorage.standardFolder, !folder.isEmpty else {
            throw NightjarError(
                .invalidArgument,
                "no cache folder is known: neither XDG_CACHE_HOME nor HOME is an absolute path; set the option path")
        }
        disk = CacheDisk(folder: folder, maximumBytes: size, gracePeriod: gracePeriod)
    }

    /// Whether entries are stored on disk.
    public var isPersistent: Bool { disk != nil }

    /// The folder `nightjar` in the user's cache directory. Nil if neither XDG_CACHE_HOME nor HOME is an absolute path.
    static var standardFolder: String? {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        return (variable("XDG_CACHE_HOME") ?? variable("HOME").map { $0 + "/.cache" }).map { $0 + "/nightjar" }
    }

    // MARK: Manual removal
    //
    // In a forked child, these methods remove nothing and report nothing.
    //
    // A response whose request was sent before a removal is not stored after the removal. Other processes and other
    // caches of the folder stop using removed entries within one second of the removal from disk.

    /// Removes all responses of a URL, in all partitions.
    ///
    /// - Returns: The number of removed entries.
    /// - Throws: `storage` if the entries cannot be removed from disk, or if another process locks the index for 5
    ///   seconds. The entries are removed from memory in any case. The removal is repeated while the cache is open,
    ///   unless the thread of the disk cache could not be started.
    @discardableResult
    public func remove(url: RequestURL) throws(NightjarError) -> Int {
        guard !isOfParent else { return 0 }
        let address = url.cacheAddress
        let ticket = note(.removes, address)
        return try removed(memory.remove(url: address), ticket) { $0.remove(url: address, ticket: ticket) }
    }

    /// Removes all responses whose URL begins with `prefix`, compared byte by byte, for example
    /// `https://api.example/v1/`. Secrets in URLs on disk are masked, so their values are not compared there.
    ///
    /// - Returns: The number of removed entries.
    /// - Throws: As ``remove(url:)``.
    @discardableResult
    public func remove(prefix: String) throws(NightjarError) -> Int {
        try remove(prefix: prefix, shown: Masking.url(prefix))
    }

    /// - Parameter shown: The prefix with masked secrets.
    func remove(prefix: String, shown: String) throws(NightjarError) -> Int {
        guard !isOfParent else { return 0 }
        let ticket = note(.removes, nil)
        return try removed(memory.remove(prefix: prefix), ticket) { $0.remove(prefix: shown, ticket: ticket) }
    }

    /// Removes all responses.
    ///
    /// - Returns: The number of removed entries.
    /// - Throws: As ``remove(url:)``.
    @discardableResult
    public func removeAll() throws(NightjarError) -> Int {
        guard !isOfParent else { return 0 }
        let ticket = note(.removes, nil)
        return try removed(memory.removeAll(), ticket) { $0.removeAll(ticket: ticket) }
    }

    /// Waits until all pending entries and changes are on disk. Has no effect if the disk cache is disabled.
    ///
    /// A response that the disk cannot store is not an error. The clients log the reason.
    ///
    /// - Throws: `storage` if an invalidation or a removal cannot be written, or if another process locks the index for
    ///   5 seconds. Other processes may then return responses that are no longer valid. The change is repeated while
    ///   the cache is open.
    public func flush() throws(NightjarError) { try disk?.flush() }

    /// Counts since the cache was created, and the current size of the cache.
    public struct Statistics: Sendable, Equatable {
        /// Cached responses that were used without a 304 response. Redirects, retries and background revalidations
        /// count separately here and below.
        public var hits = 0
        /// The number of ``hits`` with a stale entry.
        public var stale = 0
        /// Responses of servers to GET and HEAD requests that could use the cache. Responses that validated an entry,
        /// or that a stale entry may replace, are not included.
        public var misses = 0
        /// Cached responses that were used after a 304 response.
        public var validations = 0
        /// Body bytes that were served from the cache.
        public var bytesSaved = 0
        /// Entries in memory, and their size in bytes including overhead.
        public var memoryEntries = 0
        public var memoryBytes = 0
        /// Entries on disk, and the size of their bodies in bytes.
        public var diskEntries = 0
        public var diskBytes = 0
    }

    public var statistics: Statistics {
        var statistics = memoryStatistics
        guard let onDisk = try? disk?.wait(for: { $0.statistics }) else { return statistics }
        (statistics.diskEntries, statistics.diskBytes) = (onDisk.entries, onDisk.bytes)
        return statistics
    }

    /// The statistics of the memory cache only. Never blocks for the disk.
    public var memoryStatistics: Statistics {
        guard !isOfParent else { return Statistics() }
        let inMemory = memory.statistics
        return Statistics(
            hits: counts.hits.load(ordering: .relaxed), stale: counts.stale.load(ordering: .relaxed),
            misses: counts.misses.load(ordering: .relaxed), validations: counts.validations.load(ordering: .relaxed),
            bytesSaved: counts.bytesSaved.load(ordering: .relaxed), memoryEntries: inMemory.entries,
            memoryBytes: inMemory.bytes)
    }

    final class Counts: Sendable {
        let hits = Atomic<Int>(0)
        let stale = Atomic<Int>(0)
        let misses = Atomic<Int>(0)
        let validations = Atomic<Int>(0)
        let bytesSaved = Atomic<Int>(0)

        func hit(_ bytes: Int, isStale: Bool) {
            hits.add(1, ordering: .relaxed)
            if isStale { stale.add(1, ordering: .relaxed) }
            bytesSaved.add(bytes, ordering: .relaxed)
        }

        func validated(_ bytes: Int) {
            validations.add(1, ordering: .relaxed)
            bytesSaved.add(bytes, ordering: .relaxed)
        }

        func missed() { misses.add(1, ordering: .relaxed) }
    }
}
