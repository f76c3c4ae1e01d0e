/// Decides when an exchange may begin: by rate, by how many are under way, and by whether the server works. One for
/// an origin or a named group.
///
///     arrive ──▶ enter ───────────────────────▶ left
///        ├─────▶ wait ──▶ enter, in the order of arrival
///        └─────▶ refuse  └──▶ refuse
///
/// Each id that arrives enters or is refused once, unless it gives up before. Who waits is told by the answers to later
/// events, so each of these is carried out. Moments are nanoseconds of a clock that does not jump.
///
/// What nobody set and no server asked for costs nothing: then everyone enters, without an allocation.
public struct LimitGate: Sendable {
    public typealias ID = UInt64

    public struct Settings: Sendable, Equatable {
        public var rate: RateLimiter.Rate?
        /// How many are under way at once; at least 1.
        public var concurrency: Int?
        public var breaker: CircuitBreaker.Settings?
        /// Whether what answers say of their server's count is heeded; a Retry-After always is.
        public var learns = true
        public var maximumWaiting = 1000
        /// The longest wait that a server can ask for and that calls wait. Calls fail at once, with the time in their error,
        /// if the server's window is over later than that.
        public var longestWait = Duration.seconds(60)

        public init() {}
    }

    /// Handed back with the exchange's end.
    public struct Pass: Sendable, Equatable {
        /// This exchange shows whether the server works again.
        public var isProbe: Bool { breaker?.isProbe ?? false }
        fileprivate let breaker: CircuitBreaker.Pass?
        fileprivate let enteredAt: UInt64
        fileprivate var isAnswered = false
    }

    /// What somebody waits for.
    public enum Hold: Sendable, Equatable {
        case concurrency
        case rate(RateLimiter.Cause)
        /// The one exchange that shows whether the server works again.
        case probe
    }

    public enum Arrival: Sendable, Equatable {
        /// Leave with ``left(_:_:now:)``.
        case enter(Pass)
        /// Until a ``Release`` names the id, or it gives up.
        case wait
        case refuse(Refusal)
    }

    public enum Release: Sendable, Equatable {
        /// - Parameter after: what it waited for last.
        case enter(ID, Pass, after: Hold)
        case refuse(ID, Refusal)
    }

    public private(set) var inside = 0
    private let settings: Settings
    private var limiter: RateLimiter
    private var breaker: CircuitBreaker?
    private var line = WaitingLine()
    /// What the first in line waits for.
    private var hold = Hold.concurrency
    /// What the server asked for when it was last looked through who in line waits for nothing.
    private var judged: UInt64 = 0

    public init(_ settings: Settings = Settings()) {
        self.settings = settings
        limiter = RateLimiter(settings.rate)
        breaker = settings.breaker.map { CircuitBreaker($0) }
    }

    // MARK: What is to be seen

    public var waiting: Int { line.count }
    public var holds: Hold? { line.isEmpty ? nil : hold }
    public var circuit: CircuitBreaker.Visible { breaker?.visible ?? .closed }

    /// The moment until which the server asked for a pause; nil when there is none.
    public func pausedUntil(now: UInt64) -> UInt64? { limiter.pausedUntil > now ? limiter.pausedUntil : nil }

    /// When ``timerFired(now:)`` has to be told next.
    public var deadline: UInt64? {
        guard !line.isEmpty, case .rate = hold else { return nil }
        return limiter.admits
    }

    /// Whether a new one would say the same to everyone.
    public func isIdle(now: UInt64) -> Bool {
        inside == 0 && line.isEmpty && limiter.isIdle(now: now) && breaker?.isIdle(now: now) ?? true
    }

    // MARK: Events

    /// An exchange wants to begin.
    ///
    /// - Parameters:
    ///   - id: not used by another that waits.
    ///   - deadline: that of its call.
    ///   - ignoresPause: enters during a pause that the server asked for, if nothing else holds it back.
    public mutating func arrive(_ id: ID, deadline: UInt64?, ignoresPause: Bool = false, now: UInt64) -> Arrival {
        if let wait = breaker?.refusal(now: now) { return .refuse(.circuitIsOpen(retryAfter: wait)) }
        if ignoresPause, let pass = passDuringPause(now) { return .enter(pass) }
        let reason = blocks(now)
        if line.isEmpty, reason == nil { return .enter(pass(now)) }
        if let wait = longWait(now) { return .refuse(.serverAsksForLongWait(wait)) }
        if let wait = limiter.vainWait(place: line.count, deadline: deadline, now: now) {
            return .refuse(.pastDeadline(wait))
        }
        let maximum = max(settings.maximumWaiting, 0)
        guard line.count < maximum else { return .refuse(.queueIsFull(maximum: maximum)) }
        if line.isEmpty, let reason { hold = reason }
        line.append(id, deadline: deadline)
        return .wait
    }

    /// An exchange has ended. Each pass is given back once.
    public mutating func left(_ pass: Pass, _ ending: CircuitBreaker.Ending, now: UInt64) -> [Release] {
        assert(inside > 0, "more have left than entered")
        inside = max(inside - 1, 0)
        if !pass.isAnswered { limiter.settled(isCounted: false) }
        if let own = pass.breaker { breaker?.ended(own, ending, now: now) }
        if circuit == .open, let wait = breaker?.refusal(now: now) {
            return line.removeAll { _, _ in true }.map { .refuse($0.id, .circuitIsOpen(retryAfter: wait)) }
        }
        return admit(now)
    }

    /// Who waits was cancelled, or has no time left. One that does not wait is nothing.
    public mutating func gaveUp(_ id: ID, now: UInt64) -> [Release] {
        guard line.remove(id) else { return [] }
        return admit(now)
    }

    /// An answer's head came. What it asks for holds for all who come later, and for who waits.
    ///
    /// - Parameters:
    ///   - pass: of the exchange that it answers; nil: one that did not enter here.
    ///   - respectsRetryAfter: whether a Retry-After pauses the origin.
    ///   - wallClock: seconds since 1970, where the answer does not say when it was made.
    public mutating func received(
        _ pass: inout Pass?, status: Int, _ headers: Headers, respectsRetryAfter: Bool = true, now: UInt64,
        wallClock: @autoclosure () -> Double
    ) -> [Release] {
        let isCounted = limiter.received(
            status: status, headers, sent: pass?.enteredAt, learns: settings.learns,
            respectsRetryAfter: respectsRetryAfter, now: now, wallClock: wallClock(), longestPause: settings.longestWait
        )
        if status < 400, let pass { limiter.succeeded(since: pass.enteredAt, now: now) }
        if pass?.isAnswered == false {
            pass?.isAnswered = true
            limiter.settled(isCounted: isCounted)
        }
        return admit(now)
    }

    /// Time has passed.
    public mutating func timerFired(now: UInt64) -> [Release] { admit(now) }

    // MARK: Steps

    private mutating func admit(_ now: UInt64) -> [Release] {
        var releases: [Release] = []
        while let waiter = line.first {
            if let reason = blocks(now) {
                hold = reason
                return releases + refuseWhoWaitsForNothing(now)
            }
            line.removeFirst()
            releases.append(.enter(waiter.id, pass(now), after: hold))
        }
        return releases
    }

    /// What keeps the next from beginning.
    private func blocks(_ now: UInt64) -> Hold? {
        if let limit = settings.concurrency, inside >= max(limit, 1) { return .concurrency }
        if breaker?.refusal(now: now) != nil { return .probe }
        return limiter.admits > now ? .rate(limiter.cause) : nil
    }

    private mutating func pass(_ now: UInt64, ignoresPause: Bool = false) -> Pass {
        let wait = limiter.take(now: now, ignoresPause: ignoresPause)
        assert(wait == .zero, "let in before its time")
        inside += 1
        guard case .pass(let own) = breaker?.admit(now: now) else { return Pass(breaker: nil, enteredAt: now) }
        return Pass(breaker: own, enteredAt: now)
    }

    /// Nil unless the server's pause is all that holds a call back.
    private mutating func passDuringPause(_ now: UInt64) -> Pass? {
        guard case .rate(.serverPause) = blocks(now), limiter.admitsIgnoringPause <= now else { return nil }
        return pass(now, ignoresPause: true)
    }

    /// The server may have asked for more than it did when they came.
    private mutating func refuseWhoWaitsForNothing(_ now: UInt64) -> [Release] {
        guard limiter.serverAdmits != judged else { return [] }
        judged = limiter.serverAdmits
        if let wait = longWait(now) {
            return line.removeAll { _, _ in true }.map { .refuse($0.id, .serverAsksForLongWait(wait)) }
        }
        let limiter = limiter
        var waits: [Duration] = []
        let refused = line.removeAll { place, waiter in
            guard let wait = limiter.vainWait(place: place, deadline: waiter.deadline, now: now) else { return false }
            waits.append(wait)
            return true
        }
        return zip(refused, waits).map { .refuse($0.id, .pastDeadline($1)) }
    }

    /// What the server asks for, if that is too long to wait.
    private func longWait(_ now: UInt64) -> Duration? {
        let wait = now.wait(until: limiter.serverAdmits)
        return wait > settings.longestWait ? wait : nil
    }
}

extension RateLimiter {
    /// How long who waits at this place has to, if that is no use: who begins at the deadline has no time to end.
    fileprivate func vainWait(place: Int, deadline: UInt64?, now: UInt64) -> Duration? {
        guard let deadline else { return nil }
        let moment = estimate(place: place, now: now)
        return moment > now && moment >= deadline ? now.wait(until: moment) : nil
    }
}
