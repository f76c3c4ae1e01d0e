import NightjarHTTP

// Concurrent calls with the same cache key can share one exchange.

extension Cache {
    /// Resumes the calls that waited for the response of another call. If `looking` is true, they search the cache
    /// again. Otherwise their requests are sent.
    func release(
        _ progress: Progress, _ released: [SharedFetches.Member], looking: Bool
    ) {
        if progress.isLeader { members[progress.member] = nil }
        progress.isLeader = false
        for member in released {
            guard let call = members.removeValue(forKey: member), let waiter = call.states[states],
                waiter.member == member,
                waiter.isQueued
            else { continue }
            waiter.isQueued = false
            waiter.hasWaited = true
            guard looking else {
                call.resume(send(waiter, call))
                continue
            }
            // If the memory cache is outdated, `decide` searches the disk and applies the changes of other processes.
            waiter.entries = storage.isCurrent ? storage.memory.find(waiter.key).map { .memory($0) } : []
            waiter.hasQueriedDisk = false
            call.resume(decide(waiter, call))
        }
    }

    /// Removes the cache state of a call that has ended or starts another exchange.
    func leave(_ call: Call) {
        forgetUnstorable(call)
        call.states[posts] = nil
        guard let progress = call.states[states].take() else { return }
        if progress.isRefresh { refreshing.remove(progress.key) }
        progress.fill?.discard()
        if progress.isQueued || progress.isLeader { leaveQueue(progress) }
    }

    func leaveQueue(_ progress: Progress) {
        progress.isQueued = false
        progress.isLeader = false
        progress.hasWaited = true
        members[progress.member] = nil
        guard let next = fetches.left(progress.key, progress.member), let call = members[next],
            let successor = call.states[states]
        else { return }
        successor.isQueued = false
        successor.isLeader = true
        call.resume(send(successor, call))
    }

    /// How long a call waits for another call's response before it sends a request.
    static let gracePeriod = Duration.seconds(5)
}
