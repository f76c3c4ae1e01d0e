import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct URITemplateTests {
    /// The values of RFC 6570 sections 1.2 and 3.2, and values of further cases.
    private static let values = [
        "var": "value", "hello": "Hello World!", "empty": "", "path": "/foo/bar", "x": "1024", "y": "768",
        "who": "fred", "half": "50%", "base": "http://example.com/home/", "v": "6", "dub": "me/too", "dom.ain": "d",
        "escaped": "a%20b%2", "city": "M\u{FC}nchen", "percent%20name": "p",
    ]

    /// The examples of levels 1 to 3 of RFC 6570, and cases in which implementations differ.
    @Test(arguments: [
        // Level 1.
        ("{var}", "value"), ("{hello}", "Hello%20World%21"), ("O{empty}X", "OX"), ("O{undef}X", "OX"),
        ("{half}", "50%25"),
        // Level 2.
        ("{+var}", "value"), ("{+hello}", "Hello%20World!"), ("{+path}/here", "/foo/bar/here"),
        ("here?ref={+path}", "here?ref=/foo/bar"), ("X{#var}", "X#value"), ("X{#hello}", "X#Hello%20World!"),
        ("{+half}", "50%25"), ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"), ("O{+empty}X", "OX"), ("O{+undef}X", "OX"),
        ("up{+path}{var}/here", "up/foo/barvalue/here"), ("{#half}", "#50%25"), ("foo{#empty}", "foo#"),
        ("foo{#undef}", "foo"),
        // Level 3.
        ("map?{x,y}", "map?1024,768"), ("{x,hello,y}", "1024,Hello%20World%21,768"), ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"), ("?{undef,y}", "?768"),
        ("{+x,hello,y}", "1024,Hello%20World!,768"), ("{+path,x}/here", "/foo/bar,1024/here"),
        ("{#x,hello,y}", "#1024,Hello%20World!,768"), ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("{.who}", ".fred"), ("{.who,who}", ".fred.fred"), ("{.half,who}", ".50%25.fred"), ("X{.var}", "X.value"),
        ("X{.x,y}", "X.1024.768"), ("X{.empty}", "X."), ("X{.undef}", "X"),
        ("{/who}", "/fred"), ("{/who,who}", "/fred/fred"), ("{/half,who}", "/50%25/fred"),
        ("{/who,dub}", "/fred/me%2Ftoo"),
        ("{/var}", "/value"), ("{/var,empty}", "/value/"), ("{/var,undef}", "/value"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{;who}", ";who=fred"), ("{;half}", ";half=50%25"), ("{;empty}", ";empty"),
        ("{;v,empty,who}", ";v=6;empty;who=fred"),
        ("{;v,bar,who}", ";v=6;who=fred"), ("{;x,y}", ";x=1024;y=768"), ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{;x,y,undef}", ";x=1024;y=768"),
        ("{?who}", "?who=fred"), ("{?half}", "?half=50%25"), ("{?x,y}", "?x=1024&y=768"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="), ("{?x,y,undef}", "?x=1024&y=768"), ("{?undef}", ""),
        ("{&who}", "&who=fred"), ("{&half}", "&half=50%25"), ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&x,y,empty}", "&x=1024&y=768&empty="), ("{&x,y,undef}", "&x=1024&y=768"),
        // Further cases.
        ("", ""), ("/plain", "/plain"), ("{city}", "M%C3%BCnchen"), ("{+city}", "M%C3%BCnchen"),
        ("{escaped}", "a%2520b%252"), ("{+escaped}", "a%20b%252"), ("{dom.ain}", "d"), ("{percent%20name}", "p"),
        ("{?percent%20name}", "?percent%20name=p"), ("{var}{var}", "valuevalue"), ("{undef,undef2}", ""),
        ("http://[::1]:8080/a b%20%/\u{E9}?q='1'#x|{var}", "http://[::1]:8080/a%20b%20%25/%C3%A9?q='1'#x%7Cvalue"),
    ])
    func templatesAreExpanded(_ template: String, _ result: String) throws {
        #expect(try URITemplate(template).expand { URITemplateTests.values[$0] } == result)
    }

    @Test(arguments: [
        ("{", "a { without a }, at character 1"),
        ("/users/{id", "a { without a }, at character 8"),
        ("/users/{id,", "a { without a }, at character 8"),
        ("/users/{?", "a { without a }, at character 8"),
        ("/users/id}", "a } without a {, at character 10"),
        ("\u{E9}\u{1F319}}", "a } without a {, at character 3"),
        ("{}", "no variable name before \"}\", at character 2"),
        ("{?}", "no variable name before \"}\", at character 3"),
        ("{a,}", "no variable name before \"}\", at character 4"),
        ("{,a}", "the operator \",\", which RFC 6570 reserves for extensions, at character 2"),
        ("{a,,b}", "no variable name before \",\", at character 4"),
        ("{{a}}", "\"{\", which cannot begin a variable name, at character 2"),
        ("{a b}", "\" \", which is not allowed in a variable name, at character 3"),
        ("{a-b}", "\"-\", which is not allowed in a variable name, at character 3"),
        ("{caf\u{E9}}", "\"\u{E9}\", which is not allowed in a variable name, at character 5"),
        ("{a.}", "a dot at the end of a variable name, at character 3"),
        ("{a..b}", "a dot at the end of a variable name, at character 3"),
        ("{..a}", "\".\", which cannot begin a variable name, at character 3"),
        ("{a%2}", "\"%\", which is not allowed in a variable name, at character 3"),
        ("{=a}", "the operator \"=\", which RFC 6570 reserves for extensions, at character 2"),
        ("{|a}", "the operator \"|\", which RFC 6570 reserves for extensions, at character 2"),
        ("{a:3}", "the modifier \":\", which is level 4 of RFC 6570; only levels 1 to 3 are supported, at character 3"),
        ("{?a*}", "the modifier \"*\", which is level 4 of RFC 6570; only levels 1 to 3 are supported, at character 4"),
        ("/a\r\nX: {b}", "a control character, at character 3"),
    ])
    func invalidTemplateIsReportedWithItsPosition(_ template: String, _ problem: String) {
        let error = #expect(throws: NightjarError.self) { try URITemplate(template) }
        #expect(error?.kind == .invalidURL)
        #expect(error?.message == "the URL template has \(problem)")
    }

    @Test func variablesAreListedOnce() throws {
        #expect(try URITemplate("/{b}/{a,b}{?c,a}").variables == ["b", "a", "c"])
    }

    // MARK: Strict mode

    @Test(arguments: [
        ("/users/{id}{?page,tag}", [("id", "7"), ("tag", "a&b")], "/users/7?tag=a%26b"),
        ("/users/{id}", [("id", "7"), ("id", "8")], "/users/7"),
        ("/users/{id}", [("id", "a/../b")], "/users/a%2F..%2Fb"),
        ("/users/{id}", [("id", "...")], "/users/..."),
        ("/files{+path}", [("path", "/a/b")], "/files/a/b"),
        ("/files/{+path}", [("path", "")], "/files/"),
        ("/a/../{id}", [("id", "7")], "/a/../7"),
        ("/a//{id}", [("id", "7")], "/a//7"),
        ("/{id}/", [("id", "7")], "/7/"),
        ("/{a}{b}", [("a", ""), ("b", "x")], "/x"),
        ("/search?q={q}", [("q", "..")], "/search?q=.."),
        ("/search?q=/{q}", [("q", "")], "/search?q=/"),
        ("{+base}/{id}", [("base", "http://h:80"), ("id", "7")], "http://h:80/7"),
        ("/a{.format}", [("format", "")], "/a."),
    ])
    func templatesAreExpandedStrictly(_ template: String, _ values: [(String, String)], _ result: String) throws {
        let values = values.map { (name: $0.0, value: $0.1) }
        #expect(try URITemplate(template).expandStrictly(values) == result)
    }

    @Test(arguments: [
        ("/users/{user_id}", [], "the URL template's variable \"user_id\" has no value; add a value"),
        (
            "/users/{user_id}", [("userid", "7")],
            "the URL template's variable \"user_id\" has no value; did you mean the value \"userid\"?"
        ),
        // A value that has its own variable is not suggested.
        (
            "/{id1}/{id2}", [("id1", "7")],
            "the URL template's variable \"id2\" has no value; add a value"
        ),
        (
            "/users{?page}", [("pgae", "7")],
            "the URL template has no variable \"pgae\"; did you mean \"page\"?"
        ),
        ("/users", [("color", "7")], "the URL template has no variable \"color\"; remove the value"),
        ("/users/{id}", [("id", "")], "the value of \"id\" is empty, which would remove a segment of the path"),
        ("/users{/id}", [("id", "")], "the value of \"id\" is empty, which would remove a segment of the path"),
        ("/users/{id}/posts?x", [("id", "")], "the value of \"id\" is empty, which would remove a segment of the path"),
        (
            "/users/{id}", [("id", "..")],
            "the value of \"id\" makes a path segment . or .., which would select another path"
        ),
        (
            "/users/.{id}", [("id", ".")],
            "the value of \"id\" makes a path segment . or .., which would select another path"
        ),
        (
            "/users/{+id}", [("id", "a/%2e%2E/b")],
            "the value of \"id\" makes a path segment . or .., which would select another path"
        ),
        (
            "/users/{+id}/x", [("id", "a/.")],
            "the value of \"id\" makes a path segment . or .., which would select another path"
        ),
    ])
    func missingValuesAreRejectedStrictly(_ template: String, _ values: [(String, String)], _ message: String) {
        let values = values.map { (name: $0.0, value: $0.1) }
        let error = #expect(throws: NightjarError.self) { try URITemplate(template).expandStrictly(values) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.message == message)
    }

    // MARK: Limits

    @Test func tooLongResultIsRejected() throws {
        let long = String(repeating: "x", count: RequestTarget.maximumLength)
        #expect(try URITemplate(long).expand { _ in nil } == long)
        #expect(throws: NightjarError.self) { try URITemplate(long + "x") }
        let twice = try URITemplate("{a}{a}")
        #expect(throws: NightjarError.self) { try twice.expand { _ in long } }
        #expect(throws: NightjarError.self) { try twice.expandStrictly([("a", long)]) }
        // Each byte is encoded as three bytes.
        let third = String(repeating: "/", count: RequestTarget.maximumLength / 3 + 1)
        #expect(throws: NightjarError.self) { try URITemplate("{a}").expand { _ in third } }
    }

    @Test func truncatedTemplatesAreReadOrRejected() throws {
        let whole = "http://[::1]/{+base}/{a.b,c%20d}{;x}{?page,tag}{&more}{#end}\u{E9}"
        for count in 0...whole.unicodeScalars.count {
            let cut = String(String.UnicodeScalarView(whole.unicodeScalars.prefix(count)))
            let isOpen = cut.count { $0 == "{" } > cut.count { $0 == "}" }
            let template = try? URITemplate(cut)
            #expect((template == nil) == isOpen, "\(cut)")
            _ = try template?.expand { $0 }
        }
    }

    @Test func randomTextIsReadOrRejected() throws {
        var random = SeededRandom(seed: 6570)
        let alphabet = Array("{}{}{}+#./;?&,=%20ab_ \u{E9}*:\0".unicodeScalars)
        for _ in 0..<20_000 {
            var text = ""
            for _ in 0..<Int.random(in: 0..<24, using: &random) {
                text.unicodeScalars.append(alphabet[Int.random(in: 0..<alphabet.count, using: &random)])
            }
            guard let template = try? URITemplate(text) else { continue }
            let expanded = try template.expand { $0 == "a" ? nil : "\u{E9}/{" }
            #expect(expanded.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"{}\"<>\\^`|".utf8.contains($0) }, "\(text)")
            _ = try? template.expandStrictly(template.variables.map { ($0, "..") })
        }
    }
}
