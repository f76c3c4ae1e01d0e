import Testing

@testable import NightjarHTTP

@Suite struct RequestURLTests {
    // MARK: Reading

    @Test(arguments: [
        ("http://example.com", "http://example.com", "/"),
        ("http://example.com/", "http://example.com", "/"),
        ("HTTPS://Example.COM/Path", "https://example.com", "/Path"),
        ("https://example.com:443/a", "https://example.com", "/a"),
        ("http://example.com:80", "http://example.com", "/"),
        ("https://example.com:80", "https://example.com:80", "/"),
        ("http://example.com:/a", "http://example.com", "/a"),
        ("http://example.com:0080/a", "http://example.com", "/a"),
        ("http://example.com?q=1", "http://example.com", "/?q=1"),
        ("http://example.com/a?", "http://example.com", "/a"),
        ("http://example.com/a?b?c=/d", "http://example.com", "/a?b?c=/d"),
        ("http://example.com/a#b?c", "http://example.com", "/a"),
        ("http://example.com#a", "http://example.com", "/"),
        ("http://example.com//a//", "http://example.com", "//a//"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080", "/"),
        ("http://[::1]:8080/a", "http://[::1]:8080", "/a"),
        ("http://[0:0:0:0:0:0:0:1]", "http://[::1]", "/"),
        ("http://[2001:DB8::A]", "http://[2001:db8::a]", "/"),
        ("http://[::ffff:1.2.3.4]/", "http://[::ffff:1.2.3.4]", "/"),
        ("http://under_score.example-1.com./", "http://under_score.example-1.com.", "/"),
        ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example", "/"),
        ("http://Bücher.example:81/", "http://xn--bcher-kva.example:81", "/"),
        ("http://bu\u{308}cher.example/", "http://xn--bcher-kva.example", "/"),
        ("http://straße.example/", "http://xn--strae-oqa.example", "/"),
        ("http://日本。jp/", "http://xn--wgv71a.jp", "/"), ("http://ＡＢＣ.example./", "http://abc.example.", "/"),
        ("http://１２７.0.0.1/", "http://127.0.0.1", "/"),
        ("http://h/a b", "http://h", "/a%20b"),
        ("http://h/a%20b%2f%zz%", "http://h", "/a%20b%2f%25zz%25"),
        ("http://h/\"<>\\^`{|}[]", "http://h", "/%22%3C%3E%5C%5E%60%7B%7C%7D%5B%5D"),
        ("http://h/é/日本?ü=ö", "http://h", "/%C3%A9/%E6%97%A5%E6%9C%AC?%C3%BC=%C3%B6"),
        ("http://h/!$&'()*+,;=:@-._~", "http://h", "/!$&'()*+,;=:@-._~"),
        ("http://h/a/../b/./c", "http://h", "/a/../b/./c"),
        ("http://h/@user", "http://h", "/@user"),
    ])
    func reads(_ text: String, _ origin: String, _ target: String) throws {
        let url = try RequestURL(text)
        #expect(url.origin.description == origin)
        #expect(url.target == target)
        #expect(url.userInfo == nil)
    }

    @Test(arguments: [
        ("", "no scheme"), ("/path", "no scheme"), ("example.com", "no scheme"), ("example.com:80/", "no scheme"),
        ("://h", "no scheme"), (" http://h", "no scheme"), ("ftp://h/", "\"ftp\" is not http or https"),
        ("ws://h/", "\"ws\" is not http or https; WebSocket is not supported yet"),
        ("WSS://h/", "WebSocket is not supported yet"),
        ("file:///etc/passwd", "\"file\" is not"), ("http:/h", "not followed by ://"),
        ("https:h", "not followed by ://"),
        ("http://", "no host"), ("http:///a", "no host"), ("http://:80/", "no host"), ("http://?q", "no host"),
        ("http://user@/", "no host"),
        ("http://h:0/", "port"), ("http://h:65536/", "port"), ("http://h:-1/", "port"), ("http://h:8o/", "port"),
        ("http://h:99999999999999999999/", "port"), ("http://h:80:80/", "port"),
        ("http://[::1/", "IPv6"), ("http://[]/", "IPv6"), ("http://[::1]x/", "IPv6"),
        ("http://[fe80::1%25eth0]/", "IPv6"),
        ("http://[1.2.3.4]/", "IPv6"), ("http://[v1.x]/", "IPv6"), ("http://::1/", "port"),
        ("http://127.1/", "IPv4"), ("http://2130706433/", "IPv4"), ("http://0x7f000001/", "IPv4"),
        ("http://127.0.0.0x1/", "IPv4"), ("http://1.2.3.4.5/", "IPv4"), ("http://256.1.1.1/", "IPv4"),
        ("http://127.0.0.01/", "IPv4"), ("http://1.2.3.4./", "IPv4"),
        ("http://a..b/", "empty label"), ("http://.a/", "empty label"), ("http://./", "empty label"),
        ("http://a b/", "\" \" is not allowed"), ("http://a%41/", "\"%\" is not allowed"),
        ("http://good.com\\@evil.com/", "percent-encoded"), ("http://a,b/", "\",\" is not"),
        // Letters that IDNA does not allow, and letters that map to invalid hosts: a/c, %, a part of 127.0.0.1.
        ("http://\u{378}.example/", "IDNA"), ("http://℀.example/", "\"/\" is not allowed"), ("http://％41/", "\"%\""),
        ("http://１２７.1/", "not an IPv4 address"), ("http://bücher..example/", "the host"),
        ("http://" + String(repeating: "ü", count: 60) + "/", "the host"),
        ("http://" + String(repeating: "ü", count: 600) + "/", "1200 bytes"),
        ("http://a@b@c/", "\"@\" is not allowed"), ("http://a b@c/", "percent-encoded"),
        ("http://é@c/", "percent-encoded"),
        ("http://h/a\nb", "0xa"), ("http://h/a\r\nHost: x", "0xd"), ("http://h/\0", "0x0"), ("http://h/a\tb", "0x9"),
        ("http://h/?a\u{7F}", "0x7f"), ("http://h\n/", "0xa"), ("http://\0/", "0x0"),
    ])
    func refusesAndSaysWhy(_ text: String, _ reason: String) {
        let error = #expect(throws: NightjarError.self) { try RequestURL(text) }
        #expect(error?.kind == .invalidURL)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test func refusesWhatIsTooLong() throws {
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

    @Test func userInfoIsKeptApartAndNeverShown() throws {
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
    func joinsWithOneSlash(_ base: String, _ target: String, _ expected: String) throws {
        #expect(try RequestURL(base).joined(target).target == expected)
    }

    @Test func whatCouldBeAHostIsNoPath() throws {
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

    @Test func aQueryHasABound() throws {
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
    func showsNoCredential(_ text: String, _ shown: String) throws {
        let url = try RequestURL(text)
        #expect(url.redacted == shown)
        #expect("\(url)" == shown)
    }
}
