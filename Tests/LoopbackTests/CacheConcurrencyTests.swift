import NIOCore
import Nightjar
import NightjarDemo
import NightjarTestSupport
import Synchronization
import Testing

/// Concurrent calls for the same resource.
@Suite struct CacheConcurrencyTests {
    private let demo: CacheDemo
    private let queue = CompletionQueue()

    init() throws { demo = try CacheDemo() }

    /// Calls wait for the response of an identical call only for a limited time, then send their own request.
    @Test func slowReaderDoesNotBlockOtherReaders() throws {
        let client = try demo.client()
        let target = "/cache/a?control=max-age=600&length=\(4 << 20)"
        let results = CallResults()
        let task = Mutex(0)
        var handlers = results.handlers(0)
        handlers.creditsAreManual = true
        handlers.body = { _, part in task.withLock { $0 += part.readableBytes } }
        let slow = try client.start(.cached(target), on: queue, handlers)
        try eventually("the first part arrived") {
            queue.poll(timeout: .milliseconds(10))
            return task.withLock { $0 > 0 }
        }
        for index in 1...3 { try client.start(.cached(target), on: queue, results.handlers(index)) }
        results.wait(for: 3, on: queue)
        for index in 1...3 { #expect(DemoContent.isIntact(try #require(try results[index]?.get()).bytes)) }
        slow.consumed(task.withLock { $0 })
        while results.count < 4 {
            let before = task.withLock { $0 }
            queue.poll(timeout: .seconds(5))
            slow.consumed(task.withLock { $0 } - before)
        }
        #expect(task.withLock { $0 } == 4 << 20)
    }

    /// The server sent the response before the write, but the client received its end after the write.
    @Test(arguments: [false, true]) func readDuringAWriteIsRevalidated(byAnother: Bool) throws {
        let client = try demo.client()
        let writer = byAnother ? try demo.client(nil) { $0.cache = client.cache } : client
        let target = "/cache/a?control=max-age=600&etag=strong&length=900000"
        let results = CallResults()
        let read = Mutex(0)
        var handlers = results.handlers(0)
        handlers.creditsAreManual = true
        handlers.body = { _, part in read.withLock { $0 += part.readableBytes } }
        let slow = try client.start(.cached(target), on: queue, handlers)
        try eventually("the first part arrived") {
            queue.poll(timeout: .milliseconds(10))
            return read.withLock { $0 > 0 }
        }
        try writer.write(target)
        slow.consumed(900_000)
        results.wait(for: 1, on: queue)
        #expect(try results[0]?.get().status == 200)
        let next = try client.get(target)
        #expect(next.version == 2 && next.source == .network)
        #expect(demo.requests("/cache/a") == 3 && demo.conditional("/cache/a") == 1)
    }

    /// The response to a HEAD request that was sent before a write must not make the invalidated entry fresh again.
    @Test func headRequestFromBeforeAWriteIsIgnored() throws {
        let client = try demo.client()
        let target = "/cache/a?control=max-age=600&etag=strong&delay=0.5"
        try client.get(target)
        let results = CallResults()
        let head = try Request.cached(target, policy: .reload) { $0.method = .head }
        try client.start(head, on: queue, results.handlers(0))
        try eventually("the server received the request") { demo.requests("/cache/a") == 2 }
        try client.write("/cache/a?content-location=/cache/a%3Fcontrol%3Dmax-age%3D600%26etag%3Dstrong%26delay%3D0.5")
        #expect(results.count == 0)
        results.wait(for: 1, on: queue)
        #expect(try client.get(target).version == 2)
        #expect(demo.requests("/cache/a") == 4)
    }

    @Test func hundredMissesShareOneRequest() throws {
        let client = try demo.client()
        let results = CallResults()
        for index in 0..<100 {
            try client.start(
                .cached("/cache/a?control=max-age=600&delay=0.3&length=3000"), on: queue, results.handlers(index))
        }
        results.wait(for: 100, on: queue)
        #expect(results.responses.count == 100 && Set(results.responses.map(\.bytes)).count == 1)
        #expect(results.responses.allSatisfy { DemoContent.isIntact($0.bytes) })
        #expect(demo.requests("/cache/a") == 1)
    }

    @Test func hundredValidationsShareOneRequest() throws {
        let client = try demo.client()
        let target = "/cache/a?control=max-age=3&etag=strong"
        try client.get(target)
        try eventually("the entry is stale", within: .seconds(10)) {
            try (client.get(target, policy: .cacheOnly).headers["Age"].flatMap { Int($0) } ?? 0) > 3
        }
        let results = CallResults()
        for index in 0..<100 { try client.start(.cached(target), on: queue, results.handlers(index)) }
        results.wait(for: 100, on: queue)
        #expect(results.responses.count == 100 && results.responses.allSatisfy { $0.version == 1 })
        #expect(demo.requests("/cache/a") == 2 && demo.notModified("/cache/a") == 1)
    }

    /// Other threads read the same entries concurrently. No thread may see an older version after a newer one.
    @Test func threadReadsItsOwnWrites() throws {
        let client = try demo.client()
        let isOver = Atomic<Bool>(false)
        let old = Mutex<[String]>([])
        let threads = (0..<3).map { number in
            RunningThread {
                for version in 2..<150 {
                    let target = "/cache/n\(number)?control=max-age=600&etag=strong"
                    try client.write(target)
                    let found = try client.get(target).version
                    if found != version { old.withLock { $0.append("\(target): \(found ?? 0), not \(version)") } }
                }
            }
        }
        let readers = (0..<3).map { _ in
            RunningThread {
                var seen = [0, 0, 0]
                while !isOver.load(ordering: .relaxed) {
                    for number in 0..<3 {
                        let target = "/cache/n\(number)?control=max-age=600&etag=strong"
                        let version = try client.get(target).version ?? 0
                        if version < seen[number] { old.withLock { $0.append("\(target): after \(seen[number])") } }
                        seen[number] = version
                    }
                }
            }
        }
        for thread in threads { try thread.join() }
        isOver.store(true, ordering: .relaxed)
        for thread in readers { try thread.join() }
        #expect(old.withLock { $0 } == [])
        #expect(try #require(client.cache).statistics.hits > 100)
    }

    @Test func usersDoNotWaitForEachOthersResponses() throws {
        let client = try demo.client()
        let results = CallResults()
        let users = ["YWRhOng=", "Ym9iOng="]
        for index in 0..<40 {
            let request = try Request.cached(
                "/cache/p?private-to=user&control=max-age=600&delay=0.2",
                [("Authorization", "Basic \(users[index % 2])")])
            try client.start(request, on: queue, results.handlers(index))
        }
        results.wait(for: 40, on: queue)
        for index in 0..<40 {
            #expect(try results[index]?.get().reported("private_to") == (index % 2 == 0 ? "ada" : "bob"))
        }
        #expect(demo.requests("/cache/p") == 2)
    }
}
