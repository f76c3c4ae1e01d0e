import Foundation
import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

/// Changes by one process while another process stores, validates and reads. Two caches of one folder behave like two
/// processes.
@Suite struct DiskCacheSharingTests {
    private let parent: TemporaryDirectory
    private let folder: String
    private var index: String { folder + "/index.db" }

    init() throws {
        parent = try TemporaryDirectory()
        folder = parent.file("cache")
    }

    private func open(_ maximumBytes: Int = 8 << 20) -> DiskCache {
        DiskCache(folder: folder, maximumBytes: maximumBytes, lockTimeout: 0.05)
    }

    /// Returns the moment at which a cache has read all changes in the log.
    private func moment(_ cache: DiskCache, local: UInt64 = 0) throws -> CacheMoment {
        guard case .read(let log, _) = cache.changes(for: MemoryTier()) else { throw NoLog() }
        return CacheMoment(index: log.index, shared: log.latest, local: local)
    }

    private struct NoLog: Error {}

    // MARK: Late stores

    /// An invalidation is not lost if another process then stores a response that was requested earlier.
    @Test func responseRequestedBeforeAWriteIsStoredForRevalidation() throws {
        let (slow, writer) = (open(), open())
        let began = try moment(slow)
        writer.invalidate(url: cacheKey("/").url)
        slow.store(cacheKey("/"), try cachedResponse("old"), displayURL: "/", body: cachedBody(1, 10), since: began)
        for cache in [slow, writer] { #expect(cache.find(cacheKey("/")).map(\.response.isInvalidated) == [true]) }
        // Later requests, and requests for another URL, are not affected.
        let after = try moment(slow)
        slow.store(cacheKey("/"), try cachedResponse("new"), displayURL: "/", body: cachedBody(1, 10), since: after)
        slow.store(cacheKey("/b"), try cachedResponse("b"), displayURL: "/", body: cachedBody(1, 10), since: began)
        #expect(writer.find(cacheKey("/")).map(\.response.isInvalidated) == [false])
        #expect(writer.find(cacheKey("/b")).map(\.response.isInvalidated) == [false])
        // The older response does not replace the newer response either.
        slow.store(cacheKey("/"), try cachedResponse("old"), displayURL: "/", body: cachedBody(1, 10), since: began)
        #expect(writer.find(cacheKey("/")).first?.response.headers["ETag"] == "\"new\"")
    }

    @Test(arguments: 0..<6) func responseRequestedBeforeARemovalIsNotStored(_ kind: Int) throws {
        let (slow, other) = (open(), open())
        let key = cacheKey("/a", 7)
        let began = try moment(slow)
        switch kind {
        case 0: other.removeAll()
        case 1: other.remove(key.partition)
        case 2: other.remove(prefix: "https://a.example/")
        case 3: other.remove(origin: "https://a.example")
        case 4: other.remove(url: key.url)
        default: other.remove(key)
        }
        #expect(slow.store(key, try cachedResponse(), displayURL: "/", body: cachedBody(1, 10), since: began) == nil)
        #expect(other.find(key).isEmpty)
    }

    /// A validation that began before a write does not make an invalidated entry valid.
    @Test func validationRequestedBeforeAWriteLeavesTheEntryInvalid() throws {
        let (slow, writer) = (open(), open())
        slow.store(cacheKey("/"), try cachedResponse(), cachedBody(1, 10))
        let began = try moment(slow)
        let entry = try #require(slow.find(cacheKey("/")).first)
        writer.invalidate(cacheKey("/"))
        slow.update(entry, try cachedResponse("later"), since: began)
        #expect(writer.find(cacheKey("/")).map(\.response.isInvalidated) == [true])
        slow.update(try #require(slow.find(cacheKey("/")).first), try cachedResponse("later"), since: try moment(slow))
        #expect(writer.find(cacheKey("/")).map(\.response.isInvalidated) == [false])
    }

    /// Changes that a cache made before it sent a request do not affect the response, even if they are written later.
    @Test func earlierOwnChangesDoNotInvalidate() throws {
        let cache = open()
        let began = try moment(cache, local: 5)
        cache.invalidate(url: cacheKey("/").url, ticket: 5)
        cache.store(cacheKey("/"), try cachedResponse(), displayURL: "/", body: cachedBody(1, 10), since: began)
        #expect(cache.find(cacheKey("/")).map(\.response.isInvalidated) == [false])
        cache.invalidate(url: cacheKey("/b").url, ticket: 6)
        cache.store(cacheKey("/b"), try cachedResponse(), displayURL: "/", body: cachedBody(1, 10), since: began)
        #expect(cache.find(cacheKey("/b")).map(\.response.isInvalidated) == [true])
    }

    @Test func storeFailsIfTheChangeLogIsTooShort() throws {
        let (slow, writer) = (open(), open())
        let began = try moment(slow)
        for number in 0..<(2 * DiskChanges.kept + 10) { writer.invalidate(url: cacheKey("/\(number)").url) }
        #expect(
            slow.store(cacheKey("/x"), try cachedResponse(), displayURL: "/", body: cachedBody(1, 9), since: began)
                == nil)
        let rows = try Database(existing: index, lockTimeout: 5).number("SELECT count(*) FROM change")
        #expect(rows >= DiskChanges.kept && rows <= 2 * DiskChanges.kept)
    }

    /// The index is recreated, so earlier changes are unknown.
    @Test func responseRequestedUnderAnotherIndexIsNotStored() throws {
        let cache = open()
        let began = try moment(cache)
        cache.close()
        try FileManager.default.removeItem(atPath: folder)
        #expect(
            cache.store(cacheKey("/"), try cachedResponse(), displayURL: "/", body: cachedBody(1, 9), since: began)
                == nil)
    }

    // MARK: Memory

    /// Each kind of change by another cache reaches the affected memory entries, and no other entries.
    @Test func memoryCacheFollowsChangesOfOthers() throws {
        let (disk, other) = (open(), open())
        let memory = MemoryCache(maximumBytes: 1 << 20)
        var (tier, names) = (MemoryTier(), URLNames())
        func catchUp() throws -> Bool {
            guard case .read(let log, let changes) = disk.changes(for: tier) else { throw NoLog() }
            tier.caughtUp(with: log)
            switch changes {
            case .everything: return false
            case .some(let changes):
                memory.apply(changes, &names)
                return true
            }
        }
        func state(_ key: CacheKey) -> Bool? { memory.find(key).first?.response.isInvalidated }
        #expect(try !catchUp())
        let keys = (0..<8).map { cacheKey("/\($0)/x?token=hunter2", UInt64($0 % 2)) }
        func fill() throws {
            memory.removeAll()
            for key in keys { memory.store(key, try cachedResponse(), body: cachedBody(1, 10)) }
        }
        try fill()
        #expect(try catchUp() && keys.allSatisfy { state($0) == false })
        other.invalidate(url: keys[0].url)
        other.invalidate(keys[1])
        other.remove(keys[2])
        other.remove(CacheKey(url: keys[3].url, partition: .common))
        other.remove(url: keys[4].url)
        // A cache does not read its own changes from the log.
        disk.invalidate(url: keys[5].url)
        #expect(try catchUp())
        #expect(keys.map(state) == [true, true, nil, false, nil, false, false, false])
        other.remove(keys[1].partition)
        #expect(try catchUp() && keys.map(state) == [true, nil, nil, nil, nil, nil, false, nil])
        try fill()
        other.remove(prefix: "https://a.example/1/x?token=hun")
        #expect(try catchUp() && state(keys[1]) == nil && state(keys[2]) == false)
        #expect(try !Data(contentsOf: URL(fileURLWithPath: index + "-wal")).contains("hunter2"))
        other.remove(origin: "https://a.example")
        #expect(try catchUp() && keys.allSatisfy { state($0) == nil })
        try fill()
        other.removeAll()
        #expect(try catchUp() && keys.allSatisfy { state($0) == nil })
    }

    // MARK: Locked

    /// Changes are not lost when another process locks the index for longer than an operation waits.
    @Test func changesReachTheDiskWhenTheLockIsReleasedOrAreReported() throws {
        let cache = open()
        cache.store(cacheKey("/"), try cachedResponse(), cachedBody(1, 10))
        cache.store(cacheKey("/gone"), try cachedResponse(), cachedBody(1, 10))
        let holder = try Database(existing: index, lockTimeout: 0)
        try holder.execute("BEGIN IMMEDIATE")
        cache.invalidate(cacheKey("/"))
        #expect(cache.remove(cacheKey("/gone")) == nil && cache.hasPendingChanges)
        guard case .failure(let error) = cache.settle(within: 0.1) else { return #expect(Bool(false), "settled") }
        #expect(error.cause == .busy && cache.hasPendingChanges)
        try holder.execute("ROLLBACK")
        guard case .success(1) = cache.settle(within: 5) else { return #expect(Bool(false), "not settled") }
        #expect(!cache.hasPendingChanges)
        #expect(open().find(cacheKey("/")).map(\.response.isInvalidated) == [true])
        #expect(open().find(cacheKey("/gone")).isEmpty)
    }

    @Test func removalFromAnUnusableFolderFails() throws {
        try parent.write("cache", Bytes("x"))
        let cache = open()
        #expect(cache.removeAll() == nil)
        guard case .failure(let error) = cache.settle(within: 1) else { return #expect(Bool(false), "settled") }
        #expect(error.reason == "is not a folder; use another path")
    }

    // MARK: Size

    private var indexSize: Int {
        ((try? FileManager.default.attributesOfItem(atPath: index)[.size]) as? Int) ?? -1
    }

    /// The headers of a 304 response count towards the limit. Other entries are evicted for them.
    @Test func updatesRespectTheLimit() throws {
        let cache = open(1 << 20)
        for number in 0..<200 { cache.store(cacheKey("/\(number)"), try cachedResponse(), cachedBody(number, 100)) }
        for round in 0..<3 {
            for number in 0..<200 {
                guard let entry = cache.find(cacheKey("/\(number)")).first else { continue }
                var response = entry.response
                try response.headers.set("X-Large", String(repeating: "\(round)", count: 100_000))
                cache.update(entry, response)
                #expect(cache.statistics.bytes <= (1 << 20) * 5 / 4 + 101_000)
            }
            cache.evict(now: cacheMoment())
            #expect(cache.statistics.bytes <= 1 << 20)
        }
        #expect(cache.statistics.entries > 5)
        cache.close()
        #expect(indexSize < 3 << 20, "\(indexSize)")
    }

    @Test func entryWithTooLargeHeadersIsRemoved() throws {
        let cache = open(1 << 20)
        let entry = try #require(cache.store(cacheKey("/"), cachedResponse(), cachedBody(1, 10)))
        var response = try cachedResponse()
        try response.headers.set("X-Large", String(repeating: "x", count: 200_000))
        #expect(cache.update(entry, response) == nil)
        #expect(cache.find(cacheKey("/")).isEmpty && cache.statistics.bytes == 0)
        #expect(cache.store(cacheKey("/"), response, cachedBody(1, 10)) == nil)
    }

    @Test func indexShrinksAfterRemovals() throws {
        let cache = open()
        for number in 0..<1200 { cache.store(cacheKey("/\(number)"), try cachedResponse(), cachedBody(number, 5000)) }
        cache.close()
        let full = indexSize
        #expect(full > 6_000_000)
        #expect(cache.remove(prefix: "https://a.example/1") == 311)
        for number in 200..<900 { cache.remove(cacheKey("/\(number)")) }
        cache.close()
        #expect(indexSize < full / 2, "\(indexSize) of \(full)")
        cache.removeAll()
        cache.close()
        #expect(indexSize < 500_000, "\(indexSize) of \(full)")
    }

    /// A file of the previous version, which could not shrink and had no log.
    @Test func indexOfTheEarlierVersionIsMigrated() throws {
        mkdir(folder, 0o700)
        let old = DatabaseSchema("njhc", steps: Array(DiskIndex.schema.steps.prefix(1)))
        _ = try DatabaseFile.open(index, old)
        let cache = open()
        cache.store(cacheKey("/"), try cachedResponse(), cachedBody(1, 10))
        #expect(cache.find(cacheKey("/")).count == 1 && cache.takeNotes().isEmpty)
        cache.evict(now: cacheMoment(1_000_000))
        #expect(try Database(existing: index, lockTimeout: 5).number("PRAGMA auto_vacuum") == 2)
        #expect(cache.find(cacheKey("/")).count == 1)
    }
}

extension Data {
    fileprivate func contains(_ text: String) -> Bool { range(of: Data(text.utf8)) != nil }
}
