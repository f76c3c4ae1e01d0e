/// The phase of a journal entry. The numbers are stored.
package enum JournalPhase: Int64, Sendable, CaseIterable {
    /// The entry waits for a worker.
    case pending = 0
    /// A worker has a lease of the entry, or had one that has expired.
    case running = 1
    /// An effect may or may not have happened, and the worker could not find out. The caller decides.
    case inDoubt = 2
    case done = 3
    case failed = 4
    case cancelled = 5

    package var isFinished: Bool { rawValue >= JournalPhase.inDoubt.rawValue }

    package var name: String {
        switch self {
        case .pending: "pending"
        case .running: "running"
        case .inDoubt: "in doubt"
        case .done: "done"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }
}

/// The end of the work on an entry.
package enum JournalEnding: Sendable, CaseIterable {
    case done
    /// The work failed permanently.
    case failed
    case cancelled
    case inDoubt

    var phase: JournalPhase {
        switch self {
        case .done: .done
        case .failed: .failed
        case .cancelled: .cancelled
        case .inDoubt: .inDoubt
        }
    }
}

/// The transitions of a journal entry.
///
///     add ──▶ pending ──take──▶ running ──finish──▶ finished ──acknowledge──▶ acknowledged
///              ▲ ▲ │              │                  ▲   │
///              │ └─┼───release────┘                  │   │
///              │   └────cancel───────────────────────┘   │
///              └────────────────retry────────────────────┘
///
/// - A finished entry is done, failed, cancelled or in doubt.
/// - A running entry is taken again after its lease has expired.
/// - An entry that is done is not retried. An entry in doubt can also be resolved as done, failed or cancelled.
/// - Only an entry without unresolved intents is done, failed or cancelled by its worker.
/// - A cancellation of a running entry, or of a pending entry with unresolved intents, is only a request to the worker.
struct JournalLifecycle: Sendable, Equatable {
    private(set) var phase = JournalPhase.pending
    private(set) var isCancelRequested = false
    private(set) var isPaused = false
    private(set) var isAcknowledged = false
    /// Whether the entry has intents without results.
    private(set) var hasUnresolvedIntents = false

    /// The reason why an event is not possible. Completes the sentence `the entry cannot be …:`.
    struct Rejection: Error, Equatable {
        let reason: String
    }

    init() {}

    /// Restores a stored entry.
    init(
        _ phase: JournalPhase, isCancelRequested: Bool, isPaused: Bool, isAcknowledged: Bool, hasUnresolvedIntents: Bool
    ) {
        self.phase = phase
        self.isCancelRequested = isCancelRequested
        self.isPaused = isPaused
        self.isAcknowledged = isAcknowledged
        self.hasUnresolvedIntents = hasUnresolvedIntents
    }

    // MARK: Events of workers

    /// A worker takes the entry.
    ///
    /// - Parameter isLeaseOver: whether the lease of a running entry has expired or its process has ended.
    /// - Returns: false if the entry cannot be taken now.
    mutating func take(isLeaseOver: Bool) throws(Rejection) -> Bool {
        switch phase {
        case .pending: break
        case .running: guard isLeaseOver else { return false }
        case .inDoubt, .done, .failed, .cancelled: throw rejection
        }
        guard !isPaused else { return false }
        phase = .running
        return true
    }

    /// The worker ends its lease without finishing the entry.
    mutating func release() throws(Rejection) {
        guard phase == .running else { throw rejection }
        phase = isCancelRequested && !hasUnresolvedIntents ? .cancelled : .pending
    }

    mutating func finish(as ending: JournalEnding) throws(Rejection) {
        guard phase == .running else { throw rejection }
        guard ending == .inDoubt || !hasUnresolvedIntents else {
            throw Rejection(
                reason:
                    "it has intents without results; record the results, withdraw the intents, or finish it as in doubt"
            )
        }
        phase = ending.phase
    }

    /// The worker has recorded, completed or withdrawn an intent.
    mutating func intentsChanged(hasUnresolved: Bool) { hasUnresolvedIntents = hasUnresolved }

    // MARK: Events of callers

    /// Requests the cancellation. Ends a pause. Has no effect on a finished entry.
    mutating func cancel() {
        switch phase {
        case .pending where !hasUnresolvedIntents: phase = .cancelled
        case .pending, .running: break
        case .inDoubt, .done, .failed, .cancelled: return
        }
        isCancelRequested = true
        isPaused = false
    }

    mutating func pause(_ isPaused: Bool) throws(Rejection) {
        guard !phase.isFinished else { throw rejection }
        if isPaused, isCancelRequested { throw Rejection(reason: "its cancellation is requested") }
        self.isPaused = isPaused
    }

    /// The caller has decided that the work is done again. Effects in doubt may be repeated: their intents are
    /// withdrawn.
    mutating func retry() throws(Rejection) {
        switch phase {
        case .inDoubt, .failed, .cancelled: break
        case .pending, .running, .done: throw rejection
        }
        if isAcknowledged { throw Rejection(reason: "it is acknowledged; add the work with another id") }
        phase = .pending
        isCancelRequested = false
        hasUnresolvedIntents = false
    }

    /// The caller has found out the outcome of an entry in doubt.
    mutating func resolve(as ending: JournalEnding) throws(Rejection) {
        guard phase == .inDoubt, !isAcknowledged else { throw rejection }
        phase = ending.phase
    }

    mutating func acknowledge() throws(Rejection) {
        guard phase.isFinished else { throw rejection }
        isAcknowledged = true
    }

    /// Checks that the entry can be removed.
    func remove(isLeaseOver: Bool) throws(Rejection) {
        guard phase == .running, !isLeaseOver else { return }
        throw Rejection(reason: "a worker has a lease of it; cancel it and wait for its end")
    }

    private var rejection: Rejection {
        Rejection(reason: "it is \(isAcknowledged ? "acknowledged" : phase.name)")
    }
}
