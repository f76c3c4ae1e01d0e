import NightjarTestSupport

@testable import NightjarHTTP

/// Processes that share one credential store and one authorization server. Each process runs the decisions of a client:
/// `TokenRefresh`, `TokenSession`, `RenewalQueue` and `LoginRenewal`.
struct TokenStoreSystem: SimulatedSystem {
    enum Action: CustomStringConvertible {
        /// The next step of a use of the store.
        case step(Int, RenewalQueue.ID, SimulatedClient.Renewal)
        case call(Int)
        case signIn(Int)
        case logIn(Int)
        case logOut(Int)
        case crash(Int)
        /// All access tokens expire.
        case expire
        /// The server ends every login.
        case revoke
        /// The time limit of every refresh that runs has passed.
        case timeOut

        var description: String {
            switch self {
            case .step(let process, let id, let renewal): "process \(process), renewal \(id): \(renewal.text)"
            case .call(let process): "process \(process) calls"
            case .signIn(let process): "process \(process) logs in with a new token"
            case .logIn(let process): "process \(process) logs in by itself"
            case .logOut(let process): "process \(process) logs out"
            case .crash(let process): "process \(process) crashes and starts again"
            case .expire: "the access tokens expire"
            case .revoke: "the server ends all logins"
            case .timeOut: "the refreshes time out"
            }
        }
    }

    /// A login as its user sees it: it takes effect at some step from `invoked` to `completed`.
    struct Login {
        var invoked: Int
        var completed: Int?
        /// Of a login with a new token.
        var process: Int?
        /// The step in which it was saved first. For other processes a login that could not be saved begins there.
        var reached: Int?
    }

    var clients: [SimulatedClient] = []
    var server = SimulatedServer()
    var stored: StoredLogin?
    var lockHolder: Int?
    var logins: [UInt64: Login] = [:]
    /// Of the logout that has left the tombstone in the store.
    var logoutInvoked = 0
    var stepNumber = 0
    var steady: UInt64 = 0
    var violation: String?
    /// Of disks and networks, in percent.
    private let failureRate: Int
    private var budget = Budget()

    /// How often each event may happen in one schedule.
    private struct Budget {
        var logins = 3
        var logouts = 3
        var crashes = 3
        var expiries = 5
        var revocations = 1
        var timeouts = 2
    }

    init(random: inout SeededRandom) {
        failureRate = [0, 10, 30].randomElement(using: &random) ?? 0
        server.honoursKeys = Bool.random(using: &random)
        let configured = Bool.random(using: &random) ? server.issue(family: nil) : nil
        let abilities = LoginRenewal.Abilities(
            refreshes: true, logsInByItself: Int.random(in: 0..<4, using: &random) == 0)
        for index in 0..<Int.random(in: 2...3, using: &random) {
            clients.append(SimulatedClient(index, configured: configured, abilities))
        }
    }

    // MARK: Actions

    var actions: [Action] {
        var actions: [Action] = []
        for client in clients {
            for (id, renewal) in client.renewals where canStep(renewal, client.index) {
                // More often than other events, or most schedules would end before anything is saved.
                for _ in 0..<6 { actions.append(.step(client.index, id, renewal)) }
            }
            actions.append(.call(client.index))
            if budget.logins > 0 { actions.append(.signIn(client.index)) }
            if budget.logins > 0, client.abilities.logsInByItself { actions.append(.logIn(client.index)) }
            if budget.logouts > 0 { actions.append(.logOut(client.index)) }
            if budget.crashes > 0 { actions.append(.crash(client.index)) }
        }
        if budget.expiries > 0 { actions.append(.expire) }
        if budget.revocations > 0 { actions.append(.revoke) }
        if budget.timeouts > 0 { actions.append(.timeOut) }
        return actions
    }

    private func canStep(_ renewal: SimulatedClient.Renewal, _ index: Int) -> Bool {
        guard let next = renewal.next else { return false }
        return next != .lock || lockHolder == nil
    }

    mutating func perform(_ action: Action, random: inout SeededRandom) {
        stepNumber += 1
        switch action {
        case .step(let index, let id, _): step(index, id, &random)
        case .call(let index): change(index) { client, system in client.call(&system) }
        case .signIn(let index):
            budget.logins -= 1
            let token = server.issue(family: nil)
            var made = random
            change(index) { client, system in client.signIn(token, &system, &made) }
            random = made
        case .logIn(let index):
            budget.logins -= 1
            change(index) { client, system in client.logIn(&system) }
        case .logOut(let index):
            budget.logouts -= 1
            change(index) { client, system in client.logOut(&system) }
        case .crash(let index):
            budget.crashes -= 1
            if lockHolder == index { lockHolder = nil }
            for (lineage, _) in logins where clients[index].keeps(lineage) { complete(lineage) }
            clients[index] = SimulatedClient(index, configured: clients[index].configured, clients[index].abilities)
        case .expire:
            budget.expiries -= 1
            server.epoch += 1
        case .revoke:
            budget.revocations -= 1
            server.revokeAll()
        case .timeOut:
            budget.timeouts -= 1
            steady += 31_000_000_000
            for index in clients.indices { change(index) { client, system in client.timeOut(&system) } }
        }
        if let problem = server.violation { violation = violation ?? problem }
    }

    private mutating func change(_ index: Int, _ body: (inout SimulatedClient, inout TokenStoreSystem) -> Void) {
        var client = clients[index]
        body(&client, &self)
        clients[index] = client
    }

    private mutating func step(_ index: Int, _ id: RenewalQueue.ID, _ random: inout SeededRandom) {
        var client = clients[index]
        client.step(id, &self, &random)
        clients[index] = client
    }

    func fails(_ random: inout SeededRandom) -> Bool { Int.random(in: 0..<100, using: &random) < failureRate }

    var now: TokenRefresh.Moment { TokenRefresh.Moment(wall: .epoch, steady: steady) }

    // MARK: Invariants

    mutating func complete(_ lineage: UInt64?) {
        guard let lineage, logins[lineage]?.completed == nil else { return }
        logins[lineage]?.completed = stepNumber
    }

    mutating func note(_ problem: String) { violation = violation ?? problem }

    /// Whether the login had ended its way to the store before `moment`.
    func wasCompleted(_ lineage: UInt64, before moment: Int) -> Bool {
        logins[lineage]?.completed.map { $0 < moment } ?? false
    }

    /// Whether a process that logged out at `moment` knew, or could know, of the login.
    func wasThere(_ lineage: UInt64, before moment: Int, for process: Int) -> Bool {
        guard let login = logins[lineage] else { return false }
        if login.process == process { return login.invoked < moment }
        return login.reached.map { $0 < moment } ?? false
    }

    /// A compare-and-swap as the stores have it.
    mutating func save(
        _ login: StoredLogin, replacing version: LoginVersion?, for purpose: LoginRenewal.Purpose, invoked: Int
    ) -> Bool {
        guard login.mayReplace(stored, of: version) else { return false }
        guard stored != login else { return true }
        if login.generation != (stored?.generation ?? 0) + 1 {
            note("generation \(login.generation) follows \(stored?.generation ?? 0)")
        }
        if login.token != nil, let stored {
            if let replaced = logins[stored.lineage], stored.token != nil, stored.lineage != login.lineage,
                wasCompleted(login.lineage, before: replaced.invoked)
            {
                note("login \(login.lineage) replaced the later login \(stored.lineage)")
            }
            if stored.ending == .loggedOut {
                let isLogin = purpose == .logIn || (logins[login.lineage] != nil && login.lineage != stored.lineage)
                if !isLogin || wasCompleted(login.lineage, before: logoutInvoked) {
                    note("the logout was undone by login \(login.lineage)")
                }
            }
            if stored.ending != nil, stored.lineage == login.lineage { note("a login that had ended came back") }
        }
        if login.token != nil, logins[login.lineage] == nil {
            logins[login.lineage] = Login(invoked: stepNumber, completed: stepNumber)
        }
        if login.token != nil, logins[login.lineage]?.reached == nil { logins[login.lineage]?.reached = stepNumber }
        if let stored, let old = stored.token?.refresh, let new = login.token?.refresh, new != old,
            stored.lineage == login.lineage
        {
            server.replaced(old)
        }
        if login.ending == .loggedOut { logoutInvoked = invoked }
        stored = login
        return true
    }
}

/// An authorization server whose refresh tokens rotate.
struct SimulatedServer {
    struct Redemption {
        let key: String?
        let successor: Token
        /// The successor is safe in the store.
        var isReplaced = false
    }

    var honoursKeys = true
    /// Access tokens of an earlier epoch have expired.
    var epoch = 0
    private(set) var violation: String?
    private var count = 0
    private var families = 0
    private var family: [String: Int] = [:]
    private var epochs: [String: Int] = [:]
    private var revoked: Set<Int> = []
    private var redemptions: [String: Redemption] = [:]

    mutating func issue(family known: Int?) -> Token {
        count += 1
        if known == nil { families += 1 }
        let token = Token(access: "a\(count)", refresh: "r\(count)")
        for name in [token.access, token.refresh ?? ""] { family[name] = known ?? families }
        epochs[token.access] = epoch
        return token
    }

    mutating func revokeAll() { revoked = Set(1...max(families, 1)) }

    func accepts(_ token: Token) -> Bool {
        epochs[token.access] == epoch && !(family[token.access].map(revoked.contains) ?? true)
    }

    /// The store holds the successor of this refresh token.
    mutating func replaced(_ refresh: String) { redemptions[refresh]?.isReplaced = true }

    /// - Parameter hasSuccessor: the process that asks has received the response to this refresh token before.
    mutating func redeem(_ refresh: String, key: String?, hasSuccessor: Bool) -> LoginRenewal.Result {
        guard let family = family[refresh], !revoked.contains(family) else { return .invalidGrant }
        if let redemption = redemptions[refresh] {
            if redemption.key != key { violation = violation ?? "\(refresh) was spent twice, with two keys" }
            if hasSuccessor { violation = violation ?? "\(refresh) was spent by a process that had its successor" }
            if redemption.isReplaced { violation = violation ?? "\(refresh) was spent though its successor was saved" }
            return honoursKeys ? .token(redemption.successor) : .invalidGrant
        }
        let successor = issue(family: family)
        redemptions[refresh] = Redemption(key: key, successor: successor)
        return .token(successor)
    }
}
