import NIOCore
import NightjarCrypto
import NightjarHTTP
import NightjarStorage

/// The cached responses to the calls of a login.
protocol LoginResponses: AnyObject {
    /// Called when the client's calls use the token of another login.
    func loginChanged()
    /// Removes the responses to the calls of a login that has ended.
    func forget(_ partition: CachePartition)
    /// Calls `told` when all changes are on disk, or with the error of a change that failed.
    func flush(on loop: ClientLoop, then told: @escaping (NightjarError?) -> Void)
}

/// Manages the token of one login, on the client's loop. `TokenRefresh` decides which calls proceed, which wait, and
/// when the token is refreshed.
final class TokenKeeper: @unchecked Sendable {
    private let states = CallStateKey<Progress>()
    private let login: TokenLogin
    private let store: any TokenStore
    private let issuer: TokenIssuer?
    private let responses: (any LoginResponses)?
    private unowned let loop: ClientLoop
    private var machine: TokenRefresh
    /// Holds the token of the machine's version.
    private var session: TokenSession
    private var authorization = ""
    /// The Authorization field as it is sent.
    private var line: FieldLine? { didSet { attached = nil } }
    /// The last request that was authenticated, without and with the field. Most calls repeat the same request.
    private var attached: (plain: PreparedRequest, request: PreparedRequest)?
    /// The cache partition of this login. It does not change when the token is refreshed.
    private(set) var partition: CachePartition?
    private var waiting: [TokenRefresh.Call: Call] = [:]
    private var lastCall: TokenRefresh.Call = 0
    /// The error of the last failed refresh.
    private var failure: NightjarError?
    private var wasRefused = false
    /// Increases whenever calls may be sent for another user than before.
    var logins: UInt64 { session.changes &+ adoptions }
    /// The number of times the token became that of another login.
    private var adoptions: UInt64 = 0
    private var lastPartition: CachePartition?
    private var audience = LoginAudience()
    /// The number of refreshes started so far.
    private var refreshes = 0
    private var renewals = RenewalLine()
    /// When the store was last checked for a login made by another process.
    private var lastLook: NIODeadline?
    /// The pending decision request to the token provider.
    private var inquiry: TokenInquiry?
    private var lastQuestion: UInt64 = 0
    /// The last call that needed a token.
    private weak var asker: Call?

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
            configured: login.token.map { ConfiguredToken(token: $0, identity: TokenKeeper.identity(of: $0)) },
            issuer?.abilities ?? LoginRenewal.Abilities(refreshes: false, logsInByItself: false))
        if login.store == nil, var token = login.token {
            token.lineage = .random(in: .min ... .max)
            let stored = StoredLogin(token: token, generation: 1, configured: TokenKeeper.identity(of: token))
            _ = try? store.save(stored, replacing: nil)
            hold(token)
            _ = machine.signedIn(expiry: token.expiry, canRefresh: canRenew(token), at: now())
        } else {
            // The first call loads the store's token, as if the token had expired.
            _ = machine.signedIn(expiry: .epoch, canRefresh: true, at: now())
        }
    }

    /// The token state of one call.
    private final class Progress: CallState {
        let number: TokenRefresh.Call
        var version: TokenRefresh.Version?
        var waitsSince: NIODeadline?
        var cause = Decision.TokenCause.expired
        /// Whether the response in progress rejects the token.
        var isRefused = false

        init(_ number: TokenRefresh.Call) { self.number = number }
    }

    // MARK: Calls

    /// A call is about to be sent.
    func wants(_ call: Call) -> Verdict {
        if let version = machine.versionAtHand(at: WallClock.now()) {
            return attach(version, call)
        }
        follow(call)
        lookForLogin()
        return perform(machine.wants(number(of: call), at: now()), asking: call)
    }

    /// Attaches the current token to a call, even if the token has expired.
    ///
    /// - Returns: Nil if there is no token.
    func attachHeld(_ call: Call) -> Verdict? {
        guard let version = machine.version, line != nil else { return nil }
        return attach(version, call)
    }

    /// Checks whether another process has logged in again.
    private func lookForLogin() {
        guard machine.version == nil, renewals.isEmpty, login.store != nil, issuer != nil else { return }
        let now = NIODeadline.now()
        if let lastLook, now - lastLook < TokenKeeper.lookInterval { return }
        lastLook = now
        _ = machine.signedIn(expiry: .epoch, canRefresh: true, at: self.now())
    }

    /// Whether the call was sent with a token or waits for one.
    func concerns(_ call: Call) -> Bool { call.states[states] != nil }

    /// Records whether the response in progress rejects the call's token.
    func note(isRefused: Bool, _ call: Call) { call.states[states]?.isRefused = isRefused }

    /// Returns the recorded value and resets it.
    func takeRefusal(_ call: Call) -> Bool {
        guard let progress = call.states[states], progress.isRefused else { return false }
        progress.isRefused = false
        return true
    }

    /// The server answered a call with 401.
    func refused(_ call: Call) -> Verdict {
        guard let progress = call.states[states], let version = progress.version else { return .proceed }
        let verdict = perform(refusal(of: progress, version, call), asking: call)
        if case .wait = verdict { call.states[states]?.cause = .refused }
        return verdict
    }

    /// The server answered a call with 401, and the call cannot be repeated. The token is refreshed for later calls.
    func refusedForGood(_ call: Call) {
        guard let progress = call.states[states], let version = progress.version else { return }
        perform(refusal(of: progress, version, call))
        machine.ended(progress.number)
    }

    private func refusal(
        of progress: Progress, _ version: TokenRefresh.Version, _ call: Call
    ) -> [TokenRefresh.Action] {
        follow(call)
        let actions = machine.refused(progress.number, sentWith: version, at: now())
        if actions.contains(where: { if case .startRefresh = $0 { true } else { false } }) { wasRefused = true }
        return actions
    }

    private func follow(_ call: Call) {
        asker = call
        audience.follow(call)
    }

    /// Another call waits for the result of a shared exchange.
    func joined(_ call: Call, _ exchange: Call) {
        guard inquiry != nil, let progress = exchange.states[states], waiting[progress.number] != nil else { return }
        inquiry?.put(to: call)
    }

    func ended(_ call: Call) {
        guard let progress = call.states[states] else { return }
        if !waiting.isEmpty { waiting[progress.number] = nil }
        machine.ended(progress.number)
    }

    private func number(of call: Call) -> TokenRefresh.Call {
        if let known = call.states[states] { return known.number }
        lastCall += 1
        call.states[states] = Progress(lastCall)
        return lastCall
    }

    private func attach(_ version: TokenRefresh.Version, _ call: Call) -> Verdict {
        _ = number(of: call)
        do throws(NightjarError) {
            let isFirst = call.states[states]?.version == nil
            guard let line else { return .fail(TokenRefresh.Reason.loginRequired.error) }
            call.states[states]?.version = version
            call.loginPartition = partition
            if !isFirst {
                call.request = try call.request.setting("Authorization", authorization)
            } else if let attached, attached.plain === call.request {
                call.request = attached.request
            } else {
                let plain = call.request
                call.request = plain.adding(line)
                attached = plain.body.length == 0 ? (plain, call.request) : nil
            }
            return .proceed
        } catch {
            return .fail(error)
        }
    }

    // MARK: Actions of the state machine

    /// - Parameter asking: The call whose stage receives the verdict. Waiting calls are resumed with theirs.
    @discardableResult
    private func perform(_ actions: [TokenRefresh.Action], asking: Call? = nil) -> Verdict {
        var verdict = Verdict.proceed
        // The callback is posted before the waiting calls are resumed, while their queue is still known.
        if actions.last == .callLoginRequired {
            if let call = asking ?? waiting.max(by: { $0.key < $1.key })?.value { audience.follow(call) }
            tellLoginRequired()
        }
        for action in actions {
            switch action {
            case .wait(let number):
                guard let asking else { continue }
                waiting[number] = asking
                asking.states[states]?.waitsSince = .now()
                asking.states[states]?.cause = session.token == nil ? .missing : .expired
                inquiry?.put(to: asking)
                verdict = .wait
            case .attach(let number, let version):
                tell(number, asking, &verdict) { call in attach(version, call) }
            case .replay(let number, _):
                tell(number, asking, &verdict) { call in
                    call.decide(.replayed)
                    return .again(after: .zero)
                }
            case .fail(let number, let reason):
                tell(number, asking, &verdict) { _ in self.verdict(reason) }
            case .startRefresh(let refresh): renew(refresh)
            case .clear: forget()
            case .callLoginRequired: break
            }
        }
        return verdict
    }

    private func tell(
        _ number: TokenRefresh.Call, _ asking: Call?, _ verdict: inout Verdict, _ say: (Call) -> Verdict
    ) {
        if let asking, asking.states[states]?.number == number, waiting[number] == nil {
            verdict = say(asking)
            return
        }
        guard let call = waiting.removeValue(forKey: number), let progress = call.states[states] else { return }
        if let since = progress.waitsSince {
            call.decide(
                .tokenAwaited(
                    progress.cause, .nanoseconds((NIODeadline.now() - since).nanoseconds), refresh: refreshes))
        }
        call.states[states]?.waitsSince = nil
        call.goOn(say(call))
    }

    private func verdict(_ reason: TokenRefresh.Reason) -> Verdict {
        // The response contains the server's own error description.
        if reason == .unauthorized { return .proceed }
        let error = reason.error
        guard case .refreshFailed = reason, let failure else { return .fail(error) }
        return .fail(
            NightjarError(error.kind, "\(error.message): \(failure.message)", phase: error.phase, code: failure.code))
    }

    // MARK: Refreshing

    private func renew(_ refresh: TokenRefresh.Refresh) {
        if login.refresh.timeout > .zero {
            loop.after(login.refresh.timeout) { [weak self] in
                guard let self else { return }
                perform(machine.timerFired(at: now()))
            }
        }
        let refused = wasRefused
        wasRefused = false
        refreshes += 1
        guard let issuer else { return ask(refresh, wasRefused: refused) }
        begin(session.renewal(), issuer) { [self] outcome, error, wasExchanged in
            concluded(refresh, outcome, error, wasExchanged: wasExchanged)
        }
    }

    /// Queues a refresh, login or logout. The client does not close before it has ended.
    ///
    /// - Parameter conclude: Not called if a later login or logout replaced this one.
    private func begin(
        _ decisions: LoginRenewal, _ issuer: TokenIssuer? = nil, overtaken: @escaping () -> Void = {},
        conclude: @escaping (LoginRenewal.Outcome, NightjarError?, _ wasExchanged: Bool) -> Void
    ) {
        renewals.append(changesLogin: decisions.purpose.changesLogin) { id in
            TokenRenewal(decisions, id, since: session.changes, in: store, issuer, on: loop) {
                [self] renewal, outcome, error in
                renewals.remove(renewal)
                if session.concluded(renewal.decisions, outcome, since: renewal.changes) {
                    conclude(outcome, error, renewal.decisions.wasExchanged)
                } else {
                    overtaken()
                }
                beginNext()
                loop.residentProgressed()
            }
        }
        beginNext()
    }

    private func beginNext() {
        while let renewal = renewals.next() {
            let action = session.begin(&renewal.decisions, since: renewal.changes)
            renewal.perform(action)
        }
    }

    /// Called when the client closes. Returns whether cancelling the work in progress would lose a token; other work is
    /// abandoned.
    func mustNotBeCut() -> Bool { renewals.mustNotBeCut() }

    /// Called when the loop ends.
    func shutDown() {
        for purpose in renewals.leave() {
            let change = purpose == .logOut ? "logout" : "login"
            loop.note(.error, "the client was closed before its \(change) reached the token \(store.name)")
        }
        inquiry?.withdraw()
    }

    private func concluded(
        _ refresh: TokenRefresh.Refresh, _ outcome: LoginRenewal.Outcome, _ error: NightjarError?, wasExchanged: Bool
    ) {
        switch outcome {
        case .adopted(let token), .renewed(let token): took(token, outcome, refresh, wasExchanged: wasExchanged)
        case .unsaved(let login):
            if let error { loop.note(.error, "the new token is used but not saved: \(error.message)") }
            took(login.token, outcome, refresh, wasExchanged: wasExchanged)
        case .ended: gaveUp(refresh, .invalidGrant, error, wasExchanged: wasExchanged)
        case .failed(let failure): gaveUp(refresh, failure, error, wasExchanged: wasExchanged)
        }
    }

    private func gaveUp(
        _ refresh: TokenRefresh.Refresh, _ failure: TokenRefresh.Failure, _ error: NightjarError?, wasExchanged: Bool
    ) {
        self.failure = error
        loop.note(.warning, "the token refresh failed: \(error?.message ?? "a new login is required")")
        perform(machine.failed(refresh, failure, wasExchanged: wasExchanged))
    }

    private func took(
        _ token: Token, _ outcome: LoginRenewal.Outcome, _ refresh: TokenRefresh.Refresh, wasExchanged: Bool
    ) {
        let before = machine.version
        let actions = machine.succeeded(
            refresh, expiry: token.expiry, canRefresh: canRenew(token), wasExchanged: wasExchanged, at: now())
        // The machine may have changed to another login, or to none.
        if machine.version != before, let token = session.take(outcome) { show(token) }
        perform(actions)
    }

    /// Uses a token that does not come from the store.
    private func hold(_ token: Token) {
        session.hold(token)
        show(token)
    }

    /// Later requests carry this token.
    private func show(_ token: Token) {
        authorization = token.authorization ?? ""
        line = try? FieldLine("Authorization", authorization)
        let before = partition
        partition = token.lineage.map { CachePartition(lineage: $0) }
        if let partition, partition != lastPartition {
            if lastPartition != nil { adoptions &+= 1 }
            lastPartition = partition
        }
        if partition != before || partition == nil { responses?.loginChanged() }
        failure = nil
    }

    private func forget() {
        session.forget()
        authorization = ""
        line = nil
        partition = nil
        responses?.loginChanged()
    }

    private func canRenew(_ token: Token) -> Bool { issuer?.canRenew(token) ?? true }

    /// Distinguishes the configured token from later ones, so that a store that has used it up does not use it again.
    private static func identity(of token: Token) -> UInt64 {
        let text = "nightjar configured token\0\(token.access)\0\(token.refresh ?? "")"
        return Digest.sha256(Array(text.utf8)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    // MARK: Token provider

    private func ask(_ refresh: TokenRefresh.Refresh, wasRefused: Bool) {
        guard case .provider(let provider) = login.source else { return }
        inquiry?.withdraw()
        lastQuestion += 1
        let question = TokenQuestion(lastQuestion, wasRefused: wasRefused) { [weak self, loop, lastQuestion] token in
            loop.submit(.run { [weak self] in self?.provided(lastQuestion, token) })
        }
        inquiry = TokenInquiry(question, to: provider, for: refresh, on: loop)
        if let asker { inquiry?.put(to: asker) }
    }

    /// The token provider has answered.
    func provided(_ number: UInt64, _ result: Result<Token, NightjarError>) {
        guard let asked = inquiry, asked.question.number == number else { return }
        inquiry = nil
        switch result {
        case .success(let token) where token.authorization != nil:
            concluded(asked.refresh, .renewed(token), nil, wasExchanged: true)
        case .success:
            let error = NightjarError(
                .invalidArgument,
                "the provided token contains a character that is not "
                    + "allowed in a header")
            gaveUp(asked.refresh, .refused, error, wasExchanged: true)
        case .failure(let error):
            gaveUp(
                asked.refresh, error.kind == .unauthorized ? .invalidGrant : .refused, error, wasExchanged: true)
        }
    }

    private func tellLoginRequired() {
        guard session.end(), let hook = login.onLoginRequired else { return }
        audience.tell(.run(hook.call), onLoop: hook.runsOnLoop, loop)
    }

    // MARK: The login

    /// Replaces the current login with a new token.
    ///
    /// - Parameter told: Called when the token has been saved, or with the error if saving failed. The token is used in
    ///   both cases.
    func signIn(_ token: Token, then told: @escaping (NightjarError?) -> Void = { _ in }) {
        var random = SystemRandomNumberGenerator()
        let keeping = session.signIn(token, using: &random)
        renewals.overtake()
        if let token = session.token { show(token) }
        // A later login or logout replaces this login, which is then no failure.
        begin(keeping, overtaken: { told(nil) }) { [self] outcome, error, _ in
            guard case .unsaved = outcome else { return told(nil) }
            let error =
                error
                ?? NightjarError(
                    .storage,
                    "the token \(store.name) was changed by other processes "
                        + "too often")
            loop.note(.error, "the login is used but not saved: \(error.message)")
            told(error)
        }
        perform(machine.signedIn(expiry: token.expiry, canRefresh: canRenew(token), at: now()))
    }

    /// Obtains a token without a waiting call, unless the store has a valid one.
    func renewNow(then told: @escaping (Result<Void, NightjarError>) -> Void) {
        guard let issuer else {
            return told(
                .failure(
                    NightjarError(
                        .invalidRequest,
                        "this client's tokens come from a token provider; it has "
                            + "no login"))
            )
        }
        let overtaken = NightjarError(.cancelled, "another login or logout has replaced this login")
        begin(session.logIn(), issuer, overtaken: { told(.failure(overtaken)) }) { [self] outcome, error, _ in
            guard let token = session.take(outcome) else {
                let failure: TokenRefresh.Failure =
                    if case .failed(let failure) = outcome { failure } else { .invalidGrant }
                return told(.failure(error ?? TokenRefresh.Reason.refreshFailed(failure).error))
            }
            if case .unsaved = outcome, let error {
                loop.note(.error, "the login is used but not saved: \(error.message)")
            }
            show(token)
            perform(machine.signedIn(expiry: token.expiry, canRefresh: canRenew(token), at: now()))
            told(.success(()))
        }
    }

    /// Logs out.
    ///
    /// - Parameter told: Called when the store and the cache on disk have been changed, or with the error of a change
    ///   that failed. The client is logged out in both cases.
    func signOut(then told: @escaping (NightjarError?) -> Void) {
        let cache = partition == nil ? nil : responses
        if let partition { cache?.forget(partition) }
        let ending = session.signOut()
        renewals.overtake()
        forget()
        // A later login or logout replaces this logout, which is then no failure.
        begin(ending, overtaken: { told(nil) }) { [self] outcome, error, _ in
            guard outcome != .ended else { return flush(cache, then: told) }
            let reason = error?.message ?? "the token \(store.name) was changed by other processes too often"
            loop.note(.error, "saving the logout failed; it is repeated with the next call: \(reason)")
            let failure = NightjarError(
                .storage, "this client is logged out, but its store still has the login: \(reason); log out again",
                code: error?.code ?? 0)
            flush(cache) { _ in told(failure) }
        }
        perform(machine.signedOut())
    }

    private func flush(_ cache: (any LoginResponses)?, then told: @escaping (NightjarError?) -> Void) {
        guard let cache else { return told(nil) }
        cache.flush(on: loop, then: told)
    }

    private static let lookInterval = TimeAmount.seconds(1)

    private func now() -> TokenRefresh.Moment {
        TokenRefresh.Moment(wall: WallClock.now(), steady: NIODeadline.now().uptimeNanoseconds)
    }
}
