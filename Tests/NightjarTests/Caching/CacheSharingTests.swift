import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar
@testable import NightjarStorage

/// Clients that share a folder, each with a memory cache of its own, like separate processes.
@Suite struct CacheSharingTests {
    private typealias Bench = CacheTests.Bench
    fileprivate static let fresh = [("Cache-Control", "max-age=600"), ("ETag", "\"1\"")]

    private let parent: TemporaryDirectory
    private let folder: String

    init() throws {
        parent = try TemporaryDirectory()
        folder = parent.file("cache")
    }

    private var settings: CacheStorage.Settings { .init(disk: 10 << 20, folder: folder) }

    /// Responses contain the resource's version: the number of writes so far.
    private final class Versions: Sendable {
        let count = Atomic<Int>(0)

        func reply(_ requested: ServerInMemory.Requested) -> ServerInMemory.Response {
            if requested.method == .put { count.add(1, ordering: .relaxed) }
            return .init(200, CacheSharingTests.fresh, "version \(count.load(ordering: .relaxed))")
        }
    }

    private func bench(_ versions: Versions) throws -> Bench {
        try Bench(settings) { _, requested in versions.reply(requested) }
    }

    private func text(_ response: Response) -> String { String(buffer: response.body) }

    /// Another client's write and removal of all entries take effect in the memory of this client within a second.
    @Test func memoryCacheFollowsWritesAndRemovalsOfOtherClients() throws {
        let versions = Versions()
        let (one, other) = (try self.bench(versions), try self.bench(versions))
        _ = try one.get()
        try one.client.cache?.flush()
        #expect(try other.get().source == .cache)
        _ = try other.client.sendBlocking(Bench.request(.put, "/a"))
        try eventually("the write is seen") { try text(one.get()) == "version 1" }
        #expect(try one.get().source == .cache)
        let count = one.requested.count
        try other.client.cache?.removeAll()
        try eventually("the removal is seen") { try one.get().source == .network }
        #expect(one.requested.count == count + 1)
    }

    /// A slow GET that began before another client's write is not stored as fresh.
    @Test func responseRequestedBeforeAnotherWriteIsNotFresh() throws {
        let versions = Versions()
        let (slow, writer) = (try self.bench(versions), try self.bench(versions))
        // Both clients have read the folder.
        _ = try slow.get("/other")
        _ = try writer.get("/other")
        slow.server.isHeld.store(true, ordering: .relaxed)
        let results = CacheTests.Results()
        try slow.start(Bench.request(.get, "/a"), results)
        try eventually("the server has it") { slow.requested.count == 2 }
        _ = try writer.client.sendBlocking(Bench.request(.put, "/a"))
        try writer.client.cache?.flush()
        slow.server.release()
        try eventually("it has a response") {
            slow.queue.poll(timeout: .milliseconds(10))
            return results.all.withLock { !$0.isEmpty }
        }
        #expect(try results.all.withLock { $0[0] }.map { try text($0.get()) } == "version 0")
        try slow.client.cache?.flush()
        for bench in [writer, try self.bench(versions)] { #expect(try text(bench.get()) == "version 1") }
        try eventually("the write is seen") { try text(slow.get()) == "version 1" }
    }

    /// A response that was in flight when its entries were removed is not stored after the removal has returned.
    @Test func removalAppliesToResponsesInFlight() throws {
        let bench = try self.bench(Versions())
        _ = try bench.get("/other")
        bench.server.isHeld.store(true, ordering: .relaxed)
        let results = CacheTests.Results()
        try bench.start(Bench.request(.get, "/a"), results)
        try eventually("the server has it") { bench.requested.count == 2 }
        #expect(try bench.client.cache?.removeAll() == 1)
        bench.server.release()
        try eventually("it has a response") {
            bench.queue.poll(timeout: .milliseconds(10))
            return results.all.withLock { !$0.isEmpty }
        }
        #expect(try bench.get().source == .network)
    }

    /// While another process locks the index, removals fail instead of returning 0, and a client that closes logs what
    /// it could not write. Repeated writes succeed later.
    @Test func failedChangesAreReported() throws {
        let versions = Versions()
        let lines = Mutex<[String]>([])
        let cache = try CacheStorage(settings, gracePeriod: 0.1)
        let bench = try Bench(
            .init(),
            {
                ($0.cache, $0.cacheSettings) = (cache, nil)
                $0.log = LogSink(level: .warning) { line in lines.withLock { $0.append(line.message) } }
            }, { _, requested in versions.reply(requested) })
        _ = try bench.get("/a")
        _ = try bench.get("/b")
        try cache.flush()
        let holder = try Database(existing: folder + "/index.db", lockTimeout: 5)
        try holder.execute("BEGIN IMMEDIATE")
        _ = try bench.client.sendBlocking(Bench.request(.put, "/a"))
        for remove in [{ try cache.removeAll() }, { try cache.remove(prefix: "http://api.test/") }] {
            let error = #expect(throws: NightjarError.self) { try remove() }
            #expect(error?.kind == .storage)
            #expect(error?.message.hasPrefix("removing cached responses failed: the database") ?? false)
        }
        #expect(throws: NightjarError.self) { try cache.flush() }
        bench.client.close()
        #expect(lines.withLock { $0.filter { $0.hasPrefix("invalidating cached responses failed:") } }.count == 1)
        try holder.execute("ROLLBACK")
        // The cache still exists, and repeats the write by itself.
        let other = try self.bench(versions)
        try eventually("the changes are written") { try other.get("/b").source == .network }
        #expect(try text(other.get("/a")) == "version 1")
    }
}
