import NightjarHTTP

/// Leases: the functions of workers.
extension Journal {
    // MARK: Taking

    /// Takes the next entry of a kind that is due. If there is none, takes an entry whose worker's process has ended,
    /// before the lease expires.
    ///
    /// - Parameter duration: the duration of the lease, 1 ms to 1 day. Each write of the worker starts it again.
    /// - Returns: nil if no entry can be taken now. ``nextDue(kind:)`` returns when to try again.
    package func take(kind: String, for duration: Duration) throws(JournalError) -> JournalLease? {
        try JournalLimits.check(lease: duration)
        return try write { (rows, now) throws(JournalError) in try takeNext(kind, duration, rows, now) }
    }

    func takeNext(
        _ kind: String, _ duration: Duration, _ rows: JournalRows, _ now: JournalTime
    ) throws(JournalError) -> JournalLease? {
        var next = try rows.next(kind, at: now)
        if next == nil {
            let ended = try rows.endedOwners(kind, at: now)
            try rows.expireLeases(of: ended, at: now)
            if !ended.isEmpty { next = try rows.next(kind, at: now) }
        }
        guard let next else { return nil }
        return try take(next, duration, rows, now)
    }

    /// Takes one entry, even before its next attempt is due.
    ///
    /// - Returns: nil if another worker has a lease of it, if it is paused, or if an earlier entry of its order key is
    ///   not finished.
    /// - Throws: `notFound`; `wrongPhase` if the entry is finished.
    package func take(id: String, for duration: Duration) throws(JournalError) -> JournalLease? {
        try JournalLimits.check(lease: duration)
        return try write { (rows, now) throws(JournalError) in
            guard let row = try rows.find(id) else { throw .notFound(id) }
            guard try !rows.isBlocked(row) else { return nil }
            return try take(row, duration, rows, now)
        }
    }

    private func take(
        _ row: JournalRow, _ duration: Duration, _ rows: JournalRows, _ now: JournalTime
    ) throws(JournalError) -> JournalLease? {
        var row = row
        let isAdopted = row.phase == .running
        let isOver = isLeaseOver(row, rows, now)
        let isTaken = try Journal.apply("taken", &row) { (lifecycle) throws(JournalLifecycle.Rejection) in
            try lifecycle.take(isLeaseOver: isOver)
        }
        guard isTaken else { return nil }
        row.fence = try rows.nextFence()
        row.owner = rows.connection.owner.number
        row.attempts += 1
        row.lease = max(1, duration.inJournal)
        row.due = now.uptime + row.lease
        row.updated = now.wall
        try rows.save(row)
        return JournalLease(
            entry: try rows.entry(row, at: now), fence: row.fence, duration: duration,
            intents: try rows.intents(of: row.number), isAdopted: isAdopted)
    }

    /// Whether the lease of a running entry has expired, or its owner has ended.
    func isLeaseOver(_ row: JournalRow, _ rows: JournalRows, _ now: JournalTime) -> Bool {
        row.due <= now.uptime || rows.connection.owner.hasEnded(row.owner)
    }

    /// Returns the time until an entry of a kind may become due: zero if one is due now, nil if there is none.
    ///
    /// An entry becomes due earlier if the journal changes, see ``changeNumber()``, or if the process that has its lease
    /// ends. A worker therefore calls this function again after some seconds.
    package func nextDue(kind: String) throws(JournalError) -> Duration? {
        try read { (rows, now) throws(JournalError) in
            guard let due = try rows.nextDue(kind) else { return nil }
            if due > now.uptime, try !rows.endedOwners(kind, at: now).isEmpty { return .zero }
            return .milliseconds(max(0, due.inJournal - now.uptime))
        }
    }

    // MARK: Writing

    /// Starts the duration of the lease again.
    ///
    /// - Parameter duration: a new duration; nil for the duration of the lease.
    /// - Throws: `leaseLost`, like all functions with a lease.
    @discardableResult
    package func extend(_ lease: JournalLease, for duration: Duration? = nil) throws(JournalError) -> JournalSignals {
        if let duration { try JournalLimits.check(lease: duration) }
        return try hold(lease) { (row, _, _) throws(JournalError) in
            if let duration { row.lease = max(1, duration.inJournal) }
        }
    }

    /// Replaces the state of the entry.
    @discardableResult
    package func update(_ lease: JournalLease, state: [UInt8]) throws(JournalError) -> JournalSignals {
        try options.limits.check(value: state, "state", lease.id)
        return try hold(lease) { (row, rows, _) throws(JournalError) in
            row.bytes += try rows.write(state, .state, of: row.number)
        }
    }

    // MARK: Ending

    /// Ends the lease without finishing the entry, for a later attempt. An entry whose cancellation is requested and
    /// that has no unresolved intents is cancelled instead.
    ///
    /// - Parameters:
    ///   - delay: the time until the next attempt.
    ///   - state: the new state; nil keeps the state.
    ///   - countsAttempt: false if the worker ends before it has tried, so that ``JournalEntry/attempts`` is as before.
    package func release(
        _ lease: JournalLease, after delay: Duration = .zero, state: [UInt8]? = nil, countsAttempt: Bool = true
    ) throws(JournalError) {
        try JournalLimits.check(delay: delay)
        if let state { try options.limits.check(value: state, "state", lease.id) }
        try hold(lease) { (row, rows, now) throws(JournalError) in
            try Journal.apply("released", &row) { (lifecycle) throws(JournalLifecycle.Rejection) in
                try lifecycle.release()
            }
            if let state { row.bytes += try rows.write(state, .state, of: row.number) }
            if !countsAttempt { row.attempts = max(0, row.attempts - 1) }
            row.due = now.uptime + delay.inJournal
        }
    }

    /// Finishes the entry, and ends the lease.
    ///
    /// - Parameter result: for the caller, such as a response or an error. The journal does not interpret it.
    /// - Throws: `wrongPhase` if the entry has unresolved intents, unless it is in doubt.
    package func finish(
        _ lease: JournalLease, as ending: JournalEnding, result: [UInt8] = []
    ) throws(JournalError) {
        try options.limits.check(value: result, "result", lease.id)
        try hold(lease) { (row, rows, _) throws(JournalError) in
            try Journal.apply("finished", &row) { (lifecycle) throws(JournalLifecycle.Rejection) in
                try lifecycle.finish(as: ending)
            }
            row.bytes += try rows.write(result, .result, of: row.number)
        }
    }

    // MARK: Fencing

    /// Runs a write of a worker, and returns the requests of the caller. See ``write(holding:_:)``.
    @discardableResult
    func hold(
        _ lease: JournalLease, _ body: (inout JournalRow, JournalRows, JournalTime) throws(JournalError) -> Void
    ) throws(JournalError) -> JournalSignals {
        try write(holding: lease) { (row, rows, now) throws(JournalError) in
            try body(&row, rows, now)
            return JournalSignals(
                isCancelRequested: row.lifecycle.isCancelRequested, isPaused: row.lifecycle.isPaused)
        }
    }

    /// Runs a write of a worker, after checking that its lease is current. A lease that has expired is current until
    /// another worker takes the entry. The write starts its duration again.
    func write<Result: Sendable>(
        holding lease: JournalLease,
        _ body: (inout JournalRow, JournalRows, JournalTime) throws(JournalError) -> Result
    ) throws(JournalError) -> Result {
        try write { (rows, now) throws(JournalError) in
            guard var row = try rows.find(number: lease.entry.number), row.id.isExactly(lease.id) else {
                throw .leaseLost(lease.id, "the entry was removed")
            }
            guard row.phase == .running else { throw .leaseLost(lease.id, "the entry is \(row.phase.name)") }
            guard row.fence == lease.fence else {
                throw .leaseLost(
                    lease.id, "another worker took the entry (fencing number \(row.fence), got \(lease.fence))")
            }
            let result = try body(&row, rows, now)
            if row.phase == .running { row.due = now.uptime + row.lease }
            if row.phase.isFinished { row.ended = now.uptime }
            row.updated = now.wall
            try rows.save(row)
            return result
        }
    }

    /// Applies an event to the lifecycle of a row.
    ///
    /// - Parameter what: completes the sentence `the entry cannot be …`.
    static func apply<Result>(
        _ what: String, _ row: inout JournalRow,
        _ event: (inout JournalLifecycle) throws(JournalLifecycle.Rejection) -> Result
    ) throws(JournalError) -> Result {
        do throws(JournalLifecycle.Rejection) {
            return try event(&row.lifecycle)
        } catch {
            throw JournalError(
                .wrongPhase, "the journal entry \(quoted(row.id)) cannot be \(what): \(error.reason)")
        }
    }
}
