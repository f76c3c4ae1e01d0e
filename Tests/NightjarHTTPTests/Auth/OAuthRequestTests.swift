import Testing

@testable import NightjarHTTP

@Suite struct OAuthRequestTests {
    static func form(_ request: OAuthRequest) -> String {
        String(decoding: FormEncoding.encode(request.form).readableBytesView, as: UTF8.self)
    }

    /// The example of RFC 7636 appendix B.
    static let random: [UInt8] = [
        116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191, 240,
        91, 88, 5, 88, 83, 132, 141, 121,
    ]
    static let digest: [UInt8] = [
        19, 211, 30, 150, 26, 26, 216, 236, 47, 22, 177, 12, 76, 152, 46, 8, 118, 168, 120, 173, 109, 241, 68, 86, 110,
        225, 137, 74, 203, 112, 249, 195,
    ]

    static func proof() throws -> ProofKey {
        try #require(
            ProofKey(random: random) { verifier in
                #expect(String(decoding: verifier, as: UTF8.self) == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
                return digest
            })
    }

    @Test func proofKeyMatchesTheRFC() throws {
        #expect(try Self.proof().challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        #expect(ProofKey(random: [1, 2, 3]) { _ in Self.digest } == nil)
        #expect(ProofKey(random: Self.random) { _ in [] } == nil)
    }

    @Test func publicClientIsNamedInTheForm() {
        let request = OAuthRequest.refresh("r+1", scope: "a b", client: .none(id: "app"))
        #expect(Self.form(request) == "grant_type=refresh_token&refresh_token=r%2B1&scope=a+b&client_id=app")
        #expect(request.authorization == nil)
    }

    @Test func clientCredentialsAreSentInTheHeaderOrTheForm() {
        let basic = OAuthRequest.clientCredentials(client: .basic(id: "a:b", secret: "c d"))
        #expect(Self.form(basic) == "grant_type=client_credentials")
        #expect(basic.authorization == "Basic " + Base64.encode("a%3Ab:c+d".utf8))
        let post = OAuthRequest.clientCredentials(scope: "x", client: .post(id: "a", secret: "b"))
        #expect(Self.form(post) == "grant_type=client_credentials&scope=x&client_id=a&client_secret=b")
        #expect(post.authorization == nil)
    }

    @Test func deviceRequestIsFollowedByPolls() {
        let client = OAuthRequest.ClientAuthentication.none(id: "tv")
        #expect(Self.form(.deviceAuthorization(scope: "s", client: client)) == "scope=s&client_id=tv")
        #expect(
            Self.form(.deviceCode("d", client: client))
                == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=d&client_id=tv")
    }

    @Test func codeIsRedeemedWithItsVerifier() throws {
        let proof = try Self.proof()
        let redirect = "http://127.0.0.1:1/cb"
        #expect(
            OAuthRequest.authorizationQuery(clientID: "app", redirect: redirect, state: "s", proof: proof)
                == "response_type=code&client_id=app&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb&state=s"
                + "&code_challenge=\(proof.challenge)&code_challenge_method=S256")
        #expect(
            Self.form(.authorizationCode("c", redirect: redirect, verifier: proof, client: .none(id: "app")))
                == "grant_type=authorization_code&code=c&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb"
                + "&code_verifier=\(proof.verifier)&client_id=app")
    }

    @Test func secretsAreMasked() throws {
        let client = OAuthRequest.ClientAuthentication.post(id: "a", secret: "geheim")
        let proof = try Self.proof()
        var dumped = "\(client) \(OAuthRequest.refresh("geheim", client: client)) \(proof)"
        dump(client, to: &dumped)
        dump(OAuthRequest.refresh("geheim", client: client), to: &dumped)
        dump(proof, to: &dumped)
        #expect(!dumped.contains("geheim") && !dumped.contains(proof.verifier))
    }
}
