import NightjarHTTP

/// One of a client's logins.
struct Login: Sendable {
    /// Nil for the only one.
    let scheme: String?
    let auth: Authentication

    var tokenLogin: TokenLogin? {
        guard case .login(let login) = auth else { return nil }
        return login
    }
}

extension Authentication {
    /// Whether what is sent changes while the client lives.
    var changes: Bool {
        switch self {
        case .digest, .login: true
        case .bearer, .basic, .apiKey, .schemes: false
        }
    }

    /// Whether it is sent in Authorization.
    var usesAuthorization: Bool {
        switch self {
        case .bearer, .basic, .digest, .login: true
        case .apiKey(let key): key.field.map { $0.name.lowercased() == "authorization" } ?? false
        case .schemes: false
        }
    }

    /// What stands in every request that carries it, as long as the client lives; nil where that changes, or is no field.
    func field() throws(NightjarError) -> (name: String, value: String)? {
        switch self {
        case .bearer(let token):
            guard let field = Token(access: token).authorization else {
                throw NightjarError(
                    .invalidArgument, "the bearer token is empty, or has a character that cannot stand in a header")
            }
            return ("Authorization", field)
        case .basic(let user, let password):
            guard !user.utf8.contains(UInt8(ascii: ":")) else {
                throw NightjarError(.invalidArgument, "the user name of Basic has a colon (RFC 7617 section 2)")
            }
            return ("Authorization", BasicCredentials.field(user: user, password: password))
        case .apiKey(let key): return key.field
        case .digest, .login, .schemes: return nil
        }
    }
}
