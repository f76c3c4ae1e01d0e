import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar

@Suite struct TransferProgressTests {
    private final class Notifications: Sendable {
        let all = Mutex<[TaskHandlers.Progress]>([])
        let isOver = Mutex(false)

        func handlers() -> TaskHandlers {
            var handlers = TaskHandlers { [self] _, _ in isOver.withLock { $0 = true } }
            handlers.progress = { [self] _, progress in
                // Nothing is reported after the end.
                if !isOver.withLock({ $0 }) { all.withLock { $0.append(progress) } }
            }
            return handlers
        }

        func wait(on queue: CompletionQueue) {
            for _ in 0..<2000 where !isOver.withLock({ $0 }) { queue.poll(timeout: .milliseconds(5)) }
        }
    }

    private func reported(_ steps: [ScriptedTransport.Step], _ request: Request) throws -> [TaskHandlers.Progress] {
        let one = try client(ScriptedTransport([steps]))
        let queue = CompletionQueue()
        let reported = Notifications()
        try one.start(request, on: queue, reported.handlers())
        reported.wait(on: queue)
        one.close()
        return reported.all.withLock { $0 }
    }

    @Test func immediateCallIsReportedOnce() throws {
        var request = Request(.post, "/")
        request.body = .bytes(ByteBuffer(string: "12345"))
        let reported = try reported([.head(200), .body("abc"), .body("defg"), .end], request)
        var whole = TaskHandlers.Progress()
        (whole.sent, whole.sentTotal, whole.received, whole.receivedTotal) = (5, 5, 7, 7)
        #expect(reported == [whole])
    }

    @Test func failedCallIsNotReportedAsComplete() throws {
        #expect(try reported([.head(200), .body("abc"), .fail(.connectionLost)], Request(.get, "/")).isEmpty)
        #expect(try reported([.head(404), .body("abc"), .end], Request(.get, "/")).isEmpty)
    }

    @Test func responseWithoutABodyReportsNoProgress() throws {
        // The report contains only the totals, which are known at the end.
        let reported = try reported([.head(204), .end], Request(.get, "/"))
        var none = TaskHandlers.Progress()
        (none.sentTotal, none.receivedTotal) = (0, 0)
        #expect(reported == [none])
    }

    private func last(_ scripts: [[ScriptedTransport.Step]], _ request: Request) throws -> TaskHandlers.Progress? {
        let one = try client(ScriptedTransport(scripts)) {
            $0.retry.maximumAttempts = 2
            $0.retry.base = .zero
        }
        let queue = CompletionQueue()
        let reported = Notifications()
        try one.start(request, on: queue, reported.handlers())
        reported.wait(on: queue)
        one.close()
        return reported.all.withLock { $0.last }
    }

    /// The last report describes the successful attempt, not an earlier failed one.
    @Test func lastReportExcludesFailedAttempts() throws {
        let failed: [ScriptedTransport.Step] = [.head(503), .body(String(repeating: "x", count: 5000)), .end]
        var none = TaskHandlers.Progress()
        (none.sentTotal, none.receivedTotal) = (0, 0)
        #expect(try last([failed, [.head(204), .end]], Request(.get, "/")) == none)
        let moved: [ScriptedTransport.Step] = [
            .head(302, [("Location", "/v1/b"), ("Content-Length", "5000")]), .body(String(repeating: "x", count: 5000)),
            .end,
        ]
        #expect(try last([moved, [.head(204), .end]], Request(.get, "/")) == none)
    }

    /// Each coalesced call reports the shared body.
    @Test func coalescedCallsReportTheSharedBody() async throws {
        let site = try ManualSite { $0.coalesces = true }
        let all = [Notifications(), Notifications()]
        for reported in all { try site.api.start(Request(.get, "/a"), on: nil, reported.handlers()) }
        #expect(site.api.limitStates().isEmpty)  // runs on the loop after both calls
        site.transport.respond("/a", body: "seven b")
        try await eventually("both ended") { all.allSatisfy { $0.isOver.withLock { $0 } } }
        #expect(site.transport.log.withLock { $0.started.count } == 1)
        for reported in all {
            let last = reported.all.withLock { $0.last }
            #expect(last?.received == 7 && last?.receivedTotal == 7)
        }
    }
}
