import NightjarHTTP

/// One login of a client.
struct Login: Sendable {
    /// The security scheme's name. Nil if the client's credentials have no scheme names.
    let scheme: String?
    let auth: Authentication

    var tokenLogin: TokenLogin? {
        guard case .login(let login) = auth else { return nil }
        return login
    }
}

extension Authentication {
    /// Whether the field that carries the credentials changes during the client's lifetime. False for
    /// ``Authentication/schemes(_:)``, whose credentials are checked one by one.
    var changes: Bool {
        switch self {
        case .digest, .login: true
        case .bearer, .basic, .apiKey, .schemes: false
        }
    }

    /// Whether the credentials are sent in the Authorization field. False for ``Authentication/schemes(_:)``, whose
    /// credentials are checked one by one.
    var usesAuthorization: Bool {
        switch self {
        case .bearer, .basic, .digest, .login: true
        case .apiKey(let key): key.field.map { $0.name.lowercased() == "authorization" } ?? false
        case .schemes: false
        }
    }

    /// The field that every authenticated request carries. Nil if the value changes during the client's lifetime, if
    /// the request determines the credentials (schemes), or if an API key is sent in the query or in a cookie.
    func field() throws(NightjarError) -> (name: String, value: String)? {
        switch self {
        case .bearer(let token):
            guard let field = Token(access: token).authorization else {
                throw NightjarError(
                    .invalidArgument,
                    "the bearer token is empty or contains a character that is not allowed in a "
                        + "header")
            }
            return ("Authorization", field)
        case .basic(let user, let password):
            guard !user.utf8.contains(UInt8(ascii: ":")) else {
                throw NightjarError(
                    .invalidArgument,
                    "the user name for Basic authentication contains a colon "
                        + "(RFC 7617 section 2)")
            }
            return ("Authorization", BasicCredentials.field(user: user, password: password))
        case .apiKey(let key): return key.field
        case .digest, .login, .schemes: return nil
        }
    }
}
