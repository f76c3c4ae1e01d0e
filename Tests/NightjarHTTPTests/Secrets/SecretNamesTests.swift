import NIOCore
import Testing

@testable import NightjarHTTP

/// The names and the values by which secrets are detected.
@Suite struct SecretNamesTests {
    private func isSecret(_ name: String) -> Bool { Array(name.utf8).withUnsafeBytes(isNameOfSecret) }
    private func isSecret(field name: String, _ value: String = "x") -> Bool {
        Array(name.utf8).withUnsafeBytes { name in
            Array(value.utf8).withUnsafeBytes { SecretNames.isSecret(field: name, $0) }
        }
    }

    @Test(arguments: [
        "password", "Authorization", "Proxy-Authorization", "access_token", "X-Api-Key", "X-Session-Id",
        "client_secret", "Cookie", "Set-Cookie", "GITHUB_TOKEN", "PGPASSWORD", "apiKey", "passwordConfirmation",
        "sessionKey", "user_token_v2", "otp", "sig", "jwt", "pw", "dbPw", "APIKey2", "X-JWT", "user[password]",
        "oauth2Token", "access_tokens", "ssh-key", "privateKeyPem", "one_time_passcode", "verificationCode",
        "PHPSESSID",
    ])
    func credentialNamesAreSecret(name: String) { #expect(isSecret(name)) }

    @Test(arguments: [
        "page", "user", "max_tokens", "next_page_token", "Content-Type", "bytes", "monkey", "", "tokens", "token_type",
        "token_url", "expires_in", "password_policy", "zip_code", "sort_key", "primaryKey", "keyboard", "author",
        "tokenizer", "secretary", "pinned", "signal", "sidebar", "passenger", "nextPageToken", "total_tokens",
    ])
    func otherNamesAreNotSecret(name: String) { #expect(!isSecret(name)) }

    @Test(arguments: [
        "X-JWT", "Api_Key", "Auth", "Access_Key", "X-Passwd", "X-PIN", "X-Otp", "SID", "Key", "X-AuthUser", "XAuth",
        "X-Key-Id", "Token", "x-amz-security-token", "X-Hub-Signature-256", "X-CSRF-Token", "Ocp-Apim-Subscription-Key",
        "WWW-Authenticate", "Authentication-Info", "X-Ticket", "X-Page-Token",
    ])
    func credentialFieldsAreSecret(name: String) { #expect(isSecret(field: name)) }

    @Test(arguments: [
        "Accept", "Content-Type", "User-Agent", "Idempotency-Key", "Sec-WebSocket-Key", "X-Request-Id", "Author",
        "X-Tenant", "ETag", "Vary", "X-Keyboard",
    ])
    func otherFieldsAreNotSecret(name: String) { #expect(!isSecret(field: name)) }

    @Test func secretIsDetectedByItsValue() {
        let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
        #expect(isSecret(field: "X-Whoever", token))
        #expect(isSecret(field: "X-Whoever", "Bearer " + token))
        #expect(isSecret(field: "X-Whoever", "9f86d081884c7d659a2feaa0c55ad015"))
        #expect(isSecret(field: "X-Whoever", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"))
        for value in ["1", "a sentence with 1 number", "2026-11-21T20:31:07Z", "application/vnd.github.v3+json"] {
            #expect(!isSecret(field: "X-Whoever", value), "\(value)")
        }
        #expect(!isSecret(field: "X-Whoever", "123e4567-e89b-12d3-a456-426614174000"))
        for name in ["X-Request-Id", "traceparent", "If-None-Match", "X-Content-Hash"] {
            #expect(!isSecret(field: name, "9f86d081884c7d659a2feaa0c55ad015"), "\(name)")
        }
    }

    @Test(arguments: [
        "bearer, abc", "v1, Bearer, abc", "access_token, abc", "json, bearer.abc",
        "base64.binary.k8s.io, base64url.bearer.authorization.k8s.io.YWJj",
        "realtime, openai-insecure-api-key.sk-proj-AbC1", "v1, json.sk-proj-AbC123dEf456gHi789jKl",
        "v1, v2.9f86d081884c7d659a2feaa0c55ad015",
        "v1, 9f86d081884c7d659a2feaa0c55ad015", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    ])
    func tokenAmongSubprotocolsIsSecret(list: String) {
        #expect(isSecret(field: "Sec-WebSocket-Protocol", list))
        #expect(isSecret(field: "sec-websocket-protocol", list))
    }

    @Test(arguments: [
        "v1, v2", "graphql-transport-ws, graphql-ws", "mqtt", "v12.stomp, v11.stomp", "wamp.2.msgpack, wamp.2.json",
        "ocpp2.0.1", "v5.channel.k8s.io, v4.channel.k8s.io, base64.binary.k8s.io", "bearer", "access_token", "",
        "v1.kernel.websocket.jupyter.org",
    ])
    func otherSubprotocolsAreNotSecret(list: String) { #expect(!isSecret(field: "Sec-WebSocket-Protocol", list)) }

    // MARK: The cache

    @Test(arguments: ["X-JWT", "Api_Key", "Auth", "Access_Key", "X-Passwd", "X-PIN", "X-Otp", "SID", "Key"])
    func cacheIsPartitionedByEachCredential(name: String) throws {
        let credentials: (String) throws -> [UInt8] = { value in
            var request = Request(.get, "https://a/me")
            try request.headers.add(name, value)
            let prepared = try PreparedRequest(request, base: nil, defaults: Headers(), userAgent: nil)
            return prepared.credentials(among: prepared.fields, withAuthorization: true)
        }
        #expect(try credentials("alice") != credentials("bob"))
    }
}
