/// How often and how soon a client repeats what has failed.
public struct RetrySettings: Sendable, Equatable {
    /// The first one counts; 1 repeats nothing.
    public var maximumAttempts = 3
    /// The first wait is chosen between nothing and this, each later one from a range twice as long.
    public var base = Duration.milliseconds(500)
    /// No wait is chosen beyond this; a server may ask for more.
    public var cap = Duration.seconds(30)
    /// A server that asks for more is not waited for: the call fails with the time in its error.
    public var longestWait = Duration.seconds(60)

    public init() {}
}

/// What one call has otherwise than its client; nil where it has not.
public struct RetryChanges: Sendable, Equatable {
    public var maximumAttempts: Int?
    public var base: Duration?
    public var cap: Duration?
    public var longestWait: Duration?

    public init() {}

    /// The client's settings with these.
    public func applied(to settings: RetrySettings) -> RetrySettings {
        var settings = settings
        settings.maximumAttempts = maximumAttempts ?? settings.maximumAttempts
        settings.base = base ?? settings.base
        settings.cap = cap ?? settings.cap
        settings.longestWait = longestWait ?? settings.longestWait
        return settings
    }
}
