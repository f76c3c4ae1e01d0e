/// The state of a body source that may have no data yet. Used on the client's loop.
///
///     called ──later──▶ deferred ──resume──▶ called
///       └──resume──▶ resumed ──later──▶ called
struct BodyDeferral {
    private enum State { case called, deferred, resumed }

    private var state = State.called

    /// The source is called.
    mutating func called() { state = .called }

    /// The source had no data. Returns whether it must be called again now.
    mutating func deferred() -> Bool {
        let wasResumed = state == .resumed
        state = .deferred
        return wasResumed
    }

    /// The source has data. It may not yet have returned that it had none. Returns whether it must be called again now.
    mutating func resumed() -> Bool {
        guard state == .deferred else {
            state = .resumed
            return false
        }
        return true
    }
}
