import NIOHTTP1

/// `/v1/auth`: login by email and password, token refresh and logout.
struct Logins {
    let tokens: Tokens
    let refreshes: Refreshes
    let store: Store

    /// The password of all users.
    static let password = "moonlight"

    func add(to router: inout Router) {
        router.on(.POST, "/v1/auth/login", login)
        router.on(.POST, "/v1/auth/refresh", refresh)
        router.on(.POST, "/v1/auth/logout", logout)
    }

    /// Logs in a user. `expires_in` is the lifetime of the access tokens in seconds and may have a fraction.
    private func login(_ request: Request) throws(Problem) -> Response {
        let parameters = try Parameters(request)
        let email = try parameters.text("email")
        let password = try parameters.text("password")
        let lifetime = try parameters.seconds(
            "expires_in", atMost: Tokens.lifetimeLimit, or: Tokens.defaultLifetime)
        guard password == Logins.password, let user = store.users.rows.first(where: { $0.email == email }) else {
            throw Problem(.unauthorized, "invalid email or password; GET / lists valid credentials")
        }
        return tokens.login(user.id, lifetime: lifetime).grant.response
    }

    private func refresh(_ request: Request) throws(Problem) -> Response {
        let parameters = try Parameters(request)
        guard parameters["grant_type"] ?? "refresh_token" == "refresh_token" else {
            return OAuthError(.unsupportedGrantType, "grant_type must be refresh_token").response
        }
        return try refreshes.respond(request, parameters)
    }

    /// Ends the login of the bearer token.
    private func logout(_ request: Request) throws(Problem) -> Response {
        let (family, _) = try tokens.bearer(request)
        tokens.logout(family)
        return Response(.noContent)
    }
}
