import Testing

@testable import NightjarHTTP

/// RFC 6265bis section 5.6.
@Suite struct SetCookieTests {
    // MARK: Name and value

    @Test(arguments: [
        ("a=b", "a", "b"), ("a=", "a", ""), ("=b", "", "b"), ("b", "", "b"), (" \ta \t=\t b ", "a", "b"),
        ("a=b=c", "a", "b=c"), ("a=\"b c\"", "a", "\"b c\""), ("a=b;", "a", "b"), ("a=b;;;", "a", "b"),
        ("a=b\tc", "a", "b\tc"), ("a=b,c=d", "a", "b,c=d"), ("a=é", "a", "é"), ("a b=c d", "a b", "c d"),
        ("a;b=c", "", "a"), ("==", "", "="), ("Secure", "", "Secure"),
    ])
    func takesNameAndValue(_ text: String, _ name: String, _ value: String) throws {
        let cookie = try parse(text)
        #expect(cookie.name == name)
        #expect(cookie.value == value)
    }

    @Test(arguments: ["", "=", " = ", ";", "; a=b", "=; Path=/", "\t"])
    func neitherNameNorValueIsNone(_ text: String) {
        #expect(throws: CookieRefusal.empty) { try parse(text) }
    }

    @Test(arguments: (0...0x20).map(UInt8.init) + [0x7F])
    func controlCharactersAreRefusedWhereverTheyAre(_ byte: UInt8) {
        let isAllowed = byte == 0x09 || byte == 0x20
        let places = [
            [UInt8]("a".utf8) + [byte] + [UInt8]("b=c".utf8), [UInt8]("a=b".utf8) + [byte] + [UInt8]("c".utf8),
            [UInt8]("a=b; x".utf8) + [byte],
        ]
        for bytes in places {
            if isAllowed {
                #expect(throws: Never.self) { try parse(bytes) }
            } else {
                #expect(throws: CookieRefusal.controlCharacter) { try parse(bytes) }
            }
        }
    }

    @Test func whatIsNotUTF8CouldNotBeSentBack() {
        #expect(throws: CookieRefusal.notUTF8) { try parse([UInt8]("a=".utf8) + [0xFF]) }
        #expect(throws: CookieRefusal.notUTF8) { try parse([0xC3, UInt8(ascii: "=")]) }
        #expect(throws: CookieRefusal.notUTF8) { try parse([UInt8]("a=b; path=/".utf8) + [0xFF]) }
        #expect(throws: Never.self) { try parse([UInt8]("a=b; x=".utf8) + [0xFF]) }
    }

    @Test func nameAndValueAreBoundedTogether() throws {
        #expect(throws: CookieRefusal.tooLarge) { try parse("a=" + String(repeating: "x", count: 4096)) }
        #expect(throws: CookieRefusal.tooLarge) { try parse(String(repeating: "x", count: 4097)) }
        let largest = try parse("a=" + String(repeating: "x", count: 4095) + "; Secure")
        #expect(largest.value.utf8.count == 4095)
        #expect(largest.isSecure)
    }

    // MARK: Attributes

    @Test(
        arguments: [
            ("Max-Age=10", 10), ("max-age= 10 ", 10), ("Max-Age=0", 0), ("Max-Age=-1", 0),
            ("Max-Age=-99999999999999999999", 0),
            ("Max-Age=0010", 10), ("Max-Age=34560000", 34_560_000), ("Max-Age=34560001", 34_560_000),
            ("Max-Age=9223372036854775808", 34_560_000), ("Max-Age=" + String(repeating: "9", count: 1000), 34_560_000),
            ("Max-Age=", nil), ("Max-Age", nil), ("Max-Age=-", nil), ("Max-Age=+1", nil), ("Max-Age=1.5", nil),
            ("Max-Age=1e3", nil), ("Max-Age=10s", nil), ("Max-Age=\"10\"", nil), ("Max-Age=--1", nil),
            ("Max-Age=5; Max-Age=7", 7), ("Max-Age=5; Max-Age=x", 5), ("MaxAge=5", nil),
        ] as [(String, Int64?)])
    func readsMaxAge(_ attributes: String, _ seconds: Int64?) throws {
        #expect(try parse("a=b; " + attributes).maxAge == seconds)
    }

    @Test(
        arguments: [
            ("Expires=Thu, 01 Jan 1970 00:00:10 GMT", 10), ("EXPIRES=1 jan 1970 00:00:10", 10), ("Expires=never", nil),
            ("Expires=1 jan 1970 00:00:10; Expires=never", 10),
            ("Expires=1 jan 1970 00:00:10; Expires=1 jan 1970 00:00:20", 20), ("Expires", nil),
        ] as [(String, Int64?)])
    func readsExpires(_ attributes: String, _ seconds: Int64?) throws {
        #expect(try parse("a=b; " + attributes).expires == seconds)
    }

    @Test(
        arguments: [
            ("Domain=example.com", "example.com"), ("domain=.Example.COM", "example.com"), ("Domain=..a", ".a"),
            ("Domain=", nil), ("Domain", nil), ("Domain=.", nil), ("Domain=a; Domain=b", "b"),
            ("Domain=a; Domain=", nil),
            ("Domain= a ", "a"),
        ] as [(String, String?)])
    func readsDomain(_ attributes: String, _ domain: String?) throws {
        #expect(try parse("a=b; " + attributes).domain == domain)
    }

    @Test func aDomainThatIsNotASCIIIsOfNobody() {
        #expect(throws: CookieRefusal.domainMismatch) { try parse("a=b; Domain=bücher.example") }
    }

    @Test(
        arguments: [
            ("Path=/", "/"), ("path=/a/b", "/a/b"), ("Path=a", nil), ("Path=", nil), ("Path", nil), ("Path=\"/\"", nil),
            ("Path=/a; Path=/b", "/b"), ("Path=/a; Path=b", nil), ("Path=/a=b", "/a=b"),
            ("Path=/" + String(repeating: "x", count: 1024), nil),
            ("Path=/a; Path=/" + String(repeating: "x", count: 1024), "/a"),
        ] as [(String, String?)])
    func readsPath(_ attributes: String, _ path: String?) throws {
        #expect(try parse("a=b; " + attributes).path == path)
    }

    @Test(
        arguments: [
            ("SameSite=None", .none), ("samesite=STRICT", .strict), ("SameSite=Lax", .lax),
            ("SameSite=x", .unspecified),
            ("SameSite", .unspecified), ("SameSite=Strict; SameSite=None", .none),
            ("SameSite=Strict; SameSite=x", .unspecified),
        ] as [(String, Cookie.SameSite)])
    func readsSameSite(_ attributes: String, _ sameSite: Cookie.SameSite) throws {
        #expect(try parse("a=b; " + attributes).sameSite == sameSite)
    }

    @Test(arguments: [
        ("Secure", true, false), ("SECURE=no", true, false), ("HttpOnly", false, true),
        (" httponly =x;secure", true, true),
        ("Secur", false, false), ("Secure " + "HttpOnly", false, false), ("Partitioned; Priority=High", false, false),
        ("Secure=" + String(repeating: "x", count: 1025), false, false),
    ])
    func readsFlags(_ attributes: String, _ isSecure: Bool, _ isHTTPOnly: Bool) throws {
        let cookie = try parse("a=b;" + attributes)
        #expect(cookie.isSecure == isSecure)
        #expect(cookie.isHTTPOnly == isHTTPOnly)
    }

    @Test func tenThousandAttributesAreReadInOneGo() throws {
        let cookie = try parse("a=b" + String(repeating: "; x=y", count: 10_000) + "; Secure")
        #expect(cookie.isSecure)
    }

    private func parse(_ text: String) throws(CookieRefusal) -> SetCookie { try parse([UInt8](text.utf8)) }

    private func parse(_ bytes: [UInt8]) throws(CookieRefusal) -> SetCookie {
        let result: Result<SetCookie, CookieRefusal> = bytes.withUnsafeBytes { bytes in
            Result { () throws(CookieRefusal) in try SetCookie(parsing: bytes) }
        }
        return try result.get()
    }
}
