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
        /// The attempt to connect failed with a permanent error.
        case permanent
        case attemptsExhausted
        /// The server requested a wait longer than ``Settings/longestWait``.
        case serverRequestedLongWait(Duration)
    }

    private let settings: Settings
    private var attempts = 0
    private var openedAt: UInt64?

    package init(_ settings: Settings = Settings()) { self.settings = settings }

    /// The number of attempts since the last stable connection.
    package var attemptsInARow: Int { attempts }

    /// Reports that a connection has opened.
    package mutating func opened(now: UInt64) { openedAt = now }

    /// Handles the end of an open connection.
    package mutating func closed(
        _ closure: WebSocketClosure, now: UInt64, using random: inout some RandomNumberGenerator
    ) -> Verdict {
        if let openedAt, now >= openedAt.later(by: settings.stableAfter) { attempts = 0 }
        openedAt = nil
        guard !closure.isRequested else { return .stop(.closedByCaller) }
        guard settings.codes.contains(closure.code) else { return .stop(.code(closure.code)) }
        return again(using: &random)
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
