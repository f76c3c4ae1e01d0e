import NightjarHTTP

/// Intents: the functions of workers that perform effects.
extension Journal {
    /// Records the intent of an effect, before the effect. Starts the duration of the lease again, so that the worker
    /// has it for the effect.
    ///
    /// - Parameters:
    ///   - name: the name of the effect, unique in its entry. Two intents with the same name are the same effect.
    ///   - key: the idempotency key that the effect sends.
    ///   - payload: data that identifies the effect, such as an offset.
    /// - Returns: whether to perform the effect. Nothing is recorded if an intent with this name exists.
    /// - Throws: `leaseLost`; `limit`; `invalidArgument`.
    package func recordIntent(
        _ name: String, key: String? = nil, payload: [UInt8] = [], _ lease: JournalLease
    ) throws(JournalError) -> JournalIntentDecision {
        try JournalLimits.check(name: name, "intent name")
        if let key { try JournalLimits.check(name: key, "idempotency key") }
        try options.limits.check(intentValue: payload, "payload of an intent", lease.id)
        return try write(holding: lease) { (row, rows, _) throws(JournalError) in
            if let intent = try rows.intent(name, of: row.number) {
                return intent.result == nil ? .unresolved(intent) : .performed(intent)
            }
            let next = try rows.nextIntent(of: row.number)
            guard next.count < options.limits.maximumIntents else {
                throw JournalError(
                    .limit(.maximumIntents),
                    "the journal entry \(quoted(row.id)) has \(next.count) intents, and maximum_intents is \(options.limits.maximumIntents); record results in the state, without keeping their intents"
                )
            }
            let intent = JournalIntent(
                number: next.number, name: name, key: key, payload: payload, result: nil, fence: row.fence)
            try rows.insert(intent, of: row.number)
            row.bytes += intent.bytes
            row.lifecycle.intentsChanged(hasUnresolved: true)
            return .perform(intent)
        }
    }

    /// Records the result of an effect, after the effect. Has no effect if the intent has a result.
    ///
    /// - Parameters:
    ///   - state: the new state of the entry, written in the same transaction; nil keeps the state.
    ///   - keepsIntent: false removes the intent, for example because the state contains its result.
    /// - Throws: `leaseLost`; `limit`; `notFound` if the entry has no such intent.
    @discardableResult
    package func recordResult(
        _ result: [UInt8], of intent: Int64, state: [UInt8]? = nil, keepsIntent: Bool = true, _ lease: JournalLease
    ) throws(JournalError) -> JournalSignals {
        try options.limits.check(intentValue: result, "result of an intent", lease.id)
        if let state { try options.limits.check(value: state, "state", lease.id) }
        return try hold(lease) { (row, rows, _) throws(JournalError) in
            let found = try Journal.intent(intent, of: row, rows)
            if !keepsIntent {
                try rows.removeIntent(intent, of: row.number)
                row.bytes -= found.bytes
            } else if found.result == nil {
                try rows.complete(intent, of: row.number, with: result)
                row.bytes += Int64(result.count)
            }
            if let state { row.bytes += try rows.write(state, .state, of: row.number) }
            row.lifecycle.intentsChanged(hasUnresolved: try rows.hasUnresolvedIntents(row.number))
        }
    }

    /// Removes an intent without a result, because the worker has found out that its effect did not happen.
    ///
    /// - Throws: `leaseLost`; `notFound` if the entry has no such intent; `wrongPhase` if the intent has a result.
    @discardableResult
    package func withdrawIntent(_ intent: Int64, _ lease: JournalLease) throws(JournalError) -> JournalSignals {
        try hold(lease) { (row, rows, _) throws(JournalError) in
            let found = try Journal.intent(intent, of: row, rows)
            guard found.result == nil else {
                throw JournalError(
                    .wrongPhase,
                    "the intent \(quoted(found.name)) of the journal entry \(quoted(row.id)) cannot be withdrawn: it has a result"
                )
            }
            try rows.removeIntent(intent, of: row.number)
            row.bytes -= found.bytes
            row.lifecycle.intentsChanged(hasUnresolved: try rows.hasUnresolvedIntents(row.number))
        }
    }

    private static func intent(
        _ number: Int64, of row: JournalRow, _ rows: JournalRows
    ) throws(JournalError) -> JournalIntent {
        guard let intent = try rows.intent(number: number, of: row.number) else {
            throw JournalError(.notFound, "the journal entry \(quoted(row.id)) has no intent \(number)")
        }
        return intent
    }
}
