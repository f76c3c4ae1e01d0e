import NightjarHTTP

/// The functions of callers for existing entries. All throw `notFound` if no entry has the id.
extension Journal {
    /// Cancels an entry. An entry that a worker has taken, or that has unresolved intents, is cancelled by its worker:
    /// the worker's next write returns the request. Has no effect on a finished entry.
    ///
    /// - Returns: the phase after the request.
    @discardableResult
    package func cancel(_ id: String) throws(JournalError) -> JournalPhase {
        try change(id) { (row, _, now) in
            let wasFinished = row.phase.isFinished
            row.lifecycle.cancel()
            // A worker resolves the intents now.
            if row.phase == .pending { row.due = min(row.due, now.uptime) }
            if row.phase.isFinished, !wasFinished { row.ended = now.uptime }
        }
    }

    /// Pauses an entry, so that no worker takes it, or ends the pause. The next write of its present worker returns the
    /// request.
    ///
    /// - Throws: `wrongPhase` if the entry is finished, or is to be cancelled.
    package func setPaused(_ id: String, _ isPaused: Bool) throws(JournalError) {
        try change(id) { (row, _, _) throws(JournalError) in
            try Journal.apply(isPaused ? "paused" : "continued", &row) {
                (lifecycle) throws(JournalLifecycle.Rejection) in try lifecycle.pause(isPaused)
            }
        }
    }

    /// Makes an entry that is failed, cancelled or in doubt pending again. The intents without results are withdrawn:
    /// the caller has decided that their effects may be repeated.
    ///
    /// - Throws: `wrongPhase` in any other phase.
    package func retry(_ id: String) throws(JournalError) {
        try change(id) { (row, rows, now) throws(JournalError) in
            try Journal.apply("retried", &row) { (lifecycle) throws(JournalLifecycle.Rejection) in
                try lifecycle.retry()
            }
            row.bytes -= try rows.withdrawIntents(of: row.number)
            row.bytes += try rows.removeResult(of: row.number)
            row.due = now.uptime
            row.ended = nil
        }
    }

    /// Finishes an entry in doubt whose outcome the caller has found out.
    ///
    /// - Throws: `wrongPhase` in any other phase.
    package func resolve(
        _ id: String, as ending: JournalEnding, result: [UInt8] = []
    ) throws(JournalError) {
        try options.limits.check(value: result, "result", id)
        try change(id) { (row, rows, now) throws(JournalError) in
            try Journal.apply("resolved", &row) { (lifecycle) throws(JournalLifecycle.Rejection) in
                try lifecycle.resolve(as: ending)
            }
            row.bytes += try rows.write(result, .result, of: row.number)
            row.ended = now.uptime
        }
    }

    /// Confirms that the caller has processed the result of a finished entry. The entry is removed after
    /// ``JournalRetention/acknowledgedAge``, which is zero by default. Has no effect if the entry was removed.
    ///
    /// - Throws: `wrongPhase` if the entry is not finished.
    package func acknowledge(_ id: String) throws(JournalError) {
        try write { (rows, now) throws(JournalError) in
            guard var row = try rows.find(id) else { return }
            guard !row.lifecycle.isAcknowledged else { return }
            try Journal.apply("acknowledged", &row) { (lifecycle) throws(JournalLifecycle.Rejection) in
                try lifecycle.acknowledge()
            }
            // Its age counts from now on.
            row.ended = now.uptime
            row.updated = now.wall
            try rows.save(row)
            try rows.applyRetention(options.retention, at: now)
        }
    }

    /// Removes an entry with its intents and its result. Has no effect if the entry was removed.
    ///
    /// - Throws: `wrongPhase` if a worker has a lease of it that has not expired.
    package func remove(_ id: String) throws(JournalError) {
        try write { (rows, now) throws(JournalError) in
            guard var row = try rows.find(id) else { return }
            let isOver = isLeaseOver(row, rows, now)
            try Journal.apply("removed", &row) { (lifecycle) throws(JournalLifecycle.Rejection) in
                try lifecycle.remove(isLeaseOver: isOver)
            }
            try rows.remove(row.number)
        }
    }

    /// Removes the finished entries that the options do not keep. ``add(_:)`` and ``acknowledge(_:)`` also do this.
    package func applyRetention() throws(JournalError) {
        try write { (rows, now) throws(JournalError) in try rows.applyRetention(options.retention, at: now) }
    }

    /// - Returns: the phase after the change.
    @discardableResult
    private func change(
        _ id: String, _ body: (inout JournalRow, JournalRows, JournalTime) throws(JournalError) -> Void
    ) throws(JournalError) -> JournalPhase {
        try write { (rows, now) throws(JournalError) in
            guard var row = try rows.find(id) else { throw .notFound(id) }
            try body(&row, rows, now)
            row.updated = now.wall
            try rows.save(row)
            return row.phase
        }
    }
}
