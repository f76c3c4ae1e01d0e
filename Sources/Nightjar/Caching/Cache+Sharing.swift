import NightjarHTTP

// One exchange for all calls with the same cache key.

extension Cache {
    /// Resumes the waiting calls: the response is stored, or will not be.
    func release(
        _ progress: Progress, _ released: [SharedFetches.Member], looking: Bool
    ) {
        if progress.leads { members[progress.member] = nil }
        progress.leads = false
        for member in released {
            guard let call = members.removeValue(forKey: member), let waiter = call.states[states],
                waiter.member == member,
                waiter.isInLine
            else { continue }
            waiter.isInLine = false
            waiter.hasWaited = true
            guard looking else {
                call.goOn(send(waiter, call))
                continue
            }
            // Otherwise the disk is searched, which also applies the changes of other processes.
            waiter.entries = storage.isCurrent ? storage.memory.find(waiter.key).map { .memory($0) } : []
            waiter.hasAskedDisk = false
            call.goOn(look(waiter, call))
        }
    }

    /// The call has ended or starts another exchange.
    func leave(_ call: Call) {
        forgetUnstorable(call)
        call.states[posts] = nil
        guard let progress = call.states[states].take() else { return }
        if progress.isRefresh { refreshing.remove(progress.key) }
        progress.fill?.discard()
        if progress.isInLine || progress.leads { stepOut(progress) }
    }

    func stepOut(_ progress: Progress) {
        progress.isInLine = false
        progress.leads = false
        progress.hasWaited = true
        members[progress.member] = nil
        guard let next = fetches.left(progress.key, progress.member), let call = members[next],
            let heir = call.states[states]
        else { return }
        heir.isInLine = false
        heir.leads = true
        call.goOn(send(heir, call))
    }

    /// How long a call waits for another call's response. A slow server or a slow reader delays only one call.
    static let patience = Duration.seconds(5)
}
