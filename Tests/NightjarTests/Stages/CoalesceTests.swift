import NIOCore
import NightjarHTTP
import NightjarTestSupport
import NightjarTransport
import Synchronization
import Testing

@testable import Nightjar

@Suite struct CoalesceTests {
    /// A transport that responds when the test calls `respond`.
    private final class SlowReader: HTTPTransport, @unchecked Sendable {
        let log = Mutex((began: 0, cancelled: 0))
        private var receivers: [any ExchangeReceiver] = []
        private let loop: any EventLoop

        init(_ loop: any EventLoop) { self.loop = loop }

        func begin(
            _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
        ) -> any Exchange {
            log.withLock { $0.began += 1 }
            receivers.append(receiver)
            receiver.exchangeStarted(on: nil, isReused: true, stream: nil)
            return Held(self)
        }

        func respond(_ status: Int = 200) {
            loop.execute { [self] in
                let all = receivers
                receivers = []
                for receiver in all {
                    receiver.exchangeReceived(head: ResponseHead(status: status))
                    receiver.exchangeReceived(body: ByteBuffer(string: "shared"))
                    receiver.exchangeFinished(trailers: Headers())
                }
            }
        }

        func shutDown() { receivers = [] }

        final class Held: Exchange {
            private let transport: SlowReader
            init(_ transport: SlowReader) { self.transport = transport }
            func cancel() { transport.log.withLock { $0.cancelled += 1 } }
            func pause() {}
            func resume() {}
            func send(_ part: ByteBuffer) {}
            func endBody() {}
        }
    }

    private struct Bench {
        let api: Client
        let transport: SlowReader
        let queue = CompletionQueue()

        init(_ configure: (inout Configuration) -> Void = { _ in }) throws {
            var configuration = Configuration()
            configuration.baseURL = "http://api.test"
            configuration.coalesces = true
            configuration.retry.maximumAttempts = 1
            configure(&configuration)
            let made = Mutex<SlowReader?>(nil)
            api = try Client(configuration) { loop in
                let transport = SlowReader(loop)
                made.withLock { $0 = transport }
                return transport
            }
            transport = try #require(made.withLock { $0 })
        }

        /// The result of each call.
        final class Results: Sendable {
            let all = Mutex<[Int: Result<Response, NightjarError>]>([:])
            subscript(index: Int) -> Result<Response, NightjarError>? { all.withLock { $0[index] } }
            var count: Int { all.withLock { $0.count } }
        }

        func start(_ request: Request, _ index: Int, _ results: Results) throws -> ClientTask {
            try api.start(request, on: queue, TaskHandlers { _, result in results.all.withLock { $0[index] = result } })
        }

        func run(until count: Int, _ results: Results) {
            for _ in 0..<2000 where results.count < count { queue.poll(timeout: .milliseconds(5)) }
        }

        /// Waits until `began` exchanges have started, and polls the queue.
        func settle(began: Int) {
            for _ in 0..<400 where transport.log.withLock({ $0.began }) < began {
                queue.poll(timeout: .milliseconds(5))
            }
            queue.poll(timeout: .milliseconds(20))
        }
    }

    @Test func equalCallsShareOneExchange() throws {
        let bench = try Bench()
        let results = Bench.Results()
        for index in 0..<10_000 { _ = try bench.start(Request(.get, "/a"), index, results) }
        bench.settle(began: 1)
        bench.transport.respond()
        bench.run(until: 10_000, results)
        #expect(bench.transport.log.withLock { $0.began } == 1)
        let responses = (0..<10_000).compactMap { try? results[$0]?.get() }
        #expect(responses.count == 10_000)
        #expect(responses.allSatisfy { String(buffer: $0.body) == "shared" })
        #expect(responses.filter { $0.source == .network }.count == 1)
        #expect(responses[5000].decisions.map(\.what) == [.coalesced(calls: 10_000)])
    }

    @Test func lastCancellationEndsTheExchange() throws {
        let bench = try Bench()
        let results = Bench.Results()
        let tasks = try (0..<10_000).map { try bench.start(Request(.get, "/a"), $0, results) }
        bench.settle(began: 1)
        for task in tasks.dropLast() { task.cancel() }
        bench.run(until: 9999, results)
        #expect(bench.transport.log.withLock { $0.cancelled } == 0)
        bench.transport.respond()
        bench.run(until: 10_000, results)
        #expect(try results[9999]?.get().status == 200)

        let others = Bench.Results()
        let all = try (0..<100).map { try bench.start(Request(.get, "/b"), $0, others) }
        bench.settle(began: 2)
        for task in all { task.cancel() }
        bench.run(until: 100, others)
        #expect(bench.transport.log.withLock { $0.cancelled } == 1)
        // Later calls begin a new exchange.
        let late = Bench.Results()
        _ = try bench.start(Request(.get, "/b"), 0, late)
        bench.settle(began: 3)
        bench.transport.respond()
        bench.run(until: 1, late)
        #expect(try late[0]?.get().status == 200)
    }

    @Test func differentCallsAreNotShared() throws {
        let bench = try Bench()
        let results = Bench.Results()
        var requests = [Request(.get, "/a"), Request(.get, "/a?x=1"), Request(.head, "/a"), Request(.post, "/a")]
        var other = Request(.get, "/a")
        try other.headers.set("Accept-Language", "de")
        requests.append(other)
        other = Request(.get, "/a")
        try other.headers.set("Authorization", "Bearer other")
        requests.append(other)
        other = Request(.get, "/a")
        other.coalesces = false
        requests.append(other)
        other = Request(.get, "/a")
        other.maximumBody = 10
        requests.append(other)
        other = Request(.get, "/a")
        other.connectivity.maximumWait = .seconds(1)
        requests.append(other)
        requests.append(Request(.post, "/a"))
        for (index, request) in requests.enumerated() { _ = try bench.start(request, index, results) }
        bench.settle(began: requests.count)
        #expect(bench.transport.log.withLock { $0.began } == requests.count)
        bench.transport.respond()
        bench.run(until: requests.count, results)
    }

    @Test func followersHaveTheirOwnDeadlinesAndResponses() throws {
        let bench = try Bench()
        let results = Bench.Results()
        var hasty = Request(.get, "/a")
        hasty.timeouts.total = .milliseconds(50)
        _ = try bench.start(hasty, 0, results)
        _ = try bench.start(Request(.get, "/a"), 1, results)
        bench.run(until: 1, results)
        #expect(throws: NightjarError.self) { try results[0]?.get() }
        bench.transport.respond(404)
        bench.run(until: 2, results)
        let error = #expect(throws: NightjarError.self) { try results[1]?.get() }
        #expect(error?.kind == .notFound && error?.attempts == 1)
        #expect(bench.transport.log.withLock { $0 } == (1, 0))
    }

    @Test func closingTheClientEndsAllFollowers() throws {
        let bench = try Bench()
        let results = Bench.Results()
        for index in 0..<10 { _ = try bench.start(Request(.get, "/a"), index, results) }
        bench.settle(began: 1)
        bench.api.close()
        bench.run(until: 10, results)
        for index in 0..<10 {
            let error = #expect(throws: NightjarError.self) { try results[index]?.get() }
            #expect(error?.kind == .cancelled)
        }
        #expect(bench.transport.log.withLock { $0.cancelled } == 1)
    }

    /// A server that does not respond to one exchange may respond to the next one.
    @Test func callsDoNotJoinATimedOutExchange() throws {
        let bench = try Bench()
        let results = Bench.Results()
        var hasty = Request(.get, "/a")
        hasty.timeouts.total = .milliseconds(30)
        _ = try bench.start(hasty, 0, results)
        _ = try bench.start(Request(.get, "/a"), 1, results)
        bench.run(until: 1, results)
        _ = try bench.start(Request(.get, "/a"), 2, results)
        _ = try bench.start(Request(.get, "/a"), 3, results)
        bench.settle(began: 2)
        #expect(bench.transport.log.withLock { $0.began } == 2)
        bench.transport.respond()
        bench.run(until: 4, results)
        #expect(try (1...3).allSatisfy { try results[$0]?.get().status == 200 })
    }
}
