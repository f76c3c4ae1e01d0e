import NIOCore
import NightjarHTTP

/// Makes the requests that bring tokens, and reads their answers. They carry no credentials but their own.
struct TokenIssuer: Sendable {
    private let server: OAuth2
    private let template: RequestTemplate

    /// - Parameter template: without credentials.
    /// - Throws: `invalid_url` when the token URL is none.
    init(_ server: OAuth2, _ template: RequestTemplate) throws(NightjarError) {
        self.server = server
        self.template = template
        _ = try prepared(OAuthRequest.clientCredentials(client: .unnamed), key: nil)
    }

    /// One way to a new token.
    struct Exchange {
        let request: PreparedRequest
        /// Whether it redeems what can be redeemed once.
        let spendsToken: Bool
    }

    /// Whether a token like this can be renewed, nil being none.
    func canRenew(_ token: Token?) -> Bool {
        token?.refresh != nil || server.grant == .clientCredentials
    }

    /// - Parameter key: by which the server knows a repetition.
    /// - Returns: nil where only a person can help.
    func exchange(of token: Token?, key: IdempotencyKey) throws(NightjarError) -> Exchange? {
        if let refresh = token?.refresh {
            let request = OAuthRequest.refresh(refresh, scope: nil, client: server.client)
            return Exchange(request: try prepared(request, key: key), spendsToken: true)
        }
        guard server.grant == .clientCredentials else { return nil }
        let request = OAuthRequest.clientCredentials(scope: server.scope, client: server.client)
        return Exchange(request: try prepared(request, key: nil), spendsToken: false)
    }

    /// - Parameter sent: when the exchange began.
    func read(_ response: Response, replacing old: Token?, sent: Timestamp) throws(NightjarError) -> TokenResponse {
        try response.body.withUnsafeReadableBytes { bytes throws(NightjarError) in
            try TokenResponse(status: response.status, body: bytes, replacing: old, at: sent)
        }
    }

    private func prepared(_ oauth: OAuthRequest, key: IdempotencyKey?) throws(NightjarError) -> PreparedRequest {
        var request = Request(.post, server.tokenURL)
        request.body = .bytes(FormEncoding.encode(oauth.form))
        try request.headers.set("Content-Type", FormEncoding.contentType)
        try request.headers.set("Accept", "application/json")
        if let authorization = oauth.authorization { try request.headers.set("Authorization", authorization) }
        if let key { try request.headers.set(IdempotencyKey.fieldName, key.text) }
        return try PreparedRequest(request, template)
    }
}
