import NIOCore
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

@Suite struct ResponseContractTests {
    private func schema(_ text: String) throws -> DeferredSchema { DeferredSchema(try JSONSchema(parsing: text)) }

    private func contract() throws -> ResponseContract {
        var operation = Operation("article", .get, "/a")
        var one = ResponseDescription(StatusRange(200))
        one.schemas = [("application/json", try schema(#"{"type":"object"}"#)), ("text/html", nil)]
        var range = ResponseDescription(StatusRange(200, 299))
        range.schemas = [
            ("*/*", try schema(#"{"type":"boolean"}"#)), ("application/*", try schema(#"{"type":"array"}"#)),
        ]
        var others = ResponseDescription(nil)
        others.schemas = [("application/json", try schema(#"{"type":"string"}"#))]
        operation.responses = [others, range, one]
        return ResponseContract(operation)
    }

    private func check(_ status: Int, _ type: String, _ body: String) throws -> String {
        var head = ResponseHead(status: status)
        try head.headers.set("Content-Type", type)
        let url = try RequestURL("http://a.example/a")
        let contract = try contract()
        let response = Response(
            head: head, body: ByteBuffer(string: body), url: url)
        do {
            try contract.check(response)
            return "fine"
        } catch {
            #expect(error.kind == .decoding)
            #expect(error.response === response)
            return error.message
        }
    }

    @Test func mostSpecificDescriptionApplies() throws {
        #expect(try check(200, "application/json; charset=utf-8", "{}") == "fine")
        #expect(
            try check(200, "application/json", "[]") == #"the response of endpoint "article": the JSON is not as "#
                + "described: expected an object, found an array")
        #expect(try check(201, "application/vnd.x+json", "[]") == "fine")
        #expect(try check(201, "application/json", "{}").contains("expected an array"))
        #expect(try check(404, "application/json", "{}").contains("expected a string"))
    }

    @Test func undescribedResponsePasses() throws {
        #expect(try check(200, "text/html", "<p>") == "fine")
        #expect(try check(200, "application/vnd.x+json", "3") == "fine")
        #expect(try check(200, "application/json", " ") == "fine")
    }

    @Test func invalidJSONIsReported() throws {
        #expect(
            try check(200, "application/json", "{").hasPrefix(
                #"the response of endpoint "article": the response is not JSON"#))
    }
}
