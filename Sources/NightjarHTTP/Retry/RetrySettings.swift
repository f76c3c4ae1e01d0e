/// The number of retries of a failed call and the waits between the attempts.
public struct RetrySettings: Sendable, Equatable {
    /// The retry settings of one call that differ from the client's.
    public typealias Changes = RetryChanges
    /// The settings of the retry budget that all calls of a client share.
    public typealias Budget = RetryBudget.Settings

    /// The maximum number of attempts, including the first attempt. 1 disables retries.
    public var maximumAttempts = 3
    /// The upper bound of the first wait. The bound doubles for each further wait, up to ``cap``.
    public var base = Duration.milliseconds(500)
    /// The upper bound of every computed wait. A server may request a longer wait with Retry-After.
    public var cap = Duration.seconds(30)
    /// The longest wait that a server may request. If the server requests a longer wait, the call fails, and the error
    /// contains the requested wait.
    public var longestWait = Duration.seconds(60)

    public init() {}
}

/// The retry settings of one call that differ from the client's. A property that is nil uses the client's value.
public struct RetryChanges: Sendable, Equatable {
    public var maximumAttempts: Int?
    public var base: Duration?
    public var cap: Duration?
    public var longestWait: Duration?

    public init() {}

    /// Returns `settings` with these changes.
    public func applied(to settings: RetrySettings) -> RetrySettings {
        var settings = settings
        settings.maximumAttempts = maximumAttempts ?? settings.maximumAttempts
        settings.base = base ?? settings.base
        settings.cap = cap ?? settings.cap
        settings.longestWait = longestWait ?? settings.longestWait
        return settings
    }
}
