import Testing

@testable import NightjarHTTP

/// The cookies that identify a login, and the changes that a response makes to them.
@Suite struct LoginCookiesTests {
    private func login(_ field: String, _ cookies: LoginCookies, own: [String] = []) -> String {
        var found: [UInt8] = []
        Array(field.utf8).withUnsafeBytes { cookies.append($0, own: own, to: &found) }
        return String(decoding: found, as: UTF8.self).replacing("\0", with: "|")
    }

    @Test func loginCookiesAreSelectedByName() {
        for (field, cookies, expected) in [
            ("a=1; b=2", LoginCookies.automatic, "cookie|a=1;b=2;|"), ("b=2;a=1", .automatic, "cookie|a=1;b=2;|"),
            ("AWSALB=x; __cf_bm=y", .automatic, ""), ("AWSALB=x; a=1", .automatic, "cookie|a=1;|"),
            ("BIGipServer~pool=x; incap_ses_1_2=y; _ga_ABC=z", .automatic, ""),
            ("_gateway=1; awsalb=2", .automatic, "cookie|_gateway=1;awsalb=2;|"),
            ("session", .automatic, "cookie|session;|"), ("; ;", .automatic, ""),
            ("a=1; b=2", .named(["b"]), "cookie|b=2;|"), ("B=2; bb=3", .named(["b"]), ""), ("a=1", .named([]), ""),
            ("a=1; a=2", .named(["a"]), "cookie|a=1;a=2;|"),
        ] { #expect(login(field, cookies) == expected, "\(field), \(cookies)") }
        #expect(login("key=1; a=2", .named([]), own: ["key=1"]) == "cookie|key=1;|", "a cookie of the request")
        #expect(LoginCookies(names: ["a", "*"]) == .all && LoginCookies(names: ["a"]) == .named(["a"]))
    }

    @Test func responseReplacesAddsOrDeletesCookies() {
        func succession(_ field: String?, _ cookies: String...) -> CookieChange {
            CookieChange(
                of: field, by: CacheConversation.fields(cookies.map { ("Set-Cookie", $0) }),
                at: CacheConversation.start)
        }
        #expect(succession("a=1") == .none)
        #expect(succession("a=1; b=1", "a=2; Path=/; HttpOnly") == .replaced("a=2; b=1"))
        #expect(succession("a=1; b=1", "a=2", "b=2; Max-Age=60") == .replaced("a=2; b=2"))
        #expect(succession("a=1", "a=1") == .replaced("a=1"))
        #expect(succession(nil, "a=1") == .added("a=1"))
        #expect(succession("a=1", "A=2") == .added("a=1; A=2"), "names are case-sensitive")
        #expect(succession("a=1", "a=2", "c=3") == .added("a=2; c=3"))
        #expect(succession("a=1", "a=; Max-Age=0") == .none)
        #expect(succession("a=1; b=1", "b=2", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT") == .none)
        #expect(succession("a=1", "a=2; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60") == .replaced("a=2"))
        #expect(succession("a=1", "") == .none)
    }
}
