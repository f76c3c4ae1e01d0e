import NIOCore
import NightjarHTTP
import NightjarStorage

/// Keeps the token of one login of a client, on its loop: who may go, who waits, and when a new one is got,
/// `TokenRefresh` decides.
final class TokenKeeper: @unchecked Sendable {
    private let login: TokenLogin
    /// Of the client's logins.
    private let number: Int
    private let store: any TokenStore
    private let issuer: TokenIssuer?
    private unowned let loop: ClientLoop
    private var machine: TokenRefresh
    /// Of the machine's version.
    private var token: Token?
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
    /// How often somebody has signed in or out.
    private(set) var logins: UInt64 = 0
    private var audience = LoginAudience()
    /// Begun so far.
    private var refreshes = 0
    private var renewals = RenewalLine()
    /// The login has ended, and the program has been told.
    private var isSignedOut = false
    /// What the client was signed out of.
    private var former: Token?
    /// When the store was last looked at for a login that somebody else has made.
    private var lastLook: NIODeadline?
    /// What the program is asked for.
    private var inquiry: TokenInquiry?
    private var lastQuestion: UInt64 = 0
    /// Who has wanted a token last, while it does.
    private weak var asker: Call?

    init(_ login: TokenLogin, _ number: Int, issuer: TokenIssuer?, on loop: ClientLoop) {
        self.login = login
        self.number = number
        self.issuer = issuer
        self.loop = loop
        store = login.store ?? MemoryTokenStore()
        machine = TokenRefresh(login.refresh, isShared: login.store != nil)
        if login.store == nil, var token = login.token {
            token.lineage = .random(in: .min ... .max)
            try? store.save(StoredLogin(token: token, generation: 1))
            hold(token)
            _ = machine.signedIn(expiry: token.expiry, canRefresh: canRenew(token), at: now())
        } else {
            // What the store has, the first call finds out, as if a token had run out.
            _ = machine.signedIn(expiry: .epoch, canRefresh: true, at: now())
        }
    }

    /// What one call knows of its token.
    final class Progress {
        fileprivate let number: TokenRefresh.Call
        fileprivate(set) var version: TokenRefresh.Version?
        /// Whose answers it gets; nil where the token tells no more than itself.
        fileprivate(set) var partition: CachePartition?
        fileprivate var waitsSince: NIODeadline?
        fileprivate var cause = Decision.TokenCause.expired
        /// The answer that is being read refuses the token.
        var isRefused = false

        fileprivate init(_ number: TokenRefresh.Call) { self.number = number }
    }

    // MARK: Calls

    /// A call is about to be sent.
    func wants(_ call: Call) -> Verdict {
        if let version = machine.versionAtHand(at: WallClock.now()) {
            return attach(version, progress(of: call), call)
        }
        follow(call)
        lookForLogin()
        return perform(machine.wants(progress(of: call).number, at: now()), asking: call)
    }

    /// Gives a call the token there is, though it may have run out.
    ///
    /// - Returns: nil where there is none.
    func attachHeld(_ call: Call) -> Verdict? {
        guard let version = machine.version, line != nil else { return nil }
        return attach(version, progress(of: call), call)
    }

    /// A login that has ended may have been made anew by another process.
    private func lookForLogin() {
        guard machine.version == nil, renewals.isEmpty, !(store is MemoryTokenStore), issuer != nil else { return }
        let now = NIODeadline.now()
        if let lastLook, now - lastLook < TokenKeeper.lookInterval { return }
        lastLook = now
        _ = machine.signedIn(expiry: .epoch, canRefresh: true, at: self.now())
    }

    /// A call was answered with 401.
    func refused(_ call: Call) -> Verdict {
        guard let progress = call.login, let version = progress.version else { return .proceed }
        let verdict = perform(refusal(of: progress, version, call), asking: call)
        if case .wait = verdict { progress.cause = .refused }
        return verdict
    }

    /// A call was answered with 401 that cannot be sent again. The next are not to meet the same.
    func refusedForGood(_ call: Call) {
        guard let progress = call.login, let version = progress.version else { return }
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
        guard inquiry != nil, let progress = exchange.login, waiting[progress.number] != nil else { return }
        inquiry?.put(to: call)
    }

    func ended(_ call: Call) {
        guard let progress = call.login else { return }
        if !waiting.isEmpty { waiting[progress.number] = nil }
        machine.ended(progress.number)
    }

    private func progress(of call: Call) -> Progress {
        if let known = call.login { return known }
        lastCall += 1
        let progress = Progress(lastCall)
        call.login = progress
        return progress
    }

    private func attach(_ version: TokenRefresh.Version, _ progress: Progress, _ call: Call) -> Verdict {
        do throws(NightjarError) {
            let isFirst = progress.version == nil
            guard let line else { return .fail(TokenRefresh.Reason.loginRequired.error) }
            progress.version = version
            progress.partition = partition
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
                asking.login?.waitsSince = .now()
                asking.login?.cause = token == nil ? .missing : .expired
                inquiry?.put(to: asking)
                verdict = .wait
            case .attach(let number, let version):
                tell(number, asking, &verdict) { call, progress in attach(version, progress, call) }
            case .replay(let number, _):
                tell(number, asking, &verdict) { call, _ in
                    call.decide(.replayed)
                    return .again(after: .zero)
                }
            case .fail(let number, let reason):
                tell(number, asking, &verdict) { _, _ in self.verdict(reason) }
            case .startRefresh(let refresh): renew(refresh)
            case .clear: forget()
            case .callLoginRequired: break
            }
        }
        return verdict
    }

    private func tell(
        _ number: TokenRefresh.Call, _ asking: Call?, _ verdict: inout Verdict, _ say: (Call, Progress) -> Verdict
    ) {
        if let asking, asking.login?.number == number, waiting[number] == nil {
            if let progress = asking.login { verdict = say(asking, progress) }
            return
        }
        guard let call = waiting.removeValue(forKey: number), let progress = call.login else { return }
        if let since = progress.waitsSince {
            call.decide(
                .tokenAwaited(
                    progress.cause, .nanoseconds((NIODeadline.now() - since).nanoseconds), refresh: refreshes))
        }
        progress.waitsSince = nil
        call.goOn(say(call, progress))
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
        loop.after(login.refresh.timeout) { [weak self] in
            guard let self else { return }
            perform(machine.timerFired(at: now()))
        }
        let refused = wasRefused
        wasRefused = false
        refreshes += 1
        guard let issuer else { return ask(refresh, wasRefused: refused) }
        begin(isSignedOut ? .look(former: former) : .renew, wasRefused: refused, issuer) { [self] in
            concluded(refresh, $0, wasExchanged: $1)
        }
    }

    /// Whatever it is for, the client does not close before it has ended.
    private func begin(
        _ purpose: TokenRenewal.Purpose, wasRefused: Bool = false, _ issuer: TokenIssuer? = nil,
        conclude: @escaping (TokenRenewal.Outcome, _ wasExchanged: Bool) -> Void
    ) {
        let renewal = TokenRenewal(
            purpose, of: token, initial: isSignedOut ? nil : login.token, wasRefused: wasRefused, in: store, issuer,
            on: loop
        ) { [self] renewal, outcome in
            renewals.remove(renewal)
            conclude(outcome, renewal.wasExchanged)
            beginNext()
            loop.renewalEnded()
        }
        renewals.append(renewal)
        beginNext()
    }

    private func beginNext() {
        while let renewal = renewals.next() { renewal.begin() }
    }

    /// The client is closed: whether something is on its way that would be lost. What is not goes no further.
    func mustNotBeCut() -> Bool { renewals.mustNotBeCut() }

    /// The loop's last.
    func shutDown() {
        renewals.leave()
        inquiry?.withdraw()
    }

    private func concluded(_ refresh: TokenRefresh.Refresh, _ outcome: TokenRenewal.Outcome, wasExchanged: Bool = true)
    {
        switch outcome {
        case .adopted(let token): took(token, refresh, nil, wasExchanged: false)
        case .renewed(let token, let unsaved):
            if let unsaved { loop.note(.error, "the new token is used but not kept: \(unsaved.error.message)") }
            took(token, refresh, unsaved, wasExchanged: true)
        case .failed(let failure, let error):
            self.failure = error
            loop.note(.warning, "the token was not renewed: \(error?.message ?? "a new login is needed")")
            perform(machine.failed(refresh, failure, wasExchanged: wasExchanged))
        }
    }

    private func took(
        _ token: Token, _ refresh: TokenRefresh.Refresh, _ unsaved: TokenRenewal.Unsaved?, wasExchanged: Bool
    ) {
        let before = machine.version
        let actions = machine.succeeded(
            refresh, expiry: token.expiry, canRefresh: canRenew(token), wasExchanged: wasExchanged, at: now())
        // Unless the machine has moved on: to another login, or to none.
        if machine.version != before {
            hold(token)
            renewals.unsaved = unsaved?.login
        }
        perform(actions)
    }

    private func hold(_ token: Token) {
        self.token = token
        authorization = token.authorization ?? ""
        line = try? FieldLine("Authorization", authorization)
        let before = partition
        partition = token.lineage.map { CachePartition(lineage: $0) }
        if partition != before || partition == nil { loop.chain.stage(Cache.self)?.loginChanged() }
        failure = nil
        isSignedOut = false
    }

    private func forget() {
        former = token ?? former
        token = nil
        authorization = ""
        line = nil
        partition = nil
        loop.chain.stage(Cache.self)?.loginChanged()
        renewals.unsaved = nil
    }

    private func canRenew(_ token: Token) -> Bool { issuer?.canRenew(token) ?? true }

    // MARK: The program's own code

    private func ask(_ refresh: TokenRefresh.Refresh, wasRefused: Bool) {
        guard case .provider(let provider) = login.source else { return }
        inquiry?.withdraw()
        lastQuestion += 1
        let question = TokenQuestion(lastQuestion, of: number, wasRefused: wasRefused, loop)
        inquiry = TokenInquiry(question, to: provider, for: refresh, on: loop)
        if let asker { inquiry?.put(to: asker) }
    }

    /// The program has answered.
    func provided(_ number: UInt64, _ result: Result<Token, NightjarError>) {
        guard let asked = inquiry, asked.question.number == number else { return }
        inquiry = nil
        switch result {
        case .success(let token) where token.authorization != nil:
            concluded(asked.refresh, .renewed(token, nil))
        case .success:
            let error = NightjarError(.invalidArgument, "the token that was provided cannot stand in a header")
            concluded(asked.refresh, .failed(.refused, error))
        case .failure(let error):
            concluded(asked.refresh, .failed(error.kind == .unauthorized ? .invalidGrant : .refused, error))
        }
    }

    private func tellLoginRequired() {
        guard !isSignedOut else { return }
        isSignedOut = true
        guard let hook = login.onLoginRequired else { return }
        audience.tell(.loginRequired(hook), onLoop: hook.runsOnLoop, loop)
    }

    // MARK: The login

    /// A new login, in place of what there is.
    ///
    /// - Parameter told: when it is where it is kept, with what keeps it from there; it is used all the same.
    func signIn(_ token: Token, then told: @escaping (NightjarError?) -> Void = { _ in }) {
        var token = token
        token.lineage = .random(in: .min ... .max)
        hold(token)
        logins &+= 1
        let number = logins
        // Until the store has it, whatever that says is older.
        renewals.unsaved = StoredLogin(token: token, generation: .max)
        begin(.keep(token)) { [self] outcome, _ in
            switch outcome {
            case .renewed(_, nil), .adopted, .failed(_, nil):
                if logins == number { renewals.unsaved = nil }
                told(nil)
            case .renewed(_, .some(let unsaved)):
                loop.note(.error, "the login is used but not kept: \(unsaved.error.message)")
                if logins == number { renewals.unsaved = unsaved.login }
                told(unsaved.error)
            case .failed(_, .some(let error)):
                loop.note(.error, "the login is used but not kept: \(error.message)")
                told(error)
            }
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
        let number = logins
        begin(.renew, issuer) { [self] outcome, _ in
            let unsaved: StoredLogin? = if case .renewed(_, let unsaved) = outcome { unsaved?.login } else { nil }
            switch outcome {
            case .adopted where logins != number, .renewed where logins != number:
                told(.failure(NightjarError(.cancelled, "somebody has signed in or out meanwhile")))
            case .adopted(let token), .renewed(let token, _):
                hold(token)
                renewals.unsaved = unsaved
                perform(machine.signedIn(expiry: token.expiry, canRefresh: canRenew(token), at: now()))
                told(.success(()))
            case .failed(let failure, let error):
                told(.failure(error ?? TokenRefresh.Reason.refreshFailed(failure).error))
            }
        }
    }

    func signOut() {
        if let partition { loop.chain.stage(Cache.self)?.forget(partition) }
        logins &+= 1
        forget()
        isSignedOut = true
        begin(.forget) { [self] outcome, _ in
            guard case .failed(_, .some(let error)) = outcome else { return }
            loop.note(.error, "the login was not removed from where it is kept: \(error.message)")
        }
        perform(machine.signedOut())
    }

    private static let lookInterval = TimeAmount.seconds(1)

    private func now() -> TokenRefresh.Moment {
        TokenRefresh.Moment(wall: WallClock.now(), steady: NIODeadline.now().uptimeNanoseconds)
    }
}
