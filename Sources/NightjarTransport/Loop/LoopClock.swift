import NIOCore

/// The time of one loop. What one event brings about happens at one moment: it is read once for all of it, for a call would
/// read it eight times, and each costs as much as a stage.
///
/// On the loop alone. It never goes backwards.
public final class LoopClock: @unchecked Sendable {
    /// Nil between events.
    private var moment: NIODeadline?

    public init() {}

    public var now: NIODeadline { moment ?? .now() }

    /// An event begins: until ``release()`` it is this moment.
    public func hold() {
        if moment == nil { moment = .now() }
    }

    public func release() { moment = nil }
}
