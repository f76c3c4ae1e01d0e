import NIOHTTP1

/// Resources that require a token, a password or a key.
struct Protected {
    let tokens: Tokens
    let store: Store

    static let realm = "demo"
    /// The user name for Basic and Digest.
    static let user = "demo"
    static let password = "secret"
    static let apiKey = "demo-key"

    func add(to router: inout Router) {
        router.on(.GET, "/v1/me", me)
        router.on(.GET, "/v1/private/articles", articles)
        router.on(.GET, "/v1/basic", basic)
        router.on(.POST, "/v1/basic", basic)
        router.on(.GET, "/v1/api-key", apiKey)
    }

    /// Returns the user of the bearer token, or the client if the token was issued for the client's own credentials.
    private func me(_ request: Request) throws(Problem) -> Response {
        switch try tokens.bearer(request).holder {
        case .user(let id):
            var representation = Users.representation(try store.user(id), control: Representation.validatedPrivate)
            representation.headers.add(name: "Vary", value: "Authorization")
            return try representation.respond(request)
        case .client:
            return .json(["client_id": .string(OAuthClient.id)])
        }
    }

    private func articles(_ request: Request) throws(Problem) -> Response {
        _ = try tokens.bearer(request)
        var response = try Articles(store: store).list(request)
        response.headers.replaceOrAdd(name: "Cache-Control", value: Representation.validatedPrivate)
        response.headers.add(name: "Vary", value: "Authorization")
        return response
    }

    private func basic(_ request: Request) throws(Problem) -> Response {
        guard let given = Credentials(request.head.headers)?.basic, given.name == Protected.user,
            given.password == Protected.password
        else {
            throw Problem(
                .unauthorized, "Basic credentials are required",
                headers: ["WWW-Authenticate": "Basic realm=\"\(Protected.realm)\", charset=\"UTF-8\""])
        }
        return .json([
            "user": .string(given.name), "method": .string(request.head.method.rawValue),
            "body_bytes": .int(request.body.readableBytes),
        ])
    }

    /// Checks the API key in the header field X-Api-Key or in the query as `api_key`. If both are present, both must be
    /// correct.
    private func apiKey(_ request: Request) throws(Problem) -> Response {
        let field = request.head.headers.first(name: "x-api-key")
        let parameter = request.query("api_key")
        let given = [field, parameter].compactMap { $0 }
        guard !given.isEmpty, given.allSatisfy({ $0 == Protected.apiKey }) else {
            throw Problem(
                .unauthorized, "the API key is missing or wrong",
                headers: ["WWW-Authenticate": "ApiKey realm=\"\(Protected.realm)\""])
        }
        return .json(["in": field == nil ? "query" : "header"])
    }
}

extension Tokens {
    /// Returns the holder of the request's bearer token (RFC 6750).
    ///
    /// - Throws: 401 if the token is missing, unknown or expired, or if its login has ended.
    func bearer(_ request: Request) throws(Problem) -> (family: Int, holder: Holder) {
        guard let token = Credentials(request.head.headers)?.bearer, let found = holder(of: token) else {
            throw Problem(
                .unauthorized, "the bearer token is missing, unknown, expired or revoked; log in again",
                headers: ["WWW-Authenticate": "Bearer realm=\"\(Protected.realm)\", error=\"invalid_token\""])
        }
        return found
    }
}
