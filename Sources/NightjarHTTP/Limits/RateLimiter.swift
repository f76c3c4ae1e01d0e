/// Decides when the next request may be sent to an origin, by a configured rate and by what the origin's responses
/// report.
///
/// A request that has to wait takes nothing and asks again. A request that is sent must be reported once with
/// ``settled(isCounted:)``. The remaining count in a response does not include requests that are still in flight, so
/// these are subtracted. Times are nanoseconds of a monotonic clock.
public struct RateLimiter: Sendable {
    /// The reason why a request waits.
    package enum Cause: Sendable, Equatable {
        /// The configured rate.
        case ownRate
        /// The server's count: few or no requests are left.
        case serverCount
        /// A pause that the server asked for.
        case serverPause
    }

    /// A number of requests per period, as a bucket that refills continuously.
    public struct Rate: Sendable, Equatable {
        public let count: Int
        public let period: Duration
        /// The number of requests that may be sent at once after a pause.
        public let burst: Int

        /// - Returns: nil if no request could ever be sent.
        public init?(count: Int, per period: Duration, burst: Int? = nil) {
            guard count > 0, period > .zero, (burst ?? 1) > 0 else { return nil }
            self.count = count
            self.period = period
            self.burst = burst ?? count
            interval = UInt64(max(period.nanosecondsClamped, 0)) / UInt64(count)
            let (slack, overflow) = interval.multipliedReportingOverflow(by: UInt64(self.burst - 1))
            self.slack = overflow ? .max : slack
        }

        /// Nanoseconds between two requests.
        fileprivate let interval: UInt64
        /// The maximum deficit of the bucket in nanoseconds.
        fileprivate let slack: UInt64
    }

    /// The server's current window.
    private struct Window: Sendable {
        /// The lowest remaining count reported.
        var remaining: Int
        /// The lowest remaining count that a response has reported, and when it arrived.
        var least: (remaining: Int, at: UInt64)
        /// The highest remaining count reported, used if the quota is unknown.
        var most: Int
        var quota: Int?
        let end: UInt64
        /// The observed length.
        var length: Duration
        /// Nothing has been reported for this window. It is assumed to be like the previous one.
        var isAssumed = false
        /// The earliest time of the next spaced request.
        var next: UInt64 = 0

        /// True if requests must be spread over the rest of the window, so that the last one is sent at its end and no
        /// 429 occurs before.
        func isLimitedResource(_ left: Int) -> Bool { left <= (quota.map { $0 / 10 } ?? 10) }

        /// True if `end` belongs to a later window. Servers count whole seconds and responses take time, so a small
        /// difference is still the same window.
        ///
        /// A request that was sent after a response with a lower remaining count arrived was counted after that
        /// response's request. If its own response reports more, the server has started another window.
        ///
        /// - Parameters:
        ///   - end: the end that a response reports.
        ///   - sent: when its request was sent. Nil if unknown.
        func isEarlier(than end: UInt64, _ remaining: Int, sent: UInt64?) -> Bool {
            if let sent, sent >= least.at, remaining > least.remaining { return true }
            return end > self.end.later(by: min(.seconds(2), length * 3 / 4))
        }
    }

    /// The longest interval between spaced requests in nanoseconds, however long the server's window. A longer one
    /// would make calls appear to hang while the server still accepts them.
    private static let longestSpacing: UInt64 = 5_000_000_000

    private let rate: Rate?
    /// When the bucket will be full (generic cell rate algorithm: one number instead of a count and its time).
    private var fullAt: UInt64 = 0
    /// The end of the pause that the server asked for. May be in the past.
    package private(set) var pausedUntil: UInt64 = 0
    /// When the latest pause was requested.
    private var pausedAt: UInt64 = 0
    private var window: Window?
    /// Requests that were sent and are not in any reported count yet.
    private var inFlight = 0

    /// - Parameter rate: the configured rate. Nil: only what responses report.
    package init(_ rate: Rate? = nil) { self.rate = rate }

    /// A request is ready to be sent.
    ///
    /// - Parameter ignoresPause: send it during a pause that the server asked for.
    /// - Returns: zero if the request was counted and may be sent now. Otherwise how long to wait before asking again.
    package mutating func take(now: UInt64, ignoresPause: Bool = false) -> Duration {
        restart(now)
        let moment = ignoresPause ? admitsIgnoringPause : admits
        guard moment <= now else { return now.wait(until: moment) }
        if let rate { fullAt = max(fullAt, now).later(by: rate.interval) }
        if var window {
            let left = window.remaining - inFlight
            if window.isLimitedResource(left) {
                let share = (window.end - now) / UInt64(max(left, 1))
                window.next = now + min(share, RateLimiter.longestSpacing)
            }
            self.window = window
        }
        inFlight += 1
        return .zero
    }

    /// A request that was sent has received a response, or never will.
    ///
    /// - Parameter isCounted: its response reported a remaining count. Otherwise the server may still have counted it.
    package mutating func settled(isCounted: Bool) {
        inFlight = max(inFlight - 1, 0)
        guard !isCounted, let remaining = window?.remaining else { return }
        window?.remaining = max(remaining - 1, 0)
    }

    /// Starts a new window when the current one has ended. It is assumed to have the same length and quota. Otherwise
    /// all waiting requests would be sent at once, before the server reports anything about the new window.
    private mutating func restart(_ now: UInt64) {
        guard let over = window, over.end <= now else { return }
        window = nil
        guard !over.isAssumed else { return }
        let (remaining, overflow) = max(over.quota ?? over.most, 1).addingReportingOverflow(inFlight)
        window = Window(
            remaining: overflow ? .max : remaining, least: (.max, now), most: over.most, quota: over.quota,
            end: now.later(by: over.length), length: over.length, isAssumed: true)
    }

    /// When the next request may be sent. May be in the past. Responses to requests in flight may make it earlier.
    package var admits: UInt64 { max(pausedUntil, windowAdmits(inFlight), bucketAdmits) }

    /// Like ``admits``, without the pause that the server asked for.
    var admitsIgnoringPause: UInt64 { max(windowAdmits(inFlight), bucketAdmits) }

    /// A request that began at `start` has succeeded. If it began after the pause was requested, the server accepts
    /// requests again and the pause ends.
    mutating func succeeded(since start: UInt64, now: UInt64) {
        if pausedUntil > now, start > pausedAt { pausedUntil = 0 }
    }

    /// Like ``admits``, but only the part that the server demands, without regard to responses in flight.
    package var serverAdmits: UInt64 { max(pausedUntil, windowAdmits(0)) }

    /// The limit that determines ``admits``.
    package var cause: Cause {
        let windowAdmits = windowAdmits(inFlight)
        if bucketAdmits > max(pausedUntil, windowAdmits) { return .ownRate }
        return pausedUntil >= windowAdmits ? .serverPause : .serverCount
    }

    /// Estimates when a queued request can be sent, if no other request gives up and the server accepts as many as it
    /// reports.
    ///
    /// - Parameter place: the number of requests before it.
    package func estimate(place: Int, now: UInt64) -> UInt64 {
        var start = max(now, serverAdmits)
        if let window, window.end > now, place >= window.remaining { start = max(start, window.end) }
        guard let rate else { return start }
        let (ahead, overflow) = UInt64(max(place, 0)).multipliedReportingOverflow(by: rate.interval)
        let (full, overflowToo) = max(fullAt, start).addingReportingOverflow(ahead)
        guard !overflow, !overflowToo else { return .max }
        let slack = rate.slack
        return max(start, full > slack ? full - slack : 0)
    }

    /// True if the limiter behaves like a new one.
    package func isIdle(now: UInt64) -> Bool {
        fullAt <= now && pausedUntil <= now && (window.map { $0.end <= now } ?? true)
    }

    /// A response head has arrived.
    ///
    /// - Parameters:
    ///   - sent: when its request was sent. Nil if unknown.
    ///   - adaptsToServer: whether rate limit fields are respected, besides Retry-After.
    ///   - respectsRetryAfter: whether a Retry-After pauses the origin. See ``PauseScope``.
    ///   - wallClock: seconds since 1970. Used if the response has no Date field.
    ///   - longestPause: a longer Retry-After applies to the resource and not to the origin.
    /// - Returns: true if the response reports a remaining count.
    @discardableResult
    package mutating func received(
        status: Int, _ headers: Headers, sent: UInt64? = nil, adaptsToServer: Bool = true,
        respectsRetryAfter: Bool = true,
        now: UInt64, wallClock: @autoclosure () -> Double, longestPause: Duration = .seconds(60)
    ) -> Bool {
        if status == 429, respectsRetryAfter, let wait = RetryAfter.duration(headers, now: wallClock()), wait > .zero,
            PauseScope(status: status, wait: wait, longestWait: longestPause) == .origin
        {
            // A response that was already on its way does not shorten a pause that a later one has requested.
            pausedUntil = max(pausedUntil, now.later(by: wait))
            pausedAt = now
        }
        guard adaptsToServer else { return false }
        return RateLimitFields(headers, now: wallClock()).map { observe($0, sent: sent, now: now) } ?? false
    }

    private mutating func observe(_ fields: RateLimitFields, sent: UInt64?, now: UInt64) -> Bool {
        let end = now.later(by: fields.reset)
        guard end > now else { return false }
        guard var same = window, !same.isAssumed, same.end > now,
            !same.isEarlier(than: end, fields.remaining, sent: sent)
        else {
            window = Window(
                remaining: fields.remaining, least: (fields.remaining, now), most: fields.remaining,
                quota: fields.quota, end: end, length: fields.reset)
            return true
        }
        // The same window: responses may arrive out of order. Its end is kept, so that a sliding window eventually
        // becomes a new one.
        same.remaining = min(same.remaining, fields.remaining)
        if fields.remaining < same.least.remaining { same.least = (fields.remaining, now) }
        same.most = max(same.most, fields.remaining)
        same.quota = fields.quota ?? same.quota
        same.length = max(same.length, fields.reset)
        window = same
        return true
    }

    private var bucketAdmits: UInt64 {
        guard let rate else { return 0 }
        let slack = rate.slack
        return slack > fullAt ? 0 : fullAt - slack
    }

    private func windowAdmits(_ inFlight: Int) -> UInt64 {
        guard let window else { return 0 }
        let left = window.remaining - inFlight
        if left <= 0 { return window.end }
        return window.isLimitedResource(left) ? window.next : 0
    }
}
