/// Which calls of a batch are started when, and what the end of one means for the others.
///
///     open ──a failure that ends the batch, or a cancel──▶ closing
///       └──────────────── all have ended ──────────────────┴──▶ over
///
/// Each call is started at most once, in order, and no more than so many are under way together. Once it is closing
/// nothing is started any more; what is under way is still waited for, so that nothing runs on behind the caller's back.
public struct BatchSchedule: Sendable {
    public enum Step: Equatable, Sendable {
        /// The call of this index, whose end has to be told, also when it could not be started.
        case start(Int)
        /// Until another has ended.
        case wait
        /// Nothing is under way and nothing will be started. Said once.
        case finish
    }

    private enum State { case open, closing, over }

    /// Calls under way together where nobody says otherwise: what browsers open to one host.
    public static let usualConcurrency = 6

    private let count: Int
    private let concurrency: Int
    private let stopsAtFailure: Bool
    private var state = State.open
    private var started = 0
    private var underWay = 0

    /// The call whose failure ended the batch; nil: none did.
    public private(set) var decisive: Int?
    public private(set) var wasCancelled = false

    /// - Parameter stopsAtFailure: the first failure ends the batch. Otherwise each call has its own end.
    /// - Throws: `invalid_argument` for a concurrency below 1, with which nothing would ever be started.
    public init(count: Int, concurrency: Int, stopsAtFailure: Bool) throws(NightjarError) {
        guard concurrency >= 1 else {
            throw NightjarError(.invalidArgument, "the concurrency of a batch must be 1 or more, got \(concurrency)")
        }
        self.count = max(count, 0)
        self.concurrency = concurrency
        self.stopsAtFailure = stopsAtFailure
    }

    /// Asked at the beginning, after each call that was started, and after each end.
    public mutating func next() -> Step {
        if state == .open, started < count, underWay < concurrency {
            defer { started += 1 }
            underWay += 1
            return .start(started)
        }
        guard state != .over, underWay == 0 else { return .wait }
        state = .over
        return .finish
    }

    /// A call has ended.
    ///
    /// - Returns: whether those under way are to be cancelled; each of their ends is still told.
    public mutating func ended(_ index: Int, failed: Bool) -> Bool {
        guard underWay > 0 else { return false }
        underWay -= 1
        guard failed, stopsAtFailure, state == .open else { return false }
        decisive = index
        state = .closing
        return true
    }

    /// The caller gives up. Again, or later: nothing happens.
    ///
    /// - Returns: whether those under way are to be cancelled; each of their ends is still told.
    public mutating func cancel() -> Bool {
        guard state == .open else { return false }
        state = .closing
        wasCancelled = true
        return true
    }

    /// Whether a call whose start is on its way has to be cancelled too.
    public var isClosing: Bool { state != .open }

    /// Those that were never started; once it is over.
    public var unstarted: Range<Int> { started..<count }
}
