import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

/// A call that is cancelled at any stage reports `cancelled` once, and the pool stays usable.
@Suite struct CancellationTests {
    private final class Outcomes: Sendable {
        let all = Mutex<[Result<Response, NightjarError>]>([])

        var handlers: TaskHandlers { TaskHandlers { _, result in self.all.withLock { $0.append(result) } } }
        var count: Int { all.withLock { $0.count } }
        var kinds: [ErrorKind] {
            all.withLock { $0.compactMap { if case .failure(let error) = $0 { error.kind } else { nil } } }
        }
    }

    private func cancelled(_ script: [ScriptedPeer.Step], whenOpen latch: Latch?) throws {
        let peer = try ScriptedPeer([script, [.untilClosed([.expectRequest, .respond(body: "sound")])]])
        let client = try client(of: peer) { $0.transport.connectionsPerHost = 1 }
        let queue = CompletionQueue()
        let outcomes = Outcomes()
        let task = try client.start(Request(.get, "/cancelled"), on: queue, outcomes.handlers)
        try latch?.wait()
        task.cancel()
        while outcomes.count < 1 { queue.poll(timeout: .seconds(5)) }
        #expect(outcomes.kinds == [.cancelled])
        #expect(try client.sendBlocking(Request(.get, "/next")).text == "sound")
        #expect(outcomes.count == 1)
    }

    @Test func callIsCancelledBeforeTheResponse() throws {
        let latch = Latch()
        try cancelled([.expectRequest, .open(latch), .expectClose], whenOpen: latch)
    }

    @Test func callIsCancelledInTheMiddleOfTheBody() throws {
        let latch = Latch()
        try cancelled(
            [
                .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01"), .open(latch), .expectClose,
            ], whenOpen: latch)
    }

    @Test func callIsCancelledInTheQueue() throws {
        let busy = Latch()
        let free = Latch()
        let peer = try ScriptedPeer([
            [
                .expectRequest, .open(busy), .waitFor(free), .respond(body: "first"),
                .untilClosed([.expectRequest, .respond(body: "later")]),
            ]
        ])
        let client = try client(of: peer) { $0.transport.connectionsPerHost = 1 }
        let queue = CompletionQueue()
        let first = Outcomes()
        let waiting = Outcomes()
        try client.start(Request(.get, "/first"), on: queue, first.handlers)
        try busy.wait()
        let tasks = try (0..<5).map { try client.start(Request(.get, "/\($0)"), on: queue, waiting.handlers) }
        for index in [0, 2, 4] { tasks[index].cancel() }
        while waiting.count < 3 { queue.poll(timeout: .seconds(5)) }
        #expect(waiting.kinds == [.cancelled, .cancelled, .cancelled])
        free.open()
        while waiting.count < 5 || first.count < 1 { queue.poll(timeout: .seconds(5)) }
        #expect(peer.requests.map(\.target) == ["/first", "/1", "/3"])
        #expect(peer.connectionCount == 1)
    }

    @Test func callIsCancelledWhileConnecting() throws {
        let listener = try SilentListener()
        let client = try client(port: listener.port)
        let queue = CompletionQueue()
        let outcomes = Outcomes()
        let task = try client.start(Request(.get, "/"), on: queue, outcomes.handlers)
        task.cancel()
        while outcomes.count < 1 { queue.poll(timeout: .seconds(5)) }
        #expect(outcomes.kinds == [.cancelled])
        client.close()
        #expect(outcomes.count == 1)
    }

    @Test func manyCallsAreCancelledAtRandomMoments() throws {
        let peer = try ScriptedPeer([[.untilClosed([.expectRequest, .respond(body: "x")])]], repeatsLast: true)
        let client = try client(of: peer) { $0.transport.connectionsPerHost = 4 }
        let queue = CompletionQueue()
        let outcomes = Outcomes()
        var random = SeededRandom(seed: 7)
        var tasks: [ClientTask] = []
        for _ in 0..<500 {
            tasks.append(try client.start(Request(.get, "/"), on: queue, outcomes.handlers))
            if random.next() % 3 == 0 { tasks[Int(random.next() % UInt64(tasks.count))].cancel() }
            if random.next() % 5 == 0 { queue.poll(timeout: .zero) }
        }
        while outcomes.count < 500 { queue.poll(timeout: .seconds(5)) }
        #expect(Set(outcomes.kinds).isSubset(of: [.cancelled]))
        #expect(try client.sendBlocking(Request(.get, "/")).text == "x")
    }
}
