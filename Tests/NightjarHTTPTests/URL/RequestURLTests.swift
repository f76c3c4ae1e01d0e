import Testing

@testable import NightjarHTTP

@Suite struct RequestURLTests {
    @Test func tooLongURLIsRejected() throws {
        let fits = "http://h/" + String(repeating: "a", count: RequestTarget.maximumLength - 9)
        #expect(try RequestURL(fits).target.utf8.count == RequestTarget.maximumLength - 8)
        for text in [
            fits + "a", "http://" + String(repeating: "a", count: 64) + "/",
            "http://h/" + String(repeating: " ", count: 30_000),
            "http://" + String(repeating: "a.", count: 128) + "/",
        ] {
            let error = #expect(throws: NightjarError.self) { try RequestURL(text) }
            #expect(error?.kind == .invalidURL)
        }
    }

    @Test func userInfoIsSeparateAndNeverShown() throws {
        let url = try RequestURL("https://al%20ice:s%3Acret:x@example.com/a")
        #expect(url.userInfo?.user == "al ice")
        #expect(url.userInfo?.password == "s:cret:x")
        #expect(url.target == "/a")
        for shown in ["\(url)", url.redacted, String(reflecting: url.userInfo), "\(url.origin)"] {
            #expect(!shown.contains("cret") && !shown.contains("ice"))
        }
        var dumped = ""
        dump(url, to: &dumped)
        #expect(!dumped.contains("cret"))
    }

    @Test(arguments: [
        "http://alice:hunter2@h:99999/", "http://alice:hunter2@a@b/", "http://alice:hunter2@h/\n",
        "http://alice:hunter2@a b/", "http://alice:hunter2/x@h/", "http://alice:hunter2@/", "http://h/?token=hunter2\n",
        "ftp://alice:hunter2@h/", "http://alice:hunter2@[x/",
    ])
    func messagesQuoteNoPassword(_ text: String) {
        let error = #expect(throws: NightjarError.self) { try RequestURL(text) }
        #expect(error?.description.contains("hunter2") == false)
    }

    // MARK: Joining

    @Test(arguments: [
        ("http://h/v1", "/articles", "/v1/articles"),
        ("http://h/v1", "articles", "/v1/articles"),
        ("http://h/v1/", "/articles", "/v1/articles"),
        ("http://h/v1/", "articles", "/v1/articles"),
        ("http://h", "/articles", "/articles"),
        ("http://h", "articles", "/articles"),
        ("http://h/", "articles", "/articles"),
        ("http://h/v1", "", "/v1"),
        ("http://h/v1/", "", "/v1/"),
        ("http://h", "", "/"),
        ("http://h/v1", "/", "/v1/"),
        ("http://h/v1", "?a=1", "/v1?a=1"),
        ("http://h/v1", "#top", "/v1"),
        ("http://h/v1", "articles/", "/v1/articles/"),
        ("http://h/v1", "a//b", "/v1/a//b"),
        ("http://h/v1", "articles:search", "/v1/articles:search"),
        ("http://h/v1", "go?to=http://x/", "/v1/go?to=http://x/"),
        ("http://h/v1", "http://other/x", "/x"),
        ("http://h/v1", "HTTP://other", "/"),
        ("http://h/a b", "c d", "/a%20b/c%20d"),
    ])
    func pathsAreJoinedWithOneSlash(_ base: String, _ target: String, _ expected: String) throws {
        #expect(try RequestURL(base).joined(target).target == expected)
    }

    @Test func pathThatMayBeAHostIsRejected() throws {
        let base = try RequestURL("http://h/v1")
        for target in ["//evil.example/x", "http:evil", "ftp://evil/"] {
            #expect(throws: NightjarError.self) { try base.joined(target) }
        }
    }

    @Test(arguments: [
        ("/a", [("b", "1")], "/a?b=1"),
        ("/a?b=1", [("c", "2"), ("c", "3")], "/a?b=1&c=2&c=3"),
        ("/a?", [("b", "1")], "/a?b=1"),
        ("/a?b=1&", [("c", "2")], "/a?b=1&c=2"),
        ("/a#x", [("b", "1")], "/a?b=1"),
        ("/a", [], "/a"),
        ("/a", [("tag", "iOS & Swift")], "/a?tag=iOS%20%26%20Swift"),
        ("/a", [("a+b", "c+d=e%20/?#")], "/a?a%2Bb=c%2Bd%3De%2520%2F%3F%23"),
        ("/a", [("é", "日")], "/a?%C3%A9=%E6%97%A5"),
        ("/a", [("", ""), ("n", "")], "/a?=&n="),
        ("/a", [("line", "1\r\n2\0")], "/a?line=1%0D%0A2%00"),
        ("/a", [("safe", "-._~")], "/a?safe=-._~"),
    ])
    func queryItemsAreEncodedAndAppended(_ target: String, _ query: [(String, String)], _ expected: String) throws {
        let items = query.map { (name: $0.0, value: $0.1) }
        #expect(try RequestURL("http://h").joined(target, query: items).target == expected)
    }

    @Test func queryIsBounded() throws {
        let base = try RequestURL("http://h")
        let items = (0..<70).map { (name: "n\($0)", value: String(repeating: "x", count: 1000)) }
        let error = #expect(throws: NightjarError.self) { try base.joined("/", query: items) }
        #expect(error?.message.contains("longer than") == true)
    }

    // MARK: Showing

    @Test(arguments: [
        ("https://h/a?b=1", "https://h/a?b=1"),
        ("https://h/a?access_token=x&page=2", "https://h/a?access_token=***&page=2"),
        ("https://h/a?page=2&API_KEY=x", "https://h/a?page=2&API_KEY=***"),
        (
            "https://h/a?X-Amz-Signature=x&X-Amz-Security-Token=y",
            "https://h/a?X-Amz-Signature=***&X-Amz-Security-Token=***"
        ),
        ("https://h/a?acc%65ss%5Ftoken=x", "https://h/a?acc%65ss%5Ftoken=***"),
        ("https://h/a?code=x&state=y&token&key=", "https://h/a?code=***&state=y&token&key=***"),
        ("https://h/a?page_token=abc&nextPageToken=d", "https://h/a?page_token=abc&nextPageToken=d"),
        ("https://h/a?user[password]=x&password=a=b", "https://h/a?user%5Bpassword%5D=***&password=***"),
        ("https://u:p@h:8443/a?&&sig=1", "https://h:8443/a?&&sig=***"),
        (
            "https://h/?client_secret=a&refresh_token=b&apikey=c&secret=d&signature=e&pwd=f",
            "https://h/?client_secret=***&refresh_token=***&apikey=***&secret=***&signature=***&pwd=***"
        ),
        ("https://h/?keyboard=a&monkey=b&design=c", "https://h/?keyboard=a&monkey=b&design=c"),
    ])
    func credentialsAreMasked(_ text: String, _ shown: String) throws {
        let url = try RequestURL(text)
        #expect(url.redacted == shown)
        #expect("\(url)" == shown)
    }

    @Test func copyWithoutUserInfoMasksTheSameQueryItems() throws {
        let url = try RequestURL("http://u:p@a.test/x?visitor=1").hiding(["visitor"])
        #expect(url.withoutUserInfo.redacted == "http://a.test/x?visitor=***")
    }
}
