import NightjarHTTP

/// A limit of a ``Journal``. See ``JournalLimits``.
package enum JournalLimit: String, Sendable {
    case maximumEntries = "maximum_entries"
    case maximumBytes = "maximum_bytes"
    case maximumValue = "maximum_value"
    case maximumIntents = "maximum_intents"
    case maximumIntentValue = "maximum_intent_value"
}

/// An error of a ``Journal``. ``failure`` is the error for callers of the library.
package struct JournalError: Error, Sendable, CustomStringConvertible {
    package enum Cause: Sendable {
        /// The lease is not current: another worker took the entry, or the entry was finished, released or removed.
        /// The write had no effect, and the worker must stop.
        case leaseLost
        /// An entry with the same id and another kind or input exists.
        case conflict
        /// No entry has the id, or the entry has no intent with the number.
        case notFound
        /// The phase or the intents of the entry do not allow the operation.
        case wrongPhase
        case limit(JournalLimit)
        case invalidArgument
        /// The parent process had a journal open when it forked.
        case forked
        case database(DatabaseError)
    }

    package let cause: Cause
    /// The operation that failed, the reason, and the action that helps.
    package let message: String

    init(_ cause: Cause, _ message: String) {
        self.cause = cause
        self.message = message
    }

    init(_ error: DatabaseError) {
        let advice =
            switch error.cause {
            case .damaged: "; the next operation moves the file aside and creates a new one"
            // The reason already contains the advice.
            case .foreign, .other: ""
            case .newer: "; update this program, or use another path"
            case .busy: "; another process kept it locked for too long; try again"
            case .full: "; free some disk space; the previous content is unchanged"
            case .readOnly: "; the file and its folder must be writable by this process"
            }
        self.init(.database(error), "the journal \(quoted(error.path, limit: 200)) \(error.reason)\(advice)")
    }

    static func leaseLost(_ id: String, _ reason: String) -> JournalError {
        JournalError(
            .leaseLost,
            "the write to the journal entry \(quoted(id)) was rejected: \(reason); stop working on the entry")
    }

    static func notFound(_ id: String) -> JournalError {
        JournalError(.notFound, "the journal has no entry \(quoted(id)); it was removed or never added")
    }

    static func forked(_ path: String) -> JournalError {
        JournalError(
            .forked,
            "the journal \(quoted(path)) cannot be used: the parent process had a journal open when it forked; fork before a journal is opened, or start the child with exec"
        )
    }

    package var failure: NightjarError {
        switch cause {
        case .leaseLost, .wrongPhase: NightjarError(.storage, message)
        case .conflict, .notFound, .invalidArgument: NightjarError(.invalidArgument, message)
        case .limit: NightjarError(.tooLarge, message)
        case .forked: NightjarError(.forked, message)
        case .database(let error): NightjarError(.storage, message, code: error.code)
        }
    }

    package var description: String { message }
}
