/// When the loop rests for a moment before it looks at its sockets again: interrupt moderation, as network cards have it.
///
/// Answers of a busy server on a near network come one by one, each a few microseconds behind the other. A loop that takes each
/// as it comes wakes and sleeps for each, and so do the caller whom it tells and the server whom the next request reaches: a
/// fifth of the processor's time on a small call. So, while many calls are awaited, it rests once it has told of what there
/// was, and finds a handful the next time.
///
/// Nothing that is here waits for a rest, and what comes meanwhile waits at most three microseconds for each call that is awaited;
/// servers take longer for one. Rests that bring nothing become rare: those who are awaited are slow then.
struct Moderation {
    /// Calls that a server has, and has not begun to answer.
    private(set) var awaited = 0
    /// Those that it has begun to answer, or that ended otherwise, since the loop last told of anything.
    private var answered = 0
    private var hasRested = false
    /// Batches of answers to come without a rest.
    private var restless = 0
    /// How many those are after the next rest in vain.
    private var penalty = 1

    mutating func began() { awaited += 1 }

    mutating func ended() {
        awaited -= 1
        answered += 1
    }

    /// The loop has told of what there was.
    ///
    /// - Returns: how long to rest now; nil: not at all.
    mutating func rest() -> Duration? {
        // Only parts of answers: who reads those is not to wait for others.
        guard answered > 0 else { return nil }
        if hasRested {
            let wasInVain = answered < 2
            restless = wasInVain ? penalty : 0
            penalty = wasInVain ? min(penalty * 2, Moderation.largestPenalty) : 1
        }
        answered = 0
        hasRested = awaited >= Moderation.many && restless == 0
        if hasRested { return .microseconds(min(awaited * Moderation.share, Moderation.longestRest)) }
        restless = max(restless - 1, 0)
        return nil
    }

    /// With fewer calls awaited a rest would be too short to bring anything.
    private static let many = 16
    /// Of each call that is awaited, in microseconds. With 64 calls in flight 2 of them cost 5 % more of the processor's time in
    /// the same time on the wall; with 4 that becomes longer, by 5 %.
    private static let share = 3
    /// In microseconds: nobody notices so much.
    private static let longestRest = 150
    /// In batches: one rest in so many costs next to nothing.
    private static let largestPenalty = 64
}
