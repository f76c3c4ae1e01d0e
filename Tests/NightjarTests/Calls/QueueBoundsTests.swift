import Glibc
import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar

/// The number of events that one poll runs, and the log lines that an unpolled queue holds.
@Suite struct QueueBoundsTests {
    private final class Counter: Sendable {
        let count = Atomic<Int>(0)
    }

    /// Waits until the loop has processed all submitted messages and posted their events.
    private func rounds(_ api: Client) { for _ in 0..<3 { _ = api.limitStates() } }

    private func readable(_ queue: CompletionQueue) -> Bool {
        var entry = pollfd(fd: queue.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 1
    }

    @Test func onePollRunsABoundedNumberOfEvents() {
        let queue = CompletionQueue()
        let order = Mutex<[Int]>([])
        for number in 0..<3000 { queue.run { order.withLock { $0.append(number) } } }
        _ = queue.descriptor
        var counts: [Int] = []
        while readable(queue) { counts.append(queue.poll(timeout: .zero)) }
        #expect(counts.allSatisfy { 1...1024 ~= $0 } && counts.count >= 3, "\(counts)")
        #expect(order.withLock { $0 } == Array(0..<3000))
        #expect(queue.poll(timeout: .zero) == 0)
    }

    @Test func slowEventsEndAPoll() {
        let queue = CompletionQueue()
        for _ in 0..<40 { queue.run { usleep(5000) } }
        let count = queue.poll(timeout: nil)
        #expect(1..<40 ~= count, "\(count)")
        // The next poll does not wait.
        #expect(queue.poll(timeout: nil) > 0)
        queue.close()
    }

    @Test func newEventsRunAfterTheRemainingOnes() {
        let queue = CompletionQueue()
        let order = Mutex<[Int]>([])
        for number in 0..<2000 {
            queue.run {
                order.withLock { $0.append(number) }
                if number == 10 { queue.run { order.withLock { $0.append(2000) } } }
            }
        }
        while queue.poll(timeout: .zero) > 0 {}
        #expect(order.withLock { $0 } == Array(0...2000))
    }

    @Test func descriptorIsReadableForEventsThatArriveBetweenPolls() {
        let queue = CompletionQueue()
        for _ in 0..<1500 { queue.run {} }
        _ = queue.descriptor
        #expect(queue.poll(timeout: .zero) == 1024)
        queue.run {}
        // The second poll runs the remaining events of the first one.
        #expect(queue.poll(timeout: .zero) == 476)
        #expect(readable(queue))
        #expect(queue.poll(timeout: .zero) == 1)
        #expect(!readable(queue))
    }

    @Test func closingRunsAllEvents() {
        let queue = CompletionQueue()
        let counter = Counter()
        for _ in 0..<5000 { queue.run { counter.count.add(1, ordering: .relaxed) } }
        queue.close()
        #expect(counter.count.load(ordering: .relaxed) == 5000)
    }

    @Test func blockedPollerReceivesTheRemainingEvents() async throws {
        let queue = CompletionQueue()
        let counter = Counter()
        for _ in 0..<5000 { queue.run { counter.count.add(1, ordering: .relaxed) } }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    while counter.count.load(ordering: .relaxed) < 5000 { queue.poll(timeout: .milliseconds(50)) }
                }
            }
        }
        #expect(counter.count.load(ordering: .relaxed) == 5000)
    }

    // MARK: The log

    @Test func logOfAnUnpolledQueueIsBounded() throws {
        let queue = CompletionQueue()
        let lines = Mutex<[LogSink.Line]>([])
        let api = try client(ScriptedTransport([])) {
            $0.log = LogSink(level: .debug, queue: queue) { line in lines.withLock { $0.append(line) } }
        }
        for number in 0..<3000 { api.loop.submit(.note(.info, "line \(number)")) }
        rounds(api)
        while queue.poll(timeout: .zero) > 0 {}
        let first = lines.withLock { $0 }
        try #require(first.count == 1025)
        #expect(first[0].level == .warning)
        #expect(first[0].message == "1976 log lines were dropped: the queue was not polled")
        #expect(first[1].message == "line 0" && first[1024].message == "line 1023")
        // After a poll, the log accepts lines again.
        api.loop.submit(.note(.info, "later"))
        rounds(api)
        while queue.poll(timeout: .zero) > 0 {}
        #expect(lines.withLock { $0.last?.message } == "later" && lines.withLock { $0.count } == 1026)
    }

    @Test func longLinesFillTheLogSooner() throws {
        let queue = CompletionQueue()
        let lines = Mutex<[Int]>([])
        let api = try client(ScriptedTransport([])) {
            $0.log = LogSink(level: .debug, queue: queue) { line in
                lines.withLock { $0.append(line.message.utf8.count) }
            }
        }
        let text = String(repeating: "x", count: 100_000)
        for _ in 0..<20 { api.loop.submit(.note(.info, text)) }
        rounds(api)
        while queue.poll(timeout: .zero) > 0 {}
        #expect(lines.withLock { $0.filter { $0 == 100_000 }.count } == 10)
    }

    // MARK: Manual responses

    @Test(arguments: [false, true]) func responseTooLargeForTheCacheIsNotInserted(_ isOnDisk: Bool) throws {
        let folder = try TemporaryDirectory()
        let settings: CacheStorage.Settings =
            isOnDisk ? .init(memory: 1 << 16, disk: 1 << 20, folder: folder.file("c")) : .init(memory: 1 << 16)
        let bench = try CacheTests.Bench(settings) { _, _ in .init() }
        var headers = Headers()
        try headers.add("Cache-Control", "max-age=60")
        let request = Request(.get, "/a")
        let large = ByteBuffer(repeating: 7, count: 1 << 19)
        let error = #expect(throws: NightjarError.self) {
            try bench.client.insert(headers: headers, body: large, for: request)
        }
        #expect(error?.kind == .tooLarge)
        #expect(try bench.client.cached(request) == nil)
        try bench.client.insert(headers: headers, body: ByteBuffer(string: "small"), for: request)
        #expect(try bench.client.cached(request)?.body.readableBytes == 5)
        // This response is too large for memory, but not for the disk.
        let medium = ByteBuffer(repeating: 7, count: 1 << 15)
        guard isOnDisk else { return }
        try bench.client.insert(headers: headers, body: medium, for: request)
        #expect(try bench.client.cached(request)?.body.readableBytes == 1 << 15)
    }
}
