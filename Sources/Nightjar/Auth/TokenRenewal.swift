import NightjarHTTP
import NightjarStorage

/// One renewal of a token, on the loop: whoever shares its store finds the new token there, or waits, or is the one who
/// gets it.
///
///     load ──newer──▶ adopted
///      └─▶ lock ──▶ load ──newer──▶ adopted
///                    └─▶ note the intent ──▶ exchange ──▶ save ──▶ renewed
///
/// The intent is on disk before the old token is spent, with the key by which a server that knows such keys gives the same
/// answer to whoever takes over from a process that has died in between; and the new token is on disk before it is used.
/// Nobody's limit or cancel reaches it: cut between the two, it would lose the login.
final class TokenRenewal: @unchecked Sendable {
    enum Outcome {
        /// Somebody else has got it.
        case adopted(Token)
        case renewed(Token, Unsaved?)
        case failed(TokenRefresh.Failure, NightjarError?)
    }

    /// What its store would not take, and why.
    struct Unsaved {
        let login: StoredLogin
        let error: NightjarError
    }

    /// What is to be done with the store.
    enum Purpose {
        case renew
        /// The same, unless nobody has logged in since.
        case look(former: Token?)
        /// A login has brought it, and it takes the place of what is there.
        case keep(Token)
        /// The user has signed out.
        case forget
    }

    let purpose: Purpose
    private let store: any TokenStore
    /// Nil where only the store is to be changed.
    private let issuer: TokenIssuer?
    private let loop: ClientLoop
    /// What the client holds, which has run out or was refused; nil: nothing yet.
    private let held: Token?
    /// Where the store has none.
    private let initial: Token?
    private let wasRefused: Bool
    /// What the client holds and could not save: newer than what the store has below its generation. Set before the
    /// renewal begins.
    var unsaved: StoredLogin?
    private var conclude: (TokenRenewal, Outcome) -> Void
    private var lock: (any TokenLock)?
    /// Something is on its way that would be lost.
    private(set) var mustNotBeCut: Bool
    /// The server was asked.
    private(set) var wasExchanged = false
    private var isAbandoned = false
    private var tries = 0
    /// What the program gave to begin with was tried.
    private var triedInitial = false
    /// A login without the old token was tried.
    private var triedAnew = false
    /// The intent is of somebody who is gone: nobody knows what became of it, whatever becomes of ours.
    private var takesOver = false

    init(
        _ purpose: Purpose = .renew, of held: Token?, initial: Token?, wasRefused: Bool = false,
        in store: any TokenStore, _ issuer: TokenIssuer?, on loop: ClientLoop,
        conclude: @escaping (TokenRenewal, Outcome) -> Void
    ) {
        self.purpose = purpose
        switch purpose {
        case .renew, .look: mustNotBeCut = false
        case .keep, .forget: mustNotBeCut = true
        }
        self.held = held
        self.initial = initial
        self.wasRefused = wasRefused
        self.store = store
        self.issuer = issuer
        self.loop = loop
        self.conclude = conclude
    }

    func begin() {
        switch purpose {
        case .keep, .forget: return takeLock()
        case .renew, .look: break
        }
        disk({ store throws(NightjarError) in try store.load() }) { [self] stored in
            // What the client was signed out of is no new login, though it be there still.
            if case .look(let former) = purpose, stored?.token.access == former?.access {
                return end(.failed(.invalidGrant, nil))
            }
            if !isBehind(stored), let token = stored?.token, isNews(token) { return end(.adopted(token)) }
            takeLock()
        }
    }

    /// The client is closed: what has not begun to spend anything goes no further.
    func abandon() { isAbandoned = true }

    /// Nobody wants its outcome any more. It ends, and lets go of its lock, with what a worker may still do for it.
    func leave() { conclude = { _, _ in } }

    /// Whether a token from the store serves where the one that is held does not.
    private func isNews(_ token: Token) -> Bool {
        if wasRefused || held != nil, token.access == held?.access { return false }
        return token.expiry.map { $0 > WallClock.now() } ?? true
    }

    /// Whether the store lacks what could not be saved.
    private func isBehind(_ stored: StoredLogin?) -> Bool {
        unsaved.map { (stored?.generation ?? 0) < $0.generation } ?? false
    }

    // MARK: The lock

    private func takeLock() {
        let store = store
        disk({ _ throws(NightjarError) in try store.tryLock() }) { [self] lock in
            guard let lock else { return tryLockLater() }
            self.lock = lock
            disk({ store throws(NightjarError) in try store.load() }) { [self] stored in found(stored) }
        }
    }

    /// Whoever has it needs an exchange with the server. It is asked for rather than waited for, so that nobody's thread
    /// hangs on somebody else's server.
    private func tryLockLater() {
        tries += 1
        guard !isAbandoned else { return end(.failed(.network, NightjarError(.cancelled, "the client was closed"))) }
        guard tries < TokenRenewal.longestWait else {
            return end(
                .failed(
                    .timedOut,
                    NightjarError(
                        .timeout, "another process holds the lock of the token \(store.name) and does not let go",
                        phase: .total)))
        }
        loop.after(TokenRenewal.patience) { [self] in takeLock() }
    }

    // MARK: The exchange

    private func found(_ stored: StoredLogin?) {
        switch purpose {
        case .renew, .look: break
        case .keep(let token):
            return keep(token, over: stored)
        case .forget:
            return disk({ store throws(NightjarError) in try store.clear() }) { [self] in
                end(.failed(.invalidGrant, nil))
            }
        }
        if let unsaved, isBehind(stored) {
            return exchange(unsaved.token, StoredLogin(token: unsaved.token, generation: stored?.generation ?? 0))
        }
        if let stored {
            if isNews(stored.token) { return end(.adopted(stored.token)) }
            return exchange(stored.token, stored)
        }
        guard let initial else { return exchange(nil, nil) }
        guard held == nil, isNews(initial) else { return exchange(initial, nil) }
        keep(initial, over: nil)
    }

    private func exchange(_ old: Token?, _ stored: StoredLogin?) {
        guard !isAbandoned else { return end(.failed(.network, NightjarError(.cancelled, "the client was closed"))) }
        mustNotBeCut = true
        takesOver = stored?.pending != nil
        var random = SystemRandomNumberGenerator()
        let sent = WallClock.now()
        let key = stored?.pending.flatMap { IdempotencyKey($0.key) } ?? IdempotencyKey(using: &random)
        do throws(NightjarError) {
            guard let exchange = try issuer?.exchange(of: old, key: key) else {
                return end(.failed(.invalidGrant, nil))
            }
            guard exchange.spendsToken, let old else { return send(exchange, nil, stored, sent) }
            let intent = StoredLogin(
                token: old, generation: StoredLogin.generation(after: stored),
                pending: PendingExchange(key: key.text, began: sent))
            disk({ store throws(NightjarError) in try store.save(intent) }) { [self] in
                send(exchange, old, intent, sent)
            }
        } catch {
            end(.failed(.refused, error))
        }
    }

    /// - Parameter kept: what the store holds.
    private func send(_ exchange: TokenIssuer.Exchange, _ old: Token?, _ kept: StoredLogin?, _ sent: Timestamp) {
        wasExchanged = true
        loop.send(exchange.request, within: TokenRenewal.exchangeLimit) { [self] result in
            switch result {
            case .success(let response): answered(exchange, response, old, kept, sent)
            case .failure(let error):
                // Where nobody can have seen it, there is no intent any more.
                guard !error.requestMayHaveBeenProcessed, let kept, kept.pending != nil else {
                    return end(.failed(error.kind == .timeout ? .timedOut : .network, error))
                }
                settle(kept, .failed(.network, error))
            }
        }
    }

    private func answered(
        _ exchange: TokenIssuer.Exchange, _ response: Response, _ old: Token?, _ kept: StoredLogin?, _ sent: Timestamp
    ) {
        do throws(NightjarError) {
            switch try exchange.answer.read(response, replacing: old, sent: sent, for: loop) {
            case .token(let token):
                guard token.authorization != nil else {
                    throw NightjarError(.decoding, "the token endpoint's token cannot stand in a header")
                }
                keep(token, over: kept)
            case .refused(let refusal) where refusal.isInvalidGrant: ended(old)
            case .refused(let refusal):
                let error = refusal.error
                guard let kept, kept.pending != nil else { return end(.failed(.refused, error)) }
                settle(kept, .failed(.refused, error))
            }
        } catch {
            // What became of the old token nobody knows; the intent stays.
            end(.failed(.refused, error))
        }
    }

    /// The server has ended the login that was stored. What the program gave may be another.
    private func ended(_ old: Token?) {
        disk({ store throws(NightjarError) in try store.clear() }) { [self] in
            if let initial, !triedInitial, old?.refresh != initial.refresh, held?.refresh != initial.refresh {
                triedInitial = true
                return exchange(initial, nil)
            }
            if !triedAnew, old?.refresh != nil, issuer?.canRenew(nil) ?? false {
                triedAnew = true
                return exchange(nil, nil)
            }
            end(.failed(.invalidGrant, nil))
        }
    }

    /// Takes the intent back, which came to nothing.
    private func settle(_ kept: StoredLogin, _ outcome: Outcome) {
        guard !takesOver else { return end(outcome) }
        let login = StoredLogin(token: kept.token, generation: StoredLogin.generation(after: kept))
        save(login) { [self] _ in end(outcome) }
    }

    private func keep(_ token: Token, over stored: StoredLogin?) {
        var token = token
        token.lineage =
            token.lineage ?? stored?.token.lineage ?? held?.lineage ?? UInt64.random(in: .min ... .max)
        let login = StoredLogin(token: token, generation: StoredLogin.generation(after: stored))
        save(login) { [self] error in end(.renewed(token, error.map { Unsaved(login: login, error: $0) })) }
    }

    // MARK: The disk

    /// Nothing is dearer than this write: the old token is spent. It is tried again for a while.
    private func save(_ login: StoredLogin, tries: Int = 1, _ next: @escaping (NightjarError?) -> Void) {
        run({ store throws(NightjarError) in try store.save(login) }) { [self] result in
            guard case .failure(let error) = result else { return next(nil) }
            guard tries < TokenRenewal.saveTries else { return next(error) }
            loop.note(.warning, "\(error.message); it is tried again")
            let again = OnLoop<Void> { [self] in save(login, tries: tries + 1, next) }
            loop.after(TokenRenewal.patience * tries * 5) { again.body(()) }
        }
    }

    private func disk<Value: Sendable>(
        _ work: @escaping @Sendable (any TokenStore) throws(NightjarError) -> Value,
        then next: @escaping (Value) -> Void
    ) {
        run(work) { [self] result in
            switch result {
            case .success(let value): next(value)
            case .failure(let error): end(.failed(.storage, error))
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
        loop.workers.run({ () throws(NightjarError) in try work(store) }) { after.body($0) }
    }

    private func end(_ outcome: Outcome) {
        lock?.unlock()
        lock = nil
        mustNotBeCut = false
        conclude(self, outcome)
    }

    // MARK: Bounds

    /// Between two tries for the lock.
    private static let patience = Duration.milliseconds(20)
    /// Tries for the lock: two minutes, more than an exchange of whoever has it can take.
    private static let longestWait = 6000
    /// For one exchange: what is not answered by then is lost, and the intent stays.
    private static let exchangeLimit = Duration.seconds(60)
    private static let saveTries = 5
}

extension StoredLogin {
    fileprivate static func generation(after stored: StoredLogin?) -> UInt64 {
        let (next, overflow) = (stored?.generation ?? 0).addingReportingOverflow(1)
        return overflow ? .max : next
    }
}
