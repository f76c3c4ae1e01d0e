/// Decides when the next request to an origin or limit group may be sent, by a configured rate and by the rate limit
/// that responses report.
///
/// If a request must wait, it is not counted, and the caller calls ``take(now:ignoresPause:)`` again after the wait.
/// The caller reports each sent request once with ``settled(isCounted:)``. The server may not have counted the requests
/// that are still in flight, so their number is subtracted from the remaining count that a response reports. Times are
/// nanoseconds of a monotonic clock.
public struct RateLimiter: Sendable {
    /// The reason why a request waits.
    public enum Cause: Sendable, Equatable {
        /// The configured rate.
        case configuredRate
        /// The server reported that few or no requests remain.
        case serverQuota
        /// A pause that the server requested with Retry-After.
        case serverPause
        /// A pause that the server requested with the `PauseHeader`.
        case pauseHeader
    }

    /// A number of requests per period, enforced by a token bucket that refills continuously.
    public struct Rate: Sendable, Equatable {
        public let count: Int
        public let period: Duration
        /// The number of requests that may be sent at once when the bucket is full.
        public let burst: Int

        /// Creates a rate.
        ///
        /// - Parameter burst: the number of requests that may be sent at once when the bucket is full. Nil for `count`.
        /// - Returns: nil if `count`, `period` or `burst` is not positive.
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
        /// The time in nanoseconds that the bucket needs to refill `burst - 1` requests.
        fileprivate let slack: UInt64
    }

    /// The server's current window.
    private struct Window: Sendable {
        /// The lowest remaining count that a response has reported. Decremented for each request that ends without a
        /// reported count. The assumed count if ``isAssumed`` is true.
        var remaining: Int
        /// The lowest remaining count that a response has reported, and the time at which the response arrived.
        var least: (remaining: Int, at: UInt64)
        /// The highest remaining count that a response has reported. Replaces an unknown quota.
        var most: Int
        var quota: Int?
        let end: UInt64
        /// The longest time until the reset that a response has reported.
        var length: Duration
        /// True if no response has reported this window. The window is assumed to be like the previous window.
        var isAssumed = false
        /// The earliest time of the next spaced request.
        var next: UInt64 = 0

        /// Returns true if the remaining requests must be spread over the rest of the window: at most 10 % of the quota
        /// are left, or at most 10 requests if the quota is unknown.
        func isLimitedResource(_ left: Int) -> Bool { left <= (quota.map { $0 / 10 } ?? 10) }

        /// Returns true if a response reports a later window than this window.
        ///
        /// A small difference between the ends still means the same window, because servers count whole seconds and
        /// responses take time. If a request was sent after ``least`` arrived and its response reports a higher
        /// remaining count, the server has started another window.
        ///
        /// - Parameters:
        ///   - end: the end of the window that the response reports.
        ///   - sent: the time at which the request was sent. Nil if unknown.
        func isEarlier(than end: UInt64, _ remaining: Int, sent: UInt64?) -> Bool {
            if let sent, sent >= least.at, remaining > least.remaining { return true }
            return end > self.end.later(by: min(.seconds(2), length * 3 / 4))
        }
    }

    /// The longest interval between spaced requests in nanoseconds. With a longer interval, calls would appear to hang
    /// while the server still accepts requests.
    private static let longestSpacing: UInt64 = 5_000_000_000

    private let rate: Rate?
    /// The time at which the bucket will be full. This is the only state of the generic cell rate algorithm.
    private var fullAt: UInt64 = 0
    /// The end of the pause that Retry-After requested. May be in the past.
    private var retryAfterEnd: UInt64 = 0
    /// The time at which Retry-After was last received.
    private var pausedAt: UInt64 = 0
    /// The end of the pause that the ``PauseHeader`` requested. May be in the past.
    private var pauseHeaderEnd: UInt64 = 0
    /// The end of the pause that the server requested. May be in the past.
    public var pausedUntil: UInt64 { max(retryAfterEnd, pauseHeaderEnd) }
    private var window: Window?
    /// The number of requests that ``take(now:ignoresPause:)`` has counted and that are not yet settled.
    private var inFlight = 0

    /// - Parameter rate: the configured rate. Nil if only the limits that responses report apply.
    public init(_ rate: Rate? = nil) { self.rate = rate }

    /// Counts a request if it may be sent now.
    ///
    /// - Parameter ignoresPause: true if the request may be sent during a pause that the server requested.
    /// - Returns: zero if the request was counted, otherwise the time to wait before the next call of this function.
    public mutating func take(now: UInt64, ignoresPause: Bool = false) -> Duration {
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

    /// Reports that a request has received a response, or that no response will arrive.
    ///
    /// - Parameter isCounted: true if the response reported a remaining count. If false, the server may have counted
    ///   the request, so the remaining count is decremented.
    public mutating func settled(isCounted: Bool) {
        inFlight = max(inFlight - 1, 0)
        guard !isCounted, let remaining = window?.remaining else { return }
        window?.remaining = max(remaining - 1, 0)
    }

    /// Starts an assumed window, with the same length and quota, when a reported window has ended. Without the assumed
    /// window, all waiting requests would be sent at once, before the server reports the new window.
    private mutating func restart(_ now: UInt64) {
        guard let over = window, over.end <= now else { return }
        window = nil
        guard !over.isAssumed else { return }
        let (remaining, overflow) = max(over.quota ?? over.most, 1).addingReportingOverflow(inFlight)
        window = Window(
            remaining: overflow ? .max : remaining, least: (.max, now), most: over.most, quota: over.quota,
            end: now.later(by: over.length), length: over.length, isAssumed: true)
    }

    /// The time at which the next request may be sent. May be in the past. Responses to requests in flight may change
    /// the time.
    public var admits: UInt64 { max(pausedUntil, windowAdmits(inFlight), bucketAdmits) }

    /// Like ``admits``, without the pause that the server requested.
    var admitsIgnoringPause: UInt64 { max(windowAdmits(inFlight), bucketAdmits) }

    /// Reports that a request has succeeded. Ends the pause of Retry-After if the request began after the pause was
    /// requested. The pause of a ``PauseHeader`` does not end, because such headers are sent with successful responses.
    ///
    /// - Parameter start: the time at which the request began.
    mutating func succeeded(since start: UInt64, now: UInt64) {
        if retryAfterEnd > now, start > pausedAt { retryAfterEnd = 0 }
    }

    /// Like ``admits``, without the configured rate and without requests in flight.
    public var serverAdmits: UInt64 { max(pausedUntil, windowAdmits(0)) }

    /// The limit that determines ``admits``.
    public var cause: Cause {
        let windowAdmits = windowAdmits(inFlight)
        if bucketAdmits > max(pausedUntil, windowAdmits) { return .configuredRate }
        guard pausedUntil >= windowAdmits else { return .serverQuota }
        return pauseHeaderEnd > retryAfterEnd ? .pauseHeader : .serverPause
    }

    /// Holds back requests, as a response has requested with the ``PauseHeader``. Does not shorten an existing pause.
    mutating func pause(for wait: Duration, now: UInt64) { pauseHeaderEnd = max(pauseHeaderEnd, now.later(by: wait)) }

    /// Estimates the time at which a queued request can be sent. Assumes that no other waiter is cancelled and that the
    /// server accepts as many requests as it reports.
    ///
    /// - Parameter place: the number of waiters before the request.
    public func estimate(place: Int, now: UInt64) -> UInt64 {
        var start = max(now, serverAdmits)
        if let window, window.end > now, place >= window.remaining { start = max(start, window.end) }
        guard let rate else { return start }
        let (ahead, overflow) = UInt64(max(place, 0)).multipliedReportingOverflow(by: rate.interval)
        let (full, overflowToo) = max(fullAt, start).addingReportingOverflow(ahead)
        guard !overflow, !overflowToo else { return .max }
        let slack = rate.slack
        return max(start, full > slack ? full - slack : 0)
    }

    /// Returns true if the bucket is full and no pause or window is in effect. A reported window is in effect until the
    /// end of the assumed next window.
    public func isIdle(now: UInt64) -> Bool {
        let windowEnd = window.map { $0.isAssumed ? $0.end : $0.end.later(by: $0.length) } ?? 0
        return fullAt <= now && pausedUntil <= now && windowEnd <= now
    }

    /// Handles a response head.
    ///
    /// - Parameters:
    ///   - sent: the time at which the request was sent. Nil if unknown.
    ///   - adaptsToServer: true if rate limit fields are respected in addition to Retry-After.
    ///   - respectsRetryAfter: true if Retry-After may pause the origin. See `PauseScope`.
    ///   - wallClock: seconds since 1970. Used if the response has no valid Date field.
    ///   - longestPause: the longest Retry-After that pauses the origin. A longer wait applies only to the resource.
    /// - Returns: true if `adaptsToServer` is true and the response reports a remaining count and a reset that is not
    ///   zero.
    @discardableResult
    public mutating func received(
        status: Int, _ headers: Headers, sent: UInt64? = nil, adaptsToServer: Bool = true,
        respectsRetryAfter: Bool = true,
        now: UInt64, wallClock: @autoclosure () -> Double, longestPause: Duration = .seconds(60)
    ) -> Bool {
        if status == 429, respectsRetryAfter, let wait = RetryAfter.duration(headers, now: wallClock()), wait > .zero,
            PauseScope(status: status, wait: wait, longestWait: longestPause) == .origin
        {
            // A response with a shorter wait does not shorten a pause that another response has requested.
            retryAfterEnd = max(retryAfterEnd, now.later(by: wait))
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
        // The response reports the same window. Responses may arrive out of order. The end is kept, so that the window
        // ends even if the server's window slides.
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
