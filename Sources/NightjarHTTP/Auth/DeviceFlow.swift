/// Asks a server again and again whether the user, at another device, has let us in. RFC 8628 section 3.5.
///
///     idle ──begin──▶ resting ──timer──▶ asking ──token──▶ ended
///                        ▲◀──pending, slow_down, network──┤
///                        └──code expired──▶ ended ◀───────┴──refused
///
/// Moments are nanoseconds of a clock that does not jump.
public struct DeviceFlow: Sendable {
    public enum Action: Sendable, Equatable {
        /// To the user.
        case show(userCode: String, page: String, completePage: String?)
        /// Tell ``timerFired(now:)`` after so long.
        case startTimer(Duration)
        /// Send ``OAuthRequest/deviceCode(_:client:)``, and tell ``answered(_:now:)``.
        case ask(deviceCode: String)
        case done(Token)
        case fail(Reason)
    }

    public enum Reason: Sendable, Equatable {
        case denied
        /// The user took too long.
        case expired
        case refused(TokenResponse.Refusal)
        /// An error that asking again would meet again.
        case failed(ErrorKind, String)
    }

    private enum State { case idle, resting, asking, ended }

    private let authorization: DeviceAuthorization
    private var state = State.idle
    private var interval: Duration
    /// In a row, for want of an answer.
    private var failures = 0
    private var expiry: UInt64 = 0

    /// RFC 8628 section 3.5, `slow_down`.
    private static let slowdown = Duration.seconds(5)
    /// As often the interval is doubled, at most.
    private static let mostDoublings = 6

    public init(_ authorization: DeviceAuthorization) {
        self.authorization = authorization
        interval = authorization.interval
    }

    /// The authorization came just now.
    public mutating func begin(now: UInt64) -> [Action] {
        guard case .idle = state else { return [] }
        expiry = now.later(by: authorization.lifetime)
        return [
            .show(
                userCode: authorization.userCode, page: authorization.page, completePage: authorization.completePage)
        ] + rest(interval, now)
    }

    public mutating func timerFired(now: UInt64) -> [Action] {
        guard case .resting = state else { return [] }
        guard now < expiry else { return end(.fail(.expired)) }
        state = .asking
        return [.ask(deviceCode: authorization.deviceCode)]
    }

    /// - Parameter answer: of the token endpoint. An error that time may mend is asked past, at half the pace each time.
    public mutating func answered(_ answer: Result<TokenResponse, NightjarError>, now: UInt64) -> [Action] {
        guard case .asking = state else { return [] }
        switch answer {
        case .success(.token(let token)): return end(.done(token))
        case .success(.refused(let refusal)):
            failures = 0
            switch refusal.code {
            case "authorization_pending": return rest(interval, now)
            case "slow_down":
                interval += DeviceFlow.slowdown
                return rest(interval, now)
            case "access_denied": return end(.fail(.denied))
            case "expired_token": return end(.fail(.expired))
            default: return end(.fail(.refused(refusal)))
            }
        case .failure(let error):
            guard error.isRetryable else { return end(.fail(.failed(error.kind, error.message))) }
            failures = min(failures + 1, DeviceFlow.mostDoublings)
            return rest(max(interval * (1 << failures), error.retryAfter ?? .zero), now)
        }
    }

    /// What is left of the code's life is waited out: the user may be about to enter it.
    private mutating func rest(_ wait: Duration, _ now: UInt64) -> [Action] {
        state = .resting
        return [.startTimer(min(wait, now.wait(until: expiry)))]
    }

    private mutating func end(_ action: Action) -> [Action] {
        state = .ended
        return [action]
    }
}

extension DeviceFlow.Action: CustomStringConvertible, CustomReflectable {
    /// Without what is between us and the server.
    public var description: String {
        switch self {
        case .show(let code, let page, _): "show \(code) for \(page)"
        case .startTimer(let wait): "start timer of \(wait.inSeconds) s"
        case .ask: "ask"
        case .done: "done"
        case .fail(let reason): "fail: \(reason)"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension DeviceFlow.Reason {
    public var error: NightjarError {
        switch self {
        case .denied: NightjarError(.unauthorized, "the user did not let this program in")
        case .expired: NightjarError(.unauthorized, "the code ran out before the user entered it: log in again")
        case .refused(let refusal): refusal.error
        case .failed(let kind, let message): NightjarError(kind, "the login's token was not received: \(message)")
        }
    }
}
