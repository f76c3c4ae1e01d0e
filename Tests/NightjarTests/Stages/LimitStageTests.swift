import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import Nightjar

/// The exchanges that the circuit breaker counts, and the release of their slots.
@Suite(.timeLimit(.minutes(1))) struct LimitStageTests {
    private func breaker(_ configuration: inout Configuration) {
        var breaker = CircuitBreaker.Settings()
        breaker.minimumCalls = 1
        breaker.openDuration = .zero
        configuration.limits.breaker = breaker
    }

    private func circuit(_ api: Client, _ origin: String = "http://api.test") -> CircuitBreaker.Visible? {
        api.limitStates().first { $0.name.hasPrefix(origin) }?.circuit
    }

    /// Total timeouts open the circuit, with and without coalescing.
    @Test(arguments: [false, true]) func totalTimeoutIsAServerFailure(coalesces: Bool) async throws {
        let site = try ManualSite {
            breaker(&$0)
            $0.limits.breaker?.minimumCalls = 2
            $0.limits.breaker?.openDuration = .seconds(100)
            $0.limits.breaker?.window = .seconds(1000)
            $0.coalesces = coalesces
            $0.timeouts.total = .milliseconds(isSanitized ? 1000 : 100)
        }
        // On a busy machine a call may time out before its exchange starts. That is not a failure of the server.
        var calls = 0
        while site.transport.log.withLock({ $0.started.count }) < 2, calls < 50 {
            calls += 1
            let name = "\(calls)"
            try site.start(name, Request(.get, "/a"))
            let error = try await #expect(throws: NightjarError.self) { try await site.result(name).get() }
            #expect(error?.kind == .timeout && error?.phase == .total)
        }
        #expect(circuit(site.api) == .open)
    }

    /// A cancelled call is not a failure of the server.
    @Test func cancelledExchangeIsNotCounted() async throws {
        let site = try ManualSite {
            breaker(&$0)
            $0.coalesces = true
        }
        let task = try site.start("1", Request(.get, "/a"))
        try await site.started(["/a"])
        task.cancel()
        _ = try await site.result("1")
        #expect(circuit(site.api) == .closed)
    }

    /// A redirect whose body is not read closes a half-open circuit.
    @Test(arguments: [[], [("Content-Length", "100000000")]])
    func redirectIsASuccess(fields: [(String, String)]) async throws {
        let site = try ManualSite { breaker(&$0) }
        try site.start("failed", Request(.get, "/a"))
        try await site.started(["/a"])
        site.transport.respond("/a", 500)
        _ = try await site.result("failed")
        #expect(circuit(site.api) == .open)
        try site.start("moved", Request(.get, "/b"))
        try await site.started(["/a", "/b"])
        site.transport.respond("/b", 302, [("Location", "http://other.test/c")] + fields, isWhole: false)
        try await site.started(["/a", "/b", "/c"])
        #expect(circuit(site.api) == .closed)
        #expect(circuit(site.api, "http://other.test") == .closed)
        site.transport.respond("/c")
        #expect(try await site.result("moved").get().status == 200)
    }

    /// A stream that its reader cancels counts as a success.
    @Test func unreadResponseIsASuccess() async throws {
        let site = try ManualSite { breaker(&$0) }
        try site.start("failed", Request(.get, "/a"))
        try await site.started(["/a"])
        site.transport.respond("/a", 500)
        _ = try await site.result("failed")
        let reading = Task { [api = site.api] in try await api.stream(Request(.get, "/b")).response.status }
        try await site.started(["/a", "/b"])
        site.transport.respond("/b", body: "begun", isWhole: false)
        #expect(try await reading.value == 200)
        try await eventually("the circuit closed") { circuit(site.api) == .closed }
    }

    /// A redirect must release its slot before it waits for a fetch that needs this slot. Without the release, both calls
    /// would send a request when the wait for the fetch ends. The response arrives at once, so that the wait cannot end
    /// earlier on a busy machine.
    @Test func redirectReleasesItsSlotWhileWaitingForTheCache() async throws {
        let site = try ManualSite {
            $0.limits.concurrency = 1
            $0.cacheSettings = CacheStorage.Settings(memory: 1 << 20)
        }
        try site.start("redirected", Request(.get, "/a"))
        try await site.started(["/a"])
        try site.start("fetch", Request(.get, "/b"))
        try await eventually("the fetch waits for a slot") { site.api.limitStates().first?.queued == 1 }
        site.transport.whenStarted("/b") { transport in
            transport.respond("/b", 200, [("Cache-Control", "max-age=60"), ("Content-Length", "2")], body: "ok")
        }
        site.transport.respond("/a", 302, [("Location", "/b")], isWhole: false)
        #expect(try await site.result("fetch").get().text == "ok")
        #expect(try await site.result("redirected").get().text == "ok")
        #expect(site.transport.log.withLock { $0.started } == ["/a", "/b"])
        #expect(site.api.limitStates().allSatisfy { $0.inFlight + $0.queued == 0 })
    }
}
