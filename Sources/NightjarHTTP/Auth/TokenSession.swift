/// The login of one client whose credential store other clients may share. Decides the purpose of each use of the store
/// and handles its result.
public struct TokenSession: Sendable {
    public private(set) var token: Token?
    /// True if the login has ended. A new token can come from ``setToken(_:using:)``, ``logIn()`` or a login in another
    /// process.
    public private(set) var hasEnded = false
    /// The number of calls of ``setToken(_:using:)`` and ``logOut()``. If the number has changed since an update was
    /// created, the result of the update is ignored.
    public private(set) var changes: UInt64 = 0
    private var previous = LoginUpdate.EndedLogin.none
    private var unsaved: UnsavedLogin?
    private var seen = KnownLogin.unknown
    private let configured: ConfiguredToken?
    private let capabilities: LoginUpdate.Capabilities

    public init(configured: ConfiguredToken?, _ capabilities: LoginUpdate.Capabilities) {
        self.configured = configured
        self.capabilities = capabilities
    }

    // MARK: Uses of the store

    /// Returns the update for a call that needs another token.
    public func update() -> LoginUpdate {
        LoginUpdate(
            hasEnded ? .adoptLogin(previous) : .refresh, held: token, configured: hasEnded ? nil : configured,
            seen: seen,
            capabilities)
    }

    /// Returns the update for a login without a person.
    public func logIn() -> LoginUpdate {
        LoginUpdate(.logIn, held: token, configured: hasEnded ? nil : configured, seen: seen, capabilities)
    }

    /// Starts to use the token of a new login. Returns the update that saves the token.
    public mutating func setToken(_ token: Token, using random: inout some RandomNumberGenerator) -> LoginUpdate {
        var token = token
        token.lineage = random.next()
        changes &+= 1
        hold(token)
        unsaved = nil
        return LoginUpdate(.saveToken(token), held: token, configured: nil, seen: seen, capabilities)
    }

    public mutating func logOut() -> LoginUpdate {
        changes &+= 1
        let held = token
        forget()
        hasEnded = true
        return LoginUpdate(.logOut, held: held, configured: nil, seen: seen, capabilities)
    }

    /// Begins an update and returns its first action.
    ///
    /// - Parameter changes: ``changes`` when the update was created. If ``changes`` has changed since then, an update
    ///   that saves neither a new token nor a logout ends immediately.
    public func begin(_ update: inout LoginUpdate, since changes: UInt64) -> LoginUpdate.Action {
        guard changes == self.changes || update.purpose.changesLogin else { return update.drop() }
        return update.begin(unsaved: unsaved)
    }

    // MARK: Outcomes

    /// Handles the result of an update.
    ///
    /// - Parameter changes: ``changes`` when the update was created.
    /// - Returns: false if a login or logout has occurred since then. The result must then be ignored.
    public mutating func completed(
        _ update: LoginUpdate, _ outcome: LoginUpdate.Outcome, since changes: UInt64
    ) -> Bool {
        guard changes == self.changes else { return false }
        seen = update.seen
        switch (update.purpose, outcome) {
        case (.saveToken, .unsaved(let login)): unsaved = login
        case (.saveToken, _): unsaved = nil
        case (.logOut, .ended): recordEndedLogin()
        case (.logOut, _):
            // The logout could not be saved. A later update must save it.
            if update.hasLoaded, case .version(let version?) = seen {
                previous = .lineages(endedLineages(after: version.lineage), mustEnd: true)
            } else {
                previous = .unknown(endedLineages())
            }
        case (.adoptLogin, .ended):
            if case .lineages(let lineages, _) = previous {
                previous = .lineages(lineages, mustEnd: false)
            } else if case .unknown = previous {
                recordEndedLogin()
            }
        case (_, .unsaved(let login)): unsaved = login
        // Keep the key of an exchange whose response was lost.
        case (_, .failed): unsaved = update.unsaved
        case (_, .adopted), (_, .refreshed), (_, .ended): unsaved = nil
        }
        return true
    }

    private mutating func recordEndedLogin() {
        guard case .version(let version) = seen else { return }
        let lineages = endedLineages(after: version?.lineage)
        previous = lineages.isEmpty ? .none : .lineages(lineages, mustEnd: false)
    }

    /// The lineages of logins that have ended for this client, most recent first.
    public var endedLogins: [UInt64] { endedLineages() }

    /// Returns the lineages of logins that have ended for this client, most recent first.
    private func endedLineages(after lineage: UInt64? = nil) -> [UInt64] {
        let earlier: [UInt64] =
            switch previous {
            case .none: []
            case .lineages(let lineages, _), .unknown(let lineages): lineages
            }
        guard let lineage else { return earlier }
        return Array(([lineage] + earlier.filter { $0 != lineage }).prefix(TokenSession.maximumEndedLogins))
    }

    /// The maximum number of remembered lineages. Each logout adds at most two.
    private static let maximumEndedLogins = 8

    /// Starts to use the token of a result.
    ///
    /// - Returns: nil if the result has no token.
    public mutating func take(_ outcome: LoginUpdate.Outcome) -> Token? {
        switch outcome {
        case .adopted(let token), .refreshed(let token):
            hold(token)
            return token
        case .unsaved(let login):
            hold(login.token)
            return login.token
        case .ended, .failed: return nil
        }
    }

    /// Makes `token` the current token and clears the ended state.
    public mutating func hold(_ token: Token) {
        self.token = token
        hasEnded = false
    }

    /// Stops using the token, because the login has ended.
    public mutating func forget() {
        if let lineage = token?.lineage { previous = .lineages(endedLineages(after: lineage), mustEnd: false) }
        token = nil
        unsaved = nil
    }

    /// Records that the login has ended and a new login is required.
    ///
    /// - Returns: false if this was recorded before.
    public mutating func end() -> Bool {
        defer { hasEnded = true }
        return !hasEnded
    }
}
