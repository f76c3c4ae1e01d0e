import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct MediaTypeTests {
    @Test(arguments: [
        ("text/html", "text/html"), ("TEXT/HTML", "text/html"), (" text/html\t", "text/html"),
        ("text/html;charset=utf-8", "text/html;charset=utf-8"),
        ("text/html ; Charset = UTF-8 ", "text/html;charset=UTF-8"), ("text/html; a = \"b\"", "text/html;a=b"),
        ("text/html; CHARSET=UTF-8", "text/html;charset=UTF-8"),
        ("text/html;charset=\"utf-8\"", "text/html;charset=utf-8"),
        ("text/html;charset=\"a \\\"b\\\\\"", #"text/html;charset="a \"b\\""#),
        ("text/html;charset=\"utf-8\"x; a=b", "text/html;charset=utf-8;a=b"),
        ("text/html;charset=\"utf-8", "text/html;charset=utf-8"),
        ("text/html;charset=\"a\\", #"text/html;charset="a\\""#),
        ("text/html;charset=\"a;b\"", "text/html;charset=\"a;b\""), ("text/html;a=\"\"", "text/html;a=\"\""),
        ("text/html;charset=a;charset=b", "text/html;charset=a"),
        ("text/html;charset=;charset=b", "text/html;charset=b"),
        ("text/html;;;a=b;", "text/html;a=b"), ("text/html;a;b=c", "text/html;b=c"),
        ("text/html;=a;b=c", "text/html;b=c"),
        ("text/html;a b=c;d=e", "text/html;d=e"), ("text/html;a=b c ", "text/html;a=\"b c\""),
        ("text/html;a=b\0c;d=e", "text/html;d=e"), ("text/html;a=b=c", "text/html;a=\"b=c\""),
        ("text/html;charset='utf-8'", "text/html;charset='utf-8'"),
        ("multipart/form-data; boundary=x", "multipart/form-data;boundary=x"),
        ("application/vnd.api+json", "application/vnd.api+json"), ("*/*", "*/*"),
    ])
    func mediaTypeIsRead(_ field: String, _ written: String) {
        #expect(MediaType(field)?.description == written)
        #expect(MediaType(written)?.description == written)
    }

    @Test(arguments: [
        "", " ", "text", "text/", "/html", "/", "text/html/x", "text /html", "text/ht ml", "text;a=b/c", ";a=b",
        "text/html,text/plain", "t\u{E9}xt/html", "text/html\0",
    ])
    func invalidMediaTypeIsNil(_ field: String) {
        #expect(MediaType(field) == nil)
    }

    @Test(arguments: [
        ("application/json", true), ("text/json; a=b", true), ("application/problem+JSON", true),
        ("application/jsonp", false), ("image/json", false), ("text/plain", false),
        ("application/xml", false), ("image/svg+xml", false), ("application/octet-stream", false),
    ])
    func jsonIsDistinguished(_ field: String, _ isJSON: Bool) {
        #expect(MediaType(field)?.isJSON == isJSON)
    }

    @Test func typeSubtypeAndParametersAreRead() {
        let type = MediaType("Text/HTML; Charset=utf-8; q=1")
        #expect(type?.type == "text")
        #expect(type?.subtype == "html")
        #expect(type?.essence == "text/html")
        #expect(type?.charset == "utf-8")
        #expect(type?["q"] == "1")
        #expect(type?["x"] == nil)
    }

    @Test func parametersAreBounded() {
        let field = "a/b" + (0..<100_000).map { ";p\($0)=v" }.joined()
        #expect(MediaType(field)?.parameters.count == 32)
    }

    @Test func truncatedAndRandomTextIsReadOrRejected() {
        let whole = "text/html ; charset = \"a\\\"\u{E9};\" x; q=1;r"
        for count in 0...whole.unicodeScalars.count {
            let cut = String(String.UnicodeScalarView(whole.unicodeScalars.prefix(count)))
            #expect((MediaType(cut) != nil) == (count > 5), "\(cut)")
        }
        var random = SeededRandom(seed: 9110)
        let alphabet = Array("a/b;=\"\\ \t\0\u{E9}".unicodeScalars)
        for _ in 0..<10_000 {
            var text = "a/b"
            for _ in 0..<Int.random(in: 0..<12, using: &random) {
                text.unicodeScalars.append(alphabet[Int.random(in: 0..<alphabet.count, using: &random)])
            }
            guard let type = MediaType(text) else { continue }
            #expect(MediaType(type.description) == type, "\(text)")
        }
    }
}
