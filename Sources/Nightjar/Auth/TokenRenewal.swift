import NightjarHTTP
import NightjarStorage

/// Carries out one ``LoginRenewal`` on the loop: reads and writes its store on a worker, and sends its exchange.
///
/// No caller's limit or cancel reaches it: cut between the exchange and the save, it would lose the login.
final class TokenRenewal: @unchecked Sendable {
    typealias Conclusion = (TokenRenewal, LoginRenewal.Outcome, NightjarError?) -> Void

    let id: RenewalQueue.ID
    /// ``TokenSession/changes`` when it was made.
    let changes: UInt64
    var decisions: LoginRenewal
    private let store: any TokenStore
    /// Nil where only the store is changed.
    private let issuer: TokenIssuer?
    private let loop: ClientLoop
    private var conclude: Conclusion
    private var lock: (any TokenLock)?
    private var lockTries = 0
    /// The last failure, for messages.
    private var error: NightjarError?
    private var random = SystemRandomNumberGenerator()

    init(
        _ decisions: LoginRenewal, _ id: RenewalQueue.ID, since changes: UInt64, in store: any TokenStore,
        _ issuer: TokenIssuer?, on loop: ClientLoop, conclude: @escaping Conclusion
    ) {
        self.decisions = decisions
        self.id = id
        self.changes = changes
        self.store = store
        self.issuer = issuer
        self.loop = loop
        self.conclude = conclude
    }

    /// The client closes: an exchange that has not begun does not begin.
    func abandon() { decisions.abandon() }

    /// Discards the outcome. Work in progress on a worker finishes, and the lock is released.
    func leave() { conclude = { _, _, _ in } }

    func perform(_ action: LoginRenewal.Action) {
        switch action {
        case .load: load()
        case .lock: takeLock()
        case .save(let login, let version, let isCritical): save(login, version, isCritical, tries: 1)
        case .exchange(let token, let key): exchange(token, key)
        case .end(let outcome):
            lock?.unlock()
            lock = nil
            if error == nil, decisions.isAbandoned { error = NightjarError(.cancelled, "the client was closed") }
            conclude(self, outcome, outcome == .ended ? nil : error)
        }
    }

    // MARK: The store

    private func load() {
        run({ store throws(NightjarError) in try store.load() }) { [self] result in
            switch result {
            case .success(let stored): perform(decisions.loaded(stored, at: WallClock.now(), using: &random))
            case .failure(let error):
                self.error = error
                perform(decisions.loadFailed())
            }
        }
    }

    /// The lock is held for an exchange with the server. It is polled rather than waited for, so that no thread of this
    /// process blocks on the server of another.
    private func takeLock() {
        run({ store throws(NightjarError) in try store.tryLock() }) { [self] result in
            switch result {
            case .success(let lock?):
                self.lock = lock
                perform(decisions.locked())
            case .success(nil): takeLockLater()
            case .failure(let error):
                self.error = error
                perform(decisions.lockFailed(.storage))
            }
        }
    }

    private func takeLockLater() {
        lockTries += 1
        guard !decisions.isAbandoned else { return perform(decisions.lockFailed(.network)) }
        guard lockTries < TokenRenewal.mostLockTries else {
            error = NightjarError(
                .timeout, "another process has held the lock of the token \(store.name) for two minutes", phase: .total)
            return perform(decisions.lockFailed(.timedOut))
        }
        loop.after(TokenRenewal.lockInterval) { [self] in takeLock() }
    }

    /// A critical save is repeated for a while: the token that it replaces is spent.
    private func save(_ login: StoredLogin, _ version: LoginVersion?, _ isCritical: Bool, tries: Int) {
        run({ store throws(NightjarError) in try store.save(login, replacing: version) }) { [self] result in
            switch result {
            case .success(true): perform(decisions.saved(at: WallClock.now(), using: &random))
            case .success(false): perform(decisions.conflicted(afterFailure: tries > 1))
            case .failure(let error):
                guard isCritical, tries < TokenRenewal.mostSaveTries else {
                    self.error = error
                    return perform(decisions.saveFailed())
                }
                loop.note(.warning, "\(error.message); saving is tried again")
                let again = OnLoop<Void> { [self] in save(login, version, isCritical, tries: tries + 1) }
                loop.after(TokenRenewal.saveInterval * tries) { again.body(()) }
            }
        }
    }

    /// On a worker's thread, unless nothing blocks.
    private func run<Value: Sendable>(
        _ work: @escaping @Sendable (any TokenStore) throws(NightjarError) -> Value,
        then next: @escaping (Result<Value, NightjarError>) -> Void
    ) {
        let store = store
        if store is MemoryTokenStore {
            return next(Result { () throws(NightjarError) in try work(store) })
        }
        let after = OnLoop(next)
        loop.workers.run("using the credential store", { () throws(NightjarError) in try work(store) }) {
            after.body($0)
        }
    }

    // MARK: The exchange

    private func exchange(_ token: Token?, _ key: String?) {
        let sent = WallClock.now()
        do throws(NightjarError) {
            var random = SystemRandomNumberGenerator()
            let key = key.flatMap { IdempotencyKey($0) } ?? IdempotencyKey(using: &random)
            guard let exchange = try issuer?.exchange(of: token, key: key) else { return exchanged(.refused) }
            loop.send(exchange.request, within: TokenRenewal.exchangeLimit) { [self] result in
                switch result {
                case .success(let response): read(response, exchange.answer, replacing: token, sent)
                case .failure(let error):
                    self.error = error
                    guard error.requestMayHaveBeenProcessed else { return exchanged(.notSent) }
                    exchanged(.unknown(error.kind == .timeout ? .timedOut : .network))
                }
            }
        } catch {
            self.error = error
            exchanged(.refused)
        }
    }

    private func read(_ response: Response, _ answer: TokenAnswer, replacing old: Token?, _ sent: Timestamp) {
        do throws(NightjarError) {
            switch try answer.read(response, replacing: old, sent: sent, for: loop) {
            case .token(let token):
                guard token.authorization != nil else {
                    throw NightjarError(.decoding, "the token endpoint's token cannot stand in a header")
                }
                exchanged(.token(token))
            case .refused(let refusal) where refusal.isInvalidGrant: exchanged(.invalidGrant)
            case .refused(let refusal):
                error = refusal.error
                exchanged(.refused)
            }
        } catch {
            // Whether the old token is spent is not known: the intent stays.
            self.error = error
            exchanged(.unknown(.refused))
        }
    }

    private func exchanged(_ result: LoginRenewal.Result) {
        perform(decisions.exchanged(result, at: WallClock.now(), using: &random))
    }

    // MARK: Bounds

    /// Between two tries for the lock.
    private static let lockInterval = Duration.milliseconds(20)
    /// Two minutes, more than an exchange of the lock's holder can take.
    private static let mostLockTries = 6000
    /// For one exchange: a response that is not there by then is lost, and the intent stays.
    private static let exchangeLimit = Duration.seconds(60)
    private static let mostSaveTries = 5
    /// Times the number of tries so far.
    private static let saveInterval = Duration.milliseconds(100)
}
