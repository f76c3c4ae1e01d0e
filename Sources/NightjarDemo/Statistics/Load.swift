import NIOCore

/// The request rate and the number of requests in flight, for tests of rate limits, coalescing and cancellation.
struct Load {
    private struct Count {
        var inProgress = 0
        var most = 0
        var abandoned = 0
    }

    /// The maximum number of counted subjects. Clients choose keys, so the oldest subjects are dropped.
    private static let maximumSubjects = 1000

    private var subjects = BoundedTable<String, Count>(capacity: Load.maximumSubjects)
    private var perSecond = CircularBuffer<Int>()
    /// The start of the last element of `perSecond`.
    private var second: NIODeadline?

    mutating func began(_ subject: String, isOfAPI: Bool, now: NIODeadline) {
        subjects.update(subject, or: Count()) { count in
            count.inProgress += 1
            count.most = max(count.most, count.inProgress)
        }
        guard isOfAPI else { return }
        advance(to: now)
        perSecond[perSecond.index(before: perSecond.endIndex)] += 1
    }

    mutating func ended(_ subject: String, isAbandoned: Bool) {
        // The subject may have been dropped meanwhile. It is then not added again.
        guard subjects[subject] != nil else { return }
        subjects.update(subject, or: Count()) { count in
            count.inProgress = max(0, count.inProgress - 1)
            if isAbandoned { count.abandoned += 1 }
        }
    }

    mutating func reset(now: NIODeadline) {
        let before = subjects.entries
        subjects.removeAll()
        for (subject, count) in before where count.inProgress > 0 {
            subjects.set(Count(inProgress: count.inProgress, most: count.inProgress), for: subject)
        }
        perSecond.removeAll()
        second = now
        perSecond.append(0)
    }

    mutating func report(to statistics: inout DemoStatistics, now: NIODeadline) {
        advance(to: now)
        statistics.perSecond = Array(perSecond)
        for (subject, count) in subjects.entries {
            if count.inProgress > 0 { statistics.inProgress[subject] = count.inProgress }
            statistics.inProgressMax[subject] = count.most
            if count.abandoned > 0 { statistics.abandoned[subject] = count.abandoned }
        }
    }

    /// Adds elements for the seconds that have passed, so that the last element of `perSecond` is the current second.
    private mutating func advance(to now: NIODeadline) {
        guard var second, !perSecond.isEmpty else {
            self.second = now
            perSecond.append(0)
            return
        }
        let passed = (now - second).nanoseconds / TimeAmount.seconds(1).nanoseconds
        guard passed > 0 else { return }
        second = second + .seconds(passed)
        self.second = second
        for _ in 0..<min(Int(passed), DemoStatistics.retentionSeconds) { perSecond.append(0) }
        while perSecond.count > DemoStatistics.retentionSeconds { perSecond.removeFirst() }
    }
}
