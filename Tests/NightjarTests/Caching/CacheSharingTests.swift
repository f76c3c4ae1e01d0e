import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar
@testable import NightjarStorage

/// Clients that share a folder but not a memory cache, like separate processes.
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

    /// A server whose responses contain the resource's version: the number of writes so far.
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

    /// A write and a removal by another client also apply to this client's memory cache.
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
        // Makes both clients read the folder.
        _ = try slow.get("/other")
        _ = try writer.get("/other")
        slow.server.isHeld.store(true, ordering: .relaxed)
        let results = CacheTests.Results()
        try slow.start(Bench.request(.get, "/a"), results)
        try eventually("the server received the request") { slow.requested.count == 2 }
        _ = try writer.client.sendBlocking(Bench.request(.put, "/a"))
        try writer.client.cache?.flush()
        slow.server.release()
        try eventually("the call ended") {
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
        try eventually("the server received the request") { bench.requested.count == 2 }
        #expect(try bench.client.cache?.removeAll() == 1)
        bench.server.release()
        try eventually("the call ended") {
            bench.queue.poll(timeout: .milliseconds(10))
            return results.all.withLock { !$0.isEmpty }
        }
        #expect(try bench.get().source == .network)
    }

    /// URLs on disk have masked secrets, so a prefix matches there with any value of a secret.
    @Test func prefixWithASecretIsAlsoRemovedFromDisk() throws {
        let versions = Versions()
        for byClient in [false, true] {
            let bench = try self.bench(versions)
            for item in ["token=hunter2&page=1", "token=hunter2&page=2", "size=1"] { _ = try bench.get("/a?" + item) }
            let cache = try #require(bench.client.cache)
            try cache.flush()
            let removed =
                if byClient {
                    try bench.client.removeCached(beginningWith: Request(.get, "/a?token=hunt"))
                } else {
                    try cache.remove(prefix: "http://api.test/a?token=hunt")
                }
            #expect(removed == 2)
            #expect(try self.bench(versions).get("/a?token=hunter2&page=1").source == .network)
            #expect(try self.bench(versions).get("/a?size=1").source == .cache)
        }
    }

    @Test func prefixDoesNotContainTheAPIKeyOfTheClient() throws {
        let versions = Versions()
        let key = try APIKey("hunter2", in: .query("key"))
        let bench = try Bench(settings, { $0.auth = .apiKey(key) }) { _, requested in versions.reply(requested) }
        for target in ["/a/1", "/a/2", "/b"] { _ = try bench.get(target) }
        #expect(try bench.client.removeCached(beginningWith: Request(.get, "/a/")) == 2)
    }

    /// While the index is locked, removals fail instead of returning 0, and a closing client logs the changes that it
    /// could not write. The cache writes them later.
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
        // The cache outlives its client and repeats the write.
        let other = try self.bench(versions)
        try eventually("the changes are written") { try other.get("/b").source == .network }
        #expect(try text(other.get("/a")) == "version 1")
    }

    /// The client is closed by a callback on its own thread. The changes are written when the index is available.
    @Test(.timeLimit(.minutes(1))) func closeOnTheLoopDoesNotWaitForTheDisk() throws {
        let versions = Versions()
        let cache = try CacheStorage(settings, gracePeriod: 3600)
        let bench = try Bench(.init(), { ($0.cache, $0.cacheSettings) = (cache, nil) }) { _, requested in
            versions.reply(requested)
        }
        _ = try bench.get("/a")
        try cache.flush()
        let holder = try Database(existing: folder + "/index.db", lockTimeout: 5)
        try holder.execute("BEGIN IMMEDIATE")
        let isClosed = Atomic<Bool>(false)
        try bench.client.start(
            Bench.request(.put, "/a"), on: nil,
            TaskHandlers { [client = bench.client] _, _ in
                client.close()
                isClosed.store(true, ordering: .releasing)
            })
        try eventually("the client is closed", within: .seconds(30)) { isClosed.load(ordering: .acquiring) }
        try holder.execute("ROLLBACK")
        let other = try self.bench(versions)
        try eventually("the change is written") { try text(other.get("/a")) == "version 1" }
    }
}
