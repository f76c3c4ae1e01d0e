import Testing

@testable import NightjarHTTP

@Suite struct ChallengeTests {
    /// Returns each challenge in the form `scheme token68 name=value;name=value`.
    static func summary(_ fields: String...) -> [String] {
        Challenge.parse(fields).map { challenge in
            let parameters = challenge.parameters.map { "\($0.name)=\($0.value)" }.joined(separator: ";")
            return [challenge.scheme, challenge.token68 ?? "", parameters].filter { !$0.isEmpty }.joined(separator: " ")
        }
    }

    @Test func exampleOfTheRFCIsRead() {
        #expect(
            Self.summary(#"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#)
                == ["basic realm=simple", #"newauth realm=apps;type=1;title=Login to "apps""#])
    }

    @Test(arguments: [
        ("", []), (" , ,", []), ("Negotiate", ["negotiate"]),
        ("Negotiate, Basic realm=x", ["negotiate", "basic realm=x"]),
        ("NTLM TlRMTVNTUAAC==, Basic", ["ntlm TlRMTVNTUAAC==", "basic"]), ("Negotiate abc=", ["negotiate abc="]),
        ("Negotiate a+/~._-", ["negotiate a+/~._-"]), ("Basic realm = \"a, b\"", ["basic realm=a, b"]),
        (",,Basic realm=x,,,charset=UTF-8 , ,Bearer,", ["basic realm=x;charset=UTF-8", "bearer"]),
        ("Bearer error=\"invalid_token\",scope=\"a b\"", ["bearer error=invalid_token;scope=a b"]),
        ("Bearer uri=https://a.example/x?y=z, Basic", ["bearer uri=https://a.example/x?y=z", "basic"]),
        ("DIGEST Realm=\"\"", ["digest realm="]),
    ])
    func fieldsAreRead(field: String, challenges: [String]) {
        #expect(Self.summary(field) == challenges)
    }

    @Test(arguments: [
        ("Negotiate, Basic realm=\"open", ["negotiate"]), ("Negotiate, Basic realm=\"open\\", ["negotiate"]),
        ("Negotiate, (Basic)", ["negotiate"]), ("Basic realm=a b, Bearer", []), ("Negotiate,Basic=x", ["negotiate"]),
        ("Basic realm=", ["basic realm="]),
    ])
    func invalidChallengeEndsTheField(field: String, challenges: [String]) {
        #expect(Self.summary(field) == challenges)
    }

    @Test func severalFieldsAreCombined() {
        #expect(Self.summary("Basic realm=\"", "Digest nonce=x", "Bearer") == ["digest nonce=x", "bearer"])
    }

    @Test func hostileFieldIsBounded() {
        #expect(Challenge.parse([String(repeating: "a,", count: 100_000)]).count == Challenge.largestCount)
        let many = Challenge.parse(["a " + String(repeating: "b=c,", count: 100_000)])
        #expect(many.map(\.parameters.count) == [Challenge.largestParameterCount])
    }
}
