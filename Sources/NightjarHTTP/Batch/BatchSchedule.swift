/// Decides when each call of a batch starts, and how the end of one call affects the others.
///
///     open ──a fatal failure or a cancellation──▶ closing
///       └──────── all calls have ended ───────────┴──▶ over
///
/// A failure is fatal if `stopsAtFailure` is true. Each call starts at most once, in order, and a limited number of
/// calls run concurrently. In the closing state, no call is started. The batch completes only when no call is in
/// flight.
public struct BatchSchedule: Sendable {
    public enum Step: Equatable, Sendable {
        /// Start the call with this index. The caller must report its end with ``ended(_:failed:)``, even if the call
        /// could not be started.
        case start(Int)
        /// Wait until another call has ended. Also returned after ``finish``.
        case wait
        /// No call is in flight, and no call will be started. Returned once.
        case finish
    }

    private enum State { case open, closing, over }

    /// The default number of concurrent calls: the number of HTTP/1.1 connections that browsers open to one host.
    public static let usualConcurrency = 6

    private let count: Int
    private let concurrency: Int
    private let stopsAtFailure: Bool
    private var state = State.open
    private var started = 0
    private var inFlight = 0

    /// The index of the call whose failure ended the batch. Nil if no failure has ended the batch.
    public private(set) var decisive: Int?
    public private(set) var wasCancelled = false

    /// - Parameter stopsAtFailure: true if the first failure ends the batch. If false, the calls are independent.
    /// - Throws: `invalid_argument` if `concurrency` is below 1.
    public init(count: Int, concurrency: Int, stopsAtFailure: Bool) throws(NightjarError) {
        guard concurrency >= 1 else {
            throw NightjarError(.invalidArgument, "the concurrency of a batch must be 1 or more, got \(concurrency)")
        }
        self.count = max(count, 0)
        self.concurrency = concurrency
        self.stopsAtFailure = stopsAtFailure
    }

    /// Returns the next step. Must be called at the beginning, after each started call and after each ended call.
    public mutating func next() -> Step {
        if state == .open, started < count, inFlight < concurrency {
            defer { started += 1 }
            inFlight += 1
            return .start(started)
        }
        guard state != .over, inFlight == 0 else { return .wait }
        state = .over
        return .finish
    }

    /// Reports that a call has ended.
    ///
    /// - Returns: true if the calls in flight must be cancelled. The end of each call must still be reported.
    public mutating func ended(_ index: Int, failed: Bool) -> Bool {
        guard inFlight > 0 else { return false }
        inFlight -= 1
        guard failed, stopsAtFailure, state == .open else { return false }
        decisive = index
        state = .closing
        return true
    }

    /// Cancels the batch. Has no effect if the batch is closing or over.
    ///
    /// - Returns: true if the calls in flight must be cancelled. The end of each call must still be reported.
    public mutating func cancel() -> Bool {
        guard state == .open else { return false }
        state = .closing
        wasCancelled = true
        return true
    }

    /// True if a call that is about to start must be cancelled too.
    public var isClosing: Bool { state != .open }

    /// The indices of the calls that were never started. Valid when the batch is over.
    public var unstarted: Range<Int> { started..<count }
}
