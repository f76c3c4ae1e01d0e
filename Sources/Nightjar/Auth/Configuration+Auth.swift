import NightjarCoding
import NightjarHTTP

/// Which credentials are in the requests of a client from the beginning, and where those go that are added later.
extension Configuration {
    func template(_ base: RequestURL?) throws(NightjarError) -> RequestTemplate {
        var defaults = headers
        if auth != nil, base == nil { throw .authWithoutBase }
        if let auth, let field = try auth.field() {
            guard headers.firstIndex(of: field.name) == nil, base?.userInfo == nil else { throw .twoLogins }
            try defaults.set(field.name, field.value)
        }
        return try template(base, defaults)
    }

    func anonymousTemplate(_ base: RequestURL?) throws(NightjarError) -> RequestTemplate {
        var fields = headers.withoutCredentials
        for name in sensitiveHeaders { fields.remove(name) }
        return try template(base?.withoutUserInfo, fields)
    }

    private func template(_ base: RequestURL?, _ defaults: Headers) throws(NightjarError) -> RequestTemplate {
        try RequestTemplate(
            base: base, defaults: defaults, userAgent: userAgent,
            acceptEncoding: decompresses ? ContentCoding.acceptEncoding : nil, sensitive: sensitiveHeaders)
    }

    /// What is put into the query of each request to the base URL's origin.
    var queryKey: APIKey? {
        guard case .apiKey(let key) = auth, case .query = key.place else { return nil }
        return key
    }

    /// With the name of a key of its own among those that are secret.
    var knowingItsSecrets: Configuration {
        guard case .apiKey(let key) = auth else { return self }
        var configuration = self
        configuration.sensitiveHeaders.append(key.sensitiveName)
        return configuration
    }

    /// The one origin that the client's token goes to; nil: it has none.
    func loginOrigin(_ template: RequestTemplate) throws(NightjarError) -> Origin? {
        switch auth {
        case nil, .bearer, .basic, .apiKey: return nil
        case .digest, .login: break
        }
        guard let base = template.base else { throw .authWithoutBase }
        guard !template.hasField("Authorization") else { throw .twoLogins }
        return base.origin
    }
}

extension Authentication {
    /// What stands in every request as long as the client lives; nil where that changes.
    fileprivate func field() throws(NightjarError) -> (name: String, value: String)? {
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
        case .digest, .login: return nil
        }
    }
}

extension TokenLogin {
    /// Nil where the program's own code provides the token.
    func issuer(_ template: RequestTemplate) throws(NightjarError) -> TokenIssuer? {
        switch source {
        case .oauth2(let server): try TokenIssuer(.oauth2(server), template)
        case .call(let login, let refresh): try TokenIssuer(.call(login, refresh), template)
        case .provider: nil
        }
    }
}

extension NightjarError {
    fileprivate static let authWithoutBase = NightjarError(
        .invalidArgument,
        "credentials without a base URL would go to every server: set base_url, whose origin alone gets them")
    fileprivate static let twoLogins = NightjarError(
        .invalidArgument, "there are two sets of credentials: in auth, and in the headers or the base URL")
}
