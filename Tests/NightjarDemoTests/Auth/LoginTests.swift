import NightjarDemo
import NightjarTestSupport
import Testing

@Suite struct LoginTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private struct Login {
        let access: String
        let refresh: String
    }

    private func logIn(expiresIn: String = "60") throws -> Login {
        let body = #"{"email":"ada@example.org","password":"moonlight","expires_in":\#(expiresIn)}"#
        return try tokens(of: demo.send("POST", "/v1/auth/login", json: body))
    }

    private func tokens(of response: CurlResponse) throws -> Login {
        #expect(response.status == 200, "\(response.text)")
        return try Login(
            access: #require(response.json["access_token"] as? String),
            refresh: #require(response.json["refresh_token"] as? String))
    }

    private func refresh(_ token: String, _ query: String = "", key: String? = nil) throws -> CurlResponse {
        try demo.form(
            "/v1/auth/refresh\(query)", ["grant_type": "refresh_token", "refresh_token": token],
            key.map { ["-H", "Idempotency-Key: \($0)"] } ?? [])
    }

    private func me(_ access: String) throws -> CurlResponse {
        try demo.curl("/v1/me", ["-H", "Authorization: Bearer \(access)"])
    }

    private var seen: DemoStatistics.Auth { demo.server.statistics.auth }

    // MARK: Logins

    @Test func userLogsInAndOut() throws {
        let response = try demo.send(
            "POST", "/v1/auth/login", json: #"{"email":"emi@example.org","password":"moonlight"}"#)
        #expect(response["Cache-Control"] == "no-store")
        #expect(try response.json["token_type"] as? String == "Bearer")
        #expect(try response.json["expires_in"] as? Int == 60)
        let login = try tokens(of: response)
        #expect(try me(login.access).json["handle"] as? String == "emi")
        let out = try demo.curl("/v1/auth/logout", ["-X", "POST", "-H", "Authorization: Bearer \(login.access)"])
        #expect(out.status == 204)
        #expect(try me(login.access).status == 401)
        #expect(try refresh(login.refresh).status == 400)
        #expect((seen.logins, seen.logouts, seen.refused, seen.refreshReuses) == (1, 1, 1, 0))
    }

    @Test(arguments: [
        (#"{"email":"ada@example.org","password":"sunlight"}"#, 401), (#"{"email":"x","password":"moonlight"}"#, 401),
        (#"{"email":"ada@example.org"}"#, 422),
        (#"{"email":"ada@example.org","password":"moonlight","expires_in":-1}"#, 422),
    ])
    func wrongLoginIsRejected(body: String, status: Int) throws {
        let response = try demo.send("POST", "/v1/auth/login", json: body)
        #expect(response.status == status)
        #expect(response["Content-Type"] == "application/problem+json")
        #expect(seen.logins == 0)
    }

    @Test func bearerTokenGrantsAccess() throws {
        let challenge = #"Bearer realm="demo", error="invalid_token""#
        for arguments in [[], ["-H", "Authorization: Bearer nonsense"], ["-u", "demo:secret"]] {
            let rejected = try demo.curl("/v1/private/articles", arguments)
            #expect(rejected.status == 401)
            #expect(rejected["WWW-Authenticate"] == challenge)
        }
        #expect(seen.refused == 1)  // a missing token does not count as rejected
        let login = try logIn()
        let open = try demo.curl("/v1/private/articles?page=2", ["-H", "Authorization: bearer \(login.access)"])
        #expect(try open.body == demo.curl("/v1/articles?page=2").body)
    }

    @Test func accessTokensExpire() throws {
        let brief = try logIn(expiresIn: "0.05")
        let response = try demo.send("POST", "/v1/auth/refresh", json: #"{"refresh_token":"\#(brief.refresh)"}"#)
        #expect(try response.json["expires_in"] as? Double == 0.05)
        #expect(try me(logIn(expiresIn: "0").access).status == 401)
        let login = try logIn()
        #expect(try me(login.access).status == 200)
        #expect(try demo.control(#"{"expire_access_tokens":true}"#).status == 200)
        #expect(try me(login.access).status == 401)
        let fresh = try tokens(of: refresh(login.refresh))
        #expect(try me(fresh.access).status == 200)
    }

    // MARK: Token refresh

    @Test func refreshTokensRotate() throws {
        let first = try logIn()
        let second = try tokens(of: refresh(first.refresh))
        #expect(second.access != first.access)
        #expect(second.refresh != first.refresh)
        #expect(try me(first.access).status == 200)
        let third = try demo.send("POST", "/v1/auth/refresh", json: #"{"refresh_token":"\#(second.refresh)"}"#)
        #expect(third.status == 200)
        #expect((seen.refreshes, seen.refreshReuses, seen.revokedFamilies) == (2, 0, 0))
    }

    @Test func reusedRefreshTokenRevokesTheFamily() throws {
        let otherFamily = try logIn()
        let first = try logIn()
        let second = try tokens(of: refresh(first.refresh))
        let reuse = try refresh(first.refresh)
        #expect(reuse.status == 400)
        #expect(try reuse.json["error"] as? String == "invalid_grant")
        #expect(try me(first.access).status == 401)
        #expect(try me(second.access).status == 401)
        #expect(try refresh(second.refresh).status == 400)
        #expect(try refresh(first.refresh).status == 400)
        #expect(try me(otherFamily.access).status == 200)
        #expect((seen.refreshes, seen.refreshReuses, seen.revokedFamilies, seen.refused) == (1, 2, 1, 2))
    }

    @Test func sameIdempotencyKeyReturnsTheSameResponse() throws {
        let login = try logIn()
        let first = try refresh(login.refresh, key: "\"k-1\"")
        #expect(try refresh(login.refresh, key: "\"k-1\"").body == first.body)
        #expect((seen.refreshes, seen.refreshReplays, seen.refreshReuses) == (1, 1, 0))
        #expect(try refresh(login.refresh, key: "\"k-2\"").status == 400)
        #expect(seen.refreshReuses == 1)
    }

    @Test func tokenIsRotatedBeforeTheResponse() throws {
        let login = try logIn()
        let client = try demo.begin(
            "POST", "/v1/auth/refresh?delay=30", type: "application/json",
            body: #"{"refresh_token":"\#(login.refresh)"}"#, "Idempotency-Key: a\r\n")
        try eventually("the token was redeemed") { seen.refreshes == 1 }
        client.close()
        let arguments = ["--data-urlencode", "refresh_token=\(login.refresh)", "-H", "Idempotency-Key: a"]
        #expect(try demo.curlStatus("/v1/auth/refresh?drop=1", arguments) == 52)
        let again = try tokens(of: refresh(login.refresh, key: "a"))
        #expect(try me(again.access).status == 200)
        #expect((seen.refreshes, seen.refreshReplays) == (1, 2))
        #expect(try refresh(login.refresh).status == 400)
    }

    @Test func refreshWithoutATokenIsRejected() throws {
        #expect(try demo.form("/v1/auth/refresh", ["a": "b"]).json["error"] as? String == "invalid_request")
        #expect(try refresh("nonsense").json["error"] as? String == "invalid_grant")
        let other = try demo.form("/v1/auth/refresh", ["grant_type": "password"])
        #expect(try other.json["error"] as? String == "unsupported_grant_type")
    }
}
