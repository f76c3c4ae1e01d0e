import Testing

@testable import NightjarHTTP

@Suite struct CookieJarTests {
    private static let start = 1_750_000_000.0
    private var jar = CookieJar(isPublicSuffix: { suffixes.contains($0) })
    private var now = CookieJarTests.start

    private func url(_ text: String) throws -> RequestURL { try RequestURL(text) }

    @discardableResult
    private mutating func store(
        _ text: String, _ from: String = "https://www.example.com/a/b", firstParty: String? = nil
    ) throws -> CookieJar.Outcome {
        jar.store(
            setCookie: text, from: try url(from), at: now, firstParty: try firstParty.map { try url($0).origin })
    }

    private mutating func sent(
        _ to: String = "https://www.example.com/a/b", safe: Bool = true, firstParty: String? = nil
    ) throws -> String? {
        jar.retrieve(
            for: try url(to), at: now, isSafeMethod: safe, firstParty: try firstParty.map { try url($0).origin })
    }

    // MARK: Scope

    @Test mutating func publicSuffixMaySetOnlyHostOnlyCookies() throws {
        #expect(try store("a=b; Domain=github.io", "https://github.io/") == .stored)
        #expect(try sent("https://github.io/") == "a=b")
        #expect(try sent("https://x.github.io/") == nil)
        #expect(try store("a=b; Domain=github.io", "https://x.github.io/") == .refused(.publicSuffix))
    }

    @Test(arguments: [("127.0.0.1", "127.0.0.1"), ("[::1]", "::1"), ("[::1]", "[::1]")])
    mutating func addressMaySetOnlyHostOnlyCookies(_ host: String, _ domain: String) throws {
        #expect(try store("a=b; Domain=\(domain); Path=/", "http://\(host):8080/") == .stored)
        #expect(try sent("http://\(host)/") == "a=b")
        #expect(jar.list(at: now).allSatisfy { $0.isHostOnly })
    }

    @Test mutating func withoutAListTopLevelDomainsArePublicSuffixes() throws {
        jar = CookieJar()
        #expect(try store("a=b; Domain=com", "https://example.com/") == .refused(.publicSuffix))
        #expect(try store("a=b; Domain=com.", "https://example.com./") == .refused(.publicSuffix))
        #expect(try store("a=b; Domain=example.com", "https://example.com/") == .stored)
        #expect(try store("a=b; Domain=localhost", "http://localhost/") == .stored)
    }

    @Test mutating func defaultPathIsBounded() throws {
        let long = "https://www.example.com/" + String(repeating: "x", count: 2000) + "/"
        #expect(try store("a=b", long) == .refused(.pathTooLong))
        #expect(try store("a=b; Path=/", long) == .stored)
    }

    // MARK: Logins

    private mutating func store(_ text: String, of lineage: UInt64?, from: String = "https://www.example.com/") throws {
        let owner = lineage.map { Cookie.Owner(lineage: $0, isStored: false) }
        try Array(text.utf8).withUnsafeBytes { bytes in
            _ = jar.store(setCookie: bytes, from: try url(from), at: now, owner: owner)
        }
    }

    private var names: String { jar.list(at: now).map(\.name).joined(separator: " ") }

    @Test mutating func endedLoginLosesItsCookiesAndThoseOfNoLogin() throws {
        try store("a=1", of: 1)
        try store("b=1", of: 2)
        try store("n=1", of: nil)
        try store("d=1; Domain=example.com", of: nil)
        try store("e=1", of: 1, from: "https://else.test/")
        try store("f=1", of: nil, from: "https://else.test/")
        try store("g=1", of: nil, from: "https://api.www.example.com/")
        let revision = jar.revision
        #expect(jar.deleteCookies(of: [1], host: "www.example.com", at: now) == 4)
        #expect(Set(names.split(separator: " ")) == ["b", "f", "g"])
        #expect(jar.revision != revision)
        #expect(jar.deleteCookies(of: [2], host: nil, at: now) == 1)
        #expect(Set(names.split(separator: " ")) == ["f", "g"])
    }

    @Test mutating func lateResponseOfAnEndedLoginStoresNoCookie() throws {
        jar.deleteCookies(of: [1], host: nil, at: now)
        try store("a=1", of: 1)
        try store("b=1", of: 2)
        #expect(names == "b")
        // Only the latest logins are remembered.
        for lineage in UInt64(10)..<200 { jar.deleteCookies(of: [lineage], host: nil, at: now) }
        try store("a=1", of: 1)
        #expect(names == "a b")
    }

    @Test mutating func cookieBelongsToTheLastLoginThatReceivedIt() throws {
        try store("a=1", of: 1)
        try store("a=2", of: 2)
        #expect(jar.deleteCookies(of: [1], host: "www.example.com", at: now) == 0)
        #expect(jar.deleteCookies(of: [2], host: nil, at: now) == 1)
    }

    // MARK: Secure cookies are not overwritten

    @Test mutating func secureCookieOfALowerPathMayBeOverlaid() throws {
        try store("sid=s; Secure; Path=/deep")
        #expect(try store("sid=x; Path=/", "http://www.example.com/") == .stored)
    }

    @Test mutating func expiredSecureCookieDoesNotPreventOverlays() throws {
        try store("sid=s; Secure; Path=/; Max-Age=10")
        now += 11
        #expect(try store("sid=x; Path=/", "http://www.example.com/") == .stored)
        try store("sid=s; Secure; Path=/")
        try store("sid=s; Secure; Path=/; Max-Age=0")
        #expect(try store("sid=y; Path=/", "http://www.example.com/") == .stored)
    }

    // MARK: Lifetime

    @Test(
        arguments: [
            ("Max-Age=10", 10), ("Max-Age=10; Expires=1 Jan 2000 00:00:00", 10),
            ("Expires=1 Jan 2000 00:00:00; Max-Age=10", 10),
            ("Expires=1 Jan 9999 00:00:00", 34_560_000), ("Max-Age=99999999999999999999", 34_560_000), ("Path=/", nil),
            ("Expires=Sun, 15 Jun 2025 15:06:50 GMT", 10), ("Max-Age=x; Expires=Sun, 15 Jun 2025 15:06:50 GMT", 10),
        ] as [(String, Double?)])
    mutating func maxAgeOverridesExpiresAndBothAreAtMost400Days(_ attributes: String, _ age: Double?) throws {
        #expect(try store("a=b; " + attributes) == .stored)
        #expect(jar.list(at: now).first?.expires == age.map { now + $0 })
        guard let age else { return }
        now += age - 0.5
        #expect(try sent() == "a=b")
        now += 0.5
        #expect(try sent() == nil)
        #expect(jar.list(at: now).isEmpty)
    }

    @Test(arguments: [
        "Max-Age=0", "Max-Age=-5", "Expires=Thu, 01 Jan 1970 00:00:00 GMT", "Expires=1 Jan 1601 00:00:00",
    ])
    mutating func expiredCookieDeletesTheStoredOne(_ attributes: String) throws {
        try store("a=b")
        try store("c=d")
        #expect(try store("a=; " + attributes) == .deleted)
        #expect(try sent() == "c=d")
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, -1e300, 1e300, .greatestFiniteMagnitude])
    mutating func anyTimeIsAccepted(_ time: Double) throws {
        now = time
        for text in ["a=b", "a=b; Max-Age=99999999999", "a=b; Expires=31 Dec 9999 23:59:59", "a=b; Max-Age=0", "c=d"] {
            try store(text)
        }
        #expect(try sent() == "c=d")
        #expect(jar.list(at: now).allSatisfy { $0.created.isFinite && $0.modified.isFinite })
        #expect(CookiesText.format(jar.list(at: now)).omitted.isEmpty)
    }

    @Test mutating func laterCookieKeepsTheCreationTime() throws {
        try store("a=1")
        try store("b=2")
        try store("a=3")
        #expect(try sent() == "a=3; b=2")
        #expect(jar.list(at: now).count == 2)
        // A cookie with another domain, path or host-only flag is a different cookie.
        try store("a=4; Domain=www.example.com")
        try store("a=5; Path=/")
        try store("a=6; Domain=example.com")
        #expect(try sent() == "a=3; b=2; a=4; a=6; a=5")
    }

    @Test mutating func expiredCookieDoesNotPassOnItsCreationTime() throws {
        try store("a=1; Max-Age=5")
        try store("b=2")
        now += 10
        try store("a=3")
        #expect(try sent() == "b=2; a=3")
    }

    @Test mutating func namesAreComparedByBytes() throws {
        try store("e\u{301}=two; Path=/")
        try store("\u{E9}=one; Path=/")
        try store("\u{212A}=kelvin; Path=/")
        try store("K=letter; Path=/")
        #expect(try sent()?.utf8.count == "e\u{301}=two; \u{E9}=one; \u{212A}=kelvin; K=letter".utf8.count)
    }

    // MARK: Order and form

    @Test mutating func longerPathsThenOlderCookiesAreFirst() throws {
        for (name, path) in [("a", "/"), ("b", "/x/y"), ("c", "/x"), ("d", "/x/y"), ("e", "/")] {
            try store("\(name)=1; Path=\(path)", "https://www.example.com/")
        }
        #expect(try sent("https://www.example.com/x/y/z") == "b=1; d=1; c=1; a=1; e=1")
        // Setting the clock back does not change the order.
        now -= 1000
        try store("f=1; Path=/")
        #expect(try sent("https://www.example.com/") == "a=1; e=1; f=1")
    }

    @Test mutating func namelessAndEmptyCookiesAreSentUnchanged() throws {
        try store("only")
        try store("a=")
        try store("q=\"x y\"")
        try store("u=é")
        #expect(try sent() == "only; a=; q=\"x y\"; u=é")
    }

    @Test mutating func allSetCookieFieldsAreStored() throws {
        var headers = Headers()
        try headers.add("Set-Cookie", "a=1; Path=/")
        try headers.add("Content-Type", "text/plain")
        try headers.add("set-cookie", "b=2; Domain=other.com")
        try headers.add("SET-COOKIE", "c=3; Path=/")
        let refusals = jar.store(from: headers, of: try url("https://www.example.com/"), at: now)
        #expect(refusals == [.domainMismatch])
        #expect(try sent() == "a=1; c=3")
    }

    // MARK: Sites

    @Test(arguments: [
        // The attributes, whether the method is safe, and whether a request that another site caused has the cookie.
        ("SameSite=Strict; Secure", true, false), ("SameSite=Lax; Secure", true, true),
        ("SameSite=Lax; Secure", false, false),
        ("Secure", true, true), ("Secure", false, false), ("SameSite=None; Secure", true, true),
        ("SameSite=None; Secure", false, true),
    ])
    mutating func sameSiteAppliesAcrossRedirects(_ attributes: String, _ isSafe: Bool, _ isSent: Bool) throws {
        try store("a=b; " + attributes)
        #expect(try sent(safe: isSafe, firstParty: "https://other.com/") == (isSent ? "a=b" : nil))
        #expect(try sent(safe: isSafe) == "a=b")
        #expect(try sent(safe: isSafe, firstParty: "https://api.example.com:8443/") == "a=b")
    }

    @Test mutating func siteIncludesTheScheme() throws {
        try store("a=b; SameSite=Strict")
        #expect(try sent(firstParty: "http://www.example.com/") == nil)
        #expect(try sent("http://www.example.com/a", firstParty: "http://www.example.com/") == "a=b")
    }

    @Test mutating func siblingUnderAPublicSuffixIsAnotherSite() throws {
        try store("a=b; SameSite=Strict; Path=/", "https://me.github.io/")
        #expect(try sent("https://me.github.io/", firstParty: "https://you.github.io/") == nil)
        #expect(try sent("https://me.github.io/", firstParty: "https://www.me.github.io/") == "a=b")
    }

    @Test mutating func firstPartyPolicyRejectsThirdPartyCookies() throws {
        jar.policy = .firstParty
        #expect(try store("a=b", firstParty: "https://other.com/") == .refused(.thirdParty))
        #expect(try store("a=b; SameSite=None; Secure", firstParty: "https://example.com/") == .stored)
        #expect(try sent(firstParty: "https://other.com/") == nil)
        #expect(try sent(firstParty: "https://api.example.com/") == "a=b")
        #expect(try sent() == "a=b")
    }

    @Test mutating func policyNoneStoresAndSendsNothing() throws {
        try store("a=b")
        jar.policy = .none
        #expect(try store("c=d") == .refused(.disabled))
        #expect(try sent() == nil)
        jar.policy = .all
        #expect(try sent() == "a=b")
    }

    // MARK: Programmatic access

    @Test mutating func cookiesAreListedAddedAndDeleted() throws {
        try store("b=1; Path=/")
        try store("a=1; Path=/; Domain=example.com")
        try store("a=1; Path=/x", "https://other.test/")
        #expect(
            jar.list(at: now).map(\.description) == [
                "\"a\" of .example.com/", "\"a\" of other.test/x", "\"b\" of www.example.com/",
            ])
        let own = try Cookie(name: "mine", value: "v", domain: ".Example.com", isHostOnly: false, isSecure: true)
        try jar.add(own, at: now)
        #expect(try sent("https://api.example.com/") == "a=1; mine=v")
        #expect(jar.delete(name: "a", at: now) == 2)
        #expect(jar.delete(domain: "example.COM", at: now) == 1)
        #expect(jar.delete(name: "b", domain: "www.example.com", path: "/x", at: now) == 0)
        #expect(jar.list(at: now).map(\.name) == ["b"])
        try jar.add(try Cookie(name: "kept", value: "", domain: "www.example.com", expires: now + 10), at: now)
        #expect(jar.delete(name: "b", at: now) == 1)
        #expect(try sent() == "kept=")
        jar.clear(at: now)
        #expect(try sent() == nil)
        #expect(jar.list(at: now).isEmpty)
    }

    @Test func cookieOfTheProgramIsValidated() {
        func rejection(
            _ name: String, _ value: String = "v", domain: String = "example.com", path: String = "/",
            isHostOnly: Bool = true, isSecure: Bool = false
        ) -> CookieRefusal? {
            do throws(CookieRefusal) {
                _ = try Cookie(
                    name: name, value: value, domain: domain, isHostOnly: isHostOnly, path: path, isSecure: isSecure)
                return nil
            } catch {
                return error
            }
        }
        #expect(rejection("a") == nil)
        #expect(rejection("") == nil)
        #expect(rejection("", "") == .empty)
        #expect(rejection("a\r\n") == .controlCharacter)
        #expect(rejection("a", "b\u{0}") == .controlCharacter)
        #expect(rejection("a", path: "/\n") == .controlCharacter)
        #expect(rejection("a=b") == .separator)
        #expect(rejection("a", "b;c") == .separator)
        #expect(rejection("a", String(repeating: "x", count: 4096)) == .tooLarge)
        #expect(rejection("a", path: "x") == .invalidPath)
        #expect(rejection("a", path: "/" + String(repeating: "x", count: 1024)) == .pathTooLong)
        #expect(rejection("a", domain: "") == .domainMismatch)
        #expect(rejection("a", domain: "exa mple") == .domainMismatch)
        #expect(rejection("__Host-a") == .prefix)
        #expect(rejection("__Host-a", isSecure: true) == nil)
        #expect(rejection("__Host-a", isHostOnly: false, isSecure: true) == .prefix)
        #expect(rejection("", "__Secure-a=b", isSecure: true) == .prefix)
    }

    @Test mutating func programCannotAddACookieForAPublicSuffix() throws {
        let cookie = try Cookie(name: "a", value: "b", domain: "co.uk", isHostOnly: false)
        #expect(throws: CookieRefusal.publicSuffix) { try jar.add(cookie, at: now) }
    }

    @Test func descriptionOmitsTheValue() throws {
        let cookie = try Cookie(
            name: "n", value: "hunter2", domain: "example.com", isSecure: true, isHTTPOnly: true, sameSite: .lax)
        var dumped = ""
        dump(cookie, to: &dumped)
        for text in ["\(cookie)", String(reflecting: cookie), dumped, "\([cookie])", "\(Optional(cookie) as Any)"] {
            #expect(!text.contains("hunter2"))
        }
        #expect(cookie.description == "\"n\" of example.com/, secure, httponly, samesite=lax")
    }

    @Test func everyRejectionHasADistinctReason() {
        #expect(Set(CookieRefusal.allCases.map(\.description)).count == CookieRefusal.allCases.count)
    }
}
