/// When the next request may go to an origin: by a rate that is set, and by what the origin's answers say.
///
/// Who has to wait takes nothing and asks again; who goes is told of with ``settled(isCounted:)``, once. What an answer
/// says is left does not count the requests that are still under way, so these are taken off it. Moments are nanoseconds
/// of a clock that does not jump.
public struct RateLimiter: Sendable {
    /// What a request waits for.
    public enum Cause: Sendable, Equatable {
        /// The rate that is set.
        case ownRate
        /// The server counts requests, and says that few or none are left.
        case serverCount
        /// The server asked for a pause.
        case serverPause
    }

    /// So many requests in so much time, as a bucket that refills steadily.
    public struct Rate: Sendable, Equatable {
        public let count: Int
        public let period: Duration
        /// Requests that may go at once after a pause.
        public let burst: Int

        /// - Returns: nil for a rate at which nothing would ever go.
        public init?(count: Int, per period: Duration, burst: Int? = nil) {
            guard count > 0, period > .zero, (burst ?? 1) > 0 else { return nil }
            self.count = count
            self.period = period
            self.burst = burst ?? count
            interval = UInt64(max(period.nanosecondsClamped, 0)) / UInt64(count)
            let (slack, overflow) = interval.multipliedReportingOverflow(by: UInt64(self.burst - 1))
            self.slack = overflow ? .max : slack
        }

        /// Nanoseconds from one request to the next.
        fileprivate let interval: UInt64
        /// How far the bucket may be from full.
        fileprivate let slack: UInt64
    }

    /// What the origin still takes in its own window.
    private struct Window: Sendable {
        /// The least that was told.
        var remaining: Int
        /// The least that a response has told, and when it came.
        var least: (remaining: Int, at: UInt64)
        /// The most that was told, where the quota is not.
        var most: Int
        var quota: Int?
        let end: UInt64
        /// As far as it was seen.
        var length: Duration
        /// Nothing was told yet: it is taken to be like the one before it.
        var isPresumed = false
        /// Behind the last request that was spaced out.
        var next: UInt64 = 0

        /// From here on requests are spread over the rest of the window, so that the last of it comes at its end and no
        /// 429 before.
        func isScarce(_ left: Int) -> Bool { left <= (quota.map { $0 / 10 } ?? 10) }

        /// Whole seconds are all that servers count, and an answer takes its time: so much apart is still the same window.
        ///
        /// A request that was sent after a response with fewer requests left had come was counted after that response's: if
        /// its own response has more left, the server has begun another window.
        ///
        /// - Parameters:
        ///   - end: the end that a response tells.
        ///   - sent: when its request was sent; nil: unknown.
        func isEarlier(than end: UInt64, _ remaining: Int, sent: UInt64?) -> Bool {
            if let sent, sent >= least.at, remaining > least.remaining { return true }
            return end > self.end.later(by: min(.seconds(2), length * 3 / 4))
        }
    }

    /// Requests are not spread further apart than this, however long the server's window: the call would seem to hang
    /// while the server still takes it.
    private static let longestSpacing: UInt64 = 5_000_000_000

    private let rate: Rate?
    /// When the bucket is full again (the generic cell rate algorithm: one number instead of a count and its moment).
    private var fullAt: UInt64 = 0
    /// The end of the pause that the server asked for; the moment may have passed.
    public private(set) var pausedUntil: UInt64 = 0
    /// When the latest pause was asked for.
    private var pausedAt: UInt64 = 0
    private var window: Window?
    /// Requests that went, and are in no answer's count yet.
    private var underWay = 0

    /// - Parameter rate: nil to go by the answers alone.
    public init(_ rate: Rate? = nil) { self.rate = rate }

    /// A request wants to go.
    ///
    /// - Parameter ignoresPause: the request goes during a pause that the server asked for.
    /// - Returns: zero when it has been counted and goes now; otherwise how long to wait before asking again.
    public mutating func take(now: UInt64, ignoresPause: Bool = false) -> Duration {
        beginAnew(now)
        let moment = ignoresPause ? admitsIgnoringPause : admits
        guard moment <= now else { return now.wait(until: moment) }
        if let rate { fullAt = max(fullAt, now).later(by: rate.interval) }
        if var window {
            let left = window.remaining - underWay
            if window.isScarce(left) {
                let share = (window.end - now) / UInt64(max(left, 1))
                window.next = now + min(share, RateLimiter.longestSpacing)
            }
            self.window = window
        }
        underWay += 1
        return .zero
    }

    /// A request that went was answered, or never will be.
    ///
    /// - Parameter isCounted: its answer said what is left. Where it did not, the server may have counted it all the same.
    public mutating func settled(isCounted: Bool) {
        underWay = max(underWay - 1, 0)
        guard !isCounted, let remaining = window?.remaining else { return }
        window?.remaining = max(remaining - 1, 0)
    }

    /// Everybody who waited for the end of a window would go at once, and nothing be known of the next before their
    /// answers: it is taken to be as long, and to admit as many.
    private mutating func beginAnew(_ now: UInt64) {
        guard let over = window, over.end <= now else { return }
        window = nil
        guard !over.isPresumed else { return }
        let (remaining, overflow) = max(over.quota ?? over.most, 1).addingReportingOverflow(underWay)
        window = Window(
            remaining: overflow ? .max : remaining, least: (.max, now), most: over.most, quota: over.quota,
            end: now.later(by: over.length), length: over.length, isPresumed: true)
    }

    /// When the next request may go; the moment may have passed. An answer to those under way may bring it forward.
    public var admits: UInt64 { max(pausedUntil, windowAdmits(underWay), bucketAdmits) }

    /// The same without the pause that the server asked for.
    var admitsIgnoringPause: UInt64 { max(windowAdmits(underWay), bucketAdmits) }

    /// A request that began at `start` has succeeded. If it began after the pause was asked for, the server takes requests
    /// again, and the pause is over.
    mutating func succeeded(since start: UInt64, now: UInt64) {
        if pausedUntil > now, start > pausedAt { pausedUntil = 0 }
    }

    /// The same as far as it is the server's wish, whatever the answers to those under way say.
    public var serverAdmits: UInt64 { max(pausedUntil, windowAdmits(0)) }

    /// What ``admits`` comes from.
    public var cause: Cause {
        let windowAdmits = windowAdmits(underWay)
        if bucketAdmits > max(pausedUntil, windowAdmits) { return .ownRate }
        return pausedUntil >= windowAdmits ? .serverPause : .serverCount
    }

    /// When a request goes that waits behind others, if nobody gives up and the server takes as many as it says, or more.
    ///
    /// - Parameter place: how many go before it.
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

    /// Whether it says to everyone what a new one says.
    public func isIdle(now: UInt64) -> Bool {
        fullAt <= now && pausedUntil <= now && (window.map { $0.end <= now } ?? true)
    }

    /// An answer's head came.
    ///
    /// - Parameters:
    ///   - sent: when its request was sent; nil: unknown.
    ///   - learns: whether its count of requests is heeded, beside a Retry-After.
    ///   - respectsRetryAfter: whether a Retry-After pauses the origin; see ``PauseScope``.
    ///   - wallClock: seconds since 1970, where the answer does not say when it was made.
    ///   - longestPause: a longer Retry-After concerns the resource and not the origin.
    /// - Returns: whether it says what is left of a window.
    @discardableResult
    public mutating func received(
        status: Int, _ headers: Headers, sent: UInt64? = nil, learns: Bool = true, respectsRetryAfter: Bool = true,
        now: UInt64, wallClock: @autoclosure () -> Double, longestPause: Duration = .seconds(60)
    ) -> Bool {
        if status == 429, respectsRetryAfter, let wait = RetryAfter.duration(headers, now: wallClock()), wait > .zero,
            PauseScope(status: status, wait: wait, longestWait: longestPause) == .origin
        {
            // A response that was on its way meanwhile does not shorten the pause that a later one has asked for.
            pausedUntil = max(pausedUntil, now.later(by: wait))
            pausedAt = now
        }
        guard learns else { return false }
        return RateLimitFields(headers, now: wallClock()).map { learn($0, sent: sent, now: now) } ?? false
    }

    private mutating func learn(_ fields: RateLimitFields, sent: UInt64?, now: UInt64) -> Bool {
        let end = now.later(by: fields.reset)
        guard end > now else { return false }
        guard var same = window, !same.isPresumed, same.end > now,
            !same.isEarlier(than: end, fields.remaining, sent: sent)
        else {
            window = Window(
                remaining: fields.remaining, least: (fields.remaining, now), most: fields.remaining,
                quota: fields.quota, end: end, length: fields.reset)
            return true
        }
        // The same window: answers overtake each other. It ends when it was to end, so that a window that slides becomes a
        // new one in time.
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

    private func windowAdmits(_ underWay: Int) -> UInt64 {
        guard let window else { return 0 }
        let left = window.remaining - underWay
        if left <= 0 { return window.end }
        return window.isScarce(left) ? window.next : 0
    }
}
