/// Decides when an exchange may start, by rate, concurrency and the state of the circuit breaker. Each origin or named
/// group has its own gate.
///
///     arrive ──▶ enter ───────────────────────▶ left
///        ├─────▶ wait ──▶ enter, in order of arrival
///        └─────▶ refuse  └──▶ refuse
///
/// Each ID that arrives enters or is refused exactly once, unless ``removeWaiter(_:now:)`` removes it first. All
/// other events return releases of waiters. The caller must carry out the releases. Times are nanoseconds of a
/// monotonic clock.
public struct LimitGate: Sendable {
    public typealias ID = UInt64

    public struct Settings: Sendable, Equatable {
        public var rate: RateLimiter.Rate?
        /// The maximum number of concurrent exchanges. Values below 1 count as 1. Nil for no limit.
        public var concurrency: Int?
        public var breaker: CircuitBreaker.Settings?
        /// True if the gate respects rate limit fields in responses. Does not affect Retry-After.
        public var adaptsToServer = true
        public var maximumQueued = 1000
        /// The longest wait that a server may request. If the server requests a longer wait, calls fail immediately
        /// with an error that contains the wait.
        public var longestWait = Duration.seconds(60)

        public init() {}
    }

    /// The right to run one exchange. The caller passes the permit to ``left(_:_:now:)`` when the exchange ends.
    public struct Permit: Sendable, Equatable {
        /// True if the exchange is the probe of a half-open circuit breaker.
        public var isProbe: Bool { breaker?.isProbe ?? false }
        fileprivate let breaker: CircuitBreaker.Permit?
        fileprivate let enteredAt: UInt64
        fileprivate var hasResponse = false
    }

    /// A limit that prevents the first waiter from starting.
    public enum BlockingLimit: Sendable, Equatable {
        case concurrency
        case rate(RateLimiter.Cause)
        /// The circuit breaker is half-open, and its probe is in flight.
        case probe
    }

    public enum Arrival: Sendable, Equatable {
        /// Start the exchange, and report its end with ``left(_:_:now:)``.
        case enter(Permit)
        /// Wait until a ``Release`` contains the ID. To stop waiting, call ``removeWaiter(_:now:)``.
        case wait
        case refuse(Refusal)
    }

    public enum Release: Sendable, Equatable {
        /// The waiter starts its exchange.
        ///
        /// - Parameter after: the last limit for which the exchange waited.
        case enter(ID, Permit, after: BlockingLimit)
        case refuse(ID, Refusal)
    }

    public private(set) var inFlight = 0
    private let settings: Settings
    private var limiter: RateLimiter
    private var breaker: CircuitBreaker?
    private var queue = WaitQueue()
    /// The limit that prevents the first waiter from starting.
    private var lastBlockingLimit = BlockingLimit.concurrency
    /// The value of `limiter.serverAdmits` at the last check of the waiters' deadlines.
    private var evaluated: UInt64 = 0

    public init(_ settings: Settings = Settings()) {
        self.settings = settings
        limiter = RateLimiter(settings.rate)
        breaker = settings.breaker.map { CircuitBreaker($0) }
    }

    // MARK: State

    public var queued: Int { queue.count }
    public var blockingLimit: BlockingLimit? { queue.isEmpty ? nil : lastBlockingLimit }
    public var circuit: CircuitBreaker.Visible { breaker?.visible ?? .closed }

    /// Returns the end of the pause that the server requested, or nil if there is no pause.
    public func pausedUntil(now: UInt64) -> UInt64? { limiter.pausedUntil > now ? limiter.pausedUntil : nil }

    /// The time at which ``timerFired(now:)`` must be called next. Nil if no timer is needed.
    public var deadline: UInt64? {
        guard !queue.isEmpty, case .rate = lastBlockingLimit else { return nil }
        return limiter.admits
    }

    /// Returns true if the gate behaves like a new gate, so the owner may drop it.
    public func isIdle(now: UInt64) -> Bool {
        inFlight == 0 && queue.isEmpty && limiter.isIdle(now: now) && breaker?.isIdle(now: now) ?? true
    }

    // MARK: Events

    /// Handles an exchange that requests to start.
    ///
    /// - Parameters:
    ///   - id: the ID of the exchange. No waiter has the same ID.
    ///   - deadline: the deadline of the exchange's call.
    ///   - ignoresPause: true if the exchange may start during a pause that the server requested.
    public mutating func arrive(_ id: ID, deadline: UInt64?, ignoresPause: Bool = false, now: UInt64) -> Arrival {
        if let wait = breaker?.refusal(now: now) { return .refuse(.circuitIsOpen(retryAfter: wait)) }
        if ignoresPause, let permit = passDuringPause(now) { return .enter(permit) }
        let reason = blocks(now)
        if queue.isEmpty, reason == nil { return .enter(permit(now)) }
        if let wait = longWait(now) { return .refuse(.serverRequestedLongWait(wait)) }
        if let wait = limiter.futileWait(place: queue.count, deadline: deadline, now: now) {
            return .refuse(.pastDeadline(wait))
        }
        let maximum = max(settings.maximumQueued, 0)
        guard queue.count < maximum else { return .refuse(.queueIsFull(maximum: maximum)) }
        if queue.isEmpty, let reason { lastBlockingLimit = reason }
        queue.append(id, deadline: deadline)
        return .wait
    }

    /// Handles the end of an exchange. The caller passes each permit exactly once.
    public mutating func left(_ permit: Permit, _ ending: CircuitBreaker.Ending, now: UInt64) -> [Release] {
        assert(inFlight > 0, "more exchanges have left than entered")
        inFlight = max(inFlight - 1, 0)
        if !permit.hasResponse { limiter.settled(isCounted: false) }
        if let own = permit.breaker { breaker?.ended(own, ending, now: now) }
        if circuit == .open, let wait = breaker?.refusal(now: now) {
            return queue.removeAll { _, _ in true }.map { .refuse($0.id, .circuitIsOpen(retryAfter: wait)) }
        }
        return admit(now)
    }

    /// Removes a waiter that was cancelled or has timed out. Does nothing if `id` is not waiting.
    public mutating func removeWaiter(_ id: ID, now: UInt64) -> [Release] {
        guard queue.remove(id) else { return [] }
        return admit(now)
    }

    /// Handles a response head. The limits that the response reports apply to later exchanges and to the waiters.
    ///
    /// - Parameters:
    ///   - permit: the permit of the exchange. Nil if this gate did not admit the exchange.
    ///   - respectsRetryAfter: true if Retry-After may pause the gate.
    ///   - wallClock: seconds since 1970. Used if the response has no valid Date field.
    public mutating func received(
        _ permit: inout Permit?, status: Int, _ headers: Headers, respectsRetryAfter: Bool = true, now: UInt64,
        wallClock: @autoclosure () -> Double
    ) -> [Release] {
        let isCounted = limiter.received(
            status: status, headers, sent: permit?.enteredAt, adaptsToServer: settings.adaptsToServer,
            respectsRetryAfter: respectsRetryAfter, now: now, wallClock: wallClock(), longestPause: settings.longestWait
        )
        if status < 400, let permit { limiter.succeeded(since: permit.enteredAt, now: now) }
        if permit?.hasResponse == false {
            permit?.hasResponse = true
            limiter.settled(isCounted: isCounted)
        }
        return admit(now)
    }

    /// Handles a pause that a response has requested with the ``PauseHeader``.
    public mutating func pause(for wait: Duration, now: UInt64) -> [Release] {
        limiter.pause(for: wait, now: now)
        return admit(now)
    }

    /// Reports that the timer for ``deadline`` has expired.
    public mutating func timerFired(now: UInt64) -> [Release] { admit(now) }

    // MARK: Steps

    private mutating func admit(_ now: UInt64) -> [Release] {
        var releases: [Release] = []
        while let waiter = queue.first {
            if let reason = blocks(now) {
                lastBlockingLimit = reason
                return releases + refuseFutileWaiters(now)
            }
            queue.removeFirst()
            releases.append(.enter(waiter.id, permit(now), after: lastBlockingLimit))
        }
        return releases
    }

    /// Returns the limit that prevents the next exchange from starting, or nil if no limit does.
    private func blocks(_ now: UInt64) -> BlockingLimit? {
        if let limit = settings.concurrency, inFlight >= max(limit, 1) { return .concurrency }
        if breaker?.refusal(now: now) != nil { return .probe }
        return limiter.admits > now ? .rate(limiter.cause) : nil
    }

    private mutating func permit(_ now: UInt64, ignoresPause: Bool = false) -> Permit {
        let wait = limiter.take(now: now, ignoresPause: ignoresPause)
        assert(wait == .zero, "the exchange was admitted too early")
        inFlight += 1
        guard case .permit(let own) = breaker?.admit(now: now) else { return Permit(breaker: nil, enteredAt: now) }
        return Permit(breaker: own, enteredAt: now)
    }

    /// Returns a permit if the only reason to wait is the pause that the server requested. Returns nil otherwise.
    private mutating func passDuringPause(_ now: UInt64) -> Permit? {
        switch blocks(now) {
        case .rate(.serverPause), .rate(.pauseHeader):
            return limiter.admitsIgnoringPause <= now ? permit(now, ignoresPause: true) : nil
        default: return nil
        }
    }

    /// Refuses the waiters that cannot start before their deadline, or all waiters if the server requests too long a
    /// wait. Does nothing if the server's limit has not changed since the last check.
    private mutating func refuseFutileWaiters(_ now: UInt64) -> [Release] {
        guard limiter.serverAdmits != evaluated else { return [] }
        evaluated = limiter.serverAdmits
        if let wait = longWait(now) {
            return queue.removeAll { _, _ in true }.map { .refuse($0.id, .serverRequestedLongWait(wait)) }
        }
        let limiter = limiter
        var waits: [Duration] = []
        let refused = queue.removeAll { place, waiter in
            guard let wait = limiter.futileWait(place: place, deadline: waiter.deadline, now: now) else { return false }
            waits.append(wait)
            return true
        }
        return zip(refused, waits).map { .refuse($0.id, .pastDeadline($1)) }
    }

    /// Returns the wait that the server requests if the wait exceeds the maximum. Returns nil otherwise.
    private func longWait(_ now: UInt64) -> Duration? {
        let wait = now.wait(until: limiter.serverAdmits)
        return wait > settings.longestWait ? wait : nil
    }
}

extension RateLimiter {
    /// Returns the estimated wait at position `place` of the queue if the wait reaches the deadline. Returns nil
    /// otherwise. An exchange that starts at the deadline could not complete.
    fileprivate func futileWait(place: Int, deadline: UInt64?, now: UInt64) -> Duration? {
        guard let deadline else { return nil }
        let moment = estimate(place: place, now: now)
        return moment > now && moment >= deadline ? now.wait(until: moment) : nil
    }
}
