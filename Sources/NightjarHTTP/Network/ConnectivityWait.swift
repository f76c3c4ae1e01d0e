/// Decides how a call waits for the network instead of failing with `offline`.
///
///     running ──failed──▶ waiting ──changed, usable──▶ running (the request is sent again)
///        │                   └──────expired──────────▶ exhausted
///        └──failed, no time left──▶ exhausted (the call fails)
///
/// Times are nanoseconds of a monotonic clock.
package struct ConnectivityWait: Sendable {
    package enum Verdict: Sendable, Equatable {
        /// The call waits for a change of the network, at most until this time.
        case wait(until: UInt64)
        case fail
    }

    private enum Phase: Sendable, Equatable {
        case running
        case waiting(since: UInt64)
        case exhausted
    }

    private let settings: ConnectivitySettings
    private var phase = Phase.running
    /// The status that was reported last during a wait. Another report of this status ends the wait only if the path
    /// has changed, because the observation of the network begins with a report of its current status.
    private var status: NetworkStatus?
    /// The time that the call has waited, in nanoseconds.
    private var waited: UInt64 = 0

    package init(_ settings: ConnectivitySettings) { self.settings = settings }

    package var isWaiting: Bool { if case .waiting = phase { true } else { false } }

    /// The total time that the call has waited.
    package var totalWait: Duration { .nanoseconds(Int64(clamping: waited)) }

    /// Handles a failure with `offline`. All waits of a call together last at most ``ConnectivitySettings/maximumWait``.
    package mutating func failed(now: UInt64) -> Verdict {
        let limit = UInt64(clamping: settings.maximumWait.nanosecondsClamped)
        guard phase == .running, waited < limit else {
            phase = .exhausted
            return .fail
        }
        phase = .waiting(since: now)
        let (end, overflow) = now.addingReportingOverflow(limit &- waited)
        return .wait(until: overflow ? .max : end)
    }

    /// Handles a change of the network.
    ///
    /// If the path has changed, the request is sent again even if the machine appears to be offline: the status is only
    /// a hint.
    ///
    /// - Returns: Whether the request is sent again now.
    package mutating func changed(_ change: NetworkChange, now: UInt64) -> Bool {
        guard isWaiting else { return false }
        let isNew = change.pathChanged || change.status != status
        status = change.status
        guard isNew, settings.refusal(of: change.status) == nil, change.status.isOnline || change.pathChanged else {
            return false
        }
        end(now)
        phase = .running
        return true
    }

    /// Handles the end of the wait.
    ///
    /// - Returns: Whether the call was waiting, so that it fails now.
    package mutating func expired(now: UInt64) -> Bool {
        guard isWaiting else { return false }
        end(now)
        phase = .exhausted
        return true
    }

    private mutating func end(_ now: UInt64) {
        guard case .waiting(let since) = phase, now > since else { return }
        waited = waited.addingReportingOverflow(now &- since).partialValue
    }
}
