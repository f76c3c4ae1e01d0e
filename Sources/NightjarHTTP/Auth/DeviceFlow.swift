/// Polls the token endpoint until the user has granted or denied access on another device. RFC 8628 section 3.5.
///
///     idle ──begin──▶ waiting ──timer──▶ polling ──token──▶ ended
///                        ▲◀──pending, slow_down, network──┤
///                        └──code expired──▶ ended ◀───────┴──refused
///
/// Times are nanoseconds of a monotonic clock.
public struct DeviceFlow: Sendable {
    public enum Action: Sendable, Equatable {
        /// Show the code and the page to the user.
        case show(userCode: String, page: String, completePage: String?)
        /// Start a timer and call ``timerFired(now:)`` when it expires.
        case startTimer(Duration)
        /// Send ``OAuthRequest/deviceCode(_:client:)`` and report its result to ``received(_:now:)``.
        case poll(deviceCode: String)
        case done(Token)
        case fail(Reason)
    }

    public enum Reason: Sendable, Equatable {
        case denied
        /// The user did not enter the code in time.
        case expired
        case refused(TokenResponse.Refusal)
        /// A poll failed with an error that is not retryable.
        case failed(ErrorKind, String)
    }

    private enum State { case idle, waiting, polling, ended }

    private let authorization: DeviceAuthorization
    private var state = State.idle
    private var interval: Duration
    /// The number of consecutive polls that failed with a temporary error, at most ``maximumDoublings``.
    private var failures = 0
    private var expiry: UInt64 = 0

    /// The increase of the interval after `slow_down`. RFC 8628 section 3.5.
    private static let slowdown = Duration.seconds(5)
    /// The maximum number of times that the interval is doubled.
    private static let maximumDoublings = 6

    public init(_ authorization: DeviceAuthorization) {
        self.authorization = authorization
        interval = authorization.interval
    }

    /// Starts the flow. Must be called when the authorization response arrives, because the code's lifetime is counted
    /// from `now`.
    public mutating func begin(now: UInt64) -> [Action] {
        guard case .idle = state else { return [] }
        expiry = now.later(by: authorization.lifetime)
        return [
            .show(
                userCode: authorization.userCode, page: authorization.page, completePage: authorization.completePage)
        ] + scheduleNextPoll(interval, now)
    }

    public mutating func timerFired(now: UInt64) -> [Action] {
        guard case .waiting = state else { return [] }
        guard now < expiry else { return end(.fail(.expired)) }
        state = .polling
        return [.poll(deviceCode: authorization.deviceCode)]
    }

    /// Handles the response of the token endpoint. Each consecutive temporary error doubles the wait before the next
    /// poll, up to 64 times the interval. The wait is at least the error's `retryAfter` and at most the remaining
    /// lifetime of the code.
    public mutating func received(_ result: Result<TokenResponse, NightjarError>, now: UInt64) -> [Action] {
        guard case .polling = state else { return [] }
        switch result {
        case .success(.token(let token)): return end(.done(token))
        case .success(.refused(let refusal)):
            failures = 0
            switch refusal.code {
            case "authorization_pending": return scheduleNextPoll(interval, now)
            case "slow_down":
                interval += DeviceFlow.slowdown
                return scheduleNextPoll(interval, now)
            case "access_denied": return end(.fail(.denied))
            case "expired_token": return end(.fail(.expired))
            default: return end(.fail(.refused(refusal)))
            }
        case .failure(let error):
            guard error.isRetryable else { return end(.fail(.failed(error.kind, error.message))) }
            failures = min(failures + 1, DeviceFlow.maximumDoublings)
            return scheduleNextPoll(max(interval * (1 << failures), error.retryAfter ?? .zero), now)
        }
    }

    /// Starts the timer for the next poll. The timer fires no later than the expiry of the code.
    private mutating func scheduleNextPoll(_ wait: Duration, _ now: UInt64) -> [Action] {
        state = .waiting
        return [.startTimer(min(wait, now.wait(until: expiry)))]
    }

    private mutating func end(_ action: Action) -> [Action] {
        state = .ended
        return [action]
    }
}

extension DeviceFlow.Action: CustomStringConvertible, CustomReflectable {
    /// Contains the user code, but neither the device code nor the token.
    public var description: String {
        switch self {
        case .show(let code, let page, _): "show \(code) for \(page)"
        case .startTimer(let wait): "start timer of \(wait.inSeconds) s"
        case .poll: "poll"
        case .done: "done"
        case .fail(let reason): "fail: \(reason)"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension DeviceFlow.Reason {
    public var error: NightjarError {
        switch self {
        case .denied: NightjarError(.unauthorized, "the login failed: the user denied access")
        case .expired:
            NightjarError(
                .unauthorized, "the login failed: the code expired before the user completed the login; log in again")
        case .refused(let refusal): refusal.error
        case .failed(let kind, let message): NightjarError(kind, "the login failed: \(message)")
        }
    }
}
