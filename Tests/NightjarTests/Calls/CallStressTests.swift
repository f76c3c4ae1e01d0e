import Dispatch
import Glibc
import NIOCore
import NightjarHTTP
import NightjarTestSupport
import NightjarTransport
import Synchronization
import Testing

@testable import Nightjar

/// Threads start, cancel, decide about retries and redirects, poll, and close in random order.
///
/// The environment variable NIGHTJAR_STRESS_SECONDS sets the duration. NIGHTJAR_STRESS_SEED runs one round with that
/// seed. The seed determines the configuration and the actions of each thread, but not the order between threads.
@Suite struct CallStressTests {
    @Test func everyCallEndsOnceAndReleasesItsSlot() throws {
        if let seed = number("NIGHTJAR_STRESS_SEED") { return try StressRound(seed).run() }
        let end = ContinuousClock.now + .seconds(Int64(number("NIGHTJAR_STRESS_SECONDS") ?? 3))
        var seed: UInt64 = 0
        repeat {
            seed += 1
            try StressRound(seed).run()
        } while ContinuousClock.now < end
    }

    private func number(_ name: String) -> UInt64? { getenv(name).flatMap { UInt64(String(cString: $0)) } }
}

/// One client, a few queues, and the threads that use them.
private final class StressRound: Sendable {
    /// The expected and the actual number of runs of each completion.
    private struct Ledger {
        var expected: [Int] = []
        var actual: [Int] = []
        var labels: [String] = []

        var isBalanced: Bool { expected == actual }

        var unbalanced: String {
            expected.indices.filter { expected[$0] != actual[$0] }.map {
                "\(labels[$0]) ended \(actual[$0]) times, expected \(expected[$0])"
            }.joined(separator: "; ")
        }
    }

    private let seed: UInt64
    private let api: Client
    private let transport: RandomTransport
    private let queues = [CompletionQueue(), CompletionQueue(), CompletionQueue()]
    private let ledger = Mutex(Ledger())
    /// The tasks that the threads cancel and make decisions for.
    private let tasks = Mutex<[ClientTask]>([])
    private let batches = Mutex<[Batch]>([])
    /// Callbacks run on several threads and share this generator.
    private let handlerRandom: Mutex<SeededRandom>
    private let closesClient: Bool

    init(_ seed: UInt64) throws {
        self.seed = seed
        var random = SeededRandom(seed: seed)
        var configuration = Configuration()
        configuration.baseURL = "http://api.test"
        configuration.coalesces = random.chance(0.5)
        configuration.retry.base = .milliseconds(Int(random.next() % 3))
        configuration.retryBudget.reserve = 1000
        configuration.timeouts = Timeouts(
            idle: .milliseconds(Int.random(in: 5...50, using: &random)),
            total: .milliseconds(Int.random(in: 10...100, using: &random)))
        if random.chance(0.7) { configuration.limits.concurrency = Int.random(in: 1...4, using: &random) }
        if random.chance(0.3) {
            configuration.limits.breaker = CircuitBreaker.Settings()
            configuration.limits.breaker?.openDuration = .milliseconds(2)
        }
        if random.chance(0.5) { configuration.cacheSettings = CacheStorage.Settings(memory: 1 << 16) }
        closesClient = random.chance(0.3)
        handlerRandom = Mutex(SeededRandom(seed: random.next()))
        let transportSeed = random.next()
        let made = Mutex<RandomTransport?>(nil)
        api = try Client(configuration) { loop in
            let transport = RandomTransport(loop, seed: transportSeed)
            made.withLock { $0 = transport }
            return transport
        }
        transport = try #require(made.withLock { $0 })
    }

    func run() throws {
        DispatchQueue.concurrentPerform(iterations: StressRound.threads) { thread in
            var random = SeededRandom(seed: seed &* 1000 &+ UInt64(thread))
            for step in 0..<StressRound.steps {
                if thread == 0, step == StressRound.steps / 2, closesClient { api.close() }
                act(&random)
            }
        }
        // Each call has a total timeout, so it ends.
        wait("each call ended, but \(ledger.withLock { $0.unbalanced })") {
            for queue in queues { queue.poll(timeout: .zero) }
            return ledger.withLock { $0.isBalanced }
        }
        if !closesClient {
            wait("all slots are free, but \(inFlight) exchanges run and \(api.limitStates())") {
                inFlight == 0 && api.limitStates().allSatisfy { $0.inFlight == 0 && $0.queued == 0 }
            }
        }
        for queue in queues { queue.close() }
        api.close()
        #expect(ledger.withLock { $0.isBalanced }, "seed \(seed): \(ledger.withLock { $0.unbalanced })")
        // The callbacks of tasks and batches refer to this round.
        tasks.withLock { $0 = [] }
        batches.withLock { $0 = [] }
    }

    private var inFlight: Int { transport.inFlight.load(ordering: .acquiring) }

    /// Waits for a condition that is true at the latest when the calls have timed out.
    private func wait(_ what: @autoclosure () -> String, _ condition: () -> Bool) {
        let end = ContinuousClock.now + .seconds(20)
        while !condition() {
            guard ContinuousClock.now < end else {
                Issue.record("seed \(seed): timed out while waiting until \(what())")
                return
            }
            usleep(1000)
        }
    }

    private func act(_ random: inout SeededRandom) {
        let queue = queues.randomElement(using: &random) ?? queues[0]
        switch random.next() % 100 {
        case 0..<40: start(on: random.chance(0.2) ? nil : queue, &random)
        case 40..<45: startBatch(on: queue, &random)
        case 45..<60: tasks.withLock { $0.randomElement(using: &random) }?.cancel()
        case 60..<70: decide(&random)
        case 70..<72: batches.withLock { $0.randomElement(using: &random) }?.cancel()
        case 72..<75: tasks.withLock { $0.removeAll() }
        case 75: if random.chance(0.3) { queue.close() }
        default: queue.poll(timeout: random.chance(0.5) ? .zero : .milliseconds(1))
        }
    }

    /// Makes a decision that may not have been requested.
    private func decide(_ random: inout SeededRandom) {
        guard let task = tasks.withLock({ $0.randomElement(using: &random) }) else { return }
        switch random.next() % 6 {
        case 0: task.retry(.again(after: .zero))
        case 1: task.retry(.stop)
        case 2: task.retry(.asDecided)
        case 3: task.redirect(.follow)
        case 4: task.redirect(.stop)
        default: task.consumed(1000)
        }
    }

    // MARK: Calls

    private func expect(_ count: Int, _ label: String) -> Int {
        ledger.withLock { ledger in
            ledger.labels += Array(repeating: label, count: count)
            ledger.expected += Array(repeating: 1, count: count)
            ledger.actual += Array(repeating: 0, count: count)
            return ledger.expected.count - count
        }
    }

    private func reject(_ first: Int, _ count: Int) {
        ledger.withLock { ledger in for entry in first..<first + count { ledger.expected[entry] = 0 } }
    }

    private func ended(_ entry: Int) { ledger.withLock { $0.actual[entry] += 1 } }

    private func request(_ random: inout SeededRandom) -> Request {
        if random.chance(0.1) { return Request(.put, "/\(random.next() % 4)") }
        return Request(.get, "/\(random.next() % 4)")
    }

    private func start(on queue: CompletionQueue?, _ random: inout SeededRandom) {
        let request = request(&random)
        let place = queues.firstIndex { $0 === queue }.map(String.init) ?? "the loop"
        let entry = expect(1, "\(request.method) \(request.target) on queue \(place)")
        var handlers = TaskHandlers { [self] _, _ in
            ended(entry)
            afterwards(queue)
        }
        if random.chance(0.2) {
            handlers.retry = { [self] _, _ in
                choose([.later, .later, .again(after: .milliseconds(1)), .stop, .asDecided])
            }
        }
        if random.chance(0.2) {
            handlers.redirect = { [self] _, _ in choose([.later, .later, .follow, .stop, .refuse(nil)]) }
        }
        if random.chance(0.2) {
            handlers.body = { [self] task, part in if choose([true, false]) { task.consumed(part.readableBytes) } }
            handlers.creditsAreManual = true
        }
        do throws(NightjarError) {
            let task = try api.start(request, on: queue, handlers)
            tasks.withLock { $0.append(task) }
        } catch {
            reject(entry, 1)
        }
    }

    private func startBatch(on queue: CompletionQueue, _ random: inout SeededRandom) {
        let count = Int(random.next() % 6)
        let calls = (0..<count).map { _ in
            BatchCall(random.chance(0.2) ? Request(.get, "ftp://a/") : request(&random))
        }
        let first = expect(count + 1, "batch of \(calls.map { (try? $0.request.get())?.target ?? "" })")
        let handlers = BatchHandlers(
            ended: { [self] _, index, _, _ in ended(first + index) }, finished: { [self] _, _ in ended(first + count) })
        do throws(NightjarError) {
            let batch = try api.start(
                batch: calls, concurrency: 1 + Int(random.next() % 3), collectsErrors: random.chance(0.5), on: queue,
                handlers)
            batches.withLock { $0.append(batch) }
        } catch {
            reject(first, count + 1)
        }
    }

    /// Randomly does what a program may do inside a completion callback.
    private func afterwards(_ queue: CompletionQueue?) {
        switch choose(Array(0..<60)) {
        case 0: queue?.close()
        case 1, 2: tasks.withLock { $0.last }?.cancel()
        case 3, 4:
            var random = handlerRandom.withLock { SeededRandom(seed: $0.next()) }
            start(on: queue, &random)
        case 5: queue?.poll(timeout: .zero)
        default: break
        }
    }

    private func choose<Choice>(_ choices: [Choice]) -> Choice {
        choices[Int(handlerRandom.withLock { $0.next() } % UInt64(choices.count))]
    }

    private static let threads = 4
    private static let steps = 150
}

/// A transport without a network that randomly responds, redirects, fails or stays silent, within two milliseconds.
private final class RandomTransport: HTTPTransport, @unchecked Sendable {
    let inFlight = Atomic<Int>(0)
    private var random: SeededRandom
    private let loop: any EventLoop

    init(_ loop: any EventLoop, seed: UInt64) {
        self.loop = loop
        random = SeededRandom(seed: seed)
    }

    func begin(
        _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
    ) -> any Exchange {
        inFlight.add(1, ordering: .relaxed)
        let exchange = RandomExchange(self)
        // The other exchanges wait for a connection until `play`.
        if random.chance(0.8) { receiver.exchangeStarted(on: nil, isReused: false, stream: nil) }
        let outcome = random.next() % 12
        // Like a network transport, it may fail immediately, but it never responds immediately.
        if outcome == 1, random.chance(0.5) {
            play(outcome, exchange, receiver)
        } else {
            later { self.play(outcome, exchange, receiver) }
        }
        return exchange
    }

    private func later(_ body: @escaping () -> Void) {
        let onLoop = OnLoop<Void> { _ in body() }
        loop.scheduleTask(in: .microseconds(Int64(random.next() % 2000))) { onLoop.body(()) }
    }

    private func play(_ outcome: UInt64, _ exchange: RandomExchange, _ receiver: any ExchangeReceiver) {
        guard !exchange.hasEnded else { return }
        receiver.exchangeStarted(on: nil, isReused: false, stream: nil)
        var isWhole = true
        var head = ResponseHead(status: 200)
        switch outcome {
        case 0: return
        case 1:
            if exchange.end() { receiver.exchangeFailed(NightjarError(.connectionLost, "by chance")) }
            return
        case 2: head = ResponseHead(status: 503)
        case 3: head = ResponseHead(status: 429)
        case 4, 5:
            head = ResponseHead(status: 302)
            try? head.headers.add("Location", "/\(random.next() % 4)")
            isWhole = outcome == 5
            if isWhole { try? head.headers.add("Content-Length", "4") }
        case 6: isWhole = false
        case 7: try? head.headers.add("Cache-Control", "max-age=60")
        default: break
        }
        receiver.exchangeReceived(head: head)
        if !exchange.hasEnded { receiver.exchangeReceived(body: ByteBuffer(string: "body")) }
        if isWhole, exchange.end() { receiver.exchangeFinished(trailers: Headers()) }
    }

    func shutDown() {}
}

private final class RandomExchange: Exchange {
    private let transport: RandomTransport
    private(set) var hasEnded = false

    init(_ transport: RandomTransport) { self.transport = transport }

    /// Returns false if the exchange had already ended.
    func end() -> Bool {
        guard !hasEnded else { return false }
        hasEnded = true
        transport.inFlight.subtract(1, ordering: .relaxed)
        return true
    }

    func cancel() { _ = end() }
    func pause() {}
    func resume() {}
    func send(_ part: ByteBuffer) {}
    func endBody() {}
}

extension SeededRandom {
    fileprivate mutating func chance(_ probability: Double) -> Bool {
        Double(next() >> 11) / Double(1 << 53) < probability
    }
}
