/// The state machine of one attempt to deliver an entry of an outbox. It decides what is sent, and what the outcome means
/// for the entry.
///
///     start ──▶ sending ──2xx──▶ complete
///       │          ├──409, 412──▶ fetching ──▶ hold as a conflict
///       │          ├──temporary failure──▶ retry, or park after the last attempt
///       │          ├──other status──▶ park
///       │          └──lost response to a write that must not be repeated──▶ hold in doubt
///       └── too old ──▶ park;  an earlier attempt is in doubt ──▶ hold in doubt
package struct OutboxDelivery: Sendable {
    /// The next step of the caller.
    package enum Action: Sendable {
        /// Send the write, and then call ``responded(_:retryAfter:using:)`` or ``failed(_:using:)``.
        case send
        /// Fetch the present version of the resource, and then call the same functions.
        case fetch
        /// The response is the result.
        case complete
        /// Hold the entry until the program decides.
        case hold(OutboxState, NightjarError)
        case retry(Retry)
    }

    /// A later attempt.
    package struct Retry: Sendable, Equatable {
        package var delay: Duration
        /// False if no server was reached.
        package var countsAttempt = true
    }

    /// The entry at the start of the attempt.
    package struct Entry: Sendable {
        package var method: Method
        /// Whether the write has an idempotency key that the server honors.
        package var hasKey: Bool
        /// The number of attempts, with this one.
        package var attempts = 1
        /// Whether the outcome of an earlier attempt is unknown.
        package var isUnresolved = false
        /// The number of 409 responses in sequence to a repeated write; see ``responded(_:retryAfter:using:)``.
        package var repeatedConflicts = 0
        package var age = Duration.zero

        package init(method: Method, hasKey: Bool) { (self.method, self.hasKey) = (method, hasKey) }

        /// Whether the write may be sent again although the server may have processed it.
        var canRepeat: Bool { hasKey || method.isIdempotent }
    }

    private enum Phase { case idle, sending, fetching, ended }

    private let entry: Entry
    private let settings: OutboxSettings
    private var phase = Phase.idle
    private var conflictStatus = 0
    /// Whether the outcome of this attempt or an earlier one is unknown.
    package private(set) var isUnresolved: Bool
    package private(set) var repeatedConflicts = 0
    /// Whether the attempt has failed before it reached a server.
    package private(set) var isUnreachable = false

    package init(_ entry: Entry, _ settings: OutboxSettings) {
        (self.entry, self.settings) = (entry, settings)
        isUnresolved = entry.isUnresolved
    }

    // MARK: Events

    package mutating func start() -> Action {
        guard phase == .idle else { return illegal() }
        guard entry.age <= settings.maximumAge else {
            return hold(
                .parked,
                NightjarError(
                    .timeout,
                    "the entry was not delivered within max_age (\(settings.maximumAge.inSeconds) s); retry or remove it"
                ))
        }
        if isUnresolved, !entry.canRepeat { return inDoubt() }
        phase = .sending
        return .send
    }

    /// The client has sent the write twice in this attempt, because an idle connection was lost. Call this method before the
    /// method for the outcome.
    package mutating func repeated() { if phase == .sending { isUnresolved = true } }

    /// - Parameter retryAfter: The wait that the response asks for.
    package mutating func responded(
        _ status: Int, retryAfter: Duration?, using random: inout some RandomNumberGenerator
    ) -> Action {
        switch phase {
        case .sending: return written(status, retryAfter, &random)
        case .fetching: return fetched(status, retryAfter, &random)
        case .idle, .ended: return illegal()
        }
    }

    package mutating func failed(
        _ error: NightjarError, using random: inout some RandomNumberGenerator
    ) -> Action {
        switch phase {
        case .idle, .ended: return illegal()
        // The version cannot be stored.
        case .fetching where [.tooLarge, .decoding, .protocol].contains(error.kind): return conflict()
        // The server has rejected the write. The next attempt is rejected again, unless the resource has changed back.
        case .fetching: return retry(after: error.retryAfter, error, &random)
        case .sending: break
        }
        let mayBeProcessed = error.requestMayHaveBeenProcessed
        switch error.kind {
        case .offline, .dns, .connect, .tls, .pinMismatch, .timeout:
            return mayBeProcessed ? lost(error, &random) : unreachable()
        case .cancelled, .closed, .noMemory, .storage:
            isUnresolved = isUnresolved || mayBeProcessed
            return end(.retry(Retry(delay: .zero, countsAttempt: false)))
        case .tooLarge where (error.status.map { 200..<300 ~= $0 } ?? false):
            // The write was accepted. Its response is too large to be stored.
            return end(.complete)
        case .unauthorized: return retry(after: error.retryAfter, error, &random)
        default:
            if mayBeProcessed { return lost(error, &random) }
            guard error.isRetryable else { return hold(.parked, error) }
            // Without a status, a limit of the client has rejected the call, or a connection was closed before the request.
            return error.status == nil
                ? end(.retry(Retry(delay: delay(error.retryAfter, &random), countsAttempt: false)))
                : retry(after: error.retryAfter, error, &random)
        }
    }

    // MARK: Decisions

    private mutating func written(
        _ status: Int, _ retryAfter: Duration?, _ random: inout some RandomNumberGenerator
    ) -> Action {
        switch status {
        // The server has processed the write, and refers to the result (RFC 9110 section 15.4.4).
        case 200..<300, 303: return end(.complete)
        // The earlier attempt has deleted the resource.
        case 404, 410:
            if entry.method == .delete, isUnresolved { return end(.complete) }
            return rejected(status)
        // The server may still process the earlier attempt (draft-ietf-httpapi-idempotency-key-header section 2.6).
        case 409 where isUnresolved && entry.hasKey && entry.repeatedConflicts < Self.mostRepeatedConflicts:
            repeatedConflicts = entry.repeatedConflicts + 1
            return retry(after: retryAfter, Self.error(status), &random)
        case 409, 412:
            conflictStatus = status
            // The URL of a POST is not that of the version.
            guard entry.method != .post else { return conflict() }
            phase = .fetching
            return .fetch
        case 401, 408, 425, 429, 503: return retry(after: retryAfter, Self.error(status), &random)
        case 500, 502, 504:
            return lost(NightjarError(Self.error(status), retryAfter: retryAfter), &random)
        // The network has responded, and not the server (RFC 6585 section 6).
        case 511: return unreachable()
        default: return rejected(status)
        }
    }

    /// No server was reached. The schedule decides when the next attempt starts.
    private mutating func unreachable() -> Action {
        isUnreachable = true
        return end(.retry(Retry(delay: .zero, countsAttempt: false)))
    }

    private mutating func fetched(
        _ status: Int, _ retryAfter: Duration?, _ random: inout some RandomNumberGenerator
    ) -> Action {
        switch status {
        case 401, 408, 425, 429, 500, 502, 503, 504: retry(after: retryAfter, Self.error(status), &random)
        default: conflict()
        }
    }

    private mutating func conflict() -> Action {
        hold(
            .conflict,
            NightjarError(
                .contentChanged,
                "the server rejected the write with status \(conflictStatus), because the resource has changed; resolve the conflict, or remove the entry"
            ))
    }

    private mutating func rejected(_ status: Int) -> Action { hold(.parked, Self.error(status)) }

    /// The response was lost, or does not show whether the write was processed.
    private mutating func lost(_ error: NightjarError, _ random: inout some RandomNumberGenerator) -> Action {
        isUnresolved = true
        guard entry.canRepeat else { return inDoubt() }
        return retry(after: error.retryAfter, error, &random)
    }

    private mutating func inDoubt() -> Action {
        hold(
            .inDoubt,
            NightjarError(
                .contentChanged,
                "the response to the write was lost, and the write has no idempotency key; check the resource, and then retry or remove the entry",
                requestMayHaveBeenProcessed: true))
    }

    private mutating func retry(
        after wait: Duration?, _ error: NightjarError, _ random: inout some RandomNumberGenerator
    ) -> Action {
        guard entry.attempts < settings.maximumAttempts else {
            return hold(
                .parked,
                NightjarError(
                    error.kind,
                    "the entry failed max_attempts (\(settings.maximumAttempts)) times; the last error: \(error.message)"
                ))
        }
        return end(.retry(Retry(delay: delay(wait, &random))))
    }

    /// - Parameter wait: The wait that the server asks for.
    private func delay(_ wait: Duration?, _ random: inout some RandomNumberGenerator) -> Duration {
        let backoff = settings.backoff.wait(afterAttempt: entry.attempts, using: &random)
        return max(backoff, min(wait ?? .zero, Self.longestWait))
    }

    private mutating func hold(_ state: OutboxState, _ error: NightjarError) -> Action {
        var facts = error.facts
        if isUnresolved { facts.requestMayHaveBeenProcessed = true }
        return end(.hold(state, NightjarError(facts)))
    }

    private mutating func end(_ action: Action) -> Action {
        phase = .ended
        return action
    }

    private mutating func illegal() -> Action {
        assertionFailure("the event does not belong to this phase")
        return end(.retry(Retry(delay: settings.retryDelay)))
    }

    private static func error(_ status: Int) -> NightjarError {
        var facts = NightjarError.Facts(
            ErrorKind(unexpectedStatus: status), "the server rejected the write with status \(status)")
        facts.status = status
        return NightjarError(facts)
    }

    private static let mostRepeatedConflicts = 5
    private static let longestWait = Duration.seconds(86_400)
}

extension NightjarError {
    fileprivate init(_ error: NightjarError, retryAfter: Duration?) {
        var facts = error.facts
        facts.retryAfter = retryAfter
        self.init(facts)
    }
}
