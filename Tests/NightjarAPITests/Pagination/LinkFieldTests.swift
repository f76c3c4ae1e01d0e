import NightjarTestSupport
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

/// Link fields. RFC 8288.
@Suite struct LinkFieldTests {
    private func parse(_ values: String...) throws -> [LinkField] {
        var headers = Headers()
        for value in values { try headers.add("Link", value) }
        return LinkField.parse(headers)
    }

    private func next(_ value: String) throws -> String? { LinkField.next(in: try parse(value))?.target }

    @Test func examplesOfTheRFCAreRead() throws {
        #expect(
            try parse("<http://example.com/TheBook/chapter2>; rel=\"previous\"; title=\"previous chapter\"")
                == [LinkField(target: "http://example.com/TheBook/chapter2", relations: ["previous"], anchor: nil)])
        #expect(
            try parse("</terms>; rel=\"copyright\"; anchor=\"#foo\"")
                == [LinkField(target: "/terms", relations: ["copyright"], anchor: "#foo")])
        #expect(
            try parse("<http://example.org/>; rel=\"start http://example.net/relation/other\"")
                == [
                    LinkField(
                        target: "http://example.org/", relations: ["start", "http://example.net/relation/other"],
                        anchor: nil)
                ])
        let two = try parse(
            "</TheBook/chapter2>; rel=\"previous\"; title*=UTF-8'de'letztes%20Kapitel, "
                + "</TheBook/chapter4>; rel=\"next\"; title*=UTF-8'de'n%c3%a4chstes%20Kapitel")
        #expect(two.map(\.relations) == [["previous"], ["next"]])
    }

    @Test func nextLinkIsFound() throws {
        #expect(try next("<a>; rel=prev, <b>; rel=next") == "b")
        #expect(try next("<b>;rel=\"NEXT\"") == "b")
        #expect(try next("<b>; title=\"a, <x>; rel=next\"; rel=\"last next\"") == "b")
        #expect(try next("<b>; title=\"\\\"\"; rel=next") == "b")
        #expect(try next("< b >\t ;  rel = next") == " b ")
        #expect(try next("<a,b;c>; rel=next") == "a,b;c")
        #expect(try next(", ,<b>; rel=next,") == "b")
        #expect(LinkField.next(in: try parse("<a>; rel=prev", "<b>; rel=next"))?.target == "b")
    }

    @Test func otherRelationsAreIgnored() throws {
        #expect(try next("<b>; rel=next; anchor=\"/other\"") == nil)
        #expect(try next("<b>; rel=prev; rel=next") == nil)
        #expect(try next("<b>; rev=next") == nil)
        #expect(try next("<b>; rel=nextpage") == nil)
        #expect(try next("<b>") == nil)
        #expect(try next("") == nil)
    }

    @Test func invalidLinksAreIgnored() throws {
        #expect(try next("b; rel=next") == nil)
        #expect(try next("<b; rel=next") == nil)
        #expect(try next("<a> x; rel=next, <b>; rel=next") == "b")
        #expect(try next("x \"<a>; rel=next,\", <b>; rel=next") == "b")
        #expect(try next("<b>; rel=\"next") == "b")
        #expect(try next("<b>; rel=\"next\\") == nil)
        #expect(try next("<b>; ; rel=next") == "b")
    }

    @Test func linksAreBounded() throws {
        let many = Array(repeating: "<a>; rel=x", count: 5000).joined(separator: ",")
        #expect(try parse(many).count == LinkField.maximumCount)
    }

    @Test func randomTextIsRead() throws {
        var random = SeededRandom(seed: 7)
        let alphabet = Array("<>;,=\"\\ \trelnxtach#/é".unicodeScalars)
        for _ in 0..<5000 {
            var text = ""
            for _ in 0..<Int.random(in: 0..<40, using: &random) {
                text.unicodeScalars.append(alphabet[Int.random(in: 0..<alphabet.count, using: &random)])
            }
            #expect(try parse(text).count <= 40)
        }
    }
}
