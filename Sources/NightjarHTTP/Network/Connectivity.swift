/// Derives the network's status, and the changes to report, from the events of the system. Ignores the constrained
/// flag, because the program sets this flag.
///
///     unknown ──started──▶ settled ──event of the system──▶ settling ──quiet for 250 ms, or after 1 s──▶ reading
///                             ▲                                                                             │
///                             └──────────────────────── read: at most one change ───────────────────────────┘
///
/// A notification only shows that something has changed. The tables are read again after each burst, because the kernel
/// does not notify about all consequences of a change: it removes the IPv4 routes of an interface silently.
///
/// Times are nanoseconds of a monotonic clock.
package struct Connectivity: Sendable {
    private enum Phase: Sendable, Equatable {
        case unknown
        case settled
        /// - Parameters:
        ///   - since: The time of the first event.
        ///   - deadline: The time at which the tables are read.
        case settling(since: UInt64, deadline: UInt64)
        case reading
    }

    private var phase = Phase.unknown
    /// The tables with all notifications applied, to recognize notifications that change nothing. Nil if the system
    /// does not report tables.
    private var tables: NetworkTables?
    /// Whether an event of the current burst concerns connections, even if its effect was undone.
    private var pathChanged = false
    private var reported = NetworkStatus()
    private var service: ServiceState?

    package init() {}

    /// The last reported status. Online if nothing is known.
    package var status: NetworkStatus { reported }

    /// The time at which ``isDue(at:)`` becomes true. Nil if no event is pending.
    package var deadline: UInt64? {
        if case .settling(_, let deadline) = phase { deadline } else { nil }
    }

    /// Begins with the state of the system.
    ///
    /// - Parameter tables: Nil if the system does not report them. The status is then online.
    package mutating func started(_ tables: NetworkTables?, _ service: ServiceState?) -> NetworkStatus {
        self.tables = tables
        self.service = service
        phase = .settled
        reported = current
        return reported
    }

    /// Handles a notification of the system.
    package mutating func notified(_ change: NetworkTables.Change, now: UInt64) {
        guard let before = tables?.path, tables?.apply(change) == true else { return }
        if tables?.path != before {
            pathChanged = true
            settle(now)
        }
    }

    /// Handles the loss of notifications, because the receive buffer was full.
    package mutating func overflowed(now: UInt64) {
        pathChanged = true
        settle(now)
    }

    /// Handles the end of a sleep of the machine.
    package mutating func resumed(now: UInt64) {
        pathChanged = true
        settle(now)
    }

    /// - Parameter state: Nil if neither NetworkManager nor the desktop portal is available.
    package mutating func serviceChanged(_ state: ServiceState?, now: UInt64) {
        guard state != service else { return }
        service = state
        settle(now)
    }

    /// Whether the tables must be read now. The caller then calls ``read(_:)``.
    package mutating func isDue(at now: UInt64) -> Bool {
        guard let deadline, deadline <= now else { return false }
        phase = .reading
        return true
    }

    /// Ends a burst of events.
    ///
    /// - Parameter tables: The state of the system. Nil if it cannot be read. The status is then derived from
    ///   the notifications.
    /// - Returns: The change to report, or nil if nothing has changed.
    package mutating func read(_ tables: NetworkTables?) -> NetworkChange? {
        if let tables {
            if let before = self.tables?.path, before != tables.path { pathChanged = true }
            self.tables = tables
        }
        phase = .settled
        let status = current
        defer { (reported, pathChanged) = (status, false) }
        return pathChanged || status != reported ? NetworkChange(status, pathChanged: pathChanged) : nil
    }

    private var current: NetworkStatus {
        NetworkStatus(
            isOnline: tables?.isOnline ?? true, isMetered: service?.isMetered, isCaptive: service?.isCaptive,
            interface: tables?.interface, kind: service?.kind)
    }

    private mutating func settle(_ now: UInt64) {
        switch phase {
        case .unknown: break
        case .settled, .reading:
            phase = .settling(since: now, deadline: now &+ Connectivity.quietTime)
        case .settling(let since, _):
            phase = .settling(
                since: since, deadline: min(now &+ Connectivity.quietTime, since &+ Connectivity.longestBurst))
        }
    }

    /// The time without events after which a burst ends, in nanoseconds. An interface that comes up causes several
    /// notifications: carrier, addresses, routes.
    package static let quietTime: UInt64 = 250_000_000
    /// The maximum duration of a burst, in nanoseconds. Limits the delay if an interface changes continuously.
    package static let longestBurst: UInt64 = 1_000_000_000
}
