import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct LoginCallTests {
    private func now() throws -> Timestamp { try #require(Timestamp(secondsSince1970: 1_000_000_000)) }

    private func read(
        _ text: String, status: Int = 200, _ places: TokenPointers = TokenPointers(), replacing old: Token? = nil
    ) throws -> TokenResponse {
        let now = try now()
        return try Array(text.utf8).withUnsafeBytes {
            try places.read(status: status, body: $0, replacing: old, at: now)
        }
    }

    private func text(_ request: Request) throws -> String {
        guard case .bytes(let bytes) = request.body else { throw NightjarError(.decoding, "no bytes") }
        return String(buffer: bytes)
    }

    // MARK: The response

    @Test func tokenPointersHaveDefaults() throws {
        let response = try read(
            #"{"access_token":"a","refresh_token":"r","token_type":"bearer","expires_in":60,"scope":"s"}"#)
        let expiry = Timestamp(secondsSince1970: 1_000_000_060)
        #expect(response == .token(Token(access: "a", refresh: "r", type: "bearer", expiry: expiry, scope: "s")))
        let old = Token(access: "o", refresh: "r", type: "MAC", expiry: expiry, scope: "s")
        #expect(
            try read(#"{"access_token":"b"}"#, replacing: old)
                == .token(Token(access: "b", refresh: "r", type: "MAC", scope: "s")))
    }

    @Test func lifetimeMayBeInMilliseconds() throws {
        var places = TokenPointers()
        places.expiry = .lifetime(try JSONPointer("/ttl"))
        places.lifetimeUnit = .milliseconds
        guard case .token(let token) = try read(#"{"access_token":"a","ttl":90000}"#, places) else {
            throw NightjarError(.decoding, "no token")
        }
        #expect(token.expiry == (try now()).later(by: .seconds(90)))
    }

    @Test(
        arguments: [
            (#""2001-09-09T01:47:40Z""#, 1_000_000_060), ("1000000060", 1_000_000_060),
            ("1000000060000", 1_000_000_060),
            (#""1000000060""#, 1_000_000_060), ("1000000060.0", 1_000_000_060), ("true", nil), ("1e300", nil),
        ] as [(String, Int64?)])
    func tokensAreReadAtConfiguredPointers(moment: String, seconds: Int64?) throws {
        var places = TokenPointers()
        places.access = try JSONPointer("/data/0/jwt")
        places.refresh = try JSONPointer("/data/0/again")
        places.expiry = .moment(try JSONPointer("/until"))
        let response = try read(#"{"data":[{"jwt":"a","again":"r"}],"until":\#(moment)}"#, places)
        let expiry = seconds.flatMap { Timestamp(secondsSince1970: $0) }
        #expect(response == .token(Token(access: "a", refresh: "r", expiry: expiry)))
    }

    @Test(
        arguments: [
            (401, #"{"message":"wrong password"}"#, "invalid_grant", "wrong password"),
            (403, "{}", "invalid_grant", nil), (403, "no", "forbidden", nil), (401, "no", "invalid_grant", nil),
            (400, #"{"error":"invalid_grant"}"#, "invalid_grant", nil), (422, "{}", "invalid_request", nil),
            (200, #"{"error":"locked"}"#, "locked", nil),
        ] as [(Int, String, String, String?)])
    func errorResponseIsReported(status: Int, body: String, code: String, description: String?) throws {
        let refusal = TokenResponse.Refusal(code: code, description: description)
        #expect(try read(body, status: status) == .refused(refusal))
        #expect(refusal.error.kind == .unauthorized && refusal.error.message.contains(code))
    }

    @Test(arguments: [
        (429, "{}", ErrorKind.rateLimited, true), (503, "{}", .server, true), (408, "{}", .connectionLost, true),
        (302, "{}", .protocol, false), (200, "secret", .decoding, false),
        (200, #"{"token":"secret"}"#, .decoding, false), (200, #"{"access_token":17}"#, .decoding, false),
    ])
    func responseWithoutTokenIsAnError(status: Int, body: String, kind: ErrorKind, isRetryable: Bool) throws {
        let error = #expect(throws: NightjarError.self) { try read(body, status: status) }
        #expect(error?.kind == kind && error?.isRetryable == isRetryable)
        #expect(error?.message.contains("secret") == false)
    }

    // MARK: The request

    @Test func loginRequestFollowsTheTemplate() throws {
        var call = LoginCall("/login", .json(.object([.init("user", .string("u")), .init("password", .string("p"))])))
        let request = try call.request()
        #expect(request.method == .post && request.target == "/login")
        #expect(request.headers["content-type"] == "application/json")
        #expect(try text(request) == #"{"user":"u","password":"p"}"#)
        call.body = .form([("user", "u"), ("password", "p&")])
        #expect(try text(try call.request()) == "user=u&password=p%26")
        #expect(try call.request().headers["content-type"] == FormEncoding.contentType)
    }

    @Test(arguments: [
        ("{}", "/refresh_token", #"{"refresh_token":"r"}"#),
        (#"{"a":1,"token":null,"b":2}"#, "/token", #"{"a":1,"token":"r","b":2}"#),
        (#"{"grant":{"kind":"again"}}"#, "/grant/with/token", #"{"grant":{"kind":"again","with":{"token":"r"}}}"#),
        (#"[{"t":""},{}]"#, "/0/t", #"[{"t":"r"},{}]"#), ("{}", "", #""r""#),
        (#"{"a":null}"#, "/a/b", #"{"a":{"b":"r"}}"#),
    ])
    func refreshTokenIsInsertedIntoTheTemplate(template: String, place: String, body: String) throws {
        var call = RefreshCall("/refresh", .json(try JSONValue(parsing: template)))
        call.tokenPlace = try JSONPointer(place)
        #expect(try text(try call.request(refreshToken: "r")) == body)
    }

    @Test(arguments: [(#"{"a":1}"#, "/a/b"), ("[]", "/0"), ("[{}]", "/-"), (#""text""#, "/a")])
    func missingPointerIsReported(template: String, place: String) throws {
        var call = RefreshCall("/refresh", .json(try JSONValue(parsing: template)))
        call.tokenPlace = try JSONPointer(place)
        let error = #expect(throws: NightjarError.self) { try call.request(refreshToken: "s3cret") }
        #expect(error?.kind == .invalidArgument && error?.message.contains("s3cret") == false)
    }

    @Test func tokenIsInsertedIntoAForm() throws {
        var call = RefreshCall("/refresh", .form([("a", "1"), ("refresh_token", ""), ("b", "2")]))
        #expect(try text(try call.request(refreshToken: "r")) == "a=1&refresh_token=r&b=2")
        call.body = .form([("a", "1")])
        #expect(try text(try call.request(refreshToken: "r")) == "a=1&refresh_token=r")
        call.tokenPlace = try JSONPointer("/a/b")
        #expect(throws: NightjarError.self) { try call.request(refreshToken: "r") }
    }

    @Test func secretsAreMasked() throws {
        let login = LoginCall("/login", .form([("password", "s3cret")]))
        let refresh = RefreshCall("/refresh", .json(.string("s3cret")))
        var text = "\(login) \(refresh) \(login.body) \(String(reflecting: refresh))"
        dump(login, to: &text)
        dump(refresh, to: &text)
        dump(login.body, to: &text)
        #expect(!text.contains("s3cret"))
    }
}
