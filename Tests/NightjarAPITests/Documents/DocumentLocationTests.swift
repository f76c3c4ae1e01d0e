import NightjarHTTP
import Testing

@testable import NightjarAPI

@Suite struct DocumentLocationTests {
    @Test(arguments: [
        ("/apis/a.yaml", "b.yaml", "/apis/b.yaml"), ("/apis/a.yaml", "./x/../b.yaml", "/apis/b.yaml"),
        ("/apis/a.yaml", "../b%20c.yaml", "/b c.yaml"), ("/apis/a.yaml", "/etc/b", "/etc/b"),
        ("/a.yaml", "../../b", "/b"),
        ("https://h/v1/a.yaml?x=1", "b.yaml", "https://h/v1/b.yaml"),
        ("https://h/v1/a.yaml", "../b.yaml?y", "https://h/b.yaml?y"), ("https://h/v1/a.yaml", "/b", "https://h/b"),
        ("https://h/v1/a.yaml", "?z", "https://h/v1/a.yaml?z"), ("https://h/v1/a.yaml", "//g/b", "https://g/b"),
        ("https://H:443/a.yaml", "HTTP://g/b", "http://g/b"), ("https://h", "b", "https://h/b"),
        ("https://me:pw@h/v1/a.yaml", "b.yaml", "https://me:pw@h/v1/b.yaml"),
    ])
    func referencesAreResolved(base: String, reference: String, result: String) throws {
        #expect(try DocumentLocation(base).resolving(reference).text == result)
    }

    @Test func namesContainNoSecrets() throws {
        #expect(
            try DocumentLocation("https://me:pw@h/a.yaml?access_token=s").name == "https://h/a.yaml?access_token=***")
    }

    @Test(arguments: [
        (
            "api.yaml",
            "\"api.yaml\" is not a document location; write an absolute path or an absolute http or https URL"
        ),
        ("ftp://h/a", "the scheme \"ftp\" is not http or https"),
    ])
    func otherLocationsAreRejected(text: String, expected: String) {
        #expect(message { _ = try DocumentLocation(text) } == expected)
    }
}
