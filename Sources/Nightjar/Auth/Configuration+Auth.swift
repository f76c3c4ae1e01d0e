import NightjarCoding
import NightjarHTTP

/// Which credentials are in the requests of a client from the beginning, and where those go that are added later.
extension Configuration {
    func template(_ base: RequestURL?) throws(NightjarError) -> RequestTemplate {
        var defaults = headers
        if let auth, let field = try auth.field() {
            guard base != nil else { throw .authWithoutBase }
            guard headers.firstIndex(of: "Authorization") == nil, base?.userInfo == nil else { throw .twoLogins }
            try defaults.set("Authorization", field)
        }
        return try template(base, defaults)
    }

    func anonymousTemplate(_ base: RequestURL?) throws(NightjarError) -> RequestTemplate {
        try template(base?.withoutUserInfo, headers.withoutCredentials)
    }

    private func template(_ base: RequestURL?, _ defaults: Headers) throws(NightjarError) -> RequestTemplate {
        try RequestTemplate(
            base: base, defaults: defaults, userAgent: userAgent,
            acceptEncoding: decompresses ? ContentCoding.acceptEncoding : nil, sensitive: sensitiveHeaders)
    }

    /// The one origin that the client's token goes to; nil: it has none.
    func loginOrigin(_ template: RequestTemplate) throws(NightjarError) -> Origin? {
        guard case .login = auth else { return nil }
        guard let base = template.base else { throw .authWithoutBase }
        guard !template.hasField("Authorization") else { throw .twoLogins }
        return base.origin
    }
}

extension Authentication {
    /// What stands in Authorization as long as the client lives; nil where that changes.
    fileprivate func field() throws(NightjarError) -> String? {
        switch self {
        case .bearer(let token):
            guard let field = Token(access: token).authorization else {
                throw NightjarError(
                    .invalidArgument, "the bearer token is empty, or has a character that cannot stand in a header")
            }
            return field
        case .basic(let user, let password):
            guard !user.utf8.contains(UInt8(ascii: ":")) else {
                throw NightjarError(.invalidArgument, "the user name of Basic has a colon (RFC 7617 section 2)")
            }
            return BasicCredentials.field(user: user, password: password)
        case .login: return nil
        }
    }
}

extension TokenLogin {
    /// Nil where the program's own code provides the token.
    func issuer(_ template: RequestTemplate) throws(NightjarError) -> TokenIssuer? {
        switch source {
        case .oauth2(let server): try TokenIssuer(server, template)
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
