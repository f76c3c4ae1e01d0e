import NightjarHTTP

/// The limits of the entries of one kind that are not done.
package struct JournalQuota: Sendable {
    package var entries: Int
    package var bytes: Int

    package init(entries: Int, bytes: Int) { (self.entries, self.bytes) = (entries, bytes) }
}

/// The functions for entries whose only effect is one request: the writes of an outbox.
///
/// The effect has the intent `send`. It is recorded when the entry is taken, and resolved when the lease ends, each in the
/// same transaction.
extension Journal {
    /// The name of the intent.
    private static let send = "send"

    // MARK: Taking

    /// Takes the entries of a kind that are due, and records the intent of each.
    ///
    /// ``JournalLease/unresolvedIntents`` contains the intent if it was recorded before: the effect of an earlier attempt
    /// may have happened.
    ///
    /// - Parameter limit: The maximum number of entries.
    package func takeToSend(
        kind: String, for duration: Duration, limit: Int
    ) throws(JournalError) -> [JournalLease] {
        var leases: [JournalLease] = []
        do throws(JournalError) {
            while leases.count < limit, let lease = try takeOneToSend(kind: kind, for: duration) {
                leases.append(lease)
            }
        } catch {
            // The entries that were taken before are not lost.
            if leases.isEmpty { throw error }
        }
        return leases
    }

    private func takeOneToSend(kind: String, for duration: Duration) throws(JournalError) -> JournalLease? {
        try JournalLimits.check(lease: duration)
        return try write { (rows, now) throws(JournalError) in
            guard let lease = try takeNext(kind, duration, rows, now) else { return nil }
            guard lease.unresolvedIntents.isEmpty, var row = try rows.find(number: lease.entry.number) else {
                return lease
            }
            let intent = JournalIntent(
                number: try rows.nextIntent(of: row.number).number, name: Journal.send, key: nil, payload: [],
                result: nil, fence: lease.fence)
            try rows.insert(intent, of: row.number)
            row.bytes += intent.bytes
            row.lifecycle.intentsChanged(hasUnresolved: true)
            try rows.save(row)
            return lease
        }
    }

    // MARK: Ending

    /// Finishes the entry as done. The result contains that of the effect.
    package func finishSent(_ lease: JournalLease, result: [UInt8]) throws(JournalError) {
        try options.limits.check(value: result, "result", lease.id)
        try hold(lease) { (row, rows, _) throws(JournalError) in
            try Journal.resolveIntents(of: &row, rows)
            try Journal.apply("finished", &row) { (lifecycle) throws(JournalLifecycle.Rejection) in
                try lifecycle.finish(as: .done)
            }
            row.bytes += try rows.write(result, .result, of: row.number)
        }
    }

    /// Ends the lease without finishing the entry, for a later attempt or until the caller decides.
    ///
    /// - Parameters:
    ///   - delay: The time until the next attempt. Nil: the entry is parked, so that no worker takes it before
    ///     ``continueParked(_:_:)``. Later entries of its order key wait for it.
    ///   - isUnresolved: Whether the effect may have happened, so that its intent is kept.
    package func releaseUnsent(
        _ lease: JournalLease, after delay: Duration?, state: [UInt8], isUnresolved: Bool, countsAttempt: Bool = true
    ) throws(JournalError) {
        if let delay { try JournalLimits.check(delay: delay) }
        try options.limits.check(value: state, "state", lease.id)
        try hold(lease) { (row, rows, now) throws(JournalError) in
            if !isUnresolved { try Journal.resolveIntents(of: &row, rows) }
            try Journal.apply("released", &row) { (lifecycle) throws(JournalLifecycle.Rejection) in
                try lifecycle.release()
                if delay == nil, lifecycle.phase == .pending { try lifecycle.pause(true) }
            }
            row.bytes += try rows.write(state, .state, of: row.number)
            if !countsAttempt { row.attempts = max(0, row.attempts - 1) }
            row.due = now.uptime + (delay ?? .zero).inJournal
        }
    }

    private static func resolveIntents(of row: inout JournalRow, _ rows: JournalRows) throws(JournalError) {
        row.bytes -= try rows.withdrawIntents(of: row.number)
        row.lifecycle.intentsChanged(hasUnresolved: false)
    }

    // MARK: Callers

    /// Makes a parked entry pending again, with another state. Its intents are withdrawn: the caller has decided that the
    /// effect may be repeated. Its attempts are counted from zero.
    ///
    /// - Parameter change: Returns the new state. Called in the transaction.
    /// - Throws: `notFound`; `wrongPhase` if the entry is not parked; the errors of `change`.
    package func continueParked(
        _ id: String, _ change: (JournalEntry) throws(JournalError) -> [UInt8]
    ) throws(JournalError) {
        try write { (rows, now) throws(JournalError) in
            guard var row = try rows.find(id) else { throw .notFound(id) }
            guard row.phase == .pending, row.lifecycle.isPaused else {
                throw JournalError(
                    .wrongPhase, "the journal entry \(quoted(id)) does not wait for a decision: it is \(row.phase.name)"
                )
            }
            let state = try change(try rows.entry(row, at: now))
            try options.limits.check(value: state, "state", id)
            try Journal.resolveIntents(of: &row, rows)
            try Journal.apply("continued", &row) { (lifecycle) throws(JournalLifecycle.Rejection) in
                try lifecycle.pause(false)
            }
            row.bytes += try rows.write(state, .state, of: row.number)
            row.attempts = 0
            row.due = now.uptime
            row.updated = now.wall
            try rows.save(row)
        }
    }

    /// Makes a pending entry that waits for its next attempt due now. Has no effect while a worker has the entry.
    ///
    /// - Throws: `notFound`; `wrongPhase` if the entry is finished or parked.
    package func endWait(_ id: String) throws(JournalError) {
        try write { (rows, now) throws(JournalError) in
            guard var row = try rows.find(id) else { throw .notFound(id) }
            if row.phase == .running { return }
            guard row.phase == .pending, !row.lifecycle.isPaused else {
                let state = row.lifecycle.isPaused ? "parked" : row.phase.name
                throw JournalError(
                    .wrongPhase, "the journal entry \(quoted(id)) does not wait for its next attempt: it is \(state)")
            }
            row.due = now.uptime
            try rows.save(row)
        }
    }

    /// The beginning of the kinds of outboxes. The limits of the journal do not apply to them.
    package static let outboxKind = "outbox/"

    /// Returns the number and the size of the entries of a kind that are not finished.
    package func pending(kind: String) throws(JournalError) -> (entries: Int, bytes: Int) {
        try read { (rows, _) throws(JournalError) in try rows.pending(kind) }
    }

    /// Removes the entries of a kind that are done: those that ended longer ago than `age`, and the oldest ones if there
    /// are more than `count`.
    package func removeDone(kind: String, olderThan age: Duration, keeping count: Int) throws(JournalError) {
        try write { (rows, now) throws(JournalError) in
            for number in try rows.done(kind, endedBefore: (now.uptime - age.inJournal).inJournal, keeping: count) {
                try rows.remove(number)
            }
        }
    }
}

extension JournalRows {
    func pending(_ kind: String) throws(JournalError) -> (entries: Int, bytes: Int) {
        let total = try connection.first(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM entry WHERE kind = ? AND phase <= 1", [.text(kind)]
        ) { row -> (Int, Int)? in
            guard let entries = row.integer(0), let bytes = row.integer(1) else { return nil }
            return (Int(clamping: entries), Int(clamping: bytes))
        }
        guard let total else { throw connection.damage }
        return total
    }

    /// Returns the numbers of the entries that are done and not kept.
    fileprivate func done(_ kind: String, endedBefore end: Int64, keeping count: Int) throws(JournalError) -> [Int64] {
        var numbers: [Int64] = []
        try connection.each(
            """
            SELECT number FROM entry WHERE acknowledged = 0 AND ended IS NOT NULL AND kind = ?1 AND phase = 3
            AND (ended < ?2 OR number NOT IN (SELECT number FROM entry WHERE acknowledged = 0 AND ended IS NOT NULL
              AND kind = ?1 AND phase = 3 ORDER BY ended DESC, number DESC LIMIT ?3))
            """, [.text(kind), .integer(end), .integer(Int64(count))]
        ) {
            if let number = $0.integer(0) { numbers.append(number) }
            return true
        }
        return numbers
    }
}
