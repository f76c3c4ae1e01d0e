/// The settings of a resource.
public struct ResourceSettings: Sendable, Equatable {
    /// How long a change of the path or the query waits for further changes before the resource is loaded, for example
    /// 0.3 s for a search field. From 0 to 60 s.
    public var debounce = Duration.zero
    /// The time after which the resource is loaded again while it is observed, from the end of the last load. At least
    /// 0.1 s. Nil: the resource is not loaded at intervals.
    public var interval: Duration?
    /// Whether the resource is loaded again when the network returns.
    public var reloadsOnNetwork = true
    /// Whether a write to a URL below the path of the resource also invalidates it: `PUT /articles/7` for `/articles`.
    /// A write to the path itself always does.
    public var includesChildren = false
    /// The names by which ``Client/invalidate(tag:)`` invalidates the resource.
    public var tags: [String] = []
    /// Whether the data of the previous path or query is kept, as stale data, until the new data has arrived.
    public var keepsPrevious = false

    public init() {}

    /// - Throws: `invalid_argument`.
    package func check() throws(NightjarError) {
        guard ResourceSettings.debounces.contains(debounce) else {
            throw NightjarError(
                .invalidArgument, "debounce must be between 0 and 60 seconds, got \(debounce.inSeconds)")
        }
        guard interval ?? ResourceSettings.shortestInterval >= ResourceSettings.shortestInterval else {
            throw NightjarError(
                .invalidArgument,
                "the interval of reload_on must be at least 0.1 seconds, got \(interval?.inSeconds ?? 0)")
        }
    }

    private static let debounces = Duration.zero...Duration.seconds(60)
    private static let shortestInterval = Duration.milliseconds(100)
}
