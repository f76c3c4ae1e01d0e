import NIOHTTP1

/// Identifies the sender of a request, for private responses.
struct Requester {
    let tokens: Tokens
    let store: Store

    /// Returns the user (or client) of a bearer token, the user of Basic credentials (with any password), or the value
    /// of the cookie `user`. Nil if the request has none of these. Throws 401 for other credentials.
    func name(_ request: Request) throws(Problem) -> String? {
        if let credentials = Credentials(request.head.headers) {
            if let basic = credentials.basic { return basic.name }
            switch try tokens.bearer(request).holder {
            case .user(let id): return try store.user(id).handle
            case .client: return OAuthClient.id
            }
        }
        for pair in request.head.headers["cookie"].flatMap({ $0.split(separator: ";") }) {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if halves.count == 2, halves[0].trimmed == "user" { return String(halves[1].trimmed.prefix(100)) }
        }
        return nil
    }

    /// Returns the name of the sender. Throws 401 if the sender is not identified, and 403 if it may not read the
    /// response.
    ///
    /// - Parameter allowed: `user` for any identified sender, or the name of the only allowed user.
    func require(_ allowed: String, _ request: Request) throws(Problem) -> String {
        guard let name = try name(request) else {
            throw Problem(
                .unauthorized, "authentication required: use Basic, a bearer token or a cookie named user",
                headers: ["WWW-Authenticate": "Basic realm=\"\(Protected.realm)\", charset=\"UTF-8\""])
        }
        guard allowed == "user" || allowed == name else {
            throw Problem(.forbidden, "this resource belongs to another user")
        }
        return name
    }
}
