import Foundation
import NightjarDemo
import Testing

@Suite struct OAuthTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func token(_ fields: [String: String], _ arguments: [String] = []) throws -> CurlResponse {
        try demo.form("/v1/oauth/token", fields, arguments)
    }

    private func error(_ fields: [String: String], _ arguments: [String] = []) throws -> String? {
        let response = try token(fields, arguments)
        #expect(response["Cache-Control"] == "no-store")
        return try response.json["error"] as? String
    }

    private func me(_ response: CurlResponse) throws -> CurlResponse {
        let access = try #require(try response.json["access_token"] as? String)
        return try demo.curl("/v1/me", ["-H", "Authorization: Bearer \(access)"])
    }

    // MARK: The client

    @Test func clientCredentialsAreReadFromTheHeaderOrTheBody() throws {
        let grant = ["grant_type": "client_credentials"]
        let basic = try token(grant, ["-u", "demo:demo%2Dsecret"])
        #expect(basic.status == 200)
        #expect(try basic.json["refresh_token"] == nil)
        #expect(try me(basic).json["client_id"] as? String == "demo")
        let posted = try token(
            grant.merging(["client_id": "demo", "client_secret": "demo-secret", "expires_in": "0.5"]) { $1 })
        #expect(try posted.json["expires_in"] as? Double == 0.5)
        #expect(demo.server.statistics.auth.clientCredentials == 2)
    }

    @Test func unknownClientIsRejected() throws {
        let grant = ["grant_type": "client_credentials"]
        let wrong = try token(grant, ["-u", "demo:wrong"])
        #expect(wrong.status == 401)
        #expect(wrong["WWW-Authenticate"] == #"Basic realm="demo""#)
        #expect(try wrong.json["error"] as? String == "invalid_client")
        #expect(try error(grant) == "invalid_client")
        #expect(try error(grant.merging(["client_id": "demo"]) { $1 }) == "invalid_client")
        let posted = ["client_id": "demo", "client_secret": "demo-secret"]
        #expect(try error(grant.merging(posted) { $1 }, ["-u", "demo:demo-secret"]) == "invalid_request")
        #expect(try error(posted) == "invalid_request")
        #expect(try error(["grant_type": "password"]) == "unsupported_grant_type")
    }

    // MARK: Device code

    private let deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

    private func poll(_ code: String) throws -> String? {
        try error(["grant_type": deviceGrant, "client_id": "demo", "device_code": code])
    }

    private func device(_ fields: [String: String]) throws -> (code: String, user: String) {
        let response = try demo.form("/v1/oauth/device", fields.merging(["client_id": "demo"]) { $1 })
        #expect(response.status == 200, "\(response.text)")
        let user = try #require(try response.json["user_code"] as? String)
        let address = "http://127.0.0.1:\(demo.port)/v1/oauth/device"
        #expect(try response.json["verification_uri"] as? String == address)
        #expect(try response.json["verification_uri_complete"] as? String == "\(address)?user_code=\(user)")
        return (try #require(try response.json["device_code"] as? String), user)
    }

    @Test func deviceCodeIsPendingUntilApproved() throws {
        let device = try device(["interval": "0"])
        #expect(try poll(device.code) == "authorization_pending")
        let page = try demo.curl("/v1/oauth/device?user_code=\(device.user)")
        #expect(page.text.contains(device.user.replacingOccurrences(of: "-", with: "")))
        let decision = #"{"user_code":"\#(device.user.lowercased())","allow":true}"#
        #expect(try demo.send("POST", "/v1/oauth/device/decide", json: decision).status == 200)
        #expect(try demo.send("POST", "/v1/oauth/device/decide", json: decision).status == 409)
        let response = try token(["grant_type": deviceGrant, "client_id": "demo", "device_code": device.code])
        #expect(try me(response).json["handle"] as? String == "ada")
        #expect(try poll(device.code) == "invalid_grant")
        #expect(demo.server.statistics.auth.logins == 1)
    }

    @Test func fastPollingIsSlowedDown() throws {
        let device = try device(["interval": "30"])
        #expect(try poll(device.code) == "authorization_pending")
        #expect(try poll(device.code) == "slow_down")
    }

    @Test func userMayDenyAccess() throws {
        let device = try device(["interval": "0"])
        #expect(
            try demo.form("/v1/oauth/device/decide", ["user_code": device.user, "allow": "false"]).status == 200)
        #expect(try poll(device.code) == "access_denied")
    }

    @Test func deviceCodeExpires() throws {
        let device = try device(["expires_in": "0"])
        #expect(try poll(device.code) == "expired_token")
        let late = try demo.form("/v1/oauth/device/decide", ["user_code": device.user, "allow": "true"])
        #expect(late.status == 404)
        #expect(try poll("nonsense") == "invalid_grant")
        #expect(try demo.form("/v1/oauth/device", ["client_id": "other"]).status == 401)
        #expect(try demo.form("/v1/oauth/device", ["a": "b"]).json["error"] as? String == "invalid_request")
    }

    // MARK: Authorization code

    // The example of RFC 7636 appendix B.
    private let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    private let target = "http://127.0.0.1:49152/callback?a=b"

    /// - Returns: the query parameters of the redirect back to the client.
    private func authorize(_ changes: [String: String] = [:]) throws -> [String: String] {
        let fields = [
            "response_type": "code", "client_id": "demo", "redirect_uri": target, "state": "x y&z",
            "code_challenge": challenge, "code_challenge_method": "S256",
        ].merging(changes) { $1 }
        let response = try demo.form("/v1/oauth/authorize", fields, ["-G"])
        #expect(response.status == 302, "\(response.text)")
        let location = try #require(response["Location"])
        #expect(location.hasPrefix(target + "&"))
        let items = try #require(URLComponents(string: location)?.queryItems)
        let values = Dictionary(items.map { ($0.name, $0.value ?? "") }) { $1 }
        #expect(values["state"] == "x y&z")
        return values
    }

    private func exchange(_ code: String, _ changes: [String: String] = [:]) throws -> CurlResponse {
        try token(
            [
                "grant_type": "authorization_code", "client_id": "demo", "code": code, "redirect_uri": target,
                "code_verifier": verifier,
            ].merging(changes) { $1 })
    }

    @Test func codeIsRedeemedOnce() throws {
        let code = try #require(try authorize()["code"])
        let response = try exchange(code)
        #expect(try me(response).status == 200)
        let again = try exchange(code)
        #expect(again.status == 400)
        #expect(try again.json["error"] as? String == "invalid_grant")
        #expect(try me(response).status == 401)
    }

    @Test(arguments: [
        ["code_verifier": "EBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"], ["redirect_uri": "http://127.0.0.1:49152/"],
        ["code": "nonsense"],
    ])
    func codeIsBoundToItsRequest(changes: [String: String]) throws {
        let code = try #require(try authorize()["code"])
        #expect(try exchange(code, changes).json["error"] as? String == "invalid_grant")
    }

    @Test func browserIsRedirectedWithAnError() throws {
        #expect(try authorize(["deny": "1"])["error"] == "access_denied")
        #expect(try authorize(["response_type": "token"])["error"] == "unsupported_response_type")
        #expect(try authorize(["code_challenge_method": "plain"])["error"] == "invalid_request")
    }

    @Test(arguments: [
        "http://example.org/", "https://127.0.0.1/", "http://127.0.0.1.example.org/", "http://localhost:99999/",
        "http://127.0.0.1@example.org/", "http://localhost:1/#a", "http://localhost/\r\nX-A: b",
    ])
    func unknownRedirectURIIsRejected(target: String) throws {
        let response = try demo.form(
            "/v1/oauth/authorize", ["response_type": "code", "client_id": "demo", "redirect_uri": target], ["-G"])
        #expect(response.status == 400)
        #expect(response["Location"] == nil)
    }
}
