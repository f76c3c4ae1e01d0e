import Testing

@testable import NightjarHTTP

/// The parsing of Set-Cookie fields (RFC 6265bis section 5.6).
@Suite struct SetCookieTests {
    @Test func tenThousandAttributesAreRead() throws {
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
