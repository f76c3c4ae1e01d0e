/// A request to an OAuth 2.0 server: a form, and for some clients an Authorization field.
public struct OAuthRequest: Sendable, CustomStringConvertible, CustomReflectable {
    /// The client's method of authentication. RFC 6749 section 2.3.1.
    public enum ClientAuthentication: Sendable, CustomStringConvertible, CustomReflectable {
        /// No client identification, for servers that only identify the user.
        case unnamed
        /// A public client, which cannot keep a secret. Only its identifier is sent.
        case none(id: String)
        case basic(id: String, secret: String)
        /// Identifier and secret as form items.
        case post(id: String, secret: String)

        public var description: String { "client ***" }
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// The form items in order, for `FormEncoding/encode(_:)`.
    public let form: [(name: String, value: String)]
    /// The value of the Authorization field, if any.
    public let authorization: String?

    public var description: String { "OAuth request ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    private init(_ pairs: [(name: String, value: String?)], _ client: ClientAuthentication) {
        var form = pairs.compactMap { pair in pair.value.map { (name: pair.name, value: $0) } }
        switch client {
        case .unnamed: authorization = nil
        case .none(let id):
            form.append(("client_id", id))
            authorization = nil
        case .post(let id, let secret):
            form += [("client_id", id), ("client_secret", secret)]
            authorization = nil
        case .basic(let id, let secret):
            // The identifier and the secret are form-encoded, because an identifier may contain a colon. RFC 6749
            // section 2.3.1.
            let login = OAuthRequest.encoded(id) + ":" + OAuthRequest.encoded(secret)
            authorization = "Basic " + Base64.encode(login.utf8)
        }
        self.form = form
    }

    /// Refreshes a token. RFC 6749 section 6.
    public static func refresh(_ token: String, scope: String? = nil, client: ClientAuthentication) -> OAuthRequest {
        OAuthRequest([("grant_type", "refresh_token"), ("refresh_token", token), ("scope", scope)], client)
    }

    /// Requests a token with the client's own credentials. RFC 6749 section 4.4.
    public static func clientCredentials(scope: String? = nil, client: ClientAuthentication) -> OAuthRequest {
        OAuthRequest([("grant_type", "client_credentials"), ("scope", scope)], client)
    }

    /// Requests a device code from the device authorization endpoint. RFC 8628 section 3.1.
    public static func deviceAuthorization(scope: String? = nil, client: ClientAuthentication) -> OAuthRequest {
        OAuthRequest([("scope", scope)], client)
    }

    /// Polls the token endpoint with a device code. RFC 8628 section 3.4.
    public static func deviceCode(_ code: String, client: ClientAuthentication) -> OAuthRequest {
        OAuthRequest(
            [("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", code)], client)
    }

    /// Exchanges an authorization code for a token. RFC 6749 section 4.1.3 with RFC 7636 section 4.5.
    ///
    /// - Parameter redirect: the same redirect URI as in the authorization request.
    public static func authorizationCode(
        _ code: String, redirect: String, verifier: ProofKey, client: ClientAuthentication
    ) -> OAuthRequest {
        OAuthRequest(
            [
                ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirect),
                ("code_verifier", verifier.verifier),
            ], client)
    }

    /// Returns the query of the authorization URL that the user opens. RFC 6749 section 4.1.1 with RFC 7636 section
    /// 4.3.
    ///
    /// - Parameter state: an unpredictable value. The server returns this value with the code, and the caller must
    ///   compare both values.
    public static func authorizationQuery(
        clientID: String, redirect: String, scope: String? = nil, state: String, proof: ProofKey
    ) -> String {
        let pairs: [(name: String, value: String?)] = [
            ("response_type", "code"), ("client_id", clientID), ("redirect_uri", redirect), ("scope", scope),
            ("state", state), ("code_challenge", proof.challenge), ("code_challenge_method", "S256"),
        ]
        return text(pairs.compactMap { pair in pair.value.map { (name: pair.name, value: $0) } })
    }

    private static func text(_ pairs: [(name: String, value: String)]) -> String {
        String(decoding: FormEncoding.encode(pairs).readableBytesView, as: UTF8.self)
    }

    private static func encoded(_ value: String) -> String { String(text([("", value)]).dropFirst()) }
}
