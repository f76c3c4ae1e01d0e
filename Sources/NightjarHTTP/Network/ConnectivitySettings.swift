/// The networks that calls may use, and the time that calls wait for a network.
///
/// The settings do not apply to loopback hosts and Unix sockets.
public struct ConnectivitySettings: Sendable, Equatable {
    /// The maximum time for which a call waits instead of failing with `offline`. The total timeout also limits the
    /// wait. Default: zero, calls do not wait.
    public var maximumWait = Duration.zero
    /// Whether calls may use a metered network. If false, they fail with `offline`, or wait for another network. A
    /// network that is not known to be metered is used.
    public var allowsMetered = true
    /// Whether calls may use the network while it is constrained.
    public var allowsConstrained = true

    public init() {}

    /// Why a network with this status must not be used. Nil if it may be used.
    package func refusal(of status: NetworkStatus) -> OfflineReason? {
        if !allowsMetered, status.isMetered == true { return .metered }
        if !allowsConstrained, status.isConstrained { return .constrained }
        return nil
    }

    package var isRestricted: Bool { !allowsMetered || !allowsConstrained }
}

/// The settings of a request that differ from the client's.
public struct ConnectivityChanges: Sendable, Equatable {
    public var maximumWait: Duration?
    public var allowsMetered: Bool?
    public var allowsConstrained: Bool?

    public init() {}

    package var isEmpty: Bool { maximumWait == nil && allowsMetered == nil && allowsConstrained == nil }

    /// - Parameter bounded: Whether networks that `settings` excludes stay excluded. ``maximumWait`` is not bounded.
    package func applied(to settings: ConnectivitySettings, bounded: Bool) -> ConnectivitySettings {
        var changed = settings
        changed.maximumWait = maximumWait ?? settings.maximumWait
        changed.allowsMetered = (allowsMetered ?? settings.allowsMetered) && (!bounded || settings.allowsMetered)
        changed.allowsConstrained =
            (allowsConstrained ?? settings.allowsConstrained) && (!bounded || settings.allowsConstrained)
        return changed
    }
}
