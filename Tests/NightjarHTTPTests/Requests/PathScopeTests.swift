import Testing

@testable import NightjarHTTP

@Suite struct PathScopeTests {
    @Test(arguments: ["/", "/v1/", "/v1/a%20b%7B", "/a:b@c;d=e,f'()*!$&+~"]) func encodedPathIsAccepted(text: String)
        throws
    {
        let path = try RequestURL("http://api.test" + text).path
        #expect(path == text)
        #expect(try PathScope(text).contains(path))
    }

    /// A request sends these characters encoded, so the scope would match no request.
    @Test(
        arguments: ["/{id}", "/a\"b", "/a<b>", "/a\\b", "/a^b", "/a`b", "/a|b", "/[a]", "/a%", "/a%2x", "/a b", "/ü"])
    func unencodedPathIsRejected(text: String) {
        let error = #expect(throws: NightjarError.self) { try PathScope(text) }
        #expect(error?.kind == .invalidArgument)
    }

    @Test(arguments: ["", "v1", "/v1?x", "/v1#x", "/v1/..", "/v1/%2e%2E", "/v1/\n"]) func otherTextIsRejected(
        text: String
    ) {
        #expect(throws: NightjarError.self) { try PathScope(text) }
    }
}
