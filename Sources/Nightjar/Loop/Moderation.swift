import NightjarHTTP

/// When the loop rests for a moment before it looks at its sockets again: interrupt moderation, as network cards have it.
///
/// Answers of a busy server on a near network come one by one, each a few microseconds behind the other. A loop that takes each
/// as it comes wakes and sleeps for each, and so do the caller whom it tells and the server whom the next request reaches: a
/// third of the processor's time on a small call. So, while many calls are awaited, it rests once it has told of what there
/// was, and finds a handful the next time.
///
/// Nothing that is here waits for a rest, and what comes meanwhile waits less than a microsecond for each call that is awaited,
/// of which a server has more to do. Rests that bring nothing become rare: those who are awaited are slow then.
struct Moderation {
    private var hasRested = false
    /// Batches to come without a rest.
    private var restless = 0
    /// How many those are after the next rest in vain.
    private var penalty = 1

    /// - Parameters:
    ///   - events: that the loop has just told of.
    ///   - awaited: calls that a server has, and has not begun to answer.
    /// - Returns: how long to rest now; nil: not at all.
    mutating func rest(after events: Int, awaited: Int) -> Duration? {
        if hasRested {
            let wasInVain = events < 2
            restless = wasInVain ? penalty : 0
            penalty = wasInVain ? min(penalty * 2, Moderation.largestPenalty) : 1
        }
        hasRested = awaited >= Moderation.many && restless == 0
        if hasRested { return .microseconds(min(awaited, Moderation.longestRest)) }
        restless = max(restless - 1, 0)
        return nil
    }

    /// With fewer calls awaited a rest would be too short to bring anything.
    private static let many = 16
    /// In microseconds: nobody notices so much.
    private static let longestRest = 100
    /// In batches: one rest in so many costs next to nothing.
    private static let largestPenalty = 64
}
