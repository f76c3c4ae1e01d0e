extension LimitGate {
    /// The reason why an exchange was refused.
    public enum Refusal: Sendable, Equatable {
        /// The queue is full.
        case queueIsFull(maximum: Int)
        /// The circuit breaker is open or half-open, because many recent calls failed.
        ///
        /// - Parameter retryAfter: the time until the next probe; zero while a probe is in flight.
        case circuitIsOpen(retryAfter: Duration)
        /// The wait that the server requested exceeds ``Settings/longestWait``.
        case serverRequestedLongWait(Duration)
        /// The estimated wait reaches the call's deadline.
        case pastDeadline(Duration)
    }
}

extension LimitGate.Refusal {
    /// Returns the error for the caller. The kind is `server` for an open or half-open circuit, because callers should
    /// handle this error like a 503 response. The kind is `rate_limited` for all other refusals.
    ///
    /// - Parameter name: the name of the origin or limit group, or the URL of a paused resource.
    public func error(of name: String) -> NightjarError {
        switch self {
        case .queueIsFull(let maximum):
            NightjarError(
                .rateLimited,
                "the queue for the limit of \(name) is full (\(maximum) calls); start fewer calls at once, or raise "
                    + "max_queued"
            )
        case .circuitIsOpen(.zero):
            NightjarError(
                .server,
                "the circuit of \(name) is half-open: too many calls failed recently and a probe is in flight; try "
                    + "again when it has completed")
        case .circuitIsOpen(let wait):
            NightjarError(
                .server,
                "the circuit of \(name) is open: too many calls failed recently; try again in \(wait.rounded) s",
                retryAfter: wait)
        case .serverRequestedLongWait(let wait):
            NightjarError(
                .rateLimited,
                "\(name) accepts no calls for \(wait.rounded) s, which exceeds the maximum wait; try again after "
                    + "that time, or raise retry.max_wait", retryAfter: wait)
        case .pastDeadline(let wait):
            NightjarError(
                .rateLimited,
                "the limit of \(name) would let this call start in \(wait.rounded) s, after its deadline; try again "
                    + "after that time, "
                    + "or raise the timeout", retryAfter: wait)
        }
    }
}

extension Duration {
    /// The duration in seconds, rounded up to a tenth. A caller that waits this time does not retry too early.
    package var rounded: Double { (inSeconds * 10).rounded(.up) / 10 }
}
