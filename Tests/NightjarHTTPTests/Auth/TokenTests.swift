import Testing

@testable import NightjarHTTP

@Suite struct TokenTests {
    static func read(_ body: String, status: Int = 200, replacing old: Token? = nil) throws -> TokenResponse {
        let now = try #require(Timestamp(secondsSince1970: 1000))
        return try body.withRawBytes { bytes throws(NightjarError) in
            try TokenResponse(status: status, body: bytes, replacing: old, at: now)
        }
    }

    static func token(_ body: String, replacing old: Token? = nil) throws -> Token? {
        if case .token(let token) = try read(body, replacing: old) { token } else { nil }
    }

    @Test func tokenIsMaskedInAllTexts() {
        let token = Token(access: "geheim", refresh: "sehr-geheim", scope: "a")
        var dumped = ""
        dump(token, to: &dumped)
        dump(TokenResponse.token(token), to: &dumped)
        for text in ["\(token)", String(reflecting: token), "\([token])", "\(TokenResponse.token(token))", dumped] {
            #expect(!text.contains("geheim"))
        }
    }

    @Test func authorizationIsAValidFieldValue() {
        #expect(Token(access: "abc", type: "bearer").authorization == "Bearer abc")
        #expect(Token(access: "abc", type: "DPoP").authorization == "DPoP abc")
        for access in ["", "a b", "a\r\nb", "ä"] { #expect(Token(access: access).authorization == nil) }
        #expect(Token(access: "abc", type: "two words").authorization == nil)
    }

    @Test(arguments: ["3600", "\"3600\"", "3600.0", "3600.9"])
    func expiresInIsANumberOrDigits(number: String) throws {
        #expect(try Self.token(#"{"access_token":"a","expires_in":\#(number)}"#)?.expiry?.seconds == 4600)
    }

    @Test func negativeLifetimeIsExpiredAndAHugeOneIsUnlimited() throws {
        #expect(try Self.token(#"{"access_token":"a","expires_in":-5}"#)?.expiry?.seconds == 1000)
        for life in ["9223372036854775807", "18446744073709551615", "1e300", "null", "\"soon\"", "[]"] {
            let token = try #require(try Self.token(#"{"access_token":"a","expires_in":\#(life)}"#))
            #expect(token.expiry == nil)
        }
    }

    @Test(
        arguments: [
            ("60000", 1060), ("\"1500\"", 1001), ("-5", 1000), ("999.9", 1000), ("9223372036854775807", nil),
            ("18446744073709551615", nil), ("1e300", nil),
        ] as [(String, Int64?)])
    func lifetimeMayBeInMilliseconds(number: String, expiry: Int64?) throws {
        let now = try #require(Timestamp(secondsSince1970: 1000))
        let response = try #"{"access_token":"a","expires_in":\#(number)}"#.withRawBytes {
            bytes throws(NightjarError) in
            try TokenResponse(status: 200, body: bytes, at: now, lifetimesIn: .milliseconds)
        }
        guard case .token(let token) = response else { throw NightjarError(.decoding, "no token") }
        #expect(token.expiry?.seconds == expiry)
    }

    @Test func missingMembersKeepTheirValues() throws {
        let old = Token(access: "a", refresh: "r", type: "DPoP", expiry: nil, scope: "s")
        #expect(
            try Self.token(#"{"access_token":"b"}"#, replacing: old)
                == Token(access: "b", refresh: "r", type: "DPoP", scope: "s"))
        #expect(try Self.token(#"{"access_token":"b","refresh_token":"q"}"#, replacing: old)?.refresh == "q")
        #expect(try Self.token(#"{"access_token":"b"}"#)?.refresh == nil)
    }

    /// RFC 6749 section 7.1: a client must not use a token of an unknown type.
    @Test(arguments: [#""mac""#, #""DPoP""#, #""N_A""#, "7", "true", "{}", #"["bearer"]"#])
    func unknownTokenTypeIsRejected(type: String) throws {
        let body = #"{"access_token":"geheim","token_type":\#(type)}"#
        let failure = #expect(throws: NightjarError.self) { try Self.read(body) }
        #expect(failure?.kind == .decoding)
        #expect(failure?.message.contains("type") == true && failure?.message.contains("geheim") == false)
    }

    @Test(arguments: [#""bearer""#, #""BEARER""#, #""""#, "null"])
    func bearerTokenOrNoTypeIsAccepted(type: String) throws {
        let token = try Self.token(#"{"access_token":"a","token_type":\#(type)}"#)
        #expect(token?.authorization == "Bearer a")
    }

    @Test(arguments: [200, 400, 401])
    func errorIsReadForAnyStatus(status: Int) throws {
        let response = try Self.read(#"{"error":"invalid_grant","error_description":"expired"}"#, status: status)
        #expect(response == .refused(.init(code: "invalid_grant", description: "expired")))
    }

    @Test(arguments: [
        ("", 200), ("<html>geheim", 502), ("[]", 200), ("{}", 200), (#"{"access_token":""}"#, 200),
        (#"{"access_token":7}"#, 200), (#"{"access_token":"geheim"}"#, 500), (#"{"error":""}"#, 400),
    ])
    func invalidResponseFailsWithoutQuotingTheBody(body: String, status: Int) {
        let failure = #expect(throws: NightjarError.self) { try Self.read(body, status: status) }
        #expect(failure?.kind == .decoding)
        #expect(failure?.description.contains("geheim") == false)
    }
}
