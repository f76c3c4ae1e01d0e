import NightjarTestSupport

@testable import NightjarHTTP

/// One process of ``TokenStoreSystem``. It performs the actions of the state machines, one step at a time.
struct SimulatedClient {
    enum Kind: Equatable {
        case refresh(TokenRefresh.Refresh)
        case logIn, saveToken, logOut
    }

    struct TokenUpdate {
        var decisions: LoginUpdate
        let changes: UInt64
        let kind: Kind
        /// The step in which the update was requested.
        let invoked: Int
        /// The next action. Nil while the update waits for other updates.
        var next: LoginUpdate.Action?
        /// A response from the server that has not arrived yet.
        var response: LoginUpdate.Result?
        var tries = 0
        var holdsLock = false

        var text: String {
            if let response { return "response \(response)" }
            switch next {
            case .save(let login, let version, _): return "save \(login) over \(version?.description ?? "nothing")"
            case .exchange(let token, let key): return "exchange \(token?.refresh ?? "none") with \(key ?? "no key")"
            case let next?: return "\(next)"
            case nil: return "waits"
            }
        }
    }

    let index: Int
    let configured: Token?
    let capabilities: LoginUpdate.Capabilities
    /// The updates in progress and in the queue, in the order of their requests.
    private(set) var updates: [(id: LoginUpdateQueue.ID, update: TokenUpdate)] = []
    private var machine: TokenRefresh
    private var session: TokenSession
    private var queue = LoginUpdateQueue()
    private var lastCall: TokenRefresh.Call = 0
    /// The step of the last logout. Nil after the next login in this process.
    private var loggedOut: Int?
    /// The refresh tokens for which this process has received a successor.
    private var usedTokens: Set<String> = []

    init(_ index: Int, configured: Token?, _ capabilities: LoginUpdate.Capabilities) {
        self.index = index
        self.configured = configured
        self.capabilities = capabilities
        var settings = TokenRefresh.Settings()
        settings.refreshLimit = .max
        machine = TokenRefresh(settings, isShared: true)
        session = TokenSession(configured: configured.map { ConfiguredToken(token: $0, identity: 1) }, capabilities)
        _ = machine.loggedIn(expiry: .epoch, canRefresh: true, at: TokenRefresh.Moment(wall: .epoch, steady: 0))
    }

    func keeps(_ lineage: UInt64) -> Bool {
        updates.contains {
            if case .saveToken(let token) = $0.update.decisions.purpose { token.lineage == lineage } else { false }
        }
    }

    // MARK: The caller

    mutating func call(_ system: inout TokenStoreSystem) {
        if machine.version == nil, updates.isEmpty {
            _ = machine.loggedIn(expiry: .epoch, canRefresh: true, at: system.now)
        }
        lastCall += 1
        perform(machine.requestToken(lastCall, at: system.now), &system)
    }

    mutating func setToken(_ token: Token, _ system: inout TokenStoreSystem, _ random: inout SeededRandom) {
        let decisions = session.setToken(token, using: &random)
        if let lineage = session.token?.lineage {
            system.logins[lineage] = TokenStoreSystem.Login(invoked: system.stepNumber, process: index)
        }
        loggedOut = nil
        overtake()
        begin(decisions, .saveToken, &system)
        perform(machine.loggedIn(expiry: nil, canRefresh: canRefreshLogin(token), at: system.now), &system)
    }

    mutating func logIn(_ system: inout TokenStoreSystem) { begin(session.logIn(), .logIn, &system) }

    mutating func logOut(_ system: inout TokenStoreSystem) {
        let decisions = session.logOut()
        loggedOut = system.stepNumber
        overtake()
        begin(decisions, .logOut, &system)
        perform(machine.loggedOut(), &system)
    }

    mutating func timeOut(_ system: inout TokenStoreSystem) { perform(machine.timerFired(at: system.now), &system) }

    private func canRefreshLogin(_ token: Token) -> Bool { token.refresh != nil || capabilities.logsInByItself }

    // MARK: Actions of the state machine

    private mutating func perform(_ actions: [TokenRefresh.Action], _ system: inout TokenStoreSystem) {
        if actions.last == .callLoginRequired { _ = session.end() }
        for action in actions {
            switch action {
            case .attach(let call, let version), .replay(let call, let version): send(call, version, &system)
            case .startRefresh(let refresh): begin(session.update(), .refresh(refresh), &system)
            case .fail(let call, _): machine.ended(call)
            case .clear: session.forget()
            case .wait, .callLoginRequired: break
            }
        }
    }

    private mutating func send(
        _ call: TokenRefresh.Call, _ version: TokenRefresh.Version, _ system: inout TokenStoreSystem
    ) {
        guard let token = session.token else { return machine.ended(call) }
        if let loggedOut, system.wasThere(token.lineage ?? 0, before: loggedOut, for: index) {
            system.note("process \(index) uses a login from before its logout")
        }
        guard !system.server.accepts(token) else { return machine.ended(call) }
        perform(machine.refused(call, sentWith: version, at: system.now), &system)
    }

    // MARK: The store

    private mutating func overtake() {
        for index in updates.indices where !updates[index].update.decisions.purpose.changesLogin {
            updates[index].update.decisions.abandon()
        }
    }

    private func update(_ id: LoginUpdateQueue.ID) -> TokenUpdate? { updates.first { $0.id == id }?.update }

    private mutating func store(_ update: TokenUpdate, _ id: LoginUpdateQueue.ID) {
        for index in updates.indices where updates[index].id == id { updates[index].update = update }
    }

    private mutating func begin(_ decisions: LoginUpdate, _ kind: Kind, _ system: inout TokenStoreSystem) {
        let id = queue.append(changesLogin: decisions.purpose.changesLogin)
        let update = TokenUpdate(
            decisions: decisions, changes: session.changes, kind: kind, invoked: system.stepNumber)
        updates.append((id, update))
        beginNext(&system)
    }

    private mutating func beginNext(_ system: inout TokenStoreSystem) {
        while let id = queue.next(), var update = update(id) {
            let action = session.begin(&update.decisions, since: update.changes)
            proceed(id, update, action, &system)
        }
    }

    private mutating func proceed(
        _ id: LoginUpdateQueue.ID, _ update: TokenUpdate, _ action: LoginUpdate.Action, _ system: inout TokenStoreSystem
    ) {
        var update = update
        update.next = action
        update.response = nil
        update.tries = 0
        store(update, id)
        if case .end(let outcome) = action { finishUpdate(id, update, outcome, &system) }
    }

    private mutating func finishUpdate(
        _ id: LoginUpdateQueue.ID, _ update: TokenUpdate, _ outcome: LoginUpdate.Outcome,
        _ system: inout TokenStoreSystem
    ) {
        if system.lockHolder == index, update.holdsLock { system.lockHolder = nil }
        updates.removeAll { $0.id == id }
        queue.remove(id)
        if case .saveToken(let token) = update.decisions.purpose { system.complete(token.lineage) }
        if case .unsaved(let login) = outcome, system.logins[login.lineage] == nil {
            system.logins[login.lineage] = TokenStoreSystem.Login(
                invoked: system.stepNumber, completed: system.stepNumber)
        }
        if session.completed(update.decisions, outcome, since: update.changes) {
            switch update.kind {
            case .refresh(let refresh): updateFinished(refresh, outcome, update.decisions.wasExchanged, &system)
            case .logIn:
                guard let token = session.take(outcome) else { break }
                loggedOut = nil
                perform(machine.loggedIn(expiry: nil, canRefresh: canRefreshLogin(token), at: system.now), &system)
            case .saveToken, .logOut: break
            }
        }
        beginNext(&system)
    }

    private mutating func updateFinished(
        _ refresh: TokenRefresh.Refresh, _ outcome: LoginUpdate.Outcome, _ wasExchanged: Bool,
        _ system: inout TokenStoreSystem
    ) {
        let token: Token
        switch outcome {
        case .adopted(let found): token = found
        case .refreshed(let new): token = new
        case .unsaved(let login): token = login.token
        case .ended: return perform(machine.failed(refresh, .invalidGrant, wasExchanged: wasExchanged), &system)
        case .failed(let failure):
            return perform(machine.failed(refresh, failure, wasExchanged: wasExchanged), &system)
        }
        let before = machine.version
        let actions = machine.succeeded(
            refresh, expiry: nil, canRefresh: canRefreshLogin(token), wasExchanged: wasExchanged, at: system.now)
        if machine.version != before { _ = session.take(outcome) }
        perform(actions, &system)
    }

    /// Performs the next step of an update.
    mutating func step(_ id: LoginUpdateQueue.ID, _ system: inout TokenStoreSystem, _ random: inout SeededRandom) {
        guard var update = update(id), let next = update.next else { return }
        let action: LoginUpdate.Action
        let now = system.now.wall
        switch next {
        case .load:
            action =
                system.fails(&random)
                ? update.decisions.loadFailed() : update.decisions.loaded(system.stored, at: now, using: &random)
        case .lock:
            if system.fails(&random) {
                action = update.decisions.lockFailed(.storage)
            } else {
                system.lockHolder = index
                update.holdsLock = true
                action = update.decisions.locked()
            }
        case .save(let login, let version, let isCritical):
            let (fails, writes) = system.saveFails(index, &random)
            if fails {
                if writes { _ = save(login, version, update, &system) }
                update.tries += 1
                guard !isCritical || update.tries >= 2 else { return store(update, id) }
                action = update.decisions.saveFailed()
            } else {
                action =
                    save(login, version, update, &system)
                    ? update.decisions.saved(at: now, using: &random)
                    : update.decisions.conflicted(afterFailure: update.tries > 0)
            }
        case .exchange(let token, let key):
            guard let result = response(to: token, key, &update, &system, &random) else { return store(update, id) }
            action = update.decisions.exchanged(result, at: now, using: &random)
        case .end: return
        }
        proceed(id, update, action, &system)
    }

    private func save(
        _ login: StoredLogin, _ version: LoginVersion?, _ update: TokenUpdate, _ system: inout TokenStoreSystem
    ) -> Bool {
        // A refresh may save a logout that was requested earlier and could not be saved.
        let invoked = login.ending == .loggedOut ? loggedOut ?? update.invoked : update.invoked
        return system.save(login, replacing: version, for: update.decisions.purpose, invoked: invoked)
    }

    /// The first step sends the request to the server. In the second step, the response arrives or is lost.
    private mutating func response(
        to token: Token?, _ key: String?, _ update: inout TokenUpdate, _ system: inout TokenStoreSystem,
        _ random: inout SeededRandom
    ) -> LoginUpdate.Result? {
        if let response = update.response {
            if system.fails(&random) { return .unknown(.network) }
            if key != nil, case .token = response, let refresh = token?.refresh { usedTokens.insert(refresh) }
            return response
        }
        if system.fails(&random) { return Bool.random(using: &random) ? .notSent : .refused }
        if key != nil, let refresh = token?.refresh {
            update.response = system.server.redeem(
                refresh, key: key, hasSuccessor: usedTokens.contains(refresh),
                isForgotten: update.invoked < system.removed)
        } else {
            update.response = .token(system.server.issue(family: nil))
        }
        return nil
    }
}
