/// Rejects calls to a server for which many recent calls failed, until a probe succeeds.
///
///     closed ──too many fail──▶ open ──time──▶ half open ──probe succeeds──▶ closed
///                                 ▲────────probe fails───┘
///
/// One probe is in flight at a time. Times are nanoseconds of a monotonic clock.
public struct CircuitBreaker: Sendable {
    /// The settings of a circuit breaker.
    public struct Settings: Sendable, Equatable {
        /// The fraction of failed calls, from 0 to 1, at which the breaker opens.
        public var failureRate = 0.5
        /// The minimum number of calls in the window at which the breaker can open.
        public var minimumCalls = 20
        /// The length of the sliding window in which calls and failures are counted.
        public var window = Duration.seconds(10)
        /// The time that the breaker stays open before it admits a probe.
        public var openDuration = Duration.seconds(5)

        public init() {}
    }

    /// The state of a circuit breaker, for display.
    public enum Visible: Sendable, Equatable { case closed, open, halfOpen }

    /// The right to make one call. The caller passes the permit to ``ended(_:_:now:)`` when the call ends. The result
    /// of a call that began before the last change of state is ignored.
    public struct Permit: Sendable, Equatable {
        public let isProbe: Bool
        fileprivate let epoch: UInt64
    }

    public enum Admission: Sendable, Equatable {
        case permit(Permit)
        /// - Parameter retryAfter: the time until the next probe. Zero while a probe is in flight.
        case refuse(retryAfter: Duration)
    }

    public enum Ending: Sendable {
        case succeeded
        /// The server failed: no connection, no complete and valid response, or a 5xx response.
        case failed
        /// The result is not counted, because the server is not at fault. For example, the call was cancelled or not
        /// sent.
        case inconclusive
    }

    private enum State { case closed, open(until: UInt64), halfOpen(probeIsOut: Bool) }

    private var state = State.closed
    private var epoch: UInt64 = 0
    private var record: FailureWindow
    private let settings: Settings

    public init(_ settings: Settings = Settings()) {
        self.settings = settings
        record = FailureWindow(settings.window)
    }

    public var visible: Visible {
        switch state {
        case .closed: .closed
        case .open: .open
        case .halfOpen: .halfOpen
        }
    }

    /// Returns the `retryAfter` of the refusal that ``admit(now:)`` would return, or nil if the call would be admitted.
    public func refusal(now: UInt64) -> Duration? {
        switch state {
        case .closed, .halfOpen(probeIsOut: false): nil
        case .open(let until): now < until ? now.wait(until: until) : nil
        case .halfOpen(probeIsOut: true): .zero
        }
    }

    /// Returns true if the breaker behaves like a new breaker, so the owner may drop it.
    public func isIdle(now: UInt64) -> Bool {
        guard case .closed = state else { return false }
        return record.counts(now: now).calls == 0
    }

    /// Admits or refuses a call. The caller must pass each permit to ``ended(_:_:now:)``.
    public mutating func admit(now: UInt64) -> Admission {
        if let wait = refusal(now: now) { return .refuse(retryAfter: wait) }
        if case .closed = state { return .permit(Permit(isProbe: false, epoch: epoch)) }
        change(to: .halfOpen(probeIsOut: true))
        return .permit(Permit(isProbe: true, epoch: epoch))
    }

    /// Records the end of a call.
    ///
    /// - Returns: true if the breaker now admits calls that it refused before.
    @discardableResult
    public mutating func ended(_ permit: Permit, _ ending: Ending, now: UInt64) -> Bool {
        guard permit.epoch == epoch else { return false }
        switch (state, ending) {
        case (.closed, .inconclusive), (.open, _), (.halfOpen(probeIsOut: false), _): return false
        case (.closed, .succeeded):
            record.add(failed: false, now: now)
            return false
        case (.closed, .failed):
            record.add(failed: true, now: now)
            let (calls, failures) = record.counts(now: now)
            if calls >= settings.minimumCalls, Double(failures) >= settings.failureRate * Double(calls) { open(now) }
            return false
        case (.halfOpen, .succeeded):
            record = FailureWindow(settings.window)
            change(to: .closed)
            return true
        case (.halfOpen, .failed):
            open(now)
            return false
        case (.halfOpen, .inconclusive):
            // The next call becomes the probe.
            change(to: .halfOpen(probeIsOut: false))
            return true
        }
    }

    private mutating func open(_ now: UInt64) { change(to: .open(until: now.later(by: settings.openDuration))) }

    private mutating func change(to state: State) {
        self.state = state
        epoch &+= 1
    }
}

/// Counts calls and failures in a sliding window of ten slices. All counts of a slice expire at the same time.
private struct FailureWindow: Sendable {
    private struct Slice: Sendable {
        var number: UInt64 = 0
        var calls = 0
        var failures = 0
    }

    private static let count: UInt64 = 10
    private var slices = [Slice](repeating: Slice(), count: Int(FailureWindow.count))
    private let sliceLength: UInt64

    init(_ length: Duration) {
        sliceLength = max(UInt64(max(length.nanosecondsClamped, 0)) / FailureWindow.count, 1)
    }

    mutating func add(failed: Bool, now: UInt64) {
        let number = now / sliceLength
        let index = Int(number % FailureWindow.count)
        if slices[index].number != number { slices[index] = Slice(number: number) }
        slices[index].calls &+= 1
        if failed { slices[index].failures &+= 1 }
    }

    func counts(now: UInt64) -> (calls: Int, failures: Int) {
        let number = now / sliceLength
        return slices.reduce(into: (0, 0)) { sum, slice in
            guard slice.number <= number, number - slice.number < FailureWindow.count else { return }
            sum.0 += slice.calls
            sum.1 += slice.failures
        }
    }
}
