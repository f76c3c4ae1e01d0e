import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// A server that counts requests in windows, and callers that would exceed its limit.
@Suite struct RateLimitModelTests {
    private struct World {
        enum Event {
            case arrives(caller: UInt64)
            case reachesServer(caller: UInt64, LimitGate.Permit)
            case hasResponse(caller: UInt64, LimitGate.Permit, remaining: Int, reset: UInt64)
            case timer
        }

        static let second: UInt64 = 1_000_000_000

        let limit: Int
        let length: UInt64
        let slowest: UInt64
        var random: SeededRandom
        var gate = LimitGate()
        var now: UInt64 = 0
        var events: [(moment: UInt64, event: Event)] = []
        var windowStart: UInt64?
        var count = 0
        var admitted = 0
        var rejected = 0

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            limit = Int.random(in: 1...40, using: &random)
            length = UInt64.random(in: 1...10, using: &random) * World.second
            slowest = UInt64.random(in: 1...300, using: &random) * 1_000_000
        }

        mutating func add(_ event: Event, after wait: UInt64) { events.append((now + wait, event)) }

        mutating func latency() -> UInt64 { UInt64.random(in: 0...slowest, using: &random) }

        /// - Returns: false if there are no more events.
        mutating func step() throws -> Bool {
            let alarm = gate.deadline.map { (moment: max($0, now), event: Event.timer) }
            let index = events.indices.min { events[$0].moment < events[$1].moment }
            let event: Event
            if let alarm, index.map({ alarm.moment <= events[$0].moment }) ?? true {
                (now, event) = alarm
            } else if let index {
                (now, event) = events.remove(at: index)
            } else {
                return false
            }
            switch event {
            case .arrives(let caller):
                if case .enter(let permit) = gate.arrive(caller, deadline: nil, now: now) { go(caller, permit) }
            case .reachesServer(let caller, let permit): receive(caller, permit)
            case .hasResponse(let caller, let permit, let remaining, let reset):
                var headers = Headers()
                try headers.add("RateLimit-Policy", "\"a\";q=\(limit);w=\(length / World.second)")
                try headers.add("RateLimit", "\"a\";r=\(remaining);t=\(reset)")
                var current: LimitGate.Permit? = permit
                perform(gate.received(&current, status: 200, headers, now: now, wallClock: 0))
                perform(gate.left(current ?? permit, .succeeded, now: now))
                add(.arrives(caller: caller), after: latency() / 10)
            case .timer: perform(gate.timerFired(now: now))
            }
            return true
        }

        mutating func perform(_ releases: [LimitGate.Release]) {
            for case .enter(let caller, let permit, _) in releases { go(caller, permit) }
        }

        mutating func go(_ caller: UInt64, _ permit: LimitGate.Permit) {
            add(.reachesServer(caller: caller, permit), after: latency())
        }

        mutating func receive(_ caller: UInt64, _ permit: LimitGate.Permit) {
            if windowStart.map({ now >= $0 + length }) ?? true { (windowStart, count) = (now, 0) }
            count += 1
            if count > limit { rejected += 1 } else { admitted += 1 }
            let left = (windowStart ?? now) + length - now
            let reset = (left + World.second - 1) / World.second
            add(.hasResponse(caller: caller, permit, remaining: max(limit - count, 0), reset: reset), after: latency())
        }
    }

    @Test(arguments: 1...300 as ClosedRange<UInt64>)
    func learnedLimitIsNotExceeded(seed: UInt64) throws {
        var world = World(seed: seed)
        // The other callers arrive after the first response, which contains the limit.
        world.add(.arrives(caller: 0), after: 0)
        let callers = UInt64.random(in: 1...100, using: &world.random)
        for caller in 1...callers { world.add(.arrives(caller: caller), after: 2 * world.slowest + caller) }
        let end = 20 * world.length
        while world.now < end, try world.step() {}
        #expect(world.rejected == 0, "seed \(seed): \(world.rejected) of \(world.admitted)")
        // The gate must use most of the quota. It extends a window of the server by at most one second and the time of
        // the exchanges in flight.
        let perSecond = Double(callers) / (Double(world.slowest) * 2.1 / 1e9)
        let windows = Double(end) / Double(world.length + World.second + 4 * world.slowest)
        let expected = min(Double(world.limit) * (windows - 2), perSecond * Double(end) / 1e9 / 4)
        #expect(Double(world.admitted) >= expected * 0.9, "seed \(seed): \(world.admitted) of \(expected)")
    }
}
