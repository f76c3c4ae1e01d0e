import NightjarHTTP

/// The limits of an origin or a group: rate, concurrency and circuit breaker.
public struct LimitSettings: Sendable, Equatable {
    /// The rate at which exchanges start.
    public typealias Rate = RateLimiter.Rate
    /// The settings of the circuit breaker.
    public typealias Breaker = CircuitBreaker.Settings

    /// The maximum rate of exchanges; nil: unlimited.
    public var rate: Rate?
    /// Whether the rate limit fields of responses delay calls before the server rejects a call. Retry-After does not
    /// depend on this setting.
    public var adaptsToServer = false
    /// The maximum number of concurrent exchanges. Nil: limited by the number of connections.
    public var concurrency: Int?
    public var breaker: Breaker?
    /// The maximum number of waiting calls. Further calls fail at once.
    public var maximumQueued = 1000

    public init() {}

    var isNothing: Bool { rate == nil && !adaptsToServer && concurrency == nil && breaker == nil }

    func gate(longestWait: Duration) -> LimitGate.Settings {
        var gate = LimitGate.Settings()
        (gate.rate, gate.concurrency, gate.breaker) = (rate, concurrency, breaker)
        (gate.maximumQueued, gate.longestWait, gate.adaptsToServer) = (maximumQueued, longestWait, adaptsToServer)
        return gate
    }
}
