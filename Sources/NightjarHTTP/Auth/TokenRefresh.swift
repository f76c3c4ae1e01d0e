/// Shares one token refresh among any number of calls whose token has expired or was refused.
///
///     signed out ──loggedIn──▶ held ──401, expiry, an earlier failure──▶ refreshing ──succeeded──▶ held, next version
///                                                                          ├──invalid_grant──▶ signed out
///                                                                          └──other failure──▶ held, version failed
///
/// The machine handles versions of tokens, not tokens. The caller must carry out the actions in order. An action may
/// complete synchronously, because the state is final before the actions are returned. Actions that call external code
/// come last. The refresh itself must not use this machine, or it would wait for itself.
public struct TokenRefresh: Sendable {
    public typealias Call = UInt64
    public typealias Version = UInt64

    /// A point in time on two clocks: the wall clock for expiry times, and a monotonic clock for timers and limits.
    public struct Moment: Sendable, Equatable {
        public var wall: Timestamp
        /// Nanoseconds of the monotonic clock.
        public var steady: UInt64

        public init(wall: Timestamp, steady: UInt64) {
            self.wall = wall
            self.steady = steady
        }
    }

    /// A refresh, and the version of the token that it replaces.
    public struct Refresh: Sendable, Equatable {
        public let number: UInt64
        public let version: Version
    }

    public enum Failure: Sendable, Equatable {
        /// The server no longer accepts the login. RFC 6749 section 5.2.
        case invalidGrant
        /// Any other refusal. The login is unaffected.
        case refused
        /// The server responded with the status 429. The login is unaffected.
        case rateLimited
        /// The server responded with a status of 500 or above. The login is unaffected.
        case serverFailed
        /// The caller's token provider failed or returned an invalid token. The login is unaffected.
        case providerFailed
        case network
        case timedOut
        /// The credential store cannot be read, written or locked.
        case storage
    }

    public enum Reason: Sendable, Equatable {
        /// The server responded 401 again after the call was sent with another token.
        case unauthorized
        case loginRequired
        case refreshFailed(Failure)
        case tooManyRefreshes(retryAfter: Duration)
    }

    public enum Action: Sendable, Equatable {
        case attach(Call, Version)
        case wait(Call)
        /// Start a refresh and report its result with ``succeeded(_:expiry:canRefresh:wasExchanged:at:)`` or
        /// ``failed(_:_:wasExchanged:)``.
        case startRefresh(Refresh)
        case replay(Call, Version)
        case fail(Call, Reason)
        /// Discard the token.
        case clear
        case callLoginRequired
    }

    /// The settings for token refreshes.
    public struct Settings: Sendable {
        /// The time before the expiry at which a token is treated as expired. Limited to a quarter of the lifetime that
        /// the token had when it was received.
        public var skew = Duration.seconds(30)
        /// The timeout of one refresh, independent of the timeouts of the waiting calls. Zero means no timeout.
        public var timeout = Duration.seconds(30)
        public var refreshLimit = 5
        public var refreshWindow = Duration.seconds(30)

        public init() {}
    }

    @usableFromInline
    struct Held: Sendable {
        @usableFromInline var version: Version
        @usableFromInline var refreshesFrom: Timestamp?
        @usableFromInline var canRefresh: Bool
        /// True if the token may be sent while the refresh limit is reached, although a refresh is due. False for a
        /// token from a login or a store that had already expired.
        @usableFromInline var mayServe: Bool
        /// The reason why the last refresh of this token failed. The next call that requests the token then starts
        /// another refresh.
        @usableFromInline var failure: Reason?
    }

    @usableFromInline
    struct Running: Sendable {
        var refresh: Refresh
        var deadline: UInt64
    }

    private let settings: Settings
    private let isShared: Bool
    @usableFromInline private(set) var held: Held?
    @usableFromInline private(set) var running: Running?
    private var lastVersion: Version = 0
    private var lastNumber: UInt64 = 0
    /// Results of refreshes up to this number are ignored.
    private var settledNumber: UInt64 = 0
    /// The start times of the refreshes within the window, on the monotonic clock. At most as many as the limit.
    private var starts: [UInt64] = []
    private var queue: [Call] = []
    /// Maps each waiting call to true if the call was sent before. Calls that have been removed may still be in
    /// `queue`.
    private var waiting: [Call: Bool] = [:]
    private var replayed: Set<Call> = []

    /// - Parameter isShared: true if other clients may put a new token into the store. A refused token then starts a
    ///   refresh even if the token cannot be refreshed, because the store may contain a new token.
    public init(_ settings: Settings = Settings(), isShared: Bool = false) {
        self.settings = settings
        self.isShared = isShared
    }

    /// The version of the current token. Nil if there is no login.
    public var version: Version? { held?.version }
    public var isRefreshing: Bool { running != nil }
    public var waiterCount: Int { waiting.count }
    /// The time, on the monotonic clock, at which ``timerFired(at:)`` must be called next.
    public var deadline: UInt64? { running?.deadline }

    // MARK: The login

    /// Handles a token from a login, a store or another process. The results of running refreshes are ignored.
    public mutating func loggedIn(expiry: Timestamp?, canRefresh: Bool, at now: Moment) -> [Action] {
        settledNumber = lastNumber
        return hold(
            expiry: expiry, canRefresh: canRefresh, mayServe: expiry.map { $0 > now.wall } ?? true, at: now)
    }

    /// Handles a logout by the user.
    public mutating func loggedOut() -> [Action] {
        guard held != nil else { return [] }
        return forget()
    }

    // MARK: Calls

    /// Returns the version of the token to send. Returns nil if a refresh is due or running, if the last refresh
    /// failed, or if there is no login.
    ///
    /// This is a fast path for ``requestToken(_:at:)`` that allocates no array. It is inlined, because an owner that
    /// stores this machine in a class would otherwise copy the machine.
    @inlinable
    public func usableVersion(at now: Timestamp) -> Version? {
        guard let held, running == nil, held.failure == nil else { return nil }
        if held.canRefresh, let from = held.refreshesFrom, from <= now { return nil }
        return held.version
    }

    /// Handles a call that is about to be sent.
    public mutating func requestToken(_ call: Call, at now: Moment) -> [Action] {
        guard let held else { return [.fail(call, .loginRequired)] }
        if running != nil { return [join(call, wasSent: false)] }
        let isDue = held.canRefresh && held.refreshesFrom.map { $0 <= now.wall } ?? false
        guard held.failure != nil || isDue else { return [.attach(call, held.version)] }
        // The refresh limit is reached, so the current token is sent although a refresh is due. If the token has
        // expired, the server responds with 401.
        if held.failure == nil, held.mayServe, pause(at: now) != nil { return [.attach(call, held.version)] }
        return [join(call, wasSent: false)] + start(at: now)
    }

    /// Handles a 401 response to a call.
    public mutating func refused(_ call: Call, sentWith version: Version, at now: Moment) -> [Action] {
        assert(version <= lastVersion, "the version was never attached to a call")
        guard !replayed.contains(call) else { return [.fail(call, .unauthorized)] }
        guard let held else { return [.fail(call, .loginRequired)] }
        if running != nil { return [join(call, wasSent: true)] }
        if let failure = held.failure { return [.fail(call, failure)] }
        guard version >= held.version else {
            replayed.insert(call)
            return [.replay(call, held.version)]
        }
        return [join(call, wasSent: true)] + start(at: now)
    }

    /// Handles the rejection of a token after the response to its call, such as by the close code of a WebSocket.
    public mutating func rejected(_ version: Version, at now: Moment) -> [Action] {
        assert(version <= lastVersion, "the version was never attached to a call")
        guard let held, running == nil, held.failure == nil, version >= held.version else { return [] }
        return start(at: now)
    }

    /// Handles the end of a call: completion, failure or cancellation. A refresh that the call was waiting for
    /// continues.
    public mutating func ended(_ call: Call) {
        // Fast path: most calls do not wait.
        if !replayed.isEmpty { replayed.remove(call) }
        guard !waiting.isEmpty, waiting.removeValue(forKey: call) != nil else { return }
        if queue.count > 2 * waiting.count + 16 { queue.removeAll { waiting[$0] == nil } }
    }

    // MARK: The refresh

    /// Handles a successful refresh. The caller must use the new token before it carries out the actions.
    ///
    /// - Parameter wasExchanged: false if no token was requested from the server. A refresh that is still running then
    ///   does not count towards the limit of refreshes.
    public mutating func succeeded(
        _ refresh: Refresh, expiry: Timestamp?, canRefresh: Bool, wasExchanged: Bool = true, at now: Moment
    ) -> [Action] {
        if !wasExchanged, running?.refresh == refresh { _ = starts.popLast() }
        // A refresh that timed out may still succeed. Its token is used unless a later refresh has succeeded, or a
        // login or logout has occurred since its start.
        guard held != nil, refresh.number > settledNumber else { return [] }
        settledNumber = refresh.number
        return hold(expiry: expiry, canRefresh: canRefresh, mayServe: true, at: now)
    }

    /// Handles a failed refresh.
    ///
    /// - Parameter wasExchanged: false if no token was requested from the server. A refresh that is still running then
    ///   does not count towards the limit of refreshes.
    public mutating func failed(_ refresh: Refresh, _ failure: Failure, wasExchanged: Bool = true) -> [Action] {
        if !wasExchanged, running?.refresh == refresh { _ = starts.popLast() }
        guard let held, refresh.number > settledNumber, refresh.version == held.version else { return [] }
        if failure == .invalidGrant { return forget() + [.callLoginRequired] }
        guard running?.refresh == refresh else { return [] }
        running = nil
        return abandon(.refreshFailed(failure))
    }

    /// Handles the expiry of the timer.
    public mutating func timerFired(at now: Moment) -> [Action] {
        guard let running, running.deadline <= now.steady else { return [] }
        return failed(running.refresh, .timedOut)
    }

    // MARK: Steps

    private mutating func start(at now: Moment) -> [Action] {
        guard let held else { return [] }
        guard held.canRefresh || isShared else { return forget() + [.callLoginRequired] }
        if let pause = pause(at: now) { return abandon(.tooManyRefreshes(retryAfter: pause)) }
        starts.append(now.steady)
        lastNumber += 1
        let refresh = Refresh(number: lastNumber, version: held.version)
        let (deadline, overflow) = now.steady.addingReportingOverflow(TokenRefresh.nanoseconds(settings.timeout))
        let isUnlimited = overflow || settings.timeout == .zero
        running = Running(refresh: refresh, deadline: isUnlimited ? .max : deadline)
        return [.startRefresh(refresh)]
    }

    /// Returns the wait until the limit allows another refresh, or nil if a refresh may start now.
    private mutating func pause(at now: Moment) -> Duration? {
        let window = TokenRefresh.nanoseconds(settings.refreshWindow)
        starts.removeAll { now.steady >= $0 && now.steady - $0 >= window }
        guard starts.count >= max(settings.refreshLimit, 1), let first = starts.first else { return nil }
        let passed = now.steady >= first ? now.steady - first : 0
        return .nanoseconds(window - min(passed, window))
    }

    private mutating func join(_ call: Call, wasSent: Bool) -> Action {
        if waiting.updateValue(wasSent, forKey: call) == nil { queue.append(call) }
        return .wait(call)
    }

    private mutating func hold(expiry: Timestamp?, canRefresh: Bool, mayServe: Bool, at now: Moment) -> [Action] {
        running = nil
        lastVersion += 1
        let version = lastVersion
        held = Held(
            version: version, refreshesFrom: expiry.flatMap { refreshTime(expiry: $0, now: now.wall) },
            canRefresh: canRefresh, mayServe: mayServe)
        return release().map { call, wasSent in
            guard wasSent else { return .attach(call, version) }
            replayed.insert(call)
            return .replay(call, version)
        }
    }

    private mutating func forget() -> [Action] {
        held = nil
        running = nil
        settledNumber = lastNumber
        return [.clear] + release().map { call, _ in .fail(call, .loginRequired) }
    }

    private mutating func abandon(_ reason: Reason) -> [Action] {
        held?.failure = reason
        return release().map { call, _ in .fail(call, reason) }
    }

    private mutating func release() -> [(Call, Bool)] {
        let calls = queue.compactMap { call in waiting.removeValue(forKey: call).map { (call, $0) } }
        queue.removeAll()
        return calls
    }

    private func refreshTime(expiry: Timestamp, now: Timestamp) -> Timestamp? {
        // Both values are seconds in the years 0 to 9999, so the difference does not overflow.
        let skew = min(settings.skew.inSeconds, Double(max(expiry.seconds - now.seconds, 0)) / 4)
        return Timestamp(secondsSince1970: expiry.seconds - Int64(max(skew, 0)), nanoseconds: expiry.nanoseconds)
    }

    private static func nanoseconds(_ duration: Duration) -> UInt64 { UInt64(max(duration.nanosecondsClamped, 0)) }
}

extension TokenRefresh.Reason {
    public var error: NightjarError {
        switch self {
        case .unauthorized: NightjarError(.unauthorized, "the server rejected the call even with a new token")
        case .loginRequired:
            NightjarError(.unauthorized, "there is no login, or the server has ended the login; log in again")
        case .refreshFailed(.invalidGrant):
            NightjarError(.unauthorized, "the server has ended the login (invalid_grant)")
        case .refreshFailed(.refused):
            NightjarError(
                .unauthorized, "the token was not refreshed and the login is kept: the server issued no token")
        case .refreshFailed(.rateLimited):
            NightjarError(
                .rateLimited,
                "the token was not refreshed and the login is kept: the server limits token requests (status 429)")
        case .refreshFailed(.serverFailed):
            NightjarError(.server, "the token was not refreshed and the login is kept: the token server failed")
        case .refreshFailed(.providerFailed):
            NightjarError(.unauthorized, "the token was not refreshed and the login is kept: the token provider failed")
        case .refreshFailed(.network):
            NightjarError(
                .connectionLost, "the token was not refreshed and the login is kept: the request for a token failed")
        case .refreshFailed(.timedOut):
            NightjarError(
                .timeout, "the token was not refreshed and the login is kept: no token arrived in time", phase: .total)
        case .refreshFailed(.storage):
            NightjarError(
                .storage,
                "the token was not refreshed and the login is kept: the credential store could not be read, written "
                    + "or locked")
        case .tooManyRefreshes(let wait):
            NightjarError(
                .unauthorized,
                "too many token refreshes in a short time: the server issues tokens that it rejects or that expire "
                    + "immediately; try again later",
                retryAfter: wait)
        }
    }
    /// Returns ``error`` with the message of its cause appended, and with the code and the requested wait of the cause.
    public func error(because cause: NightjarError) -> NightjarError {
        NightjarError(
            error.kind, "\(error.message): \(cause.message)", phase: error.phase, code: cause.code,
            retryAfter: cause.retryAfter)
    }
}
