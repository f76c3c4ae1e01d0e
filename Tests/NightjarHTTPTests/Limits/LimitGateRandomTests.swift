import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// Checks invariants after each event of a random sequence.
@Suite struct LimitGateRandomTests {
    private struct World {
        var gate: LimitGate
        let settings: LimitGate.Settings
        var random: SeededRandom
        var now: UInt64 = 0
        var nextID: UInt64 = 0
        var waiting: [UInt64] = []
        var inFlight: [LimitGate.Permit] = []
        var entries: [UInt64] = []
        var seed: Comment { Comment(rawValue: "seed \(random.seed)") }

        init(seed: UInt64) throws {
            random = SeededRandom(seed: seed)
            var settings = LimitGate.Settings()
            if Bool.random(using: &random) {
                let count = Int.random(in: 1...20, using: &random)
                settings.rate = try #require(
                    RateLimiter.Rate(count: count, per: .seconds(2), burst: Int.random(in: 1...3, using: &random)))
            }
            if Bool.random(using: &random) { settings.concurrency = Int.random(in: 1...4, using: &random) }
            if Bool.random(using: &random) {
                var breaker = CircuitBreaker.Settings()
                breaker.minimumCalls = 4
                settings.breaker = breaker
            }
            settings.maximumQueued = Int.random(in: 0...20, using: &random)
            settings.longestWait = .seconds(10)
            self.settings = settings
            gate = LimitGate(settings)
        }

        mutating func entered(_ permit: LimitGate.Permit) {
            #expect(gate.pausedUntil(now: now) == nil, seed)
            inFlight.append(permit)
            entries.append(now)
            #expect(inFlight.count <= settings.concurrency ?? .max, seed)
            #expect(inFlight.count(where: \.isProbe) <= 1, seed)
            guard let rate = settings.rate else { return }
            let interval = UInt64(rate.period.nanosecondsClamped) / UInt64(rate.count)
            for (position, start) in entries.enumerated() {
                #expect(entries.count - position <= rate.burst + Int((now - start) / interval), seed)
            }
        }

        mutating func perform(_ releases: [LimitGate.Release]) {
            var enters = waiting[...]
            for release in releases {
                switch release {
                case .enter(let id, let permit, _):
                    // Calls are admitted in the order of their arrival.
                    #expect(enters.first == id, seed)
                    enters = enters.dropFirst()
                    waiting.removeAll { $0 == id }
                    entered(permit)
                case .refuse(let id, _):
                    #expect(waiting.contains(id), seed)
                    waiting.removeAll { $0 == id }
                }
            }
        }

        mutating func leave(_ ending: CircuitBreaker.Ending? = nil) {
            guard !inFlight.isEmpty else { return }
            let permit = inFlight.remove(at: Int.random(in: 0..<inFlight.count, using: &random))
            let chosen: [CircuitBreaker.Ending] = [.succeeded, .failed, .failed, .inconclusive]
            perform(gate.left(permit, ending ?? chosen[Int.random(in: 0..<4, using: &random)], now: now))
        }

        mutating func step() throws {
            switch Int.random(in: 0..<12, using: &random) {
            case 0...4:
                nextID += 1
                let maximumWait = UInt64.random(in: 0...8_000_000_000, using: &random)
                let deadline = Bool.random(using: &random) ? nil : now + maximumWait
                switch gate.arrive(nextID, deadline: deadline, now: now) {
                case .enter(let permit):
                    #expect(waiting.isEmpty, seed)
                    entered(permit)
                case .wait: waiting.append(nextID)
                case .refuse: break
                }
            case 5...7: leave()
            case 8:
                guard let id = waiting.randomElement(using: &random) else { return }
                waiting.removeAll { $0 == id }
                perform(gate.removeWaiter(id, now: now))
            case 9:
                var headers = Headers()
                let number = "\(UInt64.random(in: 0...12, using: &random))"
                if Bool.random(using: &random) {
                    try headers.add("Retry-After", number)
                } else {
                    try headers.add("RateLimit", "\"a\";r=\(Int.random(in: 0...4, using: &random));t=\(number)")
                }
                let index = Int.random(in: 0...inFlight.count, using: &random)
                var permit: LimitGate.Permit? = index < inFlight.count ? inFlight[index] : nil
                let releases = gate.received(&permit, status: 429, headers, now: now, wallClock: 0)
                if let permit { inFlight[index] = permit }
                perform(releases)
            default:
                now += UInt64.random(in: 0...1_500_000_000, using: &random)
                if let deadline = gate.deadline, deadline <= now { perform(gate.timerFired(now: now)) }
            }
        }

        func check() {
            #expect(gate.queued == waiting.count && gate.inFlight == inFlight.count, seed)
            #expect(waiting.count <= settings.maximumQueued, seed)
            // If calls are queued, another call is in flight, or a timer is set.
            #expect(waiting.isEmpty || !inFlight.isEmpty || gate.deadline != nil, seed)
        }
    }

    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func randomEventsPreserveOrderAndLimits(seed: UInt64) throws {
        var world = try World(seed: seed)
        for _ in 0..<200 {
            try world.step()
            world.check()
        }
        // Without new calls, all calls must eventually be admitted and end.
        var rounds = 0
        while rounds < 10_000, !(world.inFlight.isEmpty && world.waiting.isEmpty) {
            rounds += 1
            world.leave(.succeeded)
            if let deadline = world.gate.deadline {
                world.now = max(world.now, deadline)
                world.perform(world.gate.timerFired(now: world.now))
            }
            world.check()
        }
        #expect(world.inFlight.isEmpty && world.waiting.isEmpty, world.seed)
        #expect(world.gate.isIdle(now: world.now + 60_000_000_000) || world.gate.circuit != .closed, world.seed)
    }
}
