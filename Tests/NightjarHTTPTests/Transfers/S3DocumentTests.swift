import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct S3DocumentTests {
    private func document(_ text: String) -> S3Document { S3Document(ByteBuffer(string: text)) }

    @Test(arguments: [
        ("<a>x</a>", "x"), ("<b><a>x</a></b>", "x"), ("<a></a>", ""), ("<a>1</a><a>2</a>", "1"),
        ("<?xml version=\"1.0\"?>\r\n<r xmlns=\"u\"><a>x</a></r>", "x"), ("<<a>x</a>", "x"),
        ("<aa>y</aa><a>x</a>", "x"),
        ("<a>&lt;&gt;&amp;&quot;&apos;</a>", "<>&\"'"), ("<a>&#65;&#x42;&#x1F600;</a>", "AB😀"),
        ("<a>&amp;lt;</a>", "&lt;"), ("<a>&unknown;&</a>", "&unknown;&"), ("<a>&#xD800;&#;&#x;</a>", "&#xD800;&#;&#x;"),
        ("<a>&#99999999999;</a>", "&#99999999999;"), ("<a>&;</a>", "&;"), ("<a>ü</a>", "ü"),
    ])
    func elementIsRead(text: String, value: String) {
        #expect(document(text).text(of: "a") == value)
    }

    @Test(arguments: ["", "<a>", "<a>x", "</a>", "</a><a>", "<a/>", "a", "<", "<a", "<a>x</b>", "<A>x</A>"])
    func missingElementIsNil(text: String) {
        #expect(document(text).text(of: "a") == nil)
        #expect(document(text).all("a").isEmpty)
    }

    @Test func elementsAreListed() {
        let all = document("<r><p><n>1</n></p>x<p></p><p><n>3</n></p><p>").all("p")
        #expect(all.map { $0.text(of: "n") } == ["1", nil, "3"])
    }

    @Test func invalidUTF8IsReplaced() {
        let body = ByteBuffer(bytes: Array("<a>".utf8) + [0xFF, 0x26, 0xC3] + Array("</a>".utf8))
        #expect(S3Document(body).text(of: "a") == "\u{FFFD}&\u{FFFD}")
    }

    @Test func escapedTextIsReadAgain() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<500 {
            let text = String((0..<20).map { _ in Array("&<>\"';#xa1\u{301}é😀").randomElement(using: &random)! })
            let escaped = S3Document.escaped(text)
            #expect(!escaped.contains("<") && !escaped.contains(">") && !escaped.contains("\""))
            #expect(document("<a>\(escaped)</a>").text(of: "a") == text)
        }
    }

    @Test func damagedDocumentsDoNotTrap() {
        let text = Array("<L><IsTruncated>true</IsTruncated><Part><ETag>&quot;a&#x41;</ETag></Part></L>".utf8)
        for index in text.indices {
            for bytes in [Array(text[..<index]), Array(text[index...])] {
                let document = S3Document(ByteBuffer(bytes: bytes))
                _ = document.all("Part").map { $0.text(of: "ETag") }
            }
            for bit in 0..<8 {
                var changed = text
                changed[index] ^= 1 << bit
                let document = S3Document(ByteBuffer(bytes: changed))
                _ = document.all("Part").map { $0.text(of: "ETag") }
            }
        }
    }
}
