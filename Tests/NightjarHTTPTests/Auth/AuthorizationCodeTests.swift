import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct AuthorizationCodeTests {
    private static let random = [UInt8](repeating: 0xFF, count: AuthorizationCode.randomByteCount)
    private static let state = ProofKey.base64URL(random)

    private func login(issuer: String? = nil) throws -> AuthorizationCode {
        let proof = try #require(
            ProofKey(random: [UInt8](repeating: 1, count: ProofKey.randomByteCount), sha256: TestHashes.sha256))
        return AuthorizationCode(
            clientID: "me", scope: "a b", port: 4711, random: Self.random, proof: proof, issuer: issuer)
    }

    private func text(_ response: AuthorizationCode.BrowserResult) -> String { String(buffer: response.reply.bytes) }

    @Test func authorizationURLContainsTheRedirectURI() throws {
        let page = try login().authorizationURL(at: "https://a.test/authorize?tenant=1")
        #expect(page.hasPrefix("https://a.test/authorize?tenant=1&response_type=code&client_id=me&"))
        #expect(page.contains("&redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcallback&"))
        #expect(page.contains("&state=\(Self.state)&"))
        #expect(page.contains("&code_challenge_method=S256"))
        #expect(throws: NightjarError.self) { try login().authorizationURL(at: "authorize") }
    }

    @Test func codeIsAcceptedOnce() throws {
        var login = try login()
        let target = "/callback?code=a%2Bb+c&state=\(Self.state)"
        let response = login.requested(.get, target)
        #expect(response.outcome == .code("a+b c"))
        #expect(text(response).hasPrefix("HTTP/1.1 200 OK\r\n") && text(response).contains("The server accepted"))
        #expect(login.requested(.get, target).outcome == nil)
        #expect(login.requested(.get, target).reply.status == 404)
        let form = login.exchange("a+b c", client: .none(id: "me")).form
        #expect(form.contains { $0.name == "redirect_uri" && $0.value == "http://127.0.0.1:4711/callback" })
    }

    @Test(arguments: [
        ("/favicon.ico", 404), ("/", 404), ("", 404), ("/callback/", 404), ("/callback", 400),
        ("/callback?code=x", 400),
        ("/callback?code=x&state=wrong", 400), ("/callback?error=access_denied", 400),
        ("/callback?error=access_denied&state=", 400), ("/callback?code=x&state=\(state)&state=\(state)", 400),
        ("/callback?state=\(state)", 400), ("/callback?code=x&code=y&state=\(state)", 400),
    ])
    func unrelatedRequestIsIgnored(target: String, status: Int) throws {
        var login = try login()
        let response = login.requested(.get, target)
        #expect(response.outcome == nil && response.reply.status == status)
        #expect(login.requested(.post, "/callback?code=x&state=\(Self.state)").reply.status == 405)
        #expect(login.requested(.get, "/callback?state=\(Self.state)&code=x").outcome == .code("x"))
    }

    @Test func errorEndsTheFlowAndIsReported() throws {
        var login = try login()
        let response = login.requested(
            .get, "/callback?error=access_denied&error_description=%3Cscript%3E%1B&state=\(Self.state)")
        let refusal = TokenResponse.Refusal(code: "access_denied", description: "<script>\u{1b}")
        #expect(response.outcome == .failed(.refused(refusal)))
        #expect(!text(response).contains("<script>"))
        let error = AuthorizationCode.Reason.refused(refusal).error
        #expect(error.kind == .unauthorized && !error.message.contains("\u{1b}"))
    }

    @Test func responseWithAnotherIssuerIsIgnored() throws {
        for (issuer, isTaken) in [
            ("&iss=https%3A%2F%2Fa.test", true), ("&iss=https%3A%2F%2Fb.test", false), ("", false),
        ] {
            var login = try login(issuer: "https://a.test")
            let outcome = login.requested(.get, "/callback?code=x&state=\(Self.state)\(issuer)").outcome
            #expect(outcome == (isTaken ? .code("x") : .failed(.wrongIssuer)))
        }
    }

    @Test func browserReplyIsCompleteAndEscaped() {
        let reply = BrowserReply(200, "<a href=\"x\">'&")
        #expect(reply.page.contains("<p>&lt;a href=&quot;x&quot;&gt;&#39;&amp;</p>"))
        let bytes = String(buffer: reply.bytes)
        #expect(
            bytes.contains("Content-Length: \(reply.page.utf8.count)\r\n") && bytes.hasSuffix("\r\n\r\n" + reply.page))
    }

    @Test func codeAndStateAreMasked() throws {
        var login = try login()
        let response = login.requested(.get, "/callback?code=secret&state=\(Self.state)")
        var text = ""
        dump(login, to: &text)
        text += "\(login) \(String(describing: response.outcome)) \(String(reflecting: login))"
        #expect(!text.contains("secret") && !text.contains("____"))
    }
}
