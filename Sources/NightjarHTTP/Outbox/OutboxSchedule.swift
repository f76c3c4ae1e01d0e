/// The state machine of an outbox: when entries are taken from the journal, and how many.
///
///     idle ──change, timer──▶ taking ──entries──▶ idle
///      │                                           │
///      └──no server was reached──▶ holding ──timer, network change──▶ probing ──server reached──▶ idle
///
/// While no server is reached, one entry at a time is sent as a probe. The journal decides which entries are due: those
/// whose time has come and whose key has no earlier entry.
package struct OutboxSchedule: Sendable {
    /// The next step of the caller.
    package enum Action: Sendable, Equatable {
        /// Take at most this many entries, and then call ``took(_:of:nextDue:)``.
        case take(Int)
        /// Call ``waited(_:)`` with the number after this time. Replaces earlier waits.
        case wait(Int, Duration)
    }

    private let concurrency: Int
    private let backoff: Backoff
    private var inFlight = 0
    private var isTaking = false
    /// Whether entries may have become due since they were last taken.
    private var hasChanged = false
    /// The number of the present wait. Earlier waits have no effect.
    private var waitNumber = 0
    /// The number of failures in sequence to reach a server.
    private var failures = 0
    private var isHolding = false

    package init(_ settings: OutboxSettings) {
        concurrency = settings.concurrency
        // A network change ends the wait earlier.
        backoff = Backoff(base: settings.retryDelay, cap: max(settings.retryDelay, Self.longestHold))
    }

    // MARK: Events

    /// An entry was recorded, retried or resolved, or the outbox was opened.
    package mutating func changed() -> Action? {
        hasChanged = true
        return take()
    }

    /// - Parameters:
    ///   - count: The number of entries that were taken. The caller sends them.
    ///   - maximum: The number of the action.
    ///   - nextDue: The time until another entry is due. Nil: there is none.
    package mutating func took(_ count: Int, of maximum: Int, nextDue: Duration?) -> Action? {
        isTaking = false
        inFlight += count
        if count >= maximum { hasChanged = true }
        if let action = take() { return action }
        // A change or the end of a delivery takes the next entries.
        if isFull { return nil }
        return wait(min(max(nextDue ?? Self.pollInterval, Self.shortestWait), Self.pollInterval))
    }

    /// An attempt has ended, and the journal has its outcome.
    ///
    /// - Parameter reachedServer: Nil: not known.
    package mutating func ended(
        reachedServer: Bool?, using random: inout some RandomNumberGenerator
    ) -> Action? {
        inFlight -= 1
        hasChanged = true
        switch reachedServer {
        case true?: (failures, isHolding) = (0, false)
        case false?:
            // Attempts that were in flight together count once.
            if !isHolding { failures += 1 }
            isHolding = true
            return inFlight == 0 ? wait(backoff.longWait(afterAttempt: failures, using: &random)) : nil
        case nil: break
        }
        if isHolding, inFlight == 0 { return wait(Self.pollInterval) }
        return take()
    }

    package mutating func waited(_ number: Int) -> Action? {
        guard number == waitNumber else { return nil }
        isHolding = false
        hasChanged = true
        return take()
    }

    /// The network has changed, so that a server may be reachable.
    package mutating func networkChanged() -> Action? {
        guard failures > 0 else { return nil }
        isHolding = false
        hasChanged = true
        return take()
    }

    // MARK: Decisions

    /// The number of entries that may be in flight.
    private var limit: Int { failures > 0 ? 1 : concurrency }
    private var isFull: Bool { inFlight >= limit }

    private mutating func take() -> Action? {
        guard hasChanged, !isTaking, !isHolding, !isFull else { return nil }
        isTaking = true
        hasChanged = false
        waitNumber += 1
        return .take(limit - inFlight)
    }

    private mutating func wait(_ time: Duration) -> Action {
        waitNumber += 1
        return .wait(waitNumber, time)
    }

    private static let longestHold = Duration.seconds(30)
    /// The time between two reads of the journal, for the entries of processes that have ended.
    private static let pollInterval = Duration.seconds(5)
    private static let shortestWait = Duration.milliseconds(10)
}
