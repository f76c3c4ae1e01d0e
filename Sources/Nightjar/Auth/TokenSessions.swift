import NightjarHTTP

/// The tokens of a client's logins, by login number. Used on the loop.
final class TokenSessions: LoopComponent, @unchecked Sendable {
    /// An element is nil for a login without a token.
    private var managers: [TokenManager?] = []

    /// Adds a login. Numbers start at 0. Called before the first call.
    ///
    /// - Parameters:
    ///   - login: Nil if the login has no token.
    ///   - responses: The cache, or nil if the client has none.
    func add(_ login: TokenLogin?, _ issuer: TokenIssuer?, responses: (any LoginResponses)?, on loop: ClientLoop) {
        managers.append(login.map { TokenManager($0, issuer: issuer, responses: responses, on: loop) })
    }

    /// The token manager of a login, or nil if the login has no token.
    subscript(login: Int?) -> TokenManager? {
        guard let login, managers.indices.contains(login) else { return nil }
        return managers[login]
    }

    /// Abandons work that can be repeated. Returns whether other work is in progress.
    func mustFinish() -> Bool {
        var mustNot = false
        for manager in managers where manager?.mustFinish() ?? false { mustNot = true }
        return mustNot
    }

    func shutDown() { for manager in managers { manager?.shutDown() } }
}
