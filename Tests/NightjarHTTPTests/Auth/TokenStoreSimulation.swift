import NightjarTestSupport

@testable import NightjarHTTP

/// Processes that share one credential store and one authorization server. Each process runs the state machines of a
/// client: `TokenRefresh`, `TokenSession`, `LoginUpdateQueue` and `LoginUpdate`.
///
/// Each schedule has its own event weights (``TokenStoreFaults``). Rare combinations of events are therefore likely in
/// some schedules, for example a crash of the process that holds the lock.
struct TokenStoreSystem: SimulatedSystem {
    enum Action: CustomStringConvertible {
        /// The next step of an update.
        case step(Int, LoginUpdateQueue.ID, SimulatedClient.TokenUpdate)
        case call(Int)
        case setToken(Int)
        case logIn(Int)
        case logOut(Int)
        case crash(Int)
        /// All access tokens expire.
        case expire
        /// The server ends every login.
        case revoke
        /// All refreshes in progress time out.
        case timeOut
        /// The saves of a process begin to fail, or succeed again.
        case fill(Int), free(Int)
        /// The store is deleted.
        case remove

        var description: String {
            switch self {
            case .step(let process, let id, let update): "process \(process), update \(id): \(update.text)"
            case .call(let process): "process \(process) calls"
            case .setToken(let process): "process \(process) logs in with a new token"
            case .logIn(let process): "process \(process) logs in by itself"
            case .logOut(let process): "process \(process) logs out"
            case .crash(let process): "process \(process) crashes and starts again"
            case .expire: "the access tokens expire"
            case .revoke: "the server ends all logins"
            case .timeOut: "the refreshes time out"
            case .fill(let process): "the disk of process \(process) is full"
            case .free(let process): "the disk of process \(process) has room again"
            case .remove: "the store is deleted"
            }
        }
    }

    /// A login from the user's point of view: it takes effect at some step between `invoked` and `completed`.
    struct Login {
        var invoked: Int
        var completed: Int?
        /// The process in which the user has set a new token. Nil for all other logins.
        var process: Int?
        /// The step in which the login was first saved. Other processes cannot know the login before this step.
        var reached: Int?
    }

    var clients: [SimulatedClient] = []
    var server = SimulatedServer()
    var stored: StoredLogin?
    var lockHolder: Int?
    var logins: [UInt64: Login] = [:]
    /// The last saved logout. Nil after the next saved login, or after the store was deleted.
    var logout: (invoked: Int, lineage: UInt64)?
    /// The step in which the store was last deleted. Logins and logouts before this step no longer count.
    private(set) var removed = 0
    var stepNumber = 0
    var steady: UInt64 = 0
    var violation: String?
    private var faults: TokenStoreFaults
    /// Processes whose disk is full.
    private var full: Set<Int> = []
    /// The process that took the last step.
    private var last: Int?

    init(random: inout SeededRandom) {
        faults = TokenStoreFaults(random: &random)
        server.honoursKeys = Bool.random(using: &random)
        let configured = Int.random(in: 0..<4, using: &random) == 0 ? server.issue(family: nil) : nil
        let capabilities = LoginUpdate.Capabilities(
            refreshes: true, logsInByItself: Int.random(in: 0..<4, using: &random) == 0)
        for index in 0..<Int.random(in: 2...3, using: &random) {
            clients.append(SimulatedClient(index, configured: configured, capabilities))
        }
    }

    // MARK: Actions

    var actions: [Action] {
        var actions: [Action] = []
        func add(_ event: TokenStoreFaults.Event, _ action: Action) {
            for _ in 0..<faults.weight(of: event) { actions.append(action) }
        }
        for client in clients {
            let index = client.index
            for (id, update) in client.updates where canStep(update, index) {
                let weight = index == last ? faults.steps * faults.persistence : faults.steps
                for _ in 0..<weight { actions.append(.step(index, id, update)) }
            }
            add(.call, .call(index))
            add(.setToken, .setToken(index))
            if client.capabilities.logsInByItself { add(.logIn, .logIn(index)) }
            add(.logOut, .logOut(index))
            add(.crash, .crash(index))
            if full.contains(index) { actions.append(.free(index)) } else { add(.fill, .fill(index)) }
        }
        add(.expire, .expire)
        add(.revoke, .revoke)
        add(.timeOut, .timeOut)
        if stored != nil { add(.remove, .remove) }
        return actions
    }

    private func canStep(_ update: SimulatedClient.TokenUpdate, _ index: Int) -> Bool {
        guard let next = update.next else { return false }
        return next != .lock || lockHolder == nil
    }

    mutating func perform(_ action: Action, random: inout SeededRandom) {
        stepNumber += 1
        switch action {
        case .step(let index, let id, _): step(index, id, &random)
        case .call(let index): change(index) { client, system in client.call(&system) }
        case .setToken(let index):
            faults.happened(.setToken)
            let token = server.issue(family: nil)
            var made = random
            change(index) { client, system in client.setToken(token, &system, &made) }
            random = made
        case .logIn(let index):
            faults.happened(.logIn)
            change(index) { client, system in client.logIn(&system) }
        case .logOut(let index):
            faults.happened(.logOut)
            change(index) { client, system in client.logOut(&system) }
        case .crash(let index):
            faults.happened(.crash)
            if lockHolder == index { lockHolder = nil }
            for (lineage, _) in logins where clients[index].keeps(lineage) { complete(lineage) }
            clients[index] = SimulatedClient(index, configured: clients[index].configured, clients[index].capabilities)
        case .expire:
            faults.happened(.expire)
            server.epoch += 1
        case .revoke:
            faults.happened(.revoke)
            server.revokeAll()
        case .timeOut:
            faults.happened(.timeOut)
            steady += 31_000_000_000
            for index in clients.indices { change(index) { client, system in client.timeOut(&system) } }
        case .fill(let index):
            faults.happened(.fill)
            full.insert(index)
        case .free(let index): full.remove(index)
        case .remove:
            faults.happened(.remove)
            stored = nil
            logout = nil
            removed = stepNumber
            server.forgive()
        }
        if let problem = server.violation { violation = violation ?? problem }
    }

    private mutating func change(_ index: Int, _ body: (inout SimulatedClient, inout TokenStoreSystem) -> Void) {
        var client = clients[index]
        body(&client, &self)
        clients[index] = client
    }

    private mutating func step(_ index: Int, _ id: LoginUpdateQueue.ID, _ random: inout SeededRandom) {
        last = index
        var client = clients[index]
        client.step(id, &self, &random)
        clients[index] = client
    }

    /// Returns whether a read, a lock attempt or a message fails.
    func fails(_ random: inout SeededRandom) -> Bool { faults.failures.hits(&random) }

    /// Returns whether a save fails. If `writes` is true, the record is stored even if the save fails, as after a
    /// failed fsync.
    func saveFails(_ index: Int, _ random: inout SeededRandom) -> (fails: Bool, writes: Bool) {
        if full.contains(index) { return (true, false) }
        return faults.failures.hits(&random) ? (true, Bool.random(using: &random)) : (false, true)
    }

    var now: TokenRefresh.Moment { TokenRefresh.Moment(wall: .epoch, steady: steady) }

    // MARK: Invariants

    mutating func complete(_ lineage: UInt64?) {
        guard let lineage, logins[lineage]?.completed == nil else { return }
        logins[lineage]?.completed = stepNumber
    }

    mutating func note(_ problem: String) { violation = violation ?? problem }

    /// Returns whether the login had taken effect before the step `moment`.
    func wasCompleted(_ lineage: UInt64, before moment: Int) -> Bool {
        logins[lineage]?.completed.map { $0 < moment } ?? false
    }

    /// Returns whether a process that logged out in the step `moment` could know the login.
    func wasThere(_ lineage: UInt64, before moment: Int, for process: Int) -> Bool {
        guard moment > removed, let login = logins[lineage] else { return false }
        if login.process == process { return login.invoked < moment }
        return login.reached.map { $0 < moment } ?? false
    }

    /// Saves a record with compare-and-swap, as the real stores do, and checks the invariants.
    mutating func save(
        _ login: StoredLogin, replacing version: LoginVersion?, for purpose: LoginUpdate.Purpose, invoked: Int
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
            if stored.ending != nil, stored.lineage == login.lineage { note("an ended login was restored") }
        }
        if login.token != nil, let logout {
            let isLogin = purpose == .logIn || (logins[login.lineage] != nil && login.lineage != logout.lineage)
            let isForgotten = logins[login.lineage].map { $0.invoked < removed } ?? false
            if !isLogin || !isForgotten && wasCompleted(login.lineage, before: logout.invoked) {
                note("the logout was undone by login \(login.lineage)")
            }
            self.logout = nil
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
        if login.ending == .loggedOut { logout = (invoked, login.lineage) }
        stored = login
        return true
    }
}
