/// One use of a credential store that several clients and processes may share: a refresh, a login or a logout. The
/// diagram shows the usual transitions.
///
///     refresh, adoptLogin, logIn:
///       load ──usable token──▶ adopted
///        ├─logged out (not logIn)──▶ ended
///        └─▶ lock ─▶ load ──usable token──▶ adopted
///                     ├─logged out──▶ ended
///                     └─▶ save the intent ─▶ exchange ─▶ save ─▶ refreshed, or unsaved
///     saveToken, logOut:
///       load ─▶ save ─▶ refreshed, unsaved, ended or failed
///
/// A save is a compare-and-swap on the version of the record, so that an update does not replace a record that it has
/// not seen. If another process has saved a record since the load, the update usually loads and decides again. The lock
/// only prevents two processes from spending the same refresh token. A login and a logout need no lock: if they change
/// the record, the save of the process that holds the lock fails with a conflict.
///
/// The intent is saved before a stored refresh token is spent. It contains the idempotency key with which another
/// process can repeat the exchange. A server that supports the key then sends the same response. A refreshed token is
/// saved before it is used, unless the save fails or the login is used without the store.
///
/// Each event except ``abandon()`` returns the next action to carry out.
public struct LoginUpdate: Sendable {
    public let purpose: Purpose
    private let held: Token?
    private let capabilities: Capabilities
    private let configured: ConfiguredToken?
    /// The login that the client uses and could not save.
    private(set) var unsaved: UnsavedLogin?
    /// The last known version of the store's record.
    public private(set) var seen: KnownLogin
    private(set) var hasLoaded = false
    /// True if a token was requested from the server.
    public private(set) var wasExchanged = false
    private var state = State.idle
    private var isLocked = false
    public private(set) var isAbandoned = false
    private var rounds = 0
    /// True if a save of the new login was reported as failed but may have succeeded.
    private var mayBeStored = false
    private var triedConfigured = false
    private var triedItself = false

    /// - Parameters:
    ///   - held: the token that the client uses. Nil if there is none.
    ///   - seen: the last known version of the store's record.
    public init(
        _ purpose: Purpose, held: Token?, configured: ConfiguredToken?, seen: KnownLogin, _ capabilities: Capabilities
    ) {
        self.purpose = purpose
        self.held = held
        self.configured = configured
        self.seen = seen
        self.capabilities = capabilities
    }

    /// True if a cancellation could now lose a token, a login or a logout.
    public var mustFinish: Bool {
        switch state {
        case .ended: false
        case .idle, .loading, .locking: purpose.changesLogin
        case .savingIntent, .exchanging, .savingToken, .savingEnd, .savingRefusal, .finishing: true
        }
    }

    // MARK: Events

    /// - Parameter unsaved: the login that the client currently uses and could not save.
    public mutating func begin(unsaved: UnsavedLogin?) -> Action {
        self.unsaved = unsaved
        return load()
    }

    /// Ends the update before it uses the store.
    public mutating func drop() -> Action { end(.failed(.storage)) }

    /// Reports that the client is closing, or that a login or logout has started. The exchange is then skipped, unless
    /// the exchange or the save of its intent has already started.
    public mutating func abandon() { isAbandoned = true }

    public mutating func loaded(
        _ stored: StoredLogin?, at now: Timestamp, using random: inout some RandomNumberGenerator
    ) -> Action {
        guard case .loading = state else { return unexpected() }
        seen = .version(stored?.version)
        hasLoaded = true
        switch purpose {
        case .saveToken(let token):
            // The token is already in the store: an earlier save was reported as failed but succeeded. Other clients
            // may have refreshed the token since that save.
            if let stored, stored.lineage == token.lineage { return end(stored.token.map(Outcome.adopted) ?? .ended) }
            if mayBeStored { return end(.adopted(token)) }
            let login = UnsavedLogin.Origin.login(before: seen, mayBeStored: false)
            return save(token, lineage: token.lineage ?? random.next(), over: stored, configured: nil, origin: login)
        case .logOut: return end(stored, of: stored?.lineage, using: &random)
        case .adoptLogin(let previous):
            let hasLogin = stored?.token != nil
            func isStored(_ lineages: [UInt64]) -> Bool { stored.map { lineages.contains($0.lineage) } ?? false }
            switch previous {
            // A logout that could not be saved is saved now, unless another login was saved in the meantime.
            case .lineages(let lineages, mustEnd: true) where !hasLogin || isStored(lineages):
                return end(stored, of: isStored(lineages) ? stored?.lineage : lineages.first, using: &random)
            case .unknown(let lineages):
                guard !hasLogin || isStored(lineages) else { return end(.ended) }
                return end(stored, of: stored?.lineage, using: &random)
            case .lineages(let lineages, mustEnd: false) where isStored(lineages): return end(.ended)
            case .lineages, .none: if !hasLogin { return end(.ended) }
            }
        case .refresh, .logIn: break
        }
        return decide(stored, at: now, using: &random)
    }

    public mutating func loadFailed() -> Action { storeFailed() }

    public mutating func locked() -> Action {
        guard case .locking = state else { return unexpected() }
        isLocked = true
        return load()
    }

    public mutating func lockFailed(_ failure: TokenRefresh.Failure) -> Action {
        guard case .locking = state else { return unexpected() }
        return end(.failed(failure))
    }

    public mutating func saved(at now: Timestamp, using random: inout some RandomNumberGenerator) -> Action {
        switch state {
        case .savingIntent(var exchange, let intent):
            seen = .version(intent.version)
            exchange.over = intent
            // The store now contains the unsaved token, as part of the intent.
            unsaved = nil
            return send(exchange)
        case .savingToken(let login, _):
            seen = .version(login.version)
            return login.token.map { end(.refreshed($0)) } ?? unexpected()
        case .savingEnd(let tombstone):
            seen = .version(tombstone.version)
            return end(.ended)
        case .savingRefusal(let refused, let tombstone):
            seen = .version(tombstone.version)
            return tryAlternatives(after: refused, over: tombstone, at: now, using: &random)
        case .finishing(let failure): return end(.failed(failure))
        case .idle, .loading, .locking, .exchanging, .ended: return unexpected()
        }
    }

    /// Reports that the store does not hold the version to replace.
    ///
    /// - Parameter afterFailure: true if an earlier attempt at this save was reported as failed. The attempt may have
    ///   succeeded before another process replaced the record.
    public mutating func conflicted(afterFailure: Bool) -> Action {
        if afterFailure {
            mayBeStored = true
            unsaved = unsaved?.afterFailedSave
        }
        switch state {
        case .savingIntent, .savingToken, .savingEnd, .savingRefusal:
            rounds += 1
            return rounds < LoginUpdate.maximumRounds ? load() : storeFailed()
        case .finishing(let failure): return end(.failed(failure))
        case .idle, .loading, .locking, .exchanging, .ended: return unexpected()
        }
    }

    public mutating func saveFailed() -> Action {
        switch state {
        case .savingToken(let login, let origin):
            guard let token = login.token else { return unexpected() }
            return end(
                .unsaved(UnsavedLogin(token: token, origin: origin.afterFailedSave, configured: login.configured)))
        case .finishing(let failure): return end(.failed(failure))
        case .savingIntent:
            unsaved = unsaved?.afterFailedSave
            return end(.failed(.storage))
        case .savingEnd, .savingRefusal: return end(.failed(.storage))
        case .idle, .loading, .locking, .exchanging, .ended: return unexpected()
        }
    }

    public mutating func exchanged(
        _ result: Result, at now: Timestamp, using random: inout some RandomNumberGenerator
    ) -> Action {
        guard case .exchanging(let exchange) = state else { return unexpected() }
        switch result {
        case .token(let token):
            guard let origin = exchange.separate else {
                return save(
                    token, lineage: exchange.lineage, over: exchange.over,
                    configured: exchange.configured ?? exchange.over?.configured, origin: exchange.origin)
            }
            var token = token
            token.lineage = exchange.lineage
            return end(.unsaved(UnsavedLogin(token: token, origin: origin, configured: exchange.configured)))
        case .invalidGrant:
            // If the store does not hold the refused login, there is no login to end in the store.
            guard exchange.separate == nil, let over = exchange.over, over.token != nil else { return end(.ended) }
            let tombstone = StoredLogin(
                .refused, lineage: over.lineage, generation: StoredLogin.generation(after: over),
                configured: over.configured)
            state = .savingRefusal(exchange, tombstone)
            return .save(tombstone, replacing: over.version, isCritical: true)
        case .refused: return settle(exchange, .refused)
        case .notSent: return settle(exchange, .network)
        case .unknown(let failure): return end(.failed(failure))
        }
    }

    // MARK: Decisions

    private mutating func decide(
        _ stored: StoredLogin?, at now: Timestamp, using random: inout some RandomNumberGenerator
    ) -> Action {
        switch unsaved?.precedence(over: stored) {
        case .missing:
            guard let unsaved else { return unexpected() }
            guard isLocked else { return lock() }
            guard !serves(unsaved.token, at: now) else {
                return save(
                    unsaved.token, lineage: unsaved.lineage, over: stored, configured: unsaved.configured,
                    origin: unsaved.origin)
            }
            var basis = Basis(unsaved.token, unsaved.lineage)
            basis.configured = unsaved.configured
            return exchange(basis, over: stored, at: now, using: &random)
        case .separate:
            guard let unsaved else { return unexpected() }
            guard !serves(unsaved.token, at: now) else { return end(.unsaved(unsaved)) }
            return exchange(
                Basis(unsaved), over: stored, at: now, using: &random)
        case .superseded, nil: break
        }
        if let token = stored?.token {
            if serves(token, at: now) { return end(.adopted(token)) }
            guard isLocked else { return lock() }
            let basis = Basis(token, stored?.lineage, key: stored?.pending?.key)
            return exchange(basis, over: stored, at: now, using: &random)
        }
        guard stored?.ending != .loggedOut || purpose == .logIn else { return end(.ended) }
        guard isLocked else { return lock() }
        guard let configured = usable(over: stored) else {
            return exchange(Basis(nil, nil), over: stored, at: now, using: &random)
        }
        guard held == nil, serves(configured.token, at: now) else {
            triedConfigured = true
            return exchange(Basis(configured), over: stored, at: now, using: &random)
        }
        return save(
            configured.token, lineage: random.next(), over: stored, configured: configured.identity,
            origin: .login(before: .version(stored?.version), mayBeStored: false))
    }

    /// Returns the configured token. Returns nil if there is none, if this update has tried the token, or if a client
    /// may have stored the token before and spent its refresh token.
    private func usable(over stored: StoredLogin?) -> ConfiguredToken? {
        guard let configured, !triedConfigured else { return nil }
        // If this client has a login, the record was deleted and the configured token may have been used before.
        guard let stored else { return held == nil ? configured : nil }
        return stored.configured == configured.identity ? nil : configured
    }

    /// Returns true if the token can replace the held token: it is another token and has not expired.
    private func serves(_ token: Token, at now: Timestamp) -> Bool {
        if held != nil, token.access == held?.access { return false }
        return token.expiry.map { $0 > now } ?? true
    }

    /// Tries other ways to obtain a token after the server has refused the stored login: the configured token, then the
    /// client's own credentials.
    private mutating func tryAlternatives(
        after refused: Exchange, over tombstone: StoredLogin, at now: Timestamp,
        using random: inout some RandomNumberGenerator
    ) -> Action {
        // This client's session has ended, so the client does not log in again by itself.
        if case .adoptLogin = purpose { return end(.ended) }
        if let configured = usable(over: tombstone), configured.token.refresh != refused.token?.refresh,
            configured.token.refresh != held?.refresh
        {
            triedConfigured = true
            return exchange(Basis(configured), over: tombstone, at: now, using: &random)
        }
        guard !triedItself, refused.key != nil, capabilities.logsInByItself else { return end(.ended) }
        triedItself = true
        return exchange(Basis(nil, nil), over: tombstone, at: now, using: &random)
    }

    // MARK: Steps

    private mutating func load() -> Action {
        state = .loading
        return .load
    }

    private mutating func lock() -> Action {
        state = .locking
        return .lock
    }

    private mutating func exchange(
        _ basis: Basis, over stored: StoredLogin?, at now: Timestamp, using random: inout some RandomNumberGenerator
    ) -> Action {
        guard !isAbandoned else { return end(.failed(.network)) }
        let spends = basis.token?.refresh != nil && capabilities.refreshes
        guard spends || capabilities.logsInByItself else { return end(.ended) }
        // An earlier exchange with the key of `basis` may have reached the server. The key is used again, because an
        // exchange with another key would spend the refresh token twice.
        let taken = basis.key.flatMap { IdempotencyKey($0) }
        let key = spends ? (taken ?? IdempotencyKey(using: &random)).text : nil
        let exchange = Exchange(
            token: basis.token, key: key, over: stored, lineage: basis.lineage ?? random.next(),
            replacesUnsaved: taken != nil, separate: basis.separate, configured: basis.configured)
        if basis.separate != nil { unsaved?.key = key }
        guard let token = basis.token, let key, basis.separate == nil else { return send(exchange) }
        let intent = StoredLogin(
            token: token, lineage: exchange.lineage, generation: StoredLogin.generation(after: stored),
            pending: PendingExchange(key: key, began: now), configured: basis.configured ?? stored?.configured)
        state = .savingIntent(exchange, intent)
        return .save(intent, replacing: stored?.version, isCritical: false)
    }

    private mutating func send(_ exchange: Exchange) -> Action {
        state = .exchanging(exchange)
        wasExchanged = true
        return .exchange(exchange.token, key: exchange.key)
    }

    private mutating func save(
        _ token: Token, lineage: UInt64, over stored: StoredLogin?, configured: UInt64?, origin: UnsavedLogin.Origin
    ) -> Action {
        let login = StoredLogin(
            token: token, lineage: lineage, generation: StoredLogin.generation(after: stored),
            configured: configured ?? stored?.configured)
        state = .savingToken(login, origin)
        return .save(login, replacing: stored?.version, isCritical: true)
    }

    private mutating func end(
        _ stored: StoredLogin?, of lineage: UInt64?, using random: inout some RandomNumberGenerator
    ) -> Action {
        // Replace even a tombstone. Otherwise, an unsaved login from before this logout could replace that tombstone
        // later.
        let tombstone = StoredLogin(
            .loggedOut, lineage: lineage ?? random.next(), generation: StoredLogin.generation(after: stored),
            configured: stored?.configured)
        state = .savingEnd(tombstone)
        return .save(tombstone, replacing: stored?.version, isCritical: true)
    }

    /// Removes the intent of an exchange that did not spend the refresh token. Keeps the intent if an earlier exchange
    /// with the same key may have spent the refresh token.
    private mutating func settle(_ exchange: Exchange, _ failure: TokenRefresh.Failure) -> Action {
        if !exchange.replacesUnsaved { unsaved?.key = nil }
        guard exchange.key != nil, exchange.separate == nil, !exchange.replacesUnsaved, var login = exchange.over else {
            return end(.failed(failure))
        }
        login = StoredLogin(
            token: exchange.token ?? Token(access: ""), lineage: login.lineage,
            generation: StoredLogin.generation(after: login), configured: login.configured)
        state = .finishing(failure)
        return .save(login, replacing: exchange.over?.version, isCritical: true)
    }

    /// Ends the update because the store cannot be used. A new login is used without the store.
    private mutating func storeFailed() -> Action {
        guard case .saveToken(let token) = purpose else { return end(.failed(.storage)) }
        return end(.unsaved(UnsavedLogin(token: token, origin: .login(before: seen, mayBeStored: mayBeStored))))
    }

    private mutating func end(_ outcome: Outcome) -> Action {
        state = .ended
        return .end(outcome)
    }

    private mutating func unexpected() -> Action {
        assertionFailure("LoginUpdate received an event that does not follow from its last action")
        return end(.failed(.storage))
    }

    /// The number of conflicts after which the update treats the store as failed. A conflict means that another client
    /// has changed the record.
    private static let maximumRounds = 16
}
