import NIOCore

/// The timeouts of one call, as a value without a clock and without timers.
///
///     total  from the start of the call to its end, with all attempts and waits
///     idle   from the last progress, while the call waits for the server on a connection
///
/// The owner calls ``check(now:waitsForPeer:unsentBytes:)`` at the time that ``next(waitsForPeer:)`` returns, or later.
/// After each event that can make this time earlier, the owner calls `next` again.
struct TimeLimits {
    /// When the total timeout expires; nil: unlimited.
    var total: NIODeadline?
    /// The idle timeout; nil: unlimited.
    var idle: TimeAmount?
    private(set) var lastProgress: NIODeadline
    /// The bytes that the peer had not received at the last check after the idle timeout.
    private var lastUnsentBytes = 0

    enum Finding: Equatable {
        /// No timeout has expired. The associated value is the time of the next check. Nil: no timeout is running.
        case running(next: NIODeadline?)
        case totalExpired
        /// The current attempt has timed out. The call may continue with another attempt.
        case idleExpired
    }

    init(started: NIODeadline) { lastProgress = started }

    /// Restarts the idle timeout when an attempt has its connection.
    mutating func attemptStarted(_ now: NIODeadline) {
        lastProgress = now
        lastUnsentBytes = 0
    }

    /// Restarts the idle timeout when bytes were transferred or the call begins to wait for the peer.
    mutating func progressed(_ now: NIODeadline) { lastProgress = now }

    /// Returns the time at which the next timeout expires if no further event occurs. Nil: no timeout is running.
    ///
    /// - Parameter waitsForPeer: False while the call waits for its caller, for a connection or for a limit.
    func next(waitsForPeer: Bool) -> NIODeadline? {
        guard waitsForPeer, let idle else { return total }
        let idleExpires = lastProgress + idle
        return total.map { min($0, idleExpires) } ?? idleExpires
    }

    /// Returns which timeout has expired.
    ///
    /// - Parameter unsentBytes: The bytes of the request that the peer is not known to have received.
    mutating func check(
        now: NIODeadline, waitsForPeer: Bool, unsentBytes: @autoclosure () -> Int
    ) -> Finding {
        if let total, total <= now { return .totalExpired }
        if waitsForPeer, let idle, lastProgress + idle <= now, !uploadHasProgressed(now, idle, unsentBytes()) {
            return .idleExpired
        }
        return .running(next: next(waitsForPeer: waitsForPeer))
    }

    /// Whether bytes have left for the peer since the last check after the idle timeout, or this is the first such
    /// check and bytes are unsent.
    ///
    /// No event reports when bytes leave the socket. Therefore the first check after the idle timeout only records the
    /// number of unsent bytes. The next check follows after a quarter of the timeout.
    private mutating func uploadHasProgressed(_ now: NIODeadline, _ idle: TimeAmount, _ unsentBytes: Int) -> Bool {
        let before = lastUnsentBytes
        lastUnsentBytes = unsentBytes
        guard unsentBytes > 0 else { return false }
        if before > 0, unsentBytes >= before { return false }
        lastProgress = before > 0 ? now : now - .nanoseconds(idle.nanoseconds / 4 * 3)
        return true
    }
}
