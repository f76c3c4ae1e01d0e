import NIOCore

/// The clock of one loop. While an event is handled, the time is read once: a call would otherwise read it eight times,
/// and each read costs as much as a stage.
///
/// Used on the loop only. The time never goes backwards.
public final class LoopClock: @unchecked Sendable {
    /// Nil between events.
    private var moment: NIODeadline?

    public init() {}

    public var now: NIODeadline { moment ?? .now() }

    /// Freezes the time until ``release()``.
    public func hold() {
        if moment == nil { moment = .now() }
    }

    public func release() { moment = nil }
}
