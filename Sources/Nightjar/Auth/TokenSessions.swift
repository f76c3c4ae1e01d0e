import NightjarHTTP

/// The tokens of a client's logins, by the numbers of the logins. On the loop.
final class TokenSessions: LoopResident, @unchecked Sendable {
    /// Nil for a login without a token.
    private var keepers: [TokenKeeper?] = []

    /// Adds a login; the numbers count up from 0. Before the first call.
    ///
    /// - Parameters:
    ///   - login: nil: the login has no token.
    ///   - responses: the cache; nil: the client has none.
    func add(_ login: TokenLogin?, _ issuer: TokenIssuer?, responses: (any LoginResponses)?, on loop: ClientLoop) {
        keepers.append(login.map { TokenKeeper($0, issuer: issuer, responses: responses, on: loop) })
    }

    /// The tokens of a login; nil: it has none.
    subscript(login: Int?) -> TokenKeeper? {
        guard let login, keepers.indices.contains(login) else { return nil }
        return keepers[login]
    }

    /// Stops what would not be lost. Returns whether other work is in progress.
    func mustNotBeCut() -> Bool {
        var mustNot = false
        for keeper in keepers where keeper?.mustNotBeCut() ?? false { mustNot = true }
        return mustNot
    }

    func shutDown() { for keeper in keepers { keeper?.shutDown() } }
}
