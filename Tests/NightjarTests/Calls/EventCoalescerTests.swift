import NightjarHTTP
import Synchronization
import Testing

@testable import Nightjar

/// The delay before the loop polls its sockets, and the count of calls in flight.
@Suite struct EventCoalescerTests {
    /// An event coalescer with `count` calls in flight.
    private func eventCoalescer(awaiting count: Int) -> EventCoalescer {
        var eventCoalescer = EventCoalescer()
        for _ in 0..<count { eventCoalescer.began() }
        return eventCoalescer
    }

    /// Ends `responses` calls, starts as many, and returns the delay.
    private func delay(_ eventCoalescer: inout EventCoalescer, after responses: Int) -> Duration? {
        for _ in 0..<responses { eventCoalescer.ended() }
        for _ in 0..<responses { eventCoalescer.began() }
        return eventCoalescer.delay()
    }

    @Test func fewCallsAreNotDelayed() {
        for awaited in 1..<16 {
            var eventCoalescer = eventCoalescer(awaiting: awaited)
            #expect(delay(&eventCoalescer, after: 1) == nil)
        }
    }

    @Test(arguments: [(16, 48), (40, 120), (50, 150), (100_000, 150)])
    func batchDelayIsThreeMicrosecondsPerPendingCall(awaited: Int, microseconds: Int) {
        var eventCoalescer = eventCoalescer(awaiting: awaited)
        #expect(delay(&eventCoalescer, after: 4) == .microseconds(microseconds))
    }

    /// After each useless delay, the number of batches without a delay doubles, up to 64.
    @Test func uselessDelaysBecomeRare() {
        var eventCoalescer = eventCoalescer(awaiting: 50)
        func batchesWithoutARest() -> Int {
            var count = 0
            while delay(&eventCoalescer, after: 1) == nil, count < 1000 { count += 1 }
            return count
        }
        #expect(batchesWithoutARest() == 0)
        #expect((0..<9).map { _ in batchesWithoutARest() } == [1, 2, 4, 8, 16, 32, 64, 64, 64])
        // One useful delay resets the penalty.
        #expect(delay(&eventCoalescer, after: 2) != nil)
        #expect(delay(&eventCoalescer, after: 3) != nil)
        #expect(batchesWithoutARest() == 1)
    }

    /// Calls that wait for a response do not delay the reader of another response.
    @Test func partialResponsesCauseNoDelay() {
        var eventCoalescer = eventCoalescer(awaiting: 50)
        #expect(delay(&eventCoalescer, after: 0) == nil)
        #expect(delay(&eventCoalescer, after: 1) != nil)
        #expect(delay(&eventCoalescer, after: 0) == nil)
        #expect(delay(&eventCoalescer, after: 2) != nil)
    }

    /// A call can end with a response, an error, a cancellation, or a closed client. Each end must decrement the count.
    @Test(.timeLimit(.minutes(1))) func countOfPendingCallsReturnsToZero() throws {
        var configuration = Configuration()
        configuration.baseURL = "http://api.test/v1"
        configuration.retry.maximumAttempts = 2
        configuration.retry.base = .milliseconds(1)
        let api = try Client(configuration) { PausedTransport($0) }
        let queue = CompletionQueue()
        let ended = Atomic(0)
        func start(_ path: String) throws -> ClientTask {
            try api.start(
                Request(.get, path), on: queue, TaskHandlers { _, _ in ended.add(1, ordering: .relaxed) })
        }
        let held = try (0..<20).map { _ in try start("/hold") }
        for status in [200, 404, 500, 503] { for _ in 0..<10 { _ = try start("/\(status)") } }
        while ended.load(ordering: .relaxed) < 40 { queue.poll(timeout: .seconds(5)) }
        #expect(awaited(api) == 20)
        for task in held.prefix(15) { task.cancel() }
        while ended.load(ordering: .relaxed) < 55 { queue.poll(timeout: .seconds(5)) }
        #expect(awaited(api) == 5)
        api.close()
        queue.close()
        #expect(ended.load(ordering: .relaxed) == 60)
        #expect(api.loop.eventCoalescer.awaited == 0)
    }

    private func awaited(_ api: Client) -> Int {
        let count = Mutex<Int?>(nil)
        api.loop.submit(.run { count.withLock { $0 = api.loop.eventCoalescer.awaited } })
        while true { if let count = count.withLock({ $0 }) { return count } }
    }
}
