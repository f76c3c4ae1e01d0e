extension LimitGate {
    /// Why an exchange does not begin.
    public enum Refusal: Sendable, Equatable {
        /// So many wait already.
        case queueIsFull(maximum: Int)
        /// Most calls failed of late.
        ///
        /// - Parameter retryAfter: zero while one call finds out whether the server works again.
        case circuitIsOpen(retryAfter: Duration)
        /// Longer than ``Settings/longestWait``.
        case serverAsksForLongWait(Duration)
        /// The wait, by the place in the queue, ends behind the call's deadline.
        case pastDeadline(Duration)
    }
}

extension LimitGate.Refusal {
    /// An open circuit is of the kind `server`: what the caller should do, and tell the user, is what a 503 asks for, and
    /// like a 503 it may be retried. All others are `rate_limited`.
    ///
    /// - Parameter name: of the origin or the group whose limit it is.
    public func error(of name: String) -> NightjarError {
        switch self {
        case .queueIsFull(let maximum):
            NightjarError(
                .rateLimited,
                "\(maximum) calls wait already for the limit of \(name); start fewer at once, or let more wait")
        case .circuitIsOpen(.zero):
            NightjarError(
                .server,
                "most calls to \(name) failed of late, and one is under way to find out whether it works again; try "
                    + "again when it has ended")
        case .circuitIsOpen(let wait):
            NightjarError(
                .server, "most calls to \(name) failed of late, so none is sent; try again in \(wait.rounded) s",
                retryAfter: wait)
        case .serverAsksForLongWait(let wait):
            NightjarError(
                .rateLimited,
                "\(name) takes no calls for another \(wait.rounded) s, which is longer than calls wait; call again then, or "
                    + "raise retry.max_wait", retryAfter: wait)
        case .pastDeadline(let wait):
            NightjarError(
                .rateLimited,
                "the limit of \(name) lets this call begin in \(wait.rounded) s, behind its deadline; call again then, "
                    + "or give it more time", retryAfter: wait)
        }
    }
}

extension Duration {
    /// In seconds, rounded up to a tenth, so that nobody who waits that long comes too early.
    package var rounded: Double { (inSeconds * 10).rounded(.up) / 10 }
}
