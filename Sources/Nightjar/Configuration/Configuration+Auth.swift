import NightjarCoding
import NightjarHTTP

/// The credentials of a client's requests, and the only origin that may receive them.
extension Configuration {
    func template(_ base: RequestURL?) throws(NightjarError) -> RequestTemplate {
        var defaults = headers
        if auth != nil, base == nil { throw .authWithoutBase }
        for auth in allAuth {
            if case .apiKey(let key) = auth, case .cookie = key.place, headers.firstIndex(of: "Cookie") != nil {
                throw .twoLogins
            }
        }
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
            acceptEncoding: decompresses ? ContentCoding.acceptEncoding : nil, sensitive: sensitiveHeaders,
            forwarded: try ForwardedFields(forwardedHeaders), decoding: decoding)
    }

    /// The API key that is added to the query or the cookies of each request to the base URL's origin.
    var attachedKey: APIKey? {
        guard case .apiKey(let key) = auth, key.field == nil else { return nil }
        return key
    }

    /// The client's credentials: one element, or one element for each scheme.
    private var allAuth: [Authentication] {
        if case .schemes(let schemes) = auth { return schemes.all.map(\.value) }
        return auth.map { [$0] } ?? []
    }

    /// The logins whose credentials change during the client's lifetime, in the order of their numbers.
    var logins: [Login] {
        switch auth {
        case .schemes(let schemes):
            schemes.names.compactMap { scheme in
                guard let auth = schemes[scheme], auth.changes else { return nil }
                return Login(scheme: scheme, auth: complete(auth))
            }
        case let auth?: auth.changes ? [Login(scheme: nil, auth: complete(auth))] : []
        case nil: []
        }
    }

    /// Whether ``auth`` has a login, or may have one after the OpenAPI document has been read.
    public var mayHaveLogin: Bool { schemeAuth != nil || logins.contains { $0.tokenLogin != nil } }

    /// Returns the credentials with the client's hook and with the host's token store.
    private func complete(_ auth: Authentication) -> Authentication {
        guard case .login(var login) = auth else { return auth }
        login.onLoginRequired = login.onLoginRequired ?? onLoginRequired
        if let store = login.store as? HostTokenStore { login.store = store.bound(to: hostTokens) }
        return .login(login)
    }

    /// Returns the configuration with ``tokenProviders`` merged into ``auth``.
    ///
    /// - Throws: `invalid_argument` if ``auth`` is set and has no schemes.
    func mergingTokenProviders() throws(NightjarError) -> Configuration {
        guard !tokenProviders.isEmpty else { return self }
        var schemes = ExactDictionary<Authentication>()
        switch auth {
        case nil: break
        case .schemes(let given): schemes = given
        default:
            throw NightjarError(
                .invalidArgument,
                "token providers for schemes cannot be combined with auth without schemes; set "
                    + "auth.schemes")
        }
        for (scheme, provider) in tokenProviders.all {
            var login = TokenLogin(.provider(provider))
            if case .login(let described) = schemes[scheme] {
                login = described
                login.source = .provider(provider)
            }
            schemes[scheme] = .login(login)
        }
        var configuration = self
        configuration.auth = .schemes(schemes)
        return configuration
    }

    /// Returns the configuration with the names of its API keys added to the sensitive headers.
    var withSensitiveKeyNames: Configuration {
        var configuration = self
        for case .apiKey(let key) in allAuth { configuration.sensitiveHeaders.append(key.sensitiveName) }
        return configuration
    }

    /// Returns the credentials by security scheme. Nil: all requests use the same credentials.
    func schemeCredentials(_ template: RequestTemplate) throws(NightjarError) -> SchemeCredentials? {
        guard case .schemes(let schemes) = auth else { return nil }
        var inJar: [String] = []
        for scheme in cookies == nil ? [] : catalog?.security ?? [] {
            if case .apiKey(_, .cookie) = scheme.kind { inJar.append(scheme.name) }
        }
        let credentials = try SchemeCredentials(schemes, logins, inJar: inJar)
        guard !credentials.useAuthorization || !template.hasField("Authorization") else { throw .twoLogins }
        return credentials
    }

    /// Returns the only origin that receives the credentials of ``logins``. Nil: the client has no logins.
    func loginOrigin(_ template: RequestTemplate) throws(NightjarError) -> Origin? {
        guard !logins.isEmpty else { return nil }
        guard let base = template.base else { throw .authWithoutBase }
        guard !template.hasField("Authorization") else { throw .twoLogins }
        return base.origin
    }
}

extension TokenLogin {
    /// Returns the issuer of the login's tokens. Nil if a token provider provides the token.
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
        "credentials without a base URL would be sent to every server; set base_url to limit them to its origin")
    static let twoLogins = NightjarError(
        .invalidArgument, "credentials are set twice: in auth, and in the headers or the base URL; remove one of them")
}
