/// One refresh for any number of calls with a token that has run out or was refused.
///
///     signed out ──signedIn──▶ held ──401, expiry, a failure before──▶ refreshing ──succeeded──▶ held, one version on
///                                                                          ├──invalid_grant──▶ signed out
///                                                                          └──other failure──▶ held, version failed
///
/// Knows versions of tokens and no token. The actions are carried out in their order. Each may be completed at once, from
/// inside of the loop over them: the state is final before they are returned, and what calls the outside comes last. The
/// refresh itself must not ask this machine, or it would wait for itself.
public struct TokenRefresh: Sendable {
    public typealias Call = UInt64
    public typealias Version = UInt64

    /// One moment on two clocks: that of the calendar, for a token outlives the process, and one that does not jump.
    public struct Moment: Sendable, Equatable {
        public var wall: Timestamp
        /// In nanoseconds.
        public var steady: UInt64

        public init(wall: Timestamp, steady: UInt64) {
            self.wall = wall
            self.steady = steady
        }
    }

    /// A refresh that was started, and the version of the token it replaces.
    public struct Refresh: Sendable, Equatable {
        public let number: UInt64
        public let version: Version
    }

    public enum Failure: Sendable, Equatable {
        /// The server no longer knows the login. RFC 6749 section 5.2.
        case invalidGrant
        /// Any other refusal, for instance a server error: says nothing about the login.
        case refused
        case network
        case timedOut
        /// Where the token is kept cannot be read, written or locked.
        case storage
    }

    public enum Reason: Sendable, Equatable {
        /// 401 also with the token it was sent with the second time.
        case unauthorized
        case loginRequired
        case refreshFailed(Failure)
        case tooManyRefreshes(retryAfter: Duration)
    }

    public enum Action: Sendable, Equatable {
        case attach(Call, Version)
        case wait(Call)
        /// Tell ``succeeded(_:expiry:canRefresh:wasExchanged:at:)`` or ``failed(_:_:wasExchanged:)`` with the same refresh.
        case startRefresh(Refresh)
        case replay(Call, Version)
        case fail(Call, Reason)
        /// Forget the tokens, in every store.
        case clear
        case callLoginRequired
    }

    public struct Settings: Sendable {
        /// How long before its end a token is taken for expired; at most a quarter of what remained when it came.
        public var skew = Duration.seconds(30)
        /// For one refresh, whatever the timeouts of the calls that wait for it. Zero: no limit.
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
        /// Whether it may do beyond the time that is known of it: false for one that had run out when it came and is none of a
        /// refresh.
        @usableFromInline var mayServe: Bool
        /// Set from the first failure of its refresh on, for good: it is not sent any more.
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
    /// Outcomes of refreshes up to this one come too late.
    private var settledNumber: UInt64 = 0
    /// Within the window, on the steady clock; no more than the limit.
    private var starts: [UInt64] = []
    private var queue: [Call] = []
    /// Whether the call was sent before. Calls that have left are still in `queue`.
    private var waiting: [Call: Bool] = [:]
    private var replayed: Set<Call> = []

    /// - Parameter isShared: others may put a new token where it is kept: a refresh looks there, also for one that cannot be
    ///   refreshed, once it is refused.
    public init(_ settings: Settings = Settings(), isShared: Bool = false) {
        self.settings = settings
        self.isShared = isShared
    }

    /// The token that calls are sent with; nil when signed out.
    public var version: Version? { held?.version }
    public var isRefreshing: Bool { running != nil }
    public var waiterCount: Int { waiting.count }
    /// When ``timerFired(at:)`` has to be told next, on the steady clock.
    public var deadline: UInt64? { running?.deadline }

    // MARK: The login

    /// A token came from a login, a store or another process. Outcomes of refreshes that run now are void.
    public mutating func signedIn(expiry: Timestamp?, canRefresh: Bool, at now: Moment) -> [Action] {
        settledNumber = lastNumber
        return hold(
            expiry: expiry, canRefresh: canRefresh, mayServe: expiry.map { $0 > now.wall } ?? true, at: now)
    }

    /// The user signed out.
    public mutating func signedOut() -> [Action] {
        guard held != nil else { return [] }
        return forget()
    }

    // MARK: Calls

    /// The version to send a call with, where nothing has to be asked or remembered for it: what ``wants(_:at:)`` would
    /// answer for most, without its array. Inlined, or who holds this machine in a class would copy it to ask.
    @inlinable
    public func versionAtHand(at now: Timestamp) -> Version? {
        guard let held, running == nil, held.failure == nil else { return nil }
        if held.canRefresh, let from = held.refreshesFrom, from <= now { return nil }
        return held.version
    }

    /// A call is about to be sent.
    public mutating func wants(_ call: Call, at now: Moment) -> [Action] {
        guard let held else { return [.fail(call, .loginRequired)] }
        if running != nil { return [join(call, wasSent: false)] }
        let isDue = held.canRefresh && held.refreshesFrom.map { $0 <= now.wall } ?? false
        guard held.failure != nil || isDue else { return [.attach(call, held.version)] }
        // A server that gives tokens of short life: the one there is may do, and says so itself where it does not.
        if held.failure == nil, held.mayServe, pause(at: now) != nil { return [.attach(call, held.version)] }
        return [join(call, wasSent: false)] + start(at: now)
    }

    /// A call was answered with 401.
    public mutating func refused(_ call: Call, sentWith version: Version, at now: Moment) -> [Action] {
        assert(version <= lastVersion, "a version that was never attached")
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

    /// A call was answered, has failed or was cancelled. The refresh it may have waited for goes on.
    public mutating func ended(_ call: Call) {
        // Most calls wait for nothing, and end here.
        if !replayed.isEmpty { replayed.remove(call) }
        guard !waiting.isEmpty, waiting.removeValue(forKey: call) != nil else { return }
        if queue.count > 2 * waiting.count + 16 { queue.removeAll { waiting[$0] == nil } }
    }

    // MARK: The refresh

    /// The new token is safe in its store.
    ///
    /// - Parameter wasExchanged: false where it was found there, which the limit of refreshes is not for.
    public mutating func succeeded(
        _ refresh: Refresh, expiry: Timestamp?, canRefresh: Bool, wasExchanged: Bool = true, at now: Moment
    ) -> [Action] {
        if !wasExchanged, running?.refresh == refresh { _ = starts.popLast() }
        // One that timed out may still end, and has then replaced the token; of two the later is right.
        guard held != nil, refresh.number > settledNumber else { return [] }
        settledNumber = refresh.number
        return hold(expiry: expiry, canRefresh: canRefresh, mayServe: true, at: now)
    }

    /// - Parameter wasExchanged: false where the server was not asked, which the limit of refreshes is not for.
    public mutating func failed(_ refresh: Refresh, _ failure: Failure, wasExchanged: Bool = true) -> [Action] {
        if !wasExchanged, running?.refresh == refresh { _ = starts.popLast() }
        guard let held, refresh.number > settledNumber, refresh.version == held.version else { return [] }
        if failure == .invalidGrant { return forget() + [.callLoginRequired] }
        guard running?.refresh == refresh else { return [] }
        running = nil
        return giveUp(.refreshFailed(failure))
    }

    /// Time has passed.
    public mutating func timerFired(at now: Moment) -> [Action] {
        guard let running, running.deadline <= now.steady else { return [] }
        return failed(running.refresh, .timedOut)
    }

    // MARK: Steps

    private mutating func start(at now: Moment) -> [Action] {
        guard let held else { return [] }
        guard held.canRefresh || isShared else { return forget() + [.callLoginRequired] }
        if let pause = pause(at: now) { return giveUp(.tooManyRefreshes(retryAfter: pause)) }
        starts.append(now.steady)
        lastNumber += 1
        let refresh = Refresh(number: lastNumber, version: held.version)
        let (deadline, overflow) = now.steady.addingReportingOverflow(TokenRefresh.nanoseconds(settings.timeout))
        let isUnlimited = overflow || settings.timeout == .zero
        running = Running(refresh: refresh, deadline: isUnlimited ? .max : deadline)
        return [.startRefresh(refresh)]
    }

    /// How long none may start, for there were too many; nil: one may.
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

    private mutating func giveUp(_ reason: Reason) -> [Action] {
        held?.failure = reason
        return release().map { call, _ in .fail(call, reason) }
    }

    private mutating func release() -> [(Call, Bool)] {
        let calls = queue.compactMap { call in waiting.removeValue(forKey: call).map { (call, $0) } }
        queue.removeAll()
        return calls
    }

    private func refreshTime(expiry: Timestamp, now: Timestamp) -> Timestamp? {
        // Both are seconds of the years 0 to 9999.
        let skew = min(settings.skew.inSeconds, Double(max(expiry.seconds - now.seconds, 0)) / 4)
        return Timestamp(secondsSince1970: expiry.seconds - Int64(max(skew, 0)), nanoseconds: expiry.nanoseconds)
    }

    private static func nanoseconds(_ duration: Duration) -> UInt64 { UInt64(max(duration.nanosecondsClamped, 0)) }
}

extension TokenRefresh.Reason {
    public var error: NightjarError {
        switch self {
        case .unauthorized: NightjarError(.unauthorized, "the server refused the call also with a new token")
        case .loginRequired: NightjarError(.unauthorized, "there is no login, or the server has ended it: log in again")
        case .refreshFailed(.invalidGrant):
            NightjarError(.unauthorized, "the server has ended the login (invalid_grant)")
        case .refreshFailed(.refused):
            NightjarError(.unauthorized, "the server did not refresh the token; the login is kept")
        case .refreshFailed(.network):
            NightjarError(.connectionLost, "the token could not be refreshed for the network; the login is kept")
        case .refreshFailed(.timedOut):
            NightjarError(.timeout, "the token was not refreshed in time; the login is kept", phase: .total)
        case .refreshFailed(.storage):
            NightjarError(.storage, "the token could not be refreshed for where it is kept; the login stands")
        case .tooManyRefreshes(let wait):
            NightjarError(
                .unauthorized, "too many token refreshes in a short time: the server refuses tokens it has just issued",
                retryAfter: wait)
        }
    }
}
