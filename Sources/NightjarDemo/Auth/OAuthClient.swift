import NIOHTTP1

/// The only registered client and its authentication (RFC 6749 section 2.3).
enum OAuthClient {
    static let id = "demo"
    static let secret = "demo-secret"

    /// The way in which a request identifies its client.
    enum Identification {
        case nobody
        /// By its id only, like an app that cannot keep a secret.
        case named
        case authenticated
    }

    /// - Throws: `invalid_client` if the id or the secret is wrong, `invalid_request` if the client authenticates
    ///   twice.
    static func identify(_ request: Request, _ parameters: Parameters) throws(OAuthError) -> Identification {
        let (name, secret) = (parameters["client_id"], parameters["client_secret"])
        if let credentials = Credentials(request.head.headers) {
            guard secret == nil else {
                throw OAuthError(.invalidRequest, "the client authenticates twice; use either the header or the body")
            }
            // Both parts of the Basic credentials are form-encoded.
            guard let basic = credentials.basic, formDecode(basic.name) == id,
                formDecode(basic.password) == self.secret,
                name ?? id == id
            else { throw wrong }
            return .authenticated
        }
        guard let name else {
            if secret != nil { throw OAuthError(.invalidRequest, "client_id is required") }
            return .nobody
        }
        guard name == id, secret ?? self.secret == self.secret else { throw wrong }
        return secret == nil ? .named : .authenticated
    }

    private static var wrong: OAuthError { OAuthError(.invalidClient, "the client or its secret is wrong") }

    private static func formDecode(_ text: String) -> String? {
        try? Target.decode(text[...], of: "credentials", plusIsSpace: true)
    }
}
