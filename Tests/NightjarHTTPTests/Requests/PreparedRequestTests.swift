import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct PreparedRequestTests {
    static func headers(_ fields: KeyValuePairs<String, String>) throws -> Headers {
        var headers = Headers()
        for (name, value) in fields { try headers.add(name, value) }
        return headers
    }

    /// Returns the lines of the head of `request`.
    private func lines(
        _ request: Request, base: String? = "http://h/v1", defaults: KeyValuePairs<String, String> = [:],
        userAgent: String? = nil
    ) throws -> [String] {
        let prepared = try PreparedRequest(
            request, base: try base.map { try RequestURL($0) }, defaults: try Self.headers(defaults),
            userAgent: userAgent)
        let text = String(buffer: prepared.wireHead)
        #expect(text.hasSuffix("\r\n\r\n"))
        #expect(String(buffer: prepared.head) + "\r\n" == text)
        return text.dropLast(2).components(separatedByCRLF: ())
    }

    private func request(
        _ method: Method = .get, _ target: String = "/a", _ fields: KeyValuePairs<String, String> = [:],
        body: RequestBody = .none
    ) throws -> Request {
        var request = Request(method, target)
        request.headers = try Self.headers(fields)
        request.body = body
        return request
    }

    private func rejection(_ make: () throws -> Void) -> String {
        let error = #expect(throws: NightjarError.self) { try make() }
        #expect(error?.kind == .invalidRequest)
        return error?.message ?? ""
    }

    @Test func pathIsAppendedToTheBaseURL() throws {
        var request = try request(.get, "/articles?x=1", ["Accept": "application/json"])
        request.query = [("page", "1"), ("tag", "iOS & Swift")]
        #expect(
            try lines(request, defaults: ["API-Version": "2"], userAgent: "nightjar/0.1.0") == [
                "GET /v1/articles?x=1&page=1&tag=iOS%20%26%20Swift HTTP/1.1", "Host: h", "API-Version: 2",
                "User-Agent: nightjar/0.1.0", "Accept: application/json",
            ])
    }

    /// Precedence: the request's Content-Type, the client's Content-Type, the default for JSON.
    @Test func jsonKeepsAnExplicitContentType() throws {
        typealias Fields = KeyValuePairs<String, String>
        func types(_ fields: Fields, _ defaults: Fields) throws -> [String] {
            var sent = try request(.post, "/a", fields)
            try sent.json(["a": 1])
            return try lines(sent, defaults: defaults).filter { $0.lowercased().hasPrefix("content-type") }
        }
        #expect(try types([:], [:]) == ["Content-Type: application/json"])
        #expect(try types(["content-type": "a/b"], [:]) == ["content-type: a/b"])
        #expect(try types([:], ["Content-Type": "c/d"]) == ["Content-Type: c/d"])
        #expect(try types(["content-type": "a/b"], ["Content-Type": "c/d"]) == ["content-type: a/b"])
        var bare = try request(.post, "/a")
        try bare.json(1)
        bare.body = .none
        #expect(try lines(bare).allSatisfy { !$0.hasPrefix("Content-Type") })
    }

    @Test func absoluteTargetHasItsOwnHost() throws {
        #expect(
            try lines(request(.get, "https://other:8443/x")) == ["GET /x HTTP/1.1", "Host: other:8443"])
        #expect(try lines(request(.get, "http://h/x")) == ["GET /x HTTP/1.1", "Host: h"])
        #expect(try lines(request(.get, "http://h/x"), base: nil) == ["GET /x HTTP/1.1", "Host: h"])
    }

    @Test func pathWithoutABaseURLIsInvalid() throws {
        let error = #expect(throws: NightjarError.self) { try lines(request(.get, "/x"), base: nil) }
        #expect(error?.kind == .invalidURL)
        #expect(error?.message.contains("base URL") == true)
    }

    @Test func baseURLWithAQueryIsRejected() throws {
        let error = #expect(throws: NightjarError.self) { try lines(request(), base: "http://h/?a=1") }
        #expect(error?.kind == .invalidURL)
    }

    @Test func headerOfTheRequestReplacesTheDefault() throws {
        #expect(
            try lines(
                request(.get, "/a", ["ACCEPT": "text/html", "X-One": "3"]),
                defaults: ["Accept": "application/json", "X-One": "1", "x-one": "2", "Other1": "z"], userAgent: "ua")
                == ["GET /v1/a HTTP/1.1", "Host: h", "Other1: z", "User-Agent: ua", "ACCEPT: text/html", "X-One: 3"])
        #expect(
            try lines(request(.get, "/a", ["User-Agent": "mine"]), userAgent: "ua") == [
                "GET /v1/a HTTP/1.1", "Host: h", "User-Agent: mine",
            ])
        #expect(
            try lines(request(), defaults: ["user-agent": "default"], userAgent: "ua") == [
                "GET /v1/a HTTP/1.1", "Host: h", "user-agent: default",
            ])
    }

    @Test func defaultCredentialsAreSentOnlyToTheBaseOrigin() throws {
        let defaults: KeyValuePairs<String, String> = [
            "Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "Cookie": "s3cret", "X-Auth-Token": "s3cret",
            "Accept": "text/html",
        ]
        for foreign in ["http://other/x", "https://h/x", "http://h:8080/x"] {
            let lines = try lines(request(.get, foreign), defaults: defaults)
            #expect(!lines.joined().contains("s3cret"))
            #expect(lines.contains("Accept: text/html"))
        }
        for own in ["/x", "http://h/x"] {
            #expect(try lines(request(.get, own), defaults: defaults).contains("Authorization: Bearer s3cret"))
        }
        // A field of the request itself is sent to any origin.
        let own = try lines(request(.get, "http://other/x", ["Authorization": "Basic x"]), defaults: defaults)
        #expect(own.contains("Authorization: Basic x"))
    }

    /// An API key can have any header name. `appid` does not look like the name of a secret.
    @Test func sensitiveDefaultsAreSentOnlyToTheBaseOrigin() throws {
        var defaults = Headers()
        try defaults.add("AppID", "s3cret")
        try defaults.add("Accept", "text/html")
        let template = try RequestTemplate(
            base: RequestURL("http://h/v1"), defaults: defaults, userAgent: nil, sensitive: ["appid"])
        for (target, hasIt) in [("/x", true), ("http://h/x", true), ("http://other/x", false), ("https://h/x", false)] {
            let head = String(buffer: try PreparedRequest(Request(.get, target), template).head)
            #expect(head.contains("AppID: s3cret") == hasIt, "\(target)")
            #expect(head.contains("Accept: text/html"))
        }
    }

    @Test func userInfoBecomesBasicCredentials() throws {
        let basic = "Authorization: Basic dTpwQA=="
        #expect(try lines(request(.get, "/a"), base: "http://u:p%40@h/v1").contains(basic))
        #expect(try lines(request(.get, "http://h/b"), base: "http://u:p%40@h/v1").contains(basic))
        #expect(try lines(request(.get, "http://u:p%40@other/"), base: "http://h/v1").contains(basic))
        #expect(try lines(request(.get, "http://u:p%40@h/"), base: nil).contains(basic))
        let foreign = try lines(request(.get, "http://other/"), base: "http://u:p%40@h/v1")
        #expect(!foreign.joined().contains("Authorization"))
        #expect(!(try lines(request(.get, "http://@h/"), base: nil).joined().contains("Authorization")))
    }

    /// Precedence: the request's field, the user info of its URL, the client's default field, the user info of the base
    /// URL.
    @Test func explicitCredentialsReplaceUserInfo() throws {
        func credentials(_ request: Request, _ defaults: KeyValuePairs<String, String> = [:]) throws -> [String] {
            try lines(request, base: "http://base:x@h/v1", defaults: defaults).filter { $0.hasPrefix("Authorization") }
        }
        let target = "http://u:p%40@h/"
        #expect(try credentials(request(.get, target, ["authorization": "Bearer own"])).isEmpty)
        #expect(try credentials(request(.get, target)) == ["Authorization: Basic dTpwQA=="])
        let defaults: KeyValuePairs<String, String> = ["Authorization": "Bearer all"]
        #expect(try credentials(request(.get, target), defaults) == ["Authorization: Basic dTpwQA=="])
        #expect(try credentials(request(.get, "/"), defaults) == ["Authorization: Bearer all"])
    }

    @Test func credentialsWithoutABaseURLAreRejected() {
        let message = rejection {
            _ = try lines(request(.get, "http://h/"), base: nil, defaults: ["Accept": "*/*", "Cookie": "s3cret"])
        }
        #expect(
            message == "the default header \"Cookie\" would be sent to every server; set base_url so that "
                + "only its origin receives the header, or set the header on each request")
    }

    /// A JSON Web Token is a credential in any field.
    @Test(arguments: [("X-Visitor", "7"), ("X-Other", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl")])
    func defaultThatCarriesCredentialsWithoutABaseURLIsRejected(_ name: String, _ value: String) throws {
        var defaults = Headers()
        try defaults.add(name, value)
        let message = rejection {
            _ = try RequestTemplate(base: nil, defaults: defaults, userAgent: nil, sensitive: ["x-visitor"])
        }
        #expect(message.hasPrefix("the default header \"\(name)\" would be sent to every server"))
    }

    @Test func hostMayBeSetOnce() throws {
        #expect(try lines(request(.get, "/a", ["host": "x:1"])) == ["GET /v1/a HTTP/1.1", "host: x:1"])
        #expect(try lines(request(), defaults: ["Host": "x"]) == ["GET /v1/a HTTP/1.1", "Host: x"])
        #expect(
            try lines(request(.get, "http://other/"), defaults: ["Host": "x"]) == ["GET / HTTP/1.1", "Host: other"])
        #expect(
            rejection { _ = try lines(request(.get, "/a", ["Host": "x", "HOST": "x"])) }.contains("more than once"))
        #expect(rejection { _ = try lines(request(), defaults: ["Host": "x", "HOST": "x"]) }.contains("2 times"))
        for bad in ["", "a b", "a/b", "user@h", "a,b"] {
            #expect(rejection { _ = try lines(request(.get, "/a", ["Host": bad])) }.contains("must be a host"))
        }
    }

    @Test(arguments: [
        "Content-Length", "transfer-encoding", "CONNECTION", "Keep-Alive", "Upgrade", "TE", "Trailer",
        "Proxy-Connection", "Proxy-Authorization", "Expect",
    ])
    func framingFieldsAreRejected(_ name: String) throws {
        var headers = Headers()
        try headers.add(name, "1")
        var request = Request(.get, "http://h/")
        request.headers = headers
        let own = rejection { _ = try PreparedRequest(request, base: nil, defaults: Headers(), userAgent: nil) }
        #expect(own.contains("header \"\(name)\" cannot be set: it"))
        let byDefault = rejection { _ = try RequestTemplate(base: nil, defaults: headers, userAgent: nil) }
        #expect(byDefault == own)
    }

    @Test func bodyDeterminesTheFraming() throws {
        func framing(_ method: Method, _ body: RequestBody) throws -> [String] {
            Array(try lines(request(method, "/a", body: body)).dropFirst(2))
        }
        for method: Method in [.get, .head, .delete, .options, .trace] {
            #expect(try framing(method, .none) == [])
        }
        for method: Method in [.post, .put, .patch] {
            #expect(try framing(method, .none) == ["Content-Length: 0"])
        }
        #expect(try framing(.get, .bytes(ByteBuffer())) == ["Content-Length: 0"])
        #expect(try framing(.post, .bytes(ByteBuffer(string: "hello"))) == ["Content-Length: 5"])
        #expect(try framing(.post, .bytes(ByteBuffer(repeating: 1, count: 123_456))) == ["Content-Length: 123456"])
        #expect(try framing(.put, .stream(length: nil)) == ["Transfer-Encoding: chunked", "Expect: 100-continue"])
        #expect(
            try framing(.put, .stream(length: .max)) == ["Content-Length: 9223372036854775807", "Expect: 100-continue"])
        #expect(rejection { _ = try framing(.put, .stream(length: -1)) }.contains("negative"))
        #expect(rejection { _ = try framing(.trace, .bytes(ByteBuffer())) }.contains("TRACE"))
    }

    @Test func connectIsRejected() throws {
        let connect = try #require(Method("CONNECT"))
        #expect(rejection { _ = try lines(request(connect)) }.contains("tunnels"))
    }

    @Test func laterStagesAddFields() throws {
        let prepared = try PreparedRequest(
            Request(.get, "http://h/"), base: nil, defaults: Headers(), userAgent: nil)
        let before = prepared.wireHead
        let longer = try prepared.adding("Authorization", "Bearer x")
        #expect(String(buffer: longer.wireHead) == "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer x\r\n\r\n")
        #expect(String(buffer: before) == "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        for (name, value) in [("A B", "x"), ("A", "x\r\nB: y"), ("", "x")] {
            #expect(throws: NightjarError.self) { try prepared.adding(name, value) }
        }
    }

    @Test func urlMatchesTheWire() throws {
        var request = Request(.get, "a b")
        request.query = [("q", "1")]
        let prepared = try PreparedRequest(
            request, base: RequestURL("https://u:p@h/v1/"), defaults: Headers(), userAgent: nil)
        #expect(prepared.url.target == "/v1/a%20b?q=1")
        #expect(prepared.url.redacted == "https://h/v1/a%20b?q=1")
        #expect(prepared.url.userInfo?.user == "u")
        #expect(prepared.origin.description == "https://h")
    }
}

extension Substring {
    fileprivate func components(separatedByCRLF: Void) -> [String] {
        // CR LF is one Character.
        split(separator: "\r\n" as Character, omittingEmptySubsequences: false).map(String.init)
    }
}
