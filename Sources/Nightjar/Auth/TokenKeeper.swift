import NIOCore
import NightjarCrypto
import NightjarHTTP
import NightjarStorage

/// The cached responses to the calls of a login.
protocol LoginResponses: AnyObject {
    /// The token of the client's calls is now another login's.
    func loginChanged()
    /// Removes the responses to the calls of a login that has ended.
    func forget(_ partition: CachePartition)
    /// Calls `told` when all changes are on disk, or with the error of a change that failed.
    func flush(on loop: ClientLoop, then told: @escaping (NightjarError?) -> Void)
}

/// Keeps the token of one login of a client, on its loop: who may go, who waits, and when a new one is got,
/// `TokenRefresh` decides.
final class TokenKeeper: @unchecked Sendable {
    private let states = CallStateKey<Progress>()
    private let login: TokenLogin
    private let store: any TokenStore
    private let issuer: TokenIssuer?
    private let responses: (any LoginResponses)?
    private unowned let loop: ClientLoop
    private var machine: TokenRefresh
    /// Has the token of the machine's version.
    private var session: TokenSession
    private var authorization = ""
    /// The same as it goes on the wire.
    private var line: FieldLine? { didSet { attached = nil } }
    /// A request that it was added to last, and what that gave: most calls of a client come again.
    private var attached: (plain: PreparedRequest, request: PreparedRequest)?
    /// Of the answers that this login gets, however often its token is renewed.
    private(set) var partition: CachePartition?
    private var waiting: [TokenRefresh.Call: Call] = [:]
    private var lastCall: TokenRefresh.Call = 0
    /// What the last refresh failed with.
    private var failure: NightjarError?
    private var wasRefused = false
    /// Grows whenever calls are sent for another user than before, or may be.
    var logins: UInt64 { session.changes &+ adoptions }
    /// How often the token has become that of another login.
    private var adoptions: UInt64 = 0
    private var lastPartition: CachePartition?
    private var audience = LoginAudience()
    /// Begun so far.
    private var refreshes = 0
    private var renewals = RenewalLine()
    /// When the store was last looked at for a login that somebody else has made.
    private var lastLook: NIODeadline?
    /// What the program is asked for.
    private var inquiry: TokenInquiry?
    private var lastQuestion: UInt64 = 0
    /// Who has wanted a token last, while it does.
    private weak var asker: Call?

    /// - Parameter responses: the cache; nil: the client has none.
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
            // What the store has, the first call finds out, as if a token had run out.
            _ = machine.signedIn(expiry: .epoch, canRefresh: true, at: now())
        }
    }

    /// What one call knows of its token.
    private final class Progress: CallState {
        let number: TokenRefresh.Call
        var version: TokenRefresh.Version?
        var waitsSince: NIODeadline?
        var cause = Decision.TokenCause.expired
        /// Whether the response that is being received refuses the token.
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

    /// Gives a call the token there is, though it may have run out.
    ///
    /// - Returns: nil where there is none.
    func attachHeld(_ call: Call) -> Verdict? {
        guard let version = machine.version, line != nil else { return nil }
        return attach(version, call)
    }

    /// A login that has ended may have been made anew by another process.
    private func lookForLogin() {
        guard machine.version == nil, renewals.isEmpty, login.store != nil, issuer != nil else { return }
        let now = NIODeadline.now()
        if let lastLook, now - lastLook < TokenKeeper.lookInterval { return }
        lastLook = now
        _ = machine.signedIn(expiry: .epoch, canRefresh: true, at: self.now())
    }

    /// Whether the call has been sent with a token, or waits for one.
    func concerns(_ call: Call) -> Bool { call.states[states] != nil }

    /// Notes whether the response that is being received refuses the call's token.
    func note(isRefused: Bool, _ call: Call) { call.states[states]?.isRefused = isRefused }

    /// Returns what was noted last, once.
    func takeRefusal(_ call: Call) -> Bool {
        guard let progress = call.states[states], progress.isRefused else { return false }
        progress.isRefused = false
        return true
    }

    /// A call was answered with 401.
    func refused(_ call: Call) -> Verdict {
        guard let progress = call.states[states], let version = progress.version else { return .proceed }
        let verdict = perform(refusal(of: progress, version, call), asking: call)
        if case .wait = verdict { call.states[states]?.cause = .refused }
        return verdict
    }

    /// A call was answered with 401 that cannot be sent again. The next are not to meet the same.
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

    /// One more waits for what this exchange, which is shared, brings.
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

    // MARK: What the machine says

    /// - Parameter asking: the call whose stage wants the verdict; the others are told theirs.
    @discardableResult
    private func perform(_ actions: [TokenRefresh.Action], asking: Call? = nil) -> Verdict {
        var verdict = Verdict.proceed
        // While those wait whose queue can hear it, and before they hear what it comes to.
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
        // The server's own words are in its answer.
        if reason == .unauthorized { return .proceed }
        let error = reason.error
        guard case .refreshFailed = reason, let failure else { return .fail(error) }
        return .fail(
            NightjarError(error.kind, "\(error.message): \(failure.message)", phase: error.phase, code: failure.code))
    }

    // MARK: Renewing

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

    /// The client does not close before it has ended.
    ///
    /// - Parameter conclude: not called when somebody has logged in or out since.
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

    /// The client is closed: whether something is on its way that would be lost. What is not goes no further.
    func mustNotBeCut() -> Bool { renewals.mustNotBeCut() }

    /// The loop's last.
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
        loop.note(.warning, "the token was not renewed: \(error?.message ?? "a new login is needed")")
        perform(machine.failed(refresh, failure, wasExchanged: wasExchanged))
    }

    private func took(
        _ token: Token, _ outcome: LoginRenewal.Outcome, _ refresh: TokenRefresh.Refresh, wasExchanged: Bool
    ) {
        let before = machine.version
        let actions = machine.succeeded(
            refresh, expiry: token.expiry, canRefresh: canRenew(token), wasExchanged: wasExchanged, at: now())
        // Unless the machine has moved on: to another login, or to none.
        if machine.version != before, let token = session.take(outcome) { show(token) }
        perform(actions)
    }

    /// Uses a token that is not of the store.
    private func hold(_ token: Token) {
        session.hold(token)
        show(token)
    }

    /// Requests carry it from now on.
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

    /// Tells the tokens of a configuration from later ones, in a store that has used them up.
    private static func identity(of token: Token) -> UInt64 {
        let text = "nightjar configured token\0\(token.access)\0\(token.refresh ?? "")"
        return Digest.sha256(Array(text.utf8)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    // MARK: The program's own code

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

    /// The program has answered.
    func provided(_ number: UInt64, _ result: Result<Token, NightjarError>) {
        guard let asked = inquiry, asked.question.number == number else { return }
        inquiry = nil
        switch result {
        case .success(let token) where token.authorization != nil:
            concluded(asked.refresh, .renewed(token), nil, wasExchanged: true)
        case .success:
            let error = NightjarError(.invalidArgument, "the token that was provided cannot stand in a header")
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

    /// A new login, in place of what there is.
    ///
    /// - Parameter told: when it is where it is kept, with what keeps it from there; it is used all the same.
    func signIn(_ token: Token, then told: @escaping (NightjarError?) -> Void = { _ in }) {
        var random = SystemRandomNumberGenerator()
        let keeping = session.signIn(token, using: &random)
        renewals.overtake()
        if let token = session.token { show(token) }
        // When somebody has logged in or out since, this login has been replaced and is no failure.
        begin(keeping, overtaken: { told(nil) }) { [self] outcome, error, _ in
            guard case .unsaved = outcome else { return told(nil) }
            let error = error ?? NightjarError(.storage, "the token \(store.name) is changed too often")
            loop.note(.error, "the login is used but not saved: \(error.message)")
            told(error)
        }
        perform(machine.signedIn(expiry: token.expiry, canRefresh: canRenew(token), at: now()))
    }

    /// Gets a token without a call that waits for it, where the store has none that serves.
    func renewNow(then told: @escaping (Result<Void, NightjarError>) -> Void) {
        guard let issuer else {
            return told(
                .failure(NightjarError(.invalidRequest, "the program provides this client's tokens: there is no login"))
            )
        }
        let overtaken = NightjarError(.cancelled, "somebody has logged in or out meanwhile")
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
    /// - Parameter told: called when the store and the cache on disk have been changed, or with the error of a change
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
            let reason = error?.message ?? "the token \(store.name) is changed too often"
            loop.note(.error, "the logout did not reach its store and is tried again with the next call: \(reason)")
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
