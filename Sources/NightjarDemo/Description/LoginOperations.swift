/// The operations for authentication.
extension APIDescription {
    private static let form = "application/x-www-form-urlencoded"
    private static let lifetime: JSON = [
        "type": "number", "minimum": .int(0), "maximum": .int(Int(Tokens.lifetimeLimit)),
    ]

    static let logins: [DescribedOperation] = [
        .init(.POST, "/v1/auth/login", "login", "Logs in by email and password")
            .takes(
                Schema.object(
                    [
                        "email": ["type": "string", "format": "email"], "password": Schema.string,
                        "expires_in": lifetime,
                    ],
                    optional: ["expires_in"]),
                as: "application/json", form,
                example: ["email": .string(SeedData.email(of: "ada")), "password": .string(Logins.password)]
            )
            .secured()
            .responds(Schema.reference("Grant")),
        .init(.POST, "/v1/auth/refresh", "refresh", "Redeems a refresh token for new tokens")
            .explained("A refresh token can be redeemed once. A second attempt ends the login.")
            .takes(
                Schema.object(["refresh_token": Schema.string]), as: "application/json", form,
                example: ["refresh_token": "rt_of_the_login"]
            )
            .secured().failsAsOAuth()
            .responds(Schema.reference("Grant")),
        .init(.POST, "/v1/auth/logout", "logout", "Ends the login of the token")
            .secured(by: "bearer", "oauth2").respondsWithoutContent(),
        .init(.GET, "/v1/me", "get_me", "The user or the client of the token")
            .secured(by: "bearer", "oauth2")
            .responds(Schema.one(of: Schema.reference("User"), Schema.reference("Client"))),
        .init(.GET, "/v1/basic", "get_basic", "A resource that requires Basic credentials")
            .secured(by: "basic").responds(seen("user")),
        .init(.POST, "/v1/basic", "post_basic", "A resource with a request body that requires Basic credentials")
            .takes(["type": "object"], isRequired: false)
            .secured(by: "basic").responds(seen("user")),
        .init(.GET, "/v1/digest", "get_digest", "A resource that requires Digest credentials")
            .query("algorithm", algorithms, "The algorithm of the challenge.")
            .secured(by: "digest").responds(seen("user", "algorithm")),
        .init(.POST, "/v1/digest", "post_digest", "A resource with a request body that requires Digest credentials")
            .query("algorithm", algorithms, "The algorithm of the challenge.")
            .takes(["type": "object"], isRequired: false)
            .secured(by: "digest").responds(seen("user", "algorithm")),
        .init(.GET, "/v1/api-key", "get_api_key", "A resource that requires an API key")
            .secured(by: "api_key", "api_key_in_query")
            .responds(Schema.object(["in": Schema.choice("header", "query")])),
    ]

    static let oauth: [DescribedOperation] = [
        .init(.POST, "/v1/oauth/token", "get_token", "A token for a grant (RFC 6749 section 3.2)")
            .takes(
                Schema.object(
                    [
                        "grant_type": Schema.choice(
                            "client_credentials", "refresh_token", "authorization_code",
                            "urn:ietf:params:oauth:grant-type:device_code"),
                        "client_id": Schema.string, "client_secret": Schema.string, "refresh_token": Schema.string,
                        "code": Schema.string, "redirect_uri": Schema.string, "code_verifier": Schema.string,
                        "device_code": Schema.string, "expires_in": lifetime,
                    ],
                    optional: [
                        "client_id", "client_secret", "refresh_token", "code", "redirect_uri", "code_verifier",
                        "device_code", "expires_in",
                    ]), as: form, "application/json",
                example: [
                    "grant_type": "client_credentials", "client_id": .string(OAuthClient.id),
                    "client_secret": .string(OAuthClient.secret),
                ]
            )
            .secured().failsAsOAuth()
            .responds(Schema.reference("Grant")),
        .init(.GET, "/v1/oauth/authorize", "authorize", "The authorization page for a browser (RFC 7636)")
            .query("response_type", Schema.constant("code"), "Always code.", isRequired: true)
            .query("client_id", Schema.constant(OAuthClient.id), "The client.", isRequired: true)
            .query(
                "redirect_uri", ["type": "string", "format": "uri"], "A loopback URL.",
                example: "http://127.0.0.1:9/callback", isRequired: true
            )
            .query(
                "code_challenge", Schema.text(43...43), "The SHA-256 of the code verifier.",
                example: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", isRequired: true
            )
            .query("code_challenge_method", Schema.constant("S256"), "Always S256.", isRequired: true)
            .query("state", Schema.string, "Returned unchanged.")
            .query("deny", Schema.choice("0", "1"), "1: the user denies the request.")
            .secured()
            .respondsWithoutContent(302, "A redirect with a code, or with an error."),
        .init(.POST, "/v1/oauth/device", "begin_device_login", "A code for a device without a browser (RFC 8628)")
            .takes(
                Schema.object(
                    [
                        "client_id": Schema.string, "interval": Schema.number(0...3600),
                        "expires_in": Schema.number(0...3600),
                    ],
                    optional: ["interval", "expires_in"]),
                as: form, "application/json", example: ["client_id": .string(OAuthClient.id)]
            )
            .secured().failsAsOAuth()
            .responds(
                Schema.object([
                    "device_code": Schema.string, "user_code": Schema.string,
                    "verification_uri": ["type": "string", "format": "uri"],
                    "verification_uri_complete": ["type": "string", "format": "uri"], "expires_in": Schema.number,
                    "interval": Schema.number,
                ])),
        .init(.GET, "/v1/oauth/device", "get_device_page", "The page on which a user allows or denies a device")
            .query("user_code", Schema.string, "The code that the device displays.")
            .secured()
            .responds(Schema.string, as: "text/html"),
        .init(.POST, "/v1/oauth/device/decide", "decide_device_login", "Allows or denies a device")
            .takes(
                Schema.object(["user_code": Schema.string, "allow": Schema.flag]), as: form, "application/json",
                example: ["user_code": "BCDF-GHJK", "allow": .bool(true)]
            )
            .secured()
            .responds(Schema.object(["user_code": Schema.string, "allow": Schema.flag])),
    ]

    private static let algorithms: JSON = [
        "type": "string", "enum": .array(DigestAlgorithm.choices.map(JSON.string)),
    ]

    /// Returns the schema of a response with the given string members and a summary of the request.
    private static func seen(_ names: String...) -> JSON {
        let texts = names.map { JSON.Member(name: $0, value: Schema.string) }
        let others = Schema.object(["method": Schema.string, "body_bytes": Schema.integer(from: 0)])
        return Schema.all(
            of: ["type": "object", "required": .array(names.map(JSON.string)), "properties": .object(texts)], others)
    }
}
