import NightjarHTTP
import NightjarStorage

/// Carries out one ``LoginUpdate``: reads and writes the store (on a worker thread, unless the store is in memory or
/// belongs to the host), and sends the token request. Used on the loop.
///
/// Timeouts and cancellations of callers do not apply, because cancelling between the token request and the save would
/// lose the login.
final class LoginUpdateTask: @unchecked Sendable {
    typealias Completion = (LoginUpdateTask, LoginUpdate.Outcome, NightjarError?) -> Void

    let id: LoginUpdateQueue.ID
    /// The value of ``TokenSession/changes`` when the update was created.
    let changes: UInt64
    var decisions: LoginUpdate
    private let store: any TokenStore
    private let issuer: TokenIssuer?
    private let loop: ClientLoop
    private var completion: Completion
    private var lock: (any TokenLock)?
    private var lockTries = 0
    /// The last failure, for the error message.
    private var error: NightjarError?
    private var random = SystemRandomNumberGenerator()

    /// The store, the issuer and the loop of an update.
    struct Environment {
        let store: any TokenStore
        /// Nil if only the store is changed.
        let issuer: TokenIssuer?
        let loop: ClientLoop
    }

    init(
        _ decisions: LoginUpdate, _ id: LoginUpdateQueue.ID, since changes: UInt64, in environment: Environment,
        completion: @escaping Completion
    ) {
        self.decisions = decisions
        self.id = id
        self.changes = changes
        store = environment.store
        issuer = environment.issuer
        loop = environment.loop
        self.completion = completion
    }

    /// Prevents a token request that has not been sent. Called when the client closes, and when a login or logout
    /// replaces this refresh.
    func abandon() { decisions.abandon() }

    /// Discards the outcome. Work in progress on a worker thread finishes, and the lock is released.
    func leave() { completion = { _, _, _ in } }

    func perform(_ action: LoginUpdate.Action) {
        switch action {
        case .load: load()
        case .lock: takeLock()
        case .save(let login, let version, let isCritical): save(login, version, isCritical, tries: 1)
        case .exchange(let token, let key): exchange(token, key)
        case .end(let outcome):
            lock?.unlock()
            lock = nil
            if error == nil, decisions.isAbandoned { error = NightjarError(.cancelled, "the client was closed") }
            completion(self, outcome, outcome == .ended ? nil : error)
        }
    }

    // MARK: The store

    private func load() {
        let loaded: (Result<StoredLogin?, NightjarError>) -> Void = { [self] result in
            switch result {
            case .success(let stored): perform(decisions.loaded(stored, at: WallClock.now(), using: &random))
            case .failure(let error):
                self.error = error
                perform(decisions.loadFailed())
            }
        }
        if let host = store as? HostTokenStore { return host.load(on: loop, then: loaded) }
        run({ store throws(NightjarError) in try store.load() }, then: loaded)
    }

    /// Takes the lock for a token request. The lock is polled, so that no thread of this process blocks while another
    /// client or process holds the lock.
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
        guard lockTries < LoginUpdateTask.maximumLockTries else {
            error = NightjarError(
                .timeout,
                "another client or process has held the lock of the token \(store.name) for more than two "
                    + "minutes", phase: .total)
            return perform(decisions.lockFailed(.timedOut))
        }
        loop.after(LoginUpdateTask.lockInterval) { [self] in takeLock() }
    }

    /// Saves the login. A critical save is retried, because otherwise a login, a logout or the only usable token may be
    /// lost.
    private func save(_ login: StoredLogin, _ version: LoginVersion?, _ isCritical: Bool, tries: Int) {
        let saved: (Result<Bool, NightjarError>) -> Void = { [self] result in
            switch result {
            case .success(true): perform(decisions.saved(at: WallClock.now(), using: &random))
            case .success(false): perform(decisions.conflicted(afterFailure: tries > 1))
            case .failure(let error):
                guard isCritical, tries < LoginUpdateTask.maximumSaveTries, canSave else {
                    self.error = error
                    return perform(decisions.saveFailed())
                }
                loop.note(.warning, "\(error.message); retrying the save")
                let again = OnLoop<Void> { [self] in save(login, version, isCritical, tries: tries + 1) }
                loop.after(LoginUpdateTask.saveInterval * tries) { again.body(()) }
            }
        }
        if let host = store as? HostTokenStore { return host.save(login, replacing: version, on: loop, then: saved) }
        run({ store throws(NightjarError) in try store.save(login, replacing: version) }, then: saved)
    }

    /// Whether another save may succeed.
    private var canSave: Bool { (store as? HostTokenStore)?.isReachable(on: loop) ?? true }

    /// Runs `work` on a worker thread, or directly if it does not block.
    private func run<Value: Sendable>(
        _ work: @escaping @Sendable (any TokenStore) throws(NightjarError) -> Value,
        then next: @escaping (Result<Value, NightjarError>) -> Void
    ) {
        let store = store
        if store is MemoryTokenStore || store is HostTokenStore {
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
            loop.send(exchange.request, within: LoginUpdateTask.exchangeLimit) { [self] result in
                switch result {
                case .success(let response): read(response, exchange.format, replacing: token, sent)
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

    private func read(_ response: Response, _ format: TokenResponseFormat, replacing old: Token?, _ sent: Timestamp) {
        do throws(NightjarError) {
            switch try format.read(response, replacing: old, sent: sent, for: loop) {
            case .token(let token):
                guard token.authorization != nil else {
                    throw NightjarError(
                        .decoding,
                        "the token endpoint returned a token with a character that is "
                            + "not allowed in a header")
                }
                exchanged(.token(token))
            case .refused(let refusal) where refusal.isInvalidGrant: exchanged(.invalidGrant)
            case .refused(let refusal):
                error = refusal.error
                exchanged(.refused)
            }
        } catch {
            // The old token may have been redeemed, so the intent that is recorded in the store is kept.
            self.error = error
            switch error.kind {
            case .rateLimited: exchanged(.unknown(.rateLimited))
            case .server: exchanged(.unknown(.serverFailed))
            default: exchanged(.unknown(.refused))
            }
        }
    }

    private func exchanged(_ result: LoginUpdate.Result) {
        perform(decisions.exchanged(result, at: WallClock.now(), using: &random))
    }

    // MARK: Bounds

    /// The interval between two attempts to take the lock.
    private static let lockInterval = Duration.milliseconds(20)
    /// Two minutes: longer than a token request of the client that holds the lock.
    private static let maximumLockTries = 6000
    /// The timeout of one token request. A later response is lost.
    private static let exchangeLimit = Duration.seconds(60)
    private static let maximumSaveTries = 5
    /// The wait before a save is retried, multiplied by the number of failed saves.
    private static let saveInterval = Duration.milliseconds(100)
}
