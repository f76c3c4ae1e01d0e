import NIOCore

/// The clock of one loop. It reads the time only once between ``hold()`` and ``release()``. Otherwise a call would read
/// the time eight times, and each read costs as much as a stage of the call.
///
/// Used on the loop only. The time never goes backwards.
public final class LoopClock: @unchecked Sendable {
    /// The time of the call of ``hold()``. Nil after ``release()``.
    private var moment: NIODeadline?

    public init() {}

    public var now: NIODeadline { moment ?? .now() }

    /// Freezes the time until ``release()``.
    public func hold() {
        if moment == nil { moment = .now() }
    }

    public func release() { moment = nil }
}
