/// When the next request may go to an origin: by a rate that is set, and by what the origin's answers say.
///
/// Who has to wait takes nothing and asks again. Moments are nanoseconds of a clock that does not jump.
public struct RateLimiter: Sendable {
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
        }

        /// Nanoseconds from one request to the next.
        fileprivate var interval: UInt64 { UInt64(max(period.nanosecondsClamped, 0)) / UInt64(count) }
    }

    /// What the origin still takes in its own window.
    private struct Window: Sendable {
        var remaining: Int
        let quota: Int?
        let end: UInt64
        /// Behind the last request that was spaced out.
        var next: UInt64 = 0

        /// From here on requests are spread over the rest of the window, so that the last of it comes at its end and no
        /// 429 before.
        var isScarce: Bool { remaining <= (quota.map { $0 / 10 } ?? 10) }
    }

    private let rate: Rate?
    /// When the bucket is full again (the generic cell rate algorithm: one number instead of a count and its moment).
    private var fullAt: UInt64 = 0
    private var pausedUntil: UInt64 = 0
    private var window: Window?

    /// - Parameter rate: nil to go by the answers alone.
    public init(_ rate: Rate? = nil) { self.rate = rate }

    /// A request wants to go.
    ///
    /// - Returns: zero when it has been counted and goes now; otherwise how long to wait before asking again.
    public mutating func take(now: UInt64) -> Duration {
        if let window, window.end <= now { self.window = nil }
        let moment = max(pausedUntil, bucketAdmits, windowAdmits)
        guard moment <= now else { return now.wait(until: moment) }
        if let rate { fullAt = max(fullAt, now).later(by: .nanoseconds(Int64(clamping: rate.interval))) }
        if var window {
            if window.isScarce {
                window.next = now + (window.end - now) / UInt64(max(window.remaining, 1))
            }
            window.remaining = max(window.remaining - 1, 0)
            self.window = window
        }
        return .zero
    }

    /// An answer's head came.
    ///
    /// - Parameters:
    ///   - wallClock: seconds since 1970, where the answer does not say when it was made.
    ///   - longestPause: a Retry-After beyond it is cut to it. Calls that are told so long fail by their own policy.
    public mutating func received(
        status: Int, _ headers: Headers, now: UInt64, wallClock: Double, longestPause: Duration = .seconds(86_400)
    ) {
        if status == 429 || status == 503, let asked = RetryAfter.duration(headers, now: wallClock) {
            // An answer that was under way meanwhile does not shorten what a later one has asked for.
            pausedUntil = max(pausedUntil, now.later(by: min(asked, longestPause)))
        }
        guard let fields = RateLimitFields(headers, now: wallClock) else { return }
        learn(fields, now: now)
    }

    private mutating func learn(_ fields: RateLimitFields, now: UInt64) {
        let end = now.later(by: fields.reset)
        guard end > now else { return }
        guard let known = window, known.end > now, !isLater(end, known.end) else {
            window = Window(remaining: fields.remaining, quota: fields.quota, end: end)
            return
        }
        // The same window: requests under way are not in the server's count yet, and answers overtake each other. It
        // ends when it was to end, so that a window that slides becomes a new one in time.
        var same = Window(
            remaining: min(known.remaining, fields.remaining), quota: fields.quota ?? known.quota,
            end: known.end)
        same.next = known.next
        window = same
    }

    /// Whole seconds are all that servers count, and an answer takes its time: so much apart is still the same window.
    private func isLater(_ moment: UInt64, _ known: UInt64) -> Bool { moment > known.later(by: .seconds(2)) }

    private var bucketAdmits: UInt64 {
        guard let rate else { return 0 }
        let (slack, overflow) = rate.interval.multipliedReportingOverflow(by: UInt64(rate.burst - 1))
        return overflow || slack > fullAt ? 0 : fullAt - slack
    }

    private var windowAdmits: UInt64 {
        guard let window else { return 0 }
        return window.remaining == 0 ? window.end : window.next
    }
}
