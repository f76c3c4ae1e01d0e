import NightjarTestSupport

@testable import NightjarHTTP

/// One process of ``TokenStoreSystem``. It performs the actions of the state machines, one step at a time.
struct SimulatedClient {
    enum Kind: Equatable {
        case refresh(TokenRefresh.Refresh)
        case logIn, keep, logOut
    }

    struct Renewal {
        var decisions: LoginRenewal
        let changes: UInt64
        let kind: Kind
        /// The step in which the user requested it.
        let invoked: Int
        /// Nil while it waits for other renewals.
        var next: LoginRenewal.Action?
        /// A response from the server that has not arrived yet.
        var response: LoginRenewal.Result?
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
    let abilities: LoginRenewal.Abilities
    /// In their order. There are only a few at a time.
    private(set) var renewals: [(id: RenewalQueue.ID, renewal: Renewal)] = []
    private var machine: TokenRefresh
    private var session: TokenSession
    private var queue = RenewalQueue()
    private var lastCall: TokenRefresh.Call = 0
    /// The step of the last logout, until the next login in this process.
    private var loggedOut: Int?
    /// Refresh tokens whose successor this process has received.
    private var spent: Set<String> = []

    init(_ index: Int, configured: Token?, _ abilities: LoginRenewal.Abilities) {
        self.index = index
        self.configured = configured
        self.abilities = abilities
        var settings = TokenRefresh.Settings()
        settings.refreshLimit = .max
        machine = TokenRefresh(settings, isShared: true)
        session = TokenSession(configured: configured.map { ConfiguredToken(token: $0, identity: 1) }, abilities)
        _ = machine.signedIn(expiry: .epoch, canRefresh: true, at: TokenRefresh.Moment(wall: .epoch, steady: 0))
    }

    func keeps(_ lineage: UInt64) -> Bool {
        renewals.contains {
            if case .keep(let token) = $0.renewal.decisions.purpose { token.lineage == lineage } else { false }
        }
    }

    // MARK: The caller

    mutating func call(_ system: inout TokenStoreSystem) {
        if machine.version == nil, renewals.isEmpty {
            _ = machine.signedIn(expiry: .epoch, canRefresh: true, at: system.now)
        }
        lastCall += 1
        perform(machine.wants(lastCall, at: system.now), &system)
    }

    mutating func signIn(_ token: Token, _ system: inout TokenStoreSystem, _ random: inout SeededRandom) {
        let decisions = session.signIn(token, using: &random)
        if let lineage = session.token?.lineage {
            system.logins[lineage] = TokenStoreSystem.Login(invoked: system.stepNumber, process: index)
        }
        loggedOut = nil
        overtake()
        begin(decisions, .keep, &system)
        perform(machine.signedIn(expiry: nil, canRefresh: canRenew(token), at: system.now), &system)
    }

    mutating func logIn(_ system: inout TokenStoreSystem) { begin(session.logIn(), .logIn, &system) }

    mutating func logOut(_ system: inout TokenStoreSystem) {
        let decisions = session.signOut()
        loggedOut = system.stepNumber
        overtake()
        begin(decisions, .logOut, &system)
        perform(machine.signedOut(), &system)
    }

    mutating func timeOut(_ system: inout TokenStoreSystem) { perform(machine.timerFired(at: system.now), &system) }

    private func canRenew(_ token: Token) -> Bool { token.refresh != nil || abilities.logsInByItself }

    // MARK: Actions of the state machine

    private mutating func perform(_ actions: [TokenRefresh.Action], _ system: inout TokenStoreSystem) {
        if actions.last == .callLoginRequired { _ = session.end() }
        for action in actions {
            switch action {
            case .attach(let call, let version), .replay(let call, let version): send(call, version, &system)
            case .startRefresh(let refresh): begin(session.renewal(), .refresh(refresh), &system)
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
        for index in renewals.indices where !renewals[index].renewal.decisions.purpose.changesLogin {
            renewals[index].renewal.decisions.abandon()
        }
    }

    private func renewal(_ id: RenewalQueue.ID) -> Renewal? { renewals.first { $0.id == id }?.renewal }

    private mutating func store(_ renewal: Renewal, _ id: RenewalQueue.ID) {
        for index in renewals.indices where renewals[index].id == id { renewals[index].renewal = renewal }
    }

    private mutating func begin(_ decisions: LoginRenewal, _ kind: Kind, _ system: inout TokenStoreSystem) {
        let id = queue.append(changesLogin: decisions.purpose.changesLogin)
        let renewal = Renewal(
            decisions: decisions, changes: session.changes, kind: kind, invoked: system.stepNumber)
        renewals.append((id, renewal))
        beginNext(&system)
    }

    private mutating func beginNext(_ system: inout TokenStoreSystem) {
        while let id = queue.next(), var renewal = renewal(id) {
            let action = session.begin(&renewal.decisions, since: renewal.changes)
            proceed(id, renewal, action, &system)
        }
    }

    private mutating func proceed(
        _ id: RenewalQueue.ID, _ renewal: Renewal, _ action: LoginRenewal.Action, _ system: inout TokenStoreSystem
    ) {
        var renewal = renewal
        renewal.next = action
        renewal.response = nil
        renewal.tries = 0
        store(renewal, id)
        if case .end(let outcome) = action { conclude(id, renewal, outcome, &system) }
    }

    private mutating func conclude(
        _ id: RenewalQueue.ID, _ renewal: Renewal, _ outcome: LoginRenewal.Outcome, _ system: inout TokenStoreSystem
    ) {
        if system.lockHolder == index, renewal.holdsLock { system.lockHolder = nil }
        renewals.removeAll { $0.id == id }
        queue.remove(id)
        if case .keep(let token) = renewal.decisions.purpose { system.complete(token.lineage) }
        if case .unsaved(let login) = outcome, system.logins[login.lineage] == nil {
            system.logins[login.lineage] = TokenStoreSystem.Login(
                invoked: system.stepNumber, completed: system.stepNumber)
        }
        if session.concluded(renewal.decisions, outcome, since: renewal.changes) {
            switch renewal.kind {
            case .refresh(let refresh): concluded(refresh, outcome, renewal.decisions.wasExchanged, &system)
            case .logIn:
                guard let token = session.take(outcome) else { break }
                loggedOut = nil
                perform(machine.signedIn(expiry: nil, canRefresh: canRenew(token), at: system.now), &system)
            case .keep, .logOut: break
            }
        }
        beginNext(&system)
    }

    private mutating func concluded(
        _ refresh: TokenRefresh.Refresh, _ outcome: LoginRenewal.Outcome, _ wasExchanged: Bool,
        _ system: inout TokenStoreSystem
    ) {
        let token: Token
        switch outcome {
        case .adopted(let found): token = found
        case .renewed(let new): token = new
        case .unsaved(let login): token = login.token
        case .ended: return perform(machine.failed(refresh, .invalidGrant, wasExchanged: wasExchanged), &system)
        case .failed(let failure):
            return perform(machine.failed(refresh, failure, wasExchanged: wasExchanged), &system)
        }
        let before = machine.version
        let actions = machine.succeeded(
            refresh, expiry: nil, canRefresh: canRenew(token), wasExchanged: wasExchanged, at: system.now)
        if machine.version != before { _ = session.take(outcome) }
        perform(actions, &system)
    }

    /// Carries out the next step of a renewal.
    mutating func step(_ id: RenewalQueue.ID, _ system: inout TokenStoreSystem, _ random: inout SeededRandom) {
        guard var renewal = renewal(id), let next = renewal.next else { return }
        let action: LoginRenewal.Action
        let now = system.now.wall
        switch next {
        case .load:
            action =
                system.fails(&random)
                ? renewal.decisions.loadFailed() : renewal.decisions.loaded(system.stored, at: now, using: &random)
        case .lock:
            if system.fails(&random) {
                action = renewal.decisions.lockFailed(.storage)
            } else {
                system.lockHolder = index
                renewal.holdsLock = true
                action = renewal.decisions.locked()
            }
        case .save(let login, let version, let isCritical):
            let (fails, writes) = system.saveFails(index, &random)
            if fails {
                if writes { _ = save(login, version, renewal, &system) }
                renewal.tries += 1
                guard !isCritical || renewal.tries >= 2 else { return store(renewal, id) }
                action = renewal.decisions.saveFailed()
            } else {
                action =
                    save(login, version, renewal, &system)
                    ? renewal.decisions.saved(at: now, using: &random)
                    : renewal.decisions.conflicted(afterFailure: renewal.tries > 0)
            }
        case .exchange(let token, let key):
            guard let result = response(to: token, key, &renewal, &system, &random) else { return store(renewal, id) }
            action = renewal.decisions.exchanged(result, at: now, using: &random)
        case .end: return
        }
        proceed(id, renewal, action, &system)
    }

    private func save(
        _ login: StoredLogin, _ version: LoginVersion?, _ renewal: Renewal, _ system: inout TokenStoreSystem
    ) -> Bool {
        // A call may save the logout that its user requested before.
        let invoked = login.ending == .loggedOut ? loggedOut ?? renewal.invoked : renewal.invoked
        return system.save(login, replacing: version, for: renewal.decisions.purpose, invoked: invoked)
    }

    /// The first step sends the request to the server. In the second the response arrives or is lost.
    private mutating func response(
        to token: Token?, _ key: String?, _ renewal: inout Renewal, _ system: inout TokenStoreSystem,
        _ random: inout SeededRandom
    ) -> LoginRenewal.Result? {
        if let response = renewal.response {
            if system.fails(&random) { return .unknown(.network) }
            if key != nil, case .token = response, let refresh = token?.refresh { spent.insert(refresh) }
            return response
        }
        if system.fails(&random) { return Bool.random(using: &random) ? .notSent : .refused }
        if key != nil, let refresh = token?.refresh {
            renewal.response = system.server.redeem(
                refresh, key: key, hasSuccessor: spent.contains(refresh),
                isForgotten: renewal.invoked < system.removed)
        } else {
            renewal.response = .token(system.server.issue(family: nil))
        }
        return nil
    }
}
