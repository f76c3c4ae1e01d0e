import Testing

@testable import NightjarHTTP

@Suite struct OriginTests {
    @Test func originsAreEqualBySchemeHostAndPort() throws {
        let origin = try RequestURL("https://Example.com/a").origin
        #expect(origin == (try RequestURL("HTTPS://EXAMPLE.COM:443/b?c").origin))
        #expect(origin.hashValue == (try RequestURL("https://example.com:443").origin.hashValue))
        for other in [
            "http://example.com", "https://example.com:444", "https://example.org", "https://www.example.com",
        ] {
            #expect(origin != (try RequestURL(other).origin))
        }
        #expect(Set([origin, try RequestURL("https://example.com").origin]).count == 1)
    }

    @Test(arguments: [
        ("http://h", "h"), ("http://h:80", "h"), ("http://h:443", "h:443"), ("https://h:443", "h"),
        ("https://h:80", "h:80"),
        ("http://[::1]", "[::1]"), ("http://[::1]:8080", "[::1]:8080"),
    ])
    func hostFieldOmitsTheDefaultPort(_ text: String, _ field: String) throws {
        #expect(try RequestURL(text).origin.hostField == field)
    }

    @Test func ipv6HostHasNoBrackets() throws {
        let origin = try RequestURL("https://[2001:db8::1]:8443/").origin
        #expect(origin.host == "2001:db8::1")
        #expect(origin.port == 8443)
        #expect(origin.isTLS)
    }
}
