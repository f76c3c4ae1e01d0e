import Testing

@testable import NightjarHTTP

@Suite struct HTTPSOnlyTests {
    private let settings: HTTPSOnly

    init() throws { settings = try HTTPSOnly(except: ["localhost", "*.internal", "10.0.0.1", "[::1]"]) }

    @Test(arguments: [
        "https://example.com/", "http://localhost:8080/", "http://a.internal/", "http://A.Internal./",
        "http://10.0.0.1/", "http://[::1]:80/", "https://10.0.0.2/",
    ])
    func allowed(url: String) throws {
        #expect(try settings.refusal(of: RequestURL(url)) == nil)
    }

    @Test(arguments: [
        "http://example.com/", "http://internal/", "http://a.b.internal/", "http://a.localhost/", "http://10.0.0.2/",
        "http://localhost.example.com/",
    ])
    func rejected(url: String) throws {
        let error = try #require(settings.refusal(of: RequestURL(url)))
        #expect(error.kind == .invalidRequest)
        #expect(!error.isRetryable)
    }

    @Test func messageNamesTheException() throws {
        let error = try #require(HTTPSOnly().refusal(of: RequestURL("http://example.com:8080/secret?x=1")))
        #expect(
            error.message
                == "requests to http://example.com:8080 are not allowed, because https_only is set; use https, or add "
                + #""example.com" to https_only.except"#)
    }

    @Test(arguments: ["", "*.", "a b", "http://h"])
    func invalidExceptionIsRejected(pattern: String) {
        #expect(throws: NightjarError.self) { try HTTPSOnly(except: [pattern]) }
    }
}
