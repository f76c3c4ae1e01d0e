import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar

/// The total timeout of calls that are retried after an idle timeout.
@Suite(.timeLimit(.minutes(1))) struct TotalTimeoutTests {
    private func configuration(_ configuration: inout Configuration) {
        configuration.retry = RetrySettings()
        configuration.retry.base = .zero
        configuration.timeouts = Timeouts(idle: .milliseconds(30), total: .milliseconds(120))
    }

    private func expectTotalTimeout(_ result: borrowing Mutex<Result<Response, NightjarError>?>, attempts: Int)
        async throws
    {
        try await eventually("the call ended") { result.withLock { $0 != nil } }
        let error = #expect(throws: NightjarError.self) { try result.withLock { try $0?.get() } }
        #expect(error?.kind == .timeout && error?.phase == .total && error?.attempts == attempts)
    }

    @Test func callWaitingForADecisionTimesOut() async throws {
        let api = try client(ScriptedTransport([[]])) { configuration(&$0) }
        let result = Mutex<Result<Response, NightjarError>?>(nil)
        var handlers = TaskHandlers { _, end in result.withLock { $0 = end } }
        handlers.retry = { _, _ in .later }
        try api.start(Request(.get, "/x"), on: nil, handlers)
        try await expectTotalTimeout(result, attempts: 1)
    }

    @Test func queuedCallTimesOut() async throws {
        let site = try ManualSite {
            configuration(&$0)
            $0.limits.concurrency = 1
        }
        let result = Mutex<Result<Response, NightjarError>?>(nil)
        try site.api.start(Request(.get, "/first"), on: nil, TaskHandlers { _, end in result.withLock { $0 = end } })
        // The second call waits for the slot, takes it when the first call's attempt times out, and keeps it.
        var secondRequest = Request(.get, "/second")
        secondRequest.timeouts = Timeouts(idle: .seconds(100), total: .seconds(100))
        let second = try site.api.start(secondRequest, on: nil, TaskHandlers { _, _ in })
        try await site.started(["/first", "/second"])
        try await expectTotalTimeout(result, attempts: 1)
        second.cancel()
        try await eventually("no slot is in use") { site.api.limitStates().allSatisfy { $0.inFlight + $0.queued == 0 } }
    }
}
