import Testing

@testable import NightjarHTTP

@Suite struct PauseHeaderTests {
    private static let now = 1_000_000_000.0

    private func pause(_ value: String?, date: String? = nil) throws -> Duration? {
        var headers = Headers()
        if let value { try headers.add("backoff", value) }
        if let date { try headers.add("Date", date) }
        return try #require(PauseHeader("Backoff")).pause(headers, now: PauseHeaderTests.now)
    }

    @Test(
        arguments: [
            ("10", .seconds(10)), ("0.25", .milliseconds(250)), ("1.0001", .milliseconds(1001)), ("0", nil),
            ("0.0", nil),
            ("-1", nil), ("", nil), ("soon", nil), ("1.2.3", nil), (".", nil), ("1e3", nil),
            ("86401", .seconds(86_400)),
            ("99999.5", .seconds(86_400)), ("2592000", .seconds(86_400)), ("2592001", nil), ("2592000.5", nil),
            ("1750000000", nil), ("99999999999999999999", nil), ("inf", nil), ("nan", nil),
            ("Sun, 09 Sep 2001 01:47:10 GMT", .seconds(30)), ("Sun, 09 Sep 2001 01:46:30 GMT", nil),
        ] as [(String, Duration?)])
    func valueIsSecondsOrADate(value: String, expected: Duration?) throws {
        #expect(try pause(value) == expected)
    }

    @Test func datesAreComparedWithTheDateField() throws {
        let pause = try pause("Sun, 09 Sep 2001 01:47:10 GMT", date: "Sun, 09 Sep 2001 01:47:00 GMT")
        #expect(pause == .seconds(10))
        #expect(try self.pause(nil) == nil)
    }

    @Test func nameIsValid() {
        #expect(PauseHeader("a b") == nil && PauseHeader("") == nil && PauseHeader("a:") == nil)
    }

    // MARK: The gate

    private let second: UInt64 = 1_000_000_000

    @Test func gateIsPausedUntilTheEnd() throws {
        var gate = LimitGate()
        guard case .enter(let permit) = gate.arrive(1, deadline: nil, now: 0) else {
            throw NightjarError(.protocol, "unexpected")
        }
        #expect(gate.pause(for: .seconds(10), now: second) == [])
        #expect(gate.pausedUntil(now: second) == 11 * second && !gate.isIdle(now: second))
        // A shorter pause does not end the first one, and the success of an earlier or a later exchange does not either.
        #expect(gate.pause(for: .seconds(1), now: second) == [])
        var received: LimitGate.Permit? = permit
        #expect(gate.received(&received, status: 200, Headers(), now: 2 * second, wallClock: 0) == [])
        _ = gate.left(permit, .succeeded, now: 2 * second)
        guard case .enter(let free) = gate.arrive(2, deadline: nil, ignoresPause: true, now: 3 * second) else {
            throw NightjarError(.protocol, "unexpected")
        }
        received = free
        _ = gate.received(&received, status: 200, Headers(), now: 3 * second, wallClock: 0)
        _ = gate.left(free, .succeeded, now: 3 * second)
        #expect(gate.arrive(3, deadline: nil, now: 4 * second) == .wait)
        #expect(gate.blockingLimit == .rate(.pauseHeader) && gate.deadline == 11 * second)
        #expect(gate.arrive(4, deadline: 5 * second, now: 4 * second) == .refuse(.pastDeadline(.seconds(7))))
        guard case .enter(3, _, after: .rate(.pauseHeader))? = gate.timerFired(now: 11 * second).first else {
            throw NightjarError(.protocol, "unexpected")
        }
        #expect(gate.pausedUntil(now: 11 * second) == nil)
    }

    @Test func longPauseRejectsWaitingCalls() {
        var settings = LimitGate.Settings()
        settings.concurrency = 1
        var gate = LimitGate(settings)
        _ = gate.arrive(1, deadline: nil, now: 0)
        #expect(gate.arrive(2, deadline: nil, now: 0) == .wait)
        _ = gate.pause(for: .seconds(61), now: 0)
        #expect(gate.arrive(3, deadline: nil, now: 0) == .refuse(.serverRequestedLongWait(.seconds(61))))
    }
}
