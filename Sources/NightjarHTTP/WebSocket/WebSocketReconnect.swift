/// Decides whether and when a closed WebSocket is connected again.
///
///     waiting ──opened──▶ open ──closed──▶ waiting, or stopped
///        └──failed──▶ waiting, or stopped
///
/// The waits grow until a connection has stayed open for ``Settings/stableAfter``, so a server that accepts and
/// immediately closes connections is not contacted in a fast loop. Times are nanoseconds of a monotonic clock.
package struct WebSocketReconnect: Sendable {
    package struct Settings: Sendable, Equatable {
        /// The close codes after which the client connects again: the server goes away, the connection is lost, or the
        /// server has a temporary problem.
        package var codes: Set<WebSocketCloseCode> = [
            .goingAway, .abnormal, .internalError, .serviceRestart, .tryAgainLater, .badGateway,
        ]
        /// The maximum number of attempts in a row. Nil for no limit.
        package var maximumAttempts: Int?
        package var backoff = Backoff(base: .milliseconds(500), cap: .seconds(30))
        /// The longest wait that a server may request with Retry-After.
        package var longestWait = Duration.seconds(300)
        /// The time after which an open connection counts as stable.
        package var stableAfter = Duration.seconds(10)

        package init() {}
    }

    package enum Verdict: Sendable, Equatable {
        case again(after: Duration)
        case stop(Reason)
    }

    package enum Reason: Sendable, Equatable {
        /// The caller closed the connection.
        case closedByCaller
        /// The code is not in ``Settings/codes``.
        case code(WebSocketCloseCode)
        /// The server rejected the token of two connections in a row.
        case tokenRejected
        /// The attempt to connect failed with a permanent error.
        case permanent
        case attemptsExhausted
        /// The server requested a wait longer than ``Settings/longestWait``.
        case serverRequestedLongWait(Duration)
    }

    private let settings: Settings
    private var attempts = 0
    private var openedAt: UInt64?
    /// Whether the server rejected the token of the last connection, and no connection has succeeded since then.
    private var tokenWasRejected = false

    package init(_ settings: Settings = Settings()) { self.settings = settings }

    /// The number of attempts since the last stable connection.
    package var attemptsInARow: Int { attempts }

    /// Reports that a connection has opened.
    package mutating func opened(now: UInt64) { openedAt = now }

    /// Handles the end of an open connection.
    package mutating func closed(
        _ closure: WebSocketClosure, now: UInt64, using random: inout some RandomNumberGenerator
    ) -> Verdict {
        noteStability(at: now)
        guard !closure.isRequested else { return .stop(.closedByCaller) }
        guard settings.codes.contains(closure.code) else { return .stop(.code(closure.code)) }
        return again(using: &random)
    }

    /// Reports that the server has sent content, so it has accepted the token.
    package mutating func delivered() { tokenWasRejected = false }

    /// Handles the end of an open connection because the server rejected its token. As after a 401 response, the client
    /// connects again at once with a new token, and only once until a connection succeeds: until content arrives, or until
    /// it was stable.
    package mutating func tokenRejected(now: UInt64) -> Verdict {
        noteStability(at: now)
        guard !tokenWasRejected else { return .stop(.tokenRejected) }
        tokenWasRejected = true
        return .again(after: .zero)
    }

    private mutating func noteStability(at now: UInt64) {
        if let openedAt, now >= openedAt.later(by: settings.stableAfter) { (attempts, tokenWasRejected) = (0, false) }
        openedAt = nil
    }

    /// Handles a failed attempt to connect.
    package mutating func failed(
        _ error: NightjarError, using random: inout some RandomNumberGenerator
    ) -> Verdict {
        guard error.isRetryable else { return .stop(.permanent) }
        let requested = error.retryAfter ?? .zero
        guard requested <= settings.longestWait else { return .stop(.serverRequestedLongWait(requested)) }
        let verdict = again(using: &random)
        guard case .again(let wait) = verdict else { return verdict }
        return .again(after: max(wait, requested))
    }

    private mutating func again(using random: inout some RandomNumberGenerator) -> Verdict {
        guard attempts < settings.maximumAttempts ?? .max else { return .stop(.attemptsExhausted) }
        attempts += 1
        return .again(after: settings.backoff.wait(afterAttempt: attempts, using: &random))
    }
}
