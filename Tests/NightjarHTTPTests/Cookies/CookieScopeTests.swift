import Testing

@testable import NightjarHTTP

@Suite struct CookieScopeTests {
    @Test(arguments: [
        ("127.0.0.1", true), ("::1", true), ("fe80::a", true), ("example.com", false), ("1.example", false),
        ("a1", false), ("example.com.", false), ("1", true),
    ])
    func addressesAreDistinguishedFromNames(_ host: String, _ isAddress: Bool) {
        #expect(CookieScope.isAddress(host) == isAddress)
    }

    @Test(arguments: [
        ("a.b.example.com", ["a.b.example.com", "b.example.com", "example.com", "com"]), ("localhost", ["localhost"]),
        ("example.com.", ["example.com.", "com."]), ("127.0.0.1", ["127.0.0.1"]), ("::1", ["::1"]),
    ])
    func namesHaveParentDomains(_ host: String, _ ancestry: [String]) {
        #expect(CookieScope.ancestry(of: host).map(String.init) == ancestry)
    }

    @Test(arguments: [
        ("a.b.example.com", "example.com"), ("example.com", "example.com"), ("com", "com"),
        ("a.b.example.co.uk", "example.co.uk"), ("co.uk", "co.uk"), ("a.github.io", "a.github.io"),
        ("b.a.github.io", "a.github.io"), ("127.0.0.1", "127.0.0.1"), ("host.private", "host.private"),
    ])
    func siteIsOneLabelBelowItsPublicSuffix(_ host: String, _ site: String) {
        #expect(CookieScope.site(of: host, isPublicSuffix: { suffixes.contains($0) }) == site)
    }

    @Test(
        arguments: [
            ("example.com", "example.com"), (".Example.COM", "example.com"), ("::1", "::1"), ("0:0::1", "::1"),
            ("127.0.0.1", "127.0.0.1"), ("", nil), (".", nil), ("..a", nil), ("a b", nil), ("127.1", nil), ("a/b", nil),
            ("a:80", nil), ("bücher.example", "xn--bcher-kva.example"),
        ] as [(String, String?)])
    func hostsOfFilesAreValidated(_ text: String, _ host: String?) {
        #expect(CookieScope.host(named: text) == host)
    }
}

/// A public suffix list for tests.
let suffixes: Set<String> = ["com", "example", "uk", "co.uk", "io", "github.io", "test"]
