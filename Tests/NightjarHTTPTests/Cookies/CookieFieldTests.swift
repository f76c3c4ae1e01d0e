import NightjarHTTP
import Testing

@Suite struct CookieFieldTests {
    @Test func cookiesOfTheCallOverrideStoredOnes() {
        #expect(CookieField.text(kept: nil, own: []) == nil)
        #expect(CookieField.text(kept: "a=1; b=2", own: []) == "a=1; b=2")
        #expect(CookieField.text(kept: nil, own: ["a=1", "a=2"]) == "a=1; a=2")
        #expect(CookieField.text(kept: "a=1; b=2; a=3; A=4", own: ["a=5"]) == "b=2; A=4; a=5")
        #expect(CookieField.text(kept: "ab=1; nameless; =x", own: ["a=b=c"]) == "ab=1; nameless; =x; a=b=c")
    }

    @Test func apiKeyInACookieIsAValidCookieValue() throws {
        func rejection(_ key: String, _ name: String = "sid", prefix: String = "") -> String? {
            do {
                _ = try APIKey(key, in: .cookie(name), prefix: prefix)
                return nil
            } catch {
                return error.message
            }
        }
        #expect(rejection("aB3+/=") == nil)
        #expect(
            rejection("k", "a=b")
                == #"the API key's cookie name must consist of letters, digits and !#$%&'*+-.^_`|~, got "a=b""#
        )
        #expect(rejection("k", prefix: "p") == "an API key in a cookie cannot have a prefix")
        for key in ["a;b", "a b", "a,b", "k\r\n", "ä"] {
            #expect(
                rejection(key)
                    == "the API key contains white space, a comma, a semicolon, a control or a non-ASCII character, "
                    + "which a cookie cannot have (RFC 6265 section 4.1.1)")
        }
    }
}
