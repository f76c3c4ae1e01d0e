import NIOCore
import NightjarHTTP
import NightjarStorage

/// Manages the token of one login, on the client's loop. `TokenRefresh` decides which calls proceed, which wait, and
/// when the token is refreshed.
final class TokenManager: @unchecked Sendable {
    let states = CallStateKey<Progress>()
    private let login: TokenLogin
    let store: any TokenStore
    let issuer: TokenIssuer?
    let responses: (any LoginResponses)?
    unowned let loop: ClientLoop
    var machine: TokenRefresh
    /// Holds the token that belongs to the version of ``machine``.
    var session: TokenSession
    private var field = TokenField()
    /// The cache partition of this login, which a token refresh does not change.
    var partition: CachePartition? { partitions.current }
    private(set) var partitions = LoginPartition()
    private var waiting: [TokenRefresh.Call: Call] = [:]
    private var lastCall: TokenRefresh.Call = 0
    /// The error of the last failed refresh.
    private var failure: NightjarError?
    /// Whether a 401 response has caused the refresh that starts next.
    private var wasRejected = false
    /// Why the last refresh was started.
    private var refreshCause = Decision.TokenCause.expired
    /// Increases whenever later calls may belong to another user.
    var logins: UInt64 { session.changes &+ partitions.changes }
    private var handlerTarget = LoginHandlerTarget()
    /// The number of refreshes started so far.
    private var refreshes = 0
    var updates = PendingLoginUpdates()
    /// When the store was last checked for a login made by another client or process.
    private var lastStoreCheck: NIODeadline?
    /// The request that the token provider has not responded to.
    private var pendingRequest: PendingTokenRequest?
    /// The last call that had no usable token or whose token was rejected.
    private weak var lastCaller: Call?

    /// - Parameter responses: The cache, or nil if the client has none.
    init(
        _ login: TokenLogin, issuer: TokenIssuer?, responses: (any LoginResponses)?, on loop: ClientLoop
    ) {
        self.responses = responses
        self.login = login
        self.issuer = issuer
        self.loop = loop
        store = login.store ?? MemoryTokenStore()
        machine = TokenRefresh(login.refresh, isShared: login.store != nil)
        session = TokenSession(
            configured: login.token.map { ConfiguredToken($0) },
            issuer?.capabilities ?? LoginUpdate.Capabilities(refreshes: false, logsInByItself: false))
        if login.store == nil, var token = login.token {
            token.lineage = .random(in: .min ... .max)
            let stored = StoredLogin(token: token, generation: 1, configured: ConfiguredToken(token).identity)
            _ = try? store.save(stored, replacing: nil)
            hold(token)
            _ = machine.loggedIn(expiry: token.expiry, canRefresh: canRefreshLogin(token), at: now())
        } else {
            // The first call starts a refresh, as if the token had expired. The refresh first looks for a token in the
            // store, unless a token provider is set.
            _ = machine.loggedIn(expiry: .epoch, canRefresh: true, at: now())
        }
    }

    /// The token state of one call.
    final class Progress: CallState {
        let number: TokenRefresh.Call
        var version: TokenRefresh.Version?
        var waitsSince: NIODeadline?
        /// Whether the call received a 401 response and waits for another token.
        var wasRefused = false
        /// Whether the response in progress rejects the token.
        var isRefused = false

        init(_ number: TokenRefresh.Call) { self.number = number }
    }

    // MARK: Calls

    /// Attaches a usable token to a call that is about to be sent, lets the call wait for one, or fails the call.
    func requestToken(_ call: Call) -> Verdict {
        if let version = machine.usableVersion(at: WallClock.now()) {
            return attach(version, call)
        }
        follow(call)
        checkStoreForLogin()
        return perform(machine.requestToken(progress(of: call).number, at: now()), caller: call)
    }

    /// Attaches the current token to a call, even if the token has expired.
    ///
    /// - Returns: Nil if there is no token.
    func attachCurrentToken(_ call: Call) -> Verdict? {
        guard let version = machine.version, field.isPresent else { return nil }
        return attach(version, call)
    }

    /// If the client is logged out, lets the next token request read a shared store, at most once a second, because
    /// another client or process may have logged in again.
    private func checkStoreForLogin() {
        guard machine.version == nil, updates.isEmpty, login.store != nil, issuer != nil else { return }
        let now = NIODeadline.now()
        if let lastStoreCheck, now - lastStoreCheck < TokenManager.storeCheckInterval { return }
        lastStoreCheck = now
        _ = machine.loggedIn(expiry: .epoch, canRefresh: true, at: self.now())
    }

    /// Whether the call was sent with a token or waits for a token.
    func concerns(_ call: Call) -> Bool { call.states[states] != nil }

    /// Records whether the response in progress rejects the call's token.
    func note(isRefused: Bool, _ call: Call) { call.states[states]?.isRefused = isRefused }

    /// Returns whether the response in progress rejected the token, and resets the record.
    func takeRefusal(_ call: Call) -> Bool {
        guard let progress = call.states[states], progress.isRefused else { return false }
        progress.isRefused = false
        return true
    }

    /// Handles a 401 response to a call that can be repeated.
    func refused(_ call: Call) -> Verdict {
        guard let progress = call.states[states], let version = progress.version else { return .proceed }
        let verdict = perform(refusal(of: progress, version, call), caller: call)
        if case .wait = verdict { progress.wasRefused = true }
        return verdict
    }

    /// Handles a 401 response to a call that cannot be repeated. May refresh the token for later calls.
    func refusedPermanently(_ call: Call) {
        guard let progress = call.states[states], let version = progress.version else { return }
        perform(refusal(of: progress, version, call))
        machine.ended(progress.number)
    }

    func noteRejection(_ actions: [TokenRefresh.Action]) {
        if actions.contains(where: { if case .startRefresh = $0 { true } else { false } }) { wasRejected = true }
    }

    private func refusal(
        of progress: Progress, _ version: TokenRefresh.Version, _ call: Call
    ) -> [TokenRefresh.Action] {
        follow(call)
        let actions = machine.refused(progress.number, sentWith: version, at: now())
        noteRejection(actions)
        return actions
    }

    private func follow(_ call: Call) {
        lastCaller = call
        handlerTarget.follow(call)
    }

    func ended(_ call: Call) {
        guard let progress = call.states[states] else { return }
        if !waiting.isEmpty { waiting[progress.number] = nil }
        machine.ended(progress.number)
    }

    /// Returns the token state of a call, created when the call first needs a token.
    private func progress(of call: Call) -> Progress {
        if let known = call.states[states] { return known }
        lastCall += 1
        let progress = Progress(lastCall)
        call.states[states] = progress
        return progress
    }

    private func attach(_ version: TokenRefresh.Version, _ call: Call) -> Verdict {
        let progress = progress(of: call)
        guard field.isPresent else { return .fail(TokenRefresh.Reason.loginRequired.error) }
        let isFirst = progress.version == nil
        progress.version = version
        call.loginPartition = partition
        call.cookieOwner = partitions.owner(isStored: login.store != nil)
        do throws(NightjarError) {
            call.request = try isFirst ? field.added(to: call.request) : field.replaced(in: call.request)
            return .proceed
        } catch {
            return .fail(error)
        }
    }

    // MARK: Actions of the state machine

    /// Carries out actions, and resumes waiting calls with their verdicts.
    ///
    /// - Parameter caller: The call to which the returned verdict applies.
    @discardableResult
    func perform(_ actions: [TokenRefresh.Action], caller: Call? = nil) -> Verdict {
        var verdict = Verdict.proceed
        // The callback is posted before the waiting calls are resumed, while their queue is still known.
        if actions.last == .callLoginRequired {
            if let call = caller ?? waiting.max(by: { $0.key < $1.key })?.value { handlerTarget.follow(call) }
            notifyLoginRequired()
        }
        for action in actions {
            switch action {
            case .wait(let number):
                guard let caller else { continue }
                waiting[number] = caller
                let progress = progress(of: caller)
                progress.waitsSince = .now()
                progress.wasRefused = false
                pendingRequest?.post(for: caller)
                verdict = .wait
            case .attach(let number, let version):
                deliver(number, caller, &verdict) { call in attach(version, call) }
            case .replay(let number, _):
                deliver(number, caller, &verdict) { call in
                    call.decide(.replayed)
                    return .again(after: .zero)
                }
            case .fail(let number, let reason):
                deliver(number, caller, &verdict) { _ in self.verdict(reason) }
            case .startRefresh(let refresh): runRefresh(refresh)
            case .clear: forget()
            case .callLoginRequired: break
            }
        }
        return verdict
    }

    private func deliver(
        _ number: TokenRefresh.Call, _ caller: Call?, _ verdict: inout Verdict, _ body: (Call) -> Verdict
    ) {
        if let caller, caller.states[states]?.number == number, waiting[number] == nil {
            verdict = body(caller)
            return
        }
        guard let call = waiting.removeValue(forKey: number), let progress = call.states[states] else { return }
        if let since = progress.waitsSince {
            let wait = Duration.nanoseconds((NIODeadline.now() - since).nanoseconds)
            call.decide(.tokenAwaited(progress.wasRefused ? .refused : refreshCause, wait, refresh: refreshes))
        }
        progress.waitsSince = nil
        call.resume(body(call))
    }

    private func verdict(_ reason: TokenRefresh.Reason) -> Verdict {
        // The caller receives the 401 response, which may contain the server's error description.
        if reason == .unauthorized { return .proceed }
        guard case .refreshFailed = reason, let failure else { return .fail(reason.error) }
        return .fail(reason.error(because: failure))
    }

    // MARK: Refreshing

    private func runRefresh(_ refresh: TokenRefresh.Refresh) {
        if login.refresh.timeout > .zero {
            loop.after(login.refresh.timeout) { [weak self] in
                guard let self else { return }
                perform(machine.timerFired(at: now()))
            }
        }
        refreshCause = wasRejected ? .refused : session.token == nil ? .missing : .expired
        wasRejected = false
        refreshes += 1
        guard let issuer else { return requestToken(refresh) }
        begin(session.update(), issuer) { [self] outcome, error, wasExchanged in
            completed(refresh, outcome, error, wasExchanged: wasExchanged)
        }
    }

    /// Queues a refresh, login or logout, and starts the queued updates that may begin.
    ///
    /// - Parameter overtaken: Called instead of `completion` if a later login or logout replaced this update.
    func begin(
        _ decisions: LoginUpdate, _ issuer: TokenIssuer? = nil, overtaken: @escaping () -> Void = {},
        completion: @escaping (LoginUpdate.Outcome, NightjarError?, _ wasExchanged: Bool) -> Void
    ) {
        let environment = LoginUpdateTask.Environment(store: store, issuer: issuer, loop: loop)
        updates.append(changesLogin: decisions.purpose.changesLogin) { id in
            LoginUpdateTask(decisions, id, since: session.changes, in: environment) {
                [self] update, outcome, error in
                updates.remove(update)
                if session.completed(update.decisions, outcome, since: update.changes) {
                    completion(outcome, error, update.decisions.wasExchanged)
                } else {
                    overtaken()
                }
                beginNext()
                loop.componentProgressed()
            }
        }
        beginNext()
    }

    private func beginNext() {
        while let update = updates.next() {
            let action = session.begin(&update.decisions, since: update.changes)
            update.perform(action)
        }
    }

    /// Called while the client is being closed. Abandons work that can be repeated. Returns whether cancelling the
    /// remaining work would lose a token, a login or a logout.
    func mustFinish() -> Bool { updates.mustFinish() }

    /// Called when the loop ends.
    func shutDown() {
        for purpose in updates.leave() {
            let change = purpose == .logOut ? "logout" : "login"
            loop.note(.error, "the client was closed before its \(change) was saved in the token \(store.name)")
        }
        pendingRequest?.withdraw()
    }

    private func completed(
        _ refresh: TokenRefresh.Refresh, _ outcome: LoginUpdate.Outcome, _ error: NightjarError?, wasExchanged: Bool
    ) {
        switch outcome {
        case .adopted(let token), .refreshed(let token): accept(token, outcome, refresh, wasExchanged: wasExchanged)
        case .unsaved(let login):
            if let error { loop.note(.error, "the new token is used but not saved: \(error.message)") }
            accept(login.token, outcome, refresh, wasExchanged: wasExchanged)
        case .ended: refreshFailed(refresh, .invalidGrant, error, wasExchanged: wasExchanged)
        case .failed(let failure): refreshFailed(refresh, failure, error, wasExchanged: wasExchanged)
        }
    }

    private func refreshFailed(
        _ refresh: TokenRefresh.Refresh, _ failure: TokenRefresh.Failure, _ error: NightjarError?, wasExchanged: Bool
    ) {
        self.failure = error
        loop.note(.warning, "the token refresh failed: \(error?.message ?? "a new login is required")")
        perform(machine.failed(refresh, failure, wasExchanged: wasExchanged))
    }

    private func accept(
        _ token: Token, _ outcome: LoginUpdate.Outcome, _ refresh: TokenRefresh.Refresh, wasExchanged: Bool
    ) {
        let before = machine.version
        let actions = machine.succeeded(
            refresh, expiry: token.expiry, canRefresh: canRefreshLogin(token), wasExchanged: wasExchanged, at: now())
        // The machine may meanwhile have another login, or no login.
        if machine.version != before, let token = session.take(outcome) { use(token) }
        perform(actions)
    }

    /// Uses the configured token, which does not come from the store.
    private func hold(_ token: Token) {
        session.hold(token)
        use(token)
    }

    /// Makes later requests carry this token.
    func use(_ token: Token) {
        field.set(token)
        if partitions.use(token) { responses?.loginChanged() }
        failure = nil
    }

    func forget() {
        session.forget()
        field.clear()
        partitions.clear()
        responses?.loginChanged()
    }

    func canRefreshLogin(_ token: Token) -> Bool { issuer?.canRefreshLogin(token) ?? true }

    // MARK: Token provider

    private func requestToken(_ refresh: TokenRefresh.Refresh) {
        guard case .provider(let provider) = login.source else { return }
        pendingRequest?.withdraw()
        pendingRequest = PendingTokenRequest(
            for: refresh, wasRejected: refreshCause == .refused, to: provider, on: loop
        ) {
            [weak self] in self?.provided($0, for: refresh)
        }
        if let lastCaller { pendingRequest?.post(for: lastCaller) }
        for call in waiting.values { pendingRequest?.post(for: call) }
    }

    private func provided(_ token: Result<Token, NightjarError>, for refresh: TokenRefresh.Refresh) {
        // A later refresh may have replaced the request, or the provider may have responded twice.
        guard pendingRequest?.refresh == refresh else { return }
        pendingRequest = nil
        let (outcome, error) = PendingTokenRequest.outcome(of: token)
        completed(refresh, outcome, error, wasExchanged: true)
    }

    private func notifyLoginRequired() {
        guard session.end(), let hook = login.onLoginRequired else { return }
        handlerTarget.notify(hook, loop)
    }

    private static let storeCheckInterval = TimeAmount.seconds(1)

    func now() -> TokenRefresh.Moment {
        TokenRefresh.Moment(wall: WallClock.now(), steady: NIODeadline.now().uptimeNanoseconds)
    }
}
