import Testing

@testable import NightjarHTTP
@testable import NightjarTesting

@Suite struct PathPatternTests {
    private func match(_ pattern: String, _ url: String, base: String? = nil) throws -> [String: String]? {
        let values = try PathPattern(pattern).match(RequestURL(url), base: base.map { try RequestURL($0) })
        return values.map { Dictionary($0.map { ($0.name, $0.value) }) { $1 } }
    }

    @Test(arguments: [
        ("/a/b", "http://x/a/b", true), ("/a/b", "https://y:8443/a/b?c=d", true), ("/a/b", "http://x/a/b/", false),
        ("/a/b", "http://x/a", false), ("/", "http://x", true), ("/a%20b", "http://x/a b", true),
        ("/ä", "http://x/%C3%A4", true),
    ])
    func plainPathMatchesAnyQueryAndOrigin(pattern: String, url: String, fits: Bool) throws {
        #expect(try (match(pattern, url) != nil) == fits)
    }

    @Test func parametersMatchNonEmptySegments() throws {
        #expect(try match("/a/{id}", "http://x/a/7%2F8") == ["id": "7/8"])
        #expect(try match("/a/{id}", "http://x/a/") == nil)
        #expect(try match("/a/{id}/b/{other}", "http://x/a/1/b/2") == ["id": "1", "other": "2"])
    }

    @Test(arguments: [
        ("/files/*.csv", "http://x/files/a.csv", true), ("/files/*.csv", "http://x/files/.csv", true),
        ("/files/*.csv", "http://x/files/a/b.csv", false), ("/files/a*c*e", "http://x/files/abcde", true),
        ("/files/a*a", "http://x/files/a", false), ("/a/**", "http://x/a/b/c", true), ("/a/**", "http://x/a", true),
        ("/**/z", "http://x/a/b/z", true), ("/**/z", "http://x/a/b", false),
        ("/**/a/**/z", "http://x/a/b/a/z", true),
        ("/**/b/c", "http://x/b/x/b/c", true),
    ])
    func starsMatchSegments(pattern: String, url: String, fits: Bool) throws {
        #expect(try (match(pattern, url) != nil) == fits)
    }

    @Test func encodedPathMatches() throws {
        #expect(try match("/articles", "http://x/v1/articles", base: "http://x/v1") != nil)
        #expect(try match("/v1/articles", "http://x/v1/articles", base: "http://x/v1/") != nil)
        #expect(try match("/articles", "http://x/v12/articles", base: "http://x/v1") == nil)
        #expect(try match("/articles", "http://y/v1/articles", base: "http://x/v1") == nil)
    }

    @Test func absolutePatternMatchesOnlyItsOrigin() throws {
        #expect(try match("http://x:80/a", "http://x/a") != nil)
        #expect(try match("http://x/a", "http://y/a") == nil)
        #expect(try match("https://x", "https://x/") != nil)
    }

    @Test(arguments: ["a/b", "", "/a?b=c", "http://x/a?b"])
    func invalidPathsAreRejected(text: String) {
        #expect(throws: NightjarError.self) { try PathPattern(text) }
    }

    @Test func hostilePathIsMatchedQuickly() throws {
        let stars = "/" + String(repeating: "**/a/", count: 500) + "b"
        let url = "http://x/" + String(repeating: "a/", count: 2000)
        #expect(try match(stars, url) == nil)
    }
}
