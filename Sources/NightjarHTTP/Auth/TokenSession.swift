/// The login of one client that shares its credential store with others: the token in use, the part of it that is not
/// saved, and whether the login has ended. Decides the purpose of each use of the store and handles its result.
public struct TokenSession: Sendable {
    public private(set) var token: Token?
    /// The login has ended. A new token can come from ``signIn(_:using:)``, ``logIn()`` or a login in another process.
    public private(set) var hasEnded = false
    /// The number of logins and logouts. The result of a renewal that started before the last one is ignored.
    public private(set) var changes: UInt64 = 0
    private var former = LoginRenewal.Former.none
    private var unsaved: UnsavedLogin?
    private var seen = SeenLogin.unknown
    private let configured: ConfiguredToken?
    private let abilities: LoginRenewal.Abilities

    public init(configured: ConfiguredToken?, _ abilities: LoginRenewal.Abilities) {
        self.configured = configured
        self.abilities = abilities
    }

    // MARK: Uses of the store

    /// The renewal for a call that needs another token.
    public func renewal() -> LoginRenewal {
        LoginRenewal(
            hasEnded ? .look(former) : .renew, held: token, configured: hasEnded ? nil : configured, seen: seen,
            abilities)
    }

    /// The renewal for a login without a person.
    public func logIn() -> LoginRenewal {
        LoginRenewal(.logIn, held: token, configured: hasEnded ? nil : configured, seen: seen, abilities)
    }

    /// Starts to use the token of a new login.
    public mutating func signIn(_ token: Token, using random: inout some RandomNumberGenerator) -> LoginRenewal {
        var token = token
        token.lineage = random.next()
        changes &+= 1
        hold(token)
        unsaved = nil
        return LoginRenewal(.keep(token), held: token, configured: nil, seen: seen, abilities)
    }

    public mutating func signOut() -> LoginRenewal {
        changes &+= 1
        let held = token
        forget()
        hasEnded = true
        return LoginRenewal(.logOut, held: held, configured: nil, seen: seen, abilities)
    }

    /// The first action of a renewal in the current state.
    ///
    /// - Parameter changes: ``changes`` when the renewal was created. A renewal that a login or logout has overtaken
    ///   ends immediately.
    public func begin(_ renewal: inout LoginRenewal, since changes: UInt64) -> LoginRenewal.Action {
        guard changes == self.changes || renewal.purpose.changesLogin else { return renewal.drop() }
        return renewal.begin(unsaved: unsaved)
    }

    // MARK: Outcomes

    /// Handles the result of a renewal.
    ///
    /// - Parameter changes: ``changes`` when the renewal was created.
    /// - Returns: true if the result is still needed.
    public mutating func concluded(
        _ renewal: LoginRenewal, _ outcome: LoginRenewal.Outcome, since changes: UInt64
    ) -> Bool {
        guard changes == self.changes else { return false }
        seen = renewal.seen
        switch (renewal.purpose, outcome) {
        case (.keep, .unsaved(let login)): unsaved = login
        case (.keep, _): unsaved = nil
        case (.logOut, .ended): learnFormer()
        case (.logOut, _):
            // A logout that did not reach the store.
            if renewal.hasLoaded, case .version(let version?) = seen {
                former = .lineages(formerLineages(after: version.lineage), mustEnd: true)
            } else {
                former = .unknown(formerLineages())
            }
        case (.look, .ended):
            if case .lineages(let lineages, _) = former {
                former = .lineages(lineages, mustEnd: false)
            } else if case .unknown = former {
                learnFormer()
            }
        case (_, .unsaved(let login)): unsaved = login
        // Keeps the key of an exchange whose response was lost.
        case (_, .failed): unsaved = renewal.unsaved
        case (_, .adopted), (_, .renewed), (_, .ended): unsaved = nil
        }
        return true
    }

    private mutating func learnFormer() {
        guard case .version(let version) = seen else { return }
        let lineages = formerLineages(after: version?.lineage)
        former = lineages.isEmpty ? .none : .lineages(lineages, mustEnd: false)
    }

    /// The lineages of logins that have ended for this client, most recent first.
    private func formerLineages(after lineage: UInt64? = nil) -> [UInt64] {
        let earlier: [UInt64] =
            switch former {
            case .none: []
            case .lineages(let lineages, _), .unknown(let lineages): lineages
            }
        guard let lineage else { return earlier }
        return Array(([lineage] + earlier.filter { $0 != lineage }).prefix(TokenSession.mostFormer))
    }

    /// Each failed logout adds at most two.
    private static let mostFormer = 8

    /// Starts to use the token of a result.
    ///
    /// - Returns: nil if the result has no token.
    public mutating func take(_ outcome: LoginRenewal.Outcome) -> Token? {
        switch outcome {
        case .adopted(let token), .renewed(let token):
            hold(token)
            return token
        case .unsaved(let login):
            hold(login.token)
            return login.token
        case .ended, .failed: return nil
        }
    }

    /// Starts to use a token that does not come from the store.
    public mutating func hold(_ token: Token) {
        self.token = token
        hasEnded = false
    }

    /// The login has ended. Its token is no longer used.
    public mutating func forget() {
        if let lineage = token?.lineage { former = .lineages(formerLineages(after: lineage), mustEnd: false) }
        token = nil
        unsaved = nil
    }

    /// A person must log in.
    ///
    /// - Returns: true the first time.
    public mutating func end() -> Bool {
        defer { hasEnded = true }
        return !hasEnded
    }
}
