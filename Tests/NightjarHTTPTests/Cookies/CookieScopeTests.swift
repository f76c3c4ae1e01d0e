import Testing

@testable import NightjarHTTP

@Suite struct CookieScopeTests {
    /// RFC 6265bis section 5.1.3.
    @Test(arguments: [
        ("example.com", "example.com", true), ("a.example.com", "example.com", true),
        ("a.b.example.com", "example.com", true), ("example.com", "a.example.com", false),
        ("badexample.com", "example.com", false), (".example.com", "example.com", false),
        ("example.com.", "example.com", false), ("example.com.evil", "example.com", false),
        ("com", "example.com", false), ("example.com", "com", true), ("a.b", "", false),
        ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "0.0.1", false), ("127.0.0.1", "1", false),
        ("::1", "::1", true), ("::ffff:1.2.3.4", "2.3.4", false), ("1.2.3.4.example", "4.example", true),
    ])
    func hostsMatchDomainsAtAndAbove(_ host: String, _ domain: String, _ matches: Bool) {
        #expect(CookieScope.matches(host: host, domain: domain) == matches)
    }

    /// RFC 6265bis section 5.1.4.
    @Test(arguments: [
        ("/", "/", true), ("/a", "/", true), ("/a", "/a", true), ("/a/", "/a", true), ("/a/b", "/a", true),
        ("/a/b", "/a/", true), ("/a", "/a/", false), ("/ab", "/a", false), ("/", "/a", false), ("/A", "/a", false),
        ("/a%2Fb", "/a", false), ("//", "/", true), ("/a//b", "/a/", true),
    ])
    func pathsMatchAtAndBelow(_ path: String, _ cookiePath: String, _ matches: Bool) {
        #expect(CookieScope.matches(path: Substring(path), cookiePath: cookiePath) == matches)
    }

    @Test(arguments: [
        ("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/", "/a/b"), ("//", "/"), ("//a", "/"),
        ("/a//", "/a/"),
    ])
    func theDefaultPathIsUpToTheLastSlash(_ path: String, _ expected: String) {
        #expect(CookieScope.defaultPath(Substring(path)) == expected)
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("::1", true), ("fe80::a", true), ("example.com", false), ("1.example", false),
        ("a1", false), ("example.com.", false), ("1", true),
    ])
    func addressesAreToldFromNames(_ host: String, _ isAddress: Bool) {
        #expect(CookieScope.isAddress(host) == isAddress)
    }

    @Test(arguments: [
        ("a.b.example.com", ["a.b.example.com", "b.example.com", "example.com", "com"]), ("localhost", ["localhost"]),
        ("example.com.", ["example.com.", "com."]), ("127.0.0.1", ["127.0.0.1"]), ("::1", ["::1"]),
    ])
    func namesHaveNamesAbove(_ host: String, _ ancestry: [String]) {
        #expect(CookieScope.ancestry(of: host).map(String.init) == ancestry)
    }

    @Test(arguments: [
        ("a.b.example.com", "example.com"), ("example.com", "example.com"), ("com", "com"),
        ("a.b.example.co.uk", "example.co.uk"), ("co.uk", "co.uk"), ("a.github.io", "a.github.io"),
        ("b.a.github.io", "a.github.io"), ("127.0.0.1", "127.0.0.1"), ("host.private", "host.private"),
    ])
    func aSiteIsOneLabelBelowItsSuffix(_ host: String, _ site: String) {
        #expect(CookieScope.site(of: host, isPublicSuffix: { suffixes.contains($0) }) == site)
    }

    @Test(
        arguments: [
            ("example.com", "example.com"), (".Example.COM", "example.com"), ("::1", "::1"), ("0:0::1", "::1"),
            ("127.0.0.1", "127.0.0.1"), ("", nil), (".", nil), ("..a", nil), ("a b", nil), ("127.1", nil), ("a/b", nil),
            ("a:80", nil), ("bücher.example", "xn--bcher-kva.example"),
        ] as [(String, String?)])
    func hostsOfFilesAreChecked(_ text: String, _ host: String?) {
        #expect(CookieScope.host(named: text) == host)
    }
}

/// A public suffix list for tests.
let suffixes: Set<String> = ["com", "example", "uk", "co.uk", "io", "github.io", "test"]
