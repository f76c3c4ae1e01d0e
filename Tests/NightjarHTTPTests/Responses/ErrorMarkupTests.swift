import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// The error code and the message are read from XML documents.
@Suite struct ErrorMarkupTests {
    private struct Case: Sendable, CustomTestStringConvertible {
        let xml: String
        var code: String?
        var message: String?
        var title: String?
        var detail: String?
        var type: String?
        var fields: [ErrorBody.Field] = []

        var testDescription: String { xml }
    }

    private static let cases: [Case] = [
        // S3 and compatible servers.
        Case(
            xml: """
                <?xml version="1.0" encoding="UTF-8"?>
                <Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message>
                <Key>a&lt;b</Key><RequestId>7a62c49f</RequestId></Error>
                """, code: "NoSuchKey", message: "The specified key does not exist."),
        // The AWS query protocol (IAM, SQS), and EC2.
        Case(
            xml: """
                <ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><Error><Type>Sender</Type>
                <Code>NoSuchEntity</Code><Message>User &quot;x&quot; &amp; others cannot be found</Message></Error>
                <RequestId>1</RequestId></ErrorResponse>
                """, code: "NoSuchEntity", message: "User \"x\" & others cannot be found"),
        Case(
            xml: "<Response><Errors><Error><Code>A</Code><Message>b</Message></Error></Errors></Response>", code: "A",
            message: "b"),
        // Azure: starts with a byte order mark, and the message has several lines.
        Case(
            xml:
                "\u{FEFF}<?xml version=\"1.0\"?><Error><Code>AuthenticationFailed</Code><Message>Server failed.\nTime:2</Message></Error>",
            code: "AuthenticationFailed", message: "Server failed.\nTime:2"),
        // WebDAV, with prefixes; SOAP 1.1; RFC 7807 appendix A.
        Case(
            xml: """
                <d:error xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns"><s:exception>NotFound</s:exception>
                <s:message>File not found</s:message></d:error>
                """, message: "NotFound"),
        Case(
            xml:
                "<s:Envelope><s:Body><s:Fault><faultcode>s:Client</faultcode><faultstring>bad</faultstring></s:Fault></s:Body></s:Envelope>",
            code: "s:Client", message: "bad"),
        Case(
            xml: """
                <problem xmlns="urn:ietf:rfc:7807"><type>https://example.com/probs/out-of-credit</type>
                <title>No credit</title><detail>30 of 50</detail></problem>
                """, title: "No credit", detail: "30 of 50", type: "https://example.com/probs/out-of-credit"),
        // Attributes (Last.fm, Flickr) and lists (Rails).
        Case(
            xml: #"<lfm status="failed"><error code="10">Invalid API key</error></lfm>"#, code: "10",
            message: "Invalid API key"),
        Case(
            xml: #"<rsp stat='fail'><err code = '1' msg='a &#233;&#x1F319; &unknown; &'/></rsp>"#, code: "1",
            message: "a é🌙 &unknown; &"),
        Case(
            xml: "<errors><error>Name is empty</error><error>Age is odd</error></errors>", message: "Name is empty",
            fields: [.init(nil, "Age is odd")]),
        // Comments, CDATA sections and document types.
        Case(
            xml:
                "<!DOCTYPE e><e><!-- <Code>x</Code> --><Code><![CDATA[a<b>&amp;]]></Code><Message>c<!-- d -->e</Message></e>",
            code: "a<b>&amp;", message: "ce"),
    ]

    @Test(arguments: cases)
    private func errorMarkupIsRead(_ one: Case) throws {
        let body = try #require(ErrorBody(parsing: ByteBuffer(string: one.xml)))
        #expect(body.code == one.code && body.message == one.message, "\(body)")
        #expect(body.title == one.title && body.detail == one.detail && body.type == one.type, "\(body)")
        #expect(body.fields == one.fields)
    }

    @Test(arguments: [
        "<html><head><title>502 Bad Gateway</title></head><body><code>x</code></body></html>",
        "<!DOCTYPE html><HTML><message>x</message></HTML>",
        "<rss><channel><description>x</description></channel></rss>",
        "<", "<>", "</", "<a", "<a><b/></a>", "<!--", "<![CDATA[", "<Code></Code>", "<Code>  </Code>",
        "< Code>x</Code>",
    ])
    func otherDocumentsAreNil(_ text: String) {
        #expect(ErrorBody(parsing: ByteBuffer(string: text)) == nil)
    }

    @Test func truncatedDocumentsInventNoText() {
        for one in ErrorMarkupTests.cases {
            let bytes = Array(one.xml.utf8)
            for count in 0...bytes.count {
                let body = ErrorBody(parsing: ByteBuffer(bytes: bytes[..<count]))
                #expect(body?.code == nil || body?.code == one.code, "\(count) of \(one.xml)")
            }
        }
    }

    @Test func changedDocumentsAreReadOrRejected() {
        var random = SeededRandom(seed: 7807)
        let marks = Array("<>/=\"'&;![]-? aC".utf8)
        for _ in 0..<20_000 {
            let one = ErrorMarkupTests.cases.randomElement(using: &random) ?? ErrorMarkupTests.cases[0]
            var bytes = Array(one.xml.utf8)
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                bytes[place] = marks.randomElement(using: &random) ?? 0
            }
            _ = ErrorBody(parsing: ByteBuffer(bytes: bytes))?.summary(excluding: "")
        }
        for _ in 0..<2000 {
            let bytes = (0..<200).map { _ in marks.randomElement(using: &random) ?? 0 }
            _ = ErrorBody(parsing: ByteBuffer(bytes: [UInt8(ascii: "<")] + bytes))?.summary(excluding: "")
        }
    }

    @Test func textsAndElementsAreBounded() throws {
        let long = String(repeating: "&amp;", count: 20_000)
        let body = try #require(
            ErrorBody(parsing: ByteBuffer(string: "<e><Code>c</Code><Message>\(long)</Message></e>")))
        #expect(body.message?.unicodeScalars.count ?? 0 <= 1003)
        let many = String(repeating: "<error>x</error>", count: 10_000)
        #expect(ErrorBody(parsing: ByteBuffer(string: "<e>\(many)</e>"))?.fields.count == 32)
        let open = String(repeating: "<a b='c' ", count: 20_000)
        #expect(ErrorBody(parsing: ByteBuffer(string: open)) == nil)
    }
}
