import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct ResponseContentTests {
    private func response(_ body: [UInt8], type: String? = nil, status: Int = 200) throws -> Response {
        var headers = Headers()
        if let type { try headers.add("Content-Type", type) }
        let url = try RequestURL("http://h/a")
        return Response(head: ResponseHead(status: status, headers: headers), body: ByteBuffer(bytes: body), url: url)
    }

    private func response(_ body: String, type: String? = nil) throws -> Response {
        try response(Array(body.utf8), type: type)
    }

    private func rejection(_ body: () throws -> some Any) -> NightjarError? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? NightjarError
        }
    }

    @Test(
        arguments: [
            ([0x6E, 0xE9], "text/plain; charset=ISO-8859-1", "né"), ([0x80], "text/plain; charset=windows-1252", "€"),
            ([0xC3, 0xA9], nil, "é"), ([0xC3, 0xA9], "text/plain; charset=\"utf-8\"", "é"),
            ([0xE9], "text/plain; charset=utf-8", "\u{FFFD}"), ([0xEF, 0xBB, 0xBF, 0x61], "text/plain", "a"),
            ([0xC3, 0xA9, 0xFF], "text/plain; charset=x-demo", "é\u{FFFD}"), ([], "text/plain; charset=x-demo", ""),
        ] as [([UInt8], String?, String)])
    func textIsDecodedByItsCharset(body: [UInt8], type: String?, text: String) throws {
        #expect(try response(body, type: type).text == text)
    }

    @Test(.enabled(if: !isSanitized)) func exhaustedMemoryIsNotReportedAsInvalidJSON() async {
        await #expect(processExitsWith: .success) {
            let tests = ResponseContentTests()
            let page = try tests.response("[" + String(repeating: "0,", count: 100_000) + "0]")
            let error = withoutMemory { tests.rejection { try page.json } }
            #expect(error?.kind == .noMemory && error?.message.hasPrefix("cannot allocate ") == true)
        }
    }

    @Test func unknownCharsetIsReportedOnAccess() throws {
        #expect(try response("a", type: "text/plain; charset=latin1").decodedText() == "a")
        let unknown = try response("a", type: "text/plain; charset=x-demo")
        let error = rejection { try unknown.decodedText() }
        #expect(error?.kind == .decoding && error?.message.contains(#""x-demo""#) == true)
        #expect(error?.response === unknown)
    }

    @Test func contentIsDecodedAsAType() throws {
        struct Article: Decodable, Equatable { var articleTitle: String }
        let page = try response(#"{"results": [{"article_title": "T"}]}"#, type: "application/json")
        #expect(try page.json["results"] != nil)
        let options = JSONDecodingOptions(names: .convertFromSnakeCase)
        #expect(try page.decode([Article].self, at: JSONPointer("/results"), options) == [Article(articleTitle: "T")])
        let error = rejection { try page.decode([Article].self, at: JSONPointer("/results")) }
        #expect(
            error?.message
                == #"the JSON is not as expected: at "/results/0/articleTitle": expected a string, found nothing"#)
        #expect(error?.kind == .decoding && error?.status == 200 && error?.url == "http://h/a")
        #expect(error?.response === page)
    }

    @Test(arguments: [200, 204, 304])
    func emptyContentDecodesAsOptional(status: Int) throws {
        for blank in ["", " \r\n"] {
            let empty = try response(Array(blank.utf8), status: status)
            #expect(try empty.decode(Int?.self) == nil)
            #expect(try empty.decode([String: Int]?.self) == nil)
            #expect(try empty.decode(Empty.self) == Empty())
            #expect(
                rejection { try empty.decode(Int.self) }?.message
                    == "the response has no body, but Int was expected; use an optional type to accept a response "
                    + "without a body")
            #expect(rejection { try empty.json }?.message == "the response has no body, but JSON was expected")
            try empty.check(JSONSchema(parsing: #"{"type": "object"}"#))
        }
    }

    @Test func invalidJSONIsReportedWithItsType() throws {
        let page = try response("<html>", type: "text/html")
        #expect(rejection { try page.json }?.message.hasPrefix("the response is not JSON: ") == true)
        #expect(
            rejection { try page.decode(Int?.self) }?.message.hasSuffix(#"(its Content-Type is "text/html")"#) == true)
    }

    @Test func schemaIsChecked() throws {
        let schema = try JSONSchema(parsing: #"{"type": "object", "properties": {"id": {"type": "integer"}}}"#)
        try response(#"{"id": 1}"#).check(schema)
        let wrong = try response(#"{"id": "s3cret"}"#)
        let error = rejection { try wrong.check(schema) }
        #expect(
            error?.message == #"the JSON is not as expected: at "/id": expected an integer, found a string"#)
        #expect(error?.response === wrong)
    }

    @Test func requestEncodesAValue() throws {
        struct Draft: Encodable { var title: String?, teaserText: Null? }
        var request = Request(.patch, "/articles/1")
        try request.json(Draft(title: nil, teaserText: Null()), JSONEncodingOptions(names: .convertToSnakeCase))
        #expect(request.impliedType == .json)
        guard case .bytes(let body) = request.body else {
            Issue.record("expected a body in memory")
            return
        }
        #expect(String(buffer: body) == #"{"teaser_text":null}"#)
        var merge = Request(.patch, "/")
        try merge.headers.set("Content-Type", "application/merge-patch+json")
        try merge.json(["a": 1])
        #expect(merge.headers["content-type"] == "application/merge-patch+json")
    }

    @Test func requestEncodesALiteralWithVariables() throws {
        let (id, title, note): (Int, String, String?) = (7, "Owls", nil)
        var request = Request(.post, "/articles")
        try request.json(["title": title, "id": id, "note": note, "author": ["name": "Ada", "id": id]])
        guard case .bytes(let body) = request.body else {
            Issue.record("expected a body in memory")
            return
        }
        #expect(String(buffer: body) == #"{"title":"Owls","id":7,"note":null,"author":{"name":"Ada","id":7}}"#)
        #expect(request.impliedType == .json)
        let error = rejection { try request.json(["ratio": Double.nan, "id": id]) }
        #expect(error?.kind == .invalidRequest)
        guard case .json(let members) = LoginCall("login", .json(["email": title, "code": id])).body else {
            Issue.record("expected a body of JSON")
            return
        }
        #expect(members["code"] == 7)
    }

    @Test func rawBodiesAreNotDecoded() throws {
        let response = try response("[1, 2]", type: "application/json")
        #expect(try String(buffer: response.decode(ByteBuffer.self)) == "[1, 2]")
        #expect(try self.response("").decode(ByteBuffer.self).readableBytes == 0)
        #expect(try response.decode([UInt8].self) == [1, 2])
    }
}
