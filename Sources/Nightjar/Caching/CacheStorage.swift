import Glibc
import NIOCore
import NightjarHTTP
import NightjarStorage
import Synchronization

/// Answers that are kept to be given again (RFC 9111), in memory and, with a folder, on disk. For one client or several; any
/// thread.
///
/// A private cache: what was asked for with one credential is never given to who comes with another, or with none.
///
/// What is on disk outlives the process and is shared with others that use the same folder at the same time. It is worth no
/// failure: a disk that is full, slow, damaged or not to be written costs hits and never a call, and the log of the clients
/// tells of it.
public final class CacheStorage: Sendable {
    /// What a cache is to be, for whoever opens it later.
    public struct Settings: Sendable, Equatable {
        /// Bytes in memory, everything counted. Answers beyond 1 MiB, or an eighth of this, are not kept there.
        public var memory = 20 << 20
        /// Bytes on disk; nil: nothing is kept there.
        public var disk: Int?
        /// The folder on disk; nil: `nightjar` in the user's folder for caches (`XDG_CACHE_HOME`, else `~/.cache`).
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
    /// When the last check of what others have changed began: ``isCurrent``.
    let checked = Atomic<Int64>(-(1 << 62))
    let isChecking = Atomic<Bool>(false)
    let urlNames = Mutex(URLNames())
    let heirs = PartitionHeirs()
    private let birth = Fork.generation

    /// Whether this is the child of a fork, where the locks may be held by threads that are not there.
    public var isOfParent: Bool { Fork.hasHappened(since: birth) }

    static let forked = NightjarError(
        .forked, "this cache belongs to the parent process; make a new one after fork")

    /// Touches no disk yet.
    ///
    /// - Throws: `invalid_argument` where a folder is needed and none is known.
    public convenience init(_ settings: Settings = Settings()) throws(NightjarError) {
        try self.init(settings, grace: CacheDisk.grace)
    }

    /// - Parameter grace: seconds that a removal, a flush and the end of a client wait for other processes.
    init(_ settings: Settings, grace: Double) throws(NightjarError) {
        memory = MemoryCache(maximumBytes: settings.memory)
        guard let size = settings.disk else {
            guard settings.folder == nil else {
                throw NightjarError(.invalidArgument, "the cache has a folder and no room on disk; say how much (disk)")
            }
            disk = nil
            return
        }
        guard let folder = settings.folder ?? CacheStorage.standardFolder, !folder.isEmpty else {
            throw NightjarError(
                .invalidArgument, "there is no folder for caches (XDG_CACHE_HOME and HOME are not set); name one (path)"
            )
        }
        disk = CacheDisk(folder: folder, maximumBytes: size, grace: grace)
    }

    /// Whether it leaves something on disk.
    public var isPersistent: Bool { disk != nil }

    private static var standardFolder: String? {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        return (variable("XDG_CACHE_HOME") ?? variable("HOME").map { $0 + "/.cache" }).map { $0 + "/nightjar" }
    }

    // MARK: By hand
    //
    // In the child of a fork there is nothing to be removed, and nothing to be seen.
    //
    // A response whose request was sent before a removal is not stored after it. Other processes and other caches of the
    // folder give nothing that was removed, from a second later at the latest.

    /// Removes all responses of a URL, whoever requested them.
    ///
    /// - Returns: how many there were.
    /// - Throws: `storage` when they cannot be removed from the disk, or another process holds its index for 5 seconds.
    ///   They are gone from memory then, and the removal is tried again as long as the cache is open.
    @discardableResult
    public func remove(url: RequestURL) throws(NightjarError) -> Int {
        guard !isOfParent else { return 0 }
        let address = url.cacheAddress
        let ticket = note(.removes, address)
        return try removed(memory.remove(url: address), ticket) { $0.remove(url: address, ticket: ticket) }
    }

    /// Removes all responses whose URL begins so: byte by byte, `https://api.example/v1/`. On disk, secrets in queries are
    /// masked, and only what stands before them counts.
    ///
    /// - Returns: how many there were.
    /// - Throws: as ``remove(url:)``.
    @discardableResult
    public func remove(prefix: String) throws(NightjarError) -> Int {
        guard !isOfParent else { return 0 }
        let ticket = note(.removes, nil)
        return try removed(memory.remove(prefix: prefix), ticket) { $0.remove(prefix: prefix, ticket: ticket) }
    }

    /// Removes all responses.
    ///
    /// - Returns: how many there were.
    /// - Throws: as ``remove(url:)``.
    @discardableResult
    public func removeAll() throws(NightjarError) -> Int {
        guard !isOfParent else { return 0 }
        let ticket = note(.removes, nil)
        return try removed(memory.removeAll(), ticket) { $0.removeAll(ticket: ticket) }
    }

    /// Waits until all that is to be on disk is there. Of no effect without a folder.
    ///
    /// A response that the disk does not take is no error. The log of the clients reports why.
    ///
    /// - Throws: `storage` when an invalidation or a removal cannot be written, or another process holds the index for 5
    ///   seconds: other processes may give responses that are no longer valid. It is tried again as long as the cache is open.
    public func flush() throws(NightjarError) { try disk?.flush() }

    /// What has happened since this was made, and what there is now.
    public struct Statistics: Sendable, Equatable {
        /// Calls that were answered from here without asking a server.
        public var hits = 0
        /// Calls of those that were answered with what was stale.
        public var stale = 0
        /// Calls that a server had to answer.
        public var misses = 0
        /// Calls whose stored answer a server said to hold still.
        public var validations = 0
        /// Bytes of content that came from here and from no server.
        public var bytesSaved = 0
        /// Answers in memory, and bytes of all that belongs to them.
        public var memoryEntries = 0
        public var memoryBytes = 0
        /// Answers on disk, and bytes of their content.
        public var diskEntries = 0
        public var diskBytes = 0
    }

    public var statistics: Statistics {
        var statistics = memoryStatistics
        guard let onDisk = try? disk?.wait(for: { $0.statistics }) else { return statistics }
        (statistics.diskEntries, statistics.diskBytes) = (onDisk.entries, onDisk.bytes)
        return statistics
    }

    /// The same without what is on disk, which may take a while to say.
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
