import NIOCore
import NightjarHTTP
import NightjarTransport

/// Creates token requests. They do not carry the credentials of the client's calls.
struct TokenIssuer: Sendable {
    /// Indirect, because each refresh copies the value and its payload is large.
    indirect enum Source: Sendable {
        case oauth2(OAuth2)
        case call(LoginCall, RefreshCall?)
    }

    private let source: Source
    private let template: RequestTemplate

    /// - Parameter template: A template without credentials.
    /// - Throws: `invalid_url`, `invalid_argument` or `invalid_request` if a token request would be invalid.
    init(_ source: Source, _ template: RequestTemplate) throws(NightjarError) {
        self.source = source
        self.template = template
        switch source {
        case .oauth2: _ = try prepared(OAuthRequest.clientCredentials(client: .unnamed), key: nil)
        case .call(let login, let refresh):
            _ = try prepared(login.request(), key: nil)
            if let refresh { _ = try prepared(refresh.request(refreshToken: "token"), key: nil) }
        }
    }

    /// One request that obtains a token.
    struct Exchange {
        let request: PreparedRequest
        /// Whether the request redeems a refresh token, which may be usable only once.
        let spendsToken: Bool
        let format: TokenResponseFormat
    }

    /// How a token can be obtained without user interaction.
    var capabilities: LoginUpdate.Capabilities {
        switch source {
        case .oauth2(let server):
            LoginUpdate.Capabilities(refreshes: true, logsInByItself: server.grant == .clientCredentials)
        case .call(_, let refresh): LoginUpdate.Capabilities(refreshes: refresh != nil, logsInByItself: true)
        }
    }

    /// Whether a new token can be obtained without user interaction.
    ///
    /// - Parameter token: The current token; nil: none.
    func canRefreshLogin(_ token: Token?) -> Bool {
        switch source {
        case .oauth2(let server): token?.refresh != nil || server.grant == .clientCredentials
        case .call: true
        }
    }

    /// Returns the request that obtains a new token.
    ///
    /// - Parameter key: The idempotency key, sent only with a refresh token.
    /// - Returns: Nil if no token can be obtained without user interaction.
    func exchange(of token: Token?, key: IdempotencyKey) throws(NightjarError) -> Exchange? {
        switch source {
        case .oauth2(let server):
            if let refresh = token?.refresh {
                let request = OAuthRequest.refresh(refresh, client: server.client)
                return Exchange(
                    request: try prepared(request, key: key), spendsToken: true, format: .oauth2(server.lifetimeUnit))
            }
            guard server.grant == .clientCredentials else { return nil }
            let request = OAuthRequest.clientCredentials(scope: server.scope, client: server.client)
            return Exchange(
                request: try prepared(request, key: nil), spendsToken: false, format: .oauth2(server.lifetimeUnit))
        case .call(let login, let refreshCall):
            if let refresh = token?.refresh, let refreshCall {
                let request = try refreshCall.request(refreshToken: refresh)
                return Exchange(
                    request: try prepared(request, key: key), spendsToken: true, format: .places(refreshCall.places))
            }
            return Exchange(
                request: try prepared(login.request(), key: nil), spendsToken: false, format: .places(login.places))
        }
    }

    /// Returns the URL of one of the server's pages, resolved against the base URL if the client has one.
    func address(of target: String) throws(NightjarError) -> String {
        let url = if let base = template.base { try base.joined(target) } else { try RequestURL(target) }
        return url.origin.description + url.target
    }

    /// Returns a request to the OAuth server.
    func prepared(_ oauth: OAuthRequest, to target: String? = nil, key: IdempotencyKey?) throws(NightjarError)
        -> PreparedRequest
    {
        guard case .oauth2(let server) = source else {
            throw NightjarError(.invalidArgument, "this login does not use OAuth 2.0")
        }
        var request = Request(.post, target ?? server.tokenURL)
        request.body = .bytes(FormEncoding.encode(oauth.form))
        try request.headers.set("Content-Type", FormEncoding.contentType)
        try request.headers.set("Accept", "application/json")
        if let authorization = oauth.authorization { try request.headers.set("Authorization", authorization) }
        return try prepared(request, key: key)
    }

    private func prepared(_ request: Request, key: IdempotencyKey?) throws(NightjarError) -> PreparedRequest {
        guard let key else { return try PreparedRequest(request, template) }
        var request = request
        request.idempotencyKey = .key(key)
        return try PreparedRequest(try request.withIdempotencyKey(), template)
    }
}

/// How a token is read from a response.
enum TokenResponseFormat {
    /// RFC 6749 section 5.
    case oauth2(TokenLifetimeUnit)
    case places(TokenPointers)

    /// Reads a token response.
    ///
    /// A lifetime of 0 has no meaning in RFC 6749 section 5.1. Some servers send a lifetime of 0 for tokens that never
    /// expire and for tokens in their last second. Therefore a new token that has already expired is used until the
    /// server rejects it, and a warning is logged.
    ///
    /// - Parameter sent: The time when the exchange began.
    /// - Throws: If the status is 429 or at least 500, regardless of the body, because the response may come from a
    ///   gateway. Also if the body cannot be read.
    func read(
        _ response: Response, replacing old: Token?, sent: Timestamp, for loop: ClientLoop?
    ) throws(NightjarError) -> TokenResponse {
        let result = try read(response, replacing: old, sent: sent)
        guard case .token(var token) = result, let expiry = token.expiry, expiry <= sent else { return result }
        token.expiry = nil
        loop?.note(
            .warning,
            "the server reported that its new token has already expired; the token is used until "
                + "the server rejects it")
        return .token(token)
    }

    private func read(
        _ response: Response, replacing old: Token?, sent: Timestamp
    ) throws(NightjarError) -> TokenResponse {
        guard response.status < 500, response.status != 429 else {
            throw NightjarError(unexpected: response, to: .post)
        }
        return try response.body.withUnsafeReadableBytes { bytes throws(NightjarError) in
            switch self {
            case .oauth2(let unit):
                try TokenResponse(
                    status: response.status, body: bytes, replacing: old, at: sent, lifetimesIn: unit)
            case .places(let places):
                try places.read(status: response.status, body: bytes, replacing: old, at: sent)
            }
        }
    }
}
