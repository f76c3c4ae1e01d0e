import NightjarHTTP

/// The tokens of a client's logins, by login number. Used on the loop.
final class TokenSessions: LoopResident, @unchecked Sendable {
    /// Nil for a login without a token.
    private var keepers: [TokenKeeper?] = []

    /// Adds a login. Numbers start at 0. Called before the first call.
    ///
    /// - Parameters:
    ///   - login: Nil if the login has no token.
    ///   - responses: The cache, or nil if the client has none.
    func add(_ login: TokenLogin?, _ issuer: TokenIssuer?, responses: (any LoginResponses)?, on loop: ClientLoop) {
        keepers.append(login.map { TokenKeeper($0, issuer: issuer, responses: responses, on: loop) })
    }

    /// The token of a login, or nil if it has none.
    subscript(login: Int?) -> TokenKeeper? {
        guard let login, keepers.indices.contains(login) else { return nil }
        return keepers[login]
    }

    /// Abandons work that can be repeated. Returns whether other work is in progress.
    func mustNotBeCut() -> Bool {
        var mustNot = false
        for keeper in keepers where keeper?.mustNotBeCut() ?? false { mustNot = true }
        return mustNot
    }

    func shutDown() { for keeper in keepers { keeper?.shutDown() } }
}
