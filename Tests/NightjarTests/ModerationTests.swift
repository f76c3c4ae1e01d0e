import NightjarHTTP
import Synchronization
import Testing

@testable import Nightjar

/// When the loop delays polling its sockets, and how it counts calls in flight.
@Suite struct ModerationTests {
    /// A value with that many calls in flight.
    private func moderation(awaiting count: Int) -> Moderation {
        var moderation = Moderation()
        for _ in 0..<count { moderation.began() }
        return moderation
    }

    /// That many responses arrive, and as many calls follow.
    private func rest(_ moderation: inout Moderation, after answers: Int) -> Duration? {
        for _ in 0..<answers { moderation.ended() }
        for _ in 0..<answers { moderation.began() }
        return moderation.rest()
    }

    @Test func fewCallsAreNotKeptWaiting() {
        for awaited in 1..<16 {
            var moderation = moderation(awaiting: awaited)
            #expect(rest(&moderation, after: 1) == nil)
        }
    }

    @Test(arguments: [(16, 48), (40, 120), (50, 150), (100_000, 150)])
    func aRestIsThreeMicrosecondsForEachCallThatIsAwaited(awaited: Int, microseconds: Int) {
        var moderation = moderation(awaiting: awaited)
        #expect(rest(&moderation, after: 4) == .microseconds(microseconds))
    }

    /// After a useless delay, one batch is handled without a delay, then two, then four; in the end all but one of 65.
    @Test func restsInVainBecomeRare() {
        var moderation = moderation(awaiting: 50)
        func batchesWithoutARest() -> Int {
            var count = 0
            while rest(&moderation, after: 1) == nil, count < 1000 { count += 1 }
            return count
        }
        #expect(batchesWithoutARest() == 0)
        #expect((0..<9).map { _ in batchesWithoutARest() } == [1, 2, 4, 8, 16, 32, 64, 64, 64])
        // One useful delay resets the penalty.
        #expect(rest(&moderation, after: 2) != nil)
        #expect(rest(&moderation, after: 3) != nil)
        #expect(batchesWithoutARest() == 1)
    }

    /// A reader of a response body is not delayed by calls without a response.
    @Test func partsOfAnswersBringNoRest() {
        var moderation = moderation(awaiting: 50)
        #expect(rest(&moderation, after: 0) == nil)
        #expect(rest(&moderation, after: 1) != nil)
        #expect(rest(&moderation, after: 0) == nil)
        #expect(rest(&moderation, after: 2) != nil)
    }

    /// Calls in flight are counted by their states, which can end in many ways.
    @Test(.timeLimit(.minutes(1))) func allThatIsAwaitedComesToAnEnd() throws {
        var configuration = Configuration()
        configuration.baseURL = "http://api.test/v1"
        configuration.retry.maximumAttempts = 2
        configuration.retry.base = .milliseconds(1)
        let api = try Client(configuration) { HeldTransport($0) }
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
        #expect(api.loop.moderation.awaited == 0)
    }

    private func awaited(_ api: Client) -> Int {
        let count = Mutex<Int?>(nil)
        api.loop.submit(.run { count.withLock { $0 = api.loop.moderation.awaited } })
        while true { if let count = count.withLock({ $0 }) { return count } }
    }
}
