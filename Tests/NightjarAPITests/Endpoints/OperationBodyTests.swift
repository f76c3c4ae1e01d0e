import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

@Suite struct OperationBodyTests {
    private static let schema = #"{"type":"object","required":["title"],"properties":{"title":{"type":"string"}}}"#

    private func create(_ types: [String] = ["application/json"], required: Bool = true) throws -> Operation {
        var operation = Operation("create_article", .post, "/articles")
        let schema = DeferredSchema(try JSONSchema(parsing: Self.schema))
        operation.content = RequestContent(
            types.map { RequestContent.Choice($0, schema: schema) }, isRequired: required)
        return operation
    }

    private func message(_ operation: Operation, _ body: Arguments.Body?) -> String {
        do {
            _ = try operation.request(Arguments(body: body))
            return "no error"
        } catch {
            #expect(error.kind == .invalidRequest)
            return error.message
        }
    }

    private func text(_ request: Request) -> String {
        if case .bytes(let bytes) = request.body { String(buffer: bytes) } else { "no bytes" }
    }

    private let article = JSONValue.object([.init("title", .string("Hello")), .init("tags", .array([.string("a")]))])

    @Test(.enabled(if: !isSanitized)) func exhaustedMemoryIsNotReportedAsAnInvalidBody() async {
        await #expect(processExitsWith: .success) {
            let operation = try OperationBodyTests().create()
            let text = ByteBuffer(string: "[" + String(repeating: "0,", count: 100_000) + "0]")
            // The Swift runtime allocates the metadata of types at their first use, and ends the process if it cannot.
            _ = try? operation.request(Arguments(body: .content(.bytes(ByteBuffer(string: "[0]")), type: nil)))
            let error = #expect(throws: NightjarError.self) {
                try withoutMemory { try operation.request(Arguments(body: .content(.bytes(text), type: nil))) }
            }
            #expect(error?.kind == .noMemory && error?.message.hasPrefix("cannot allocate ") == true)
        }
    }

    @Test func valueIsEncodedAsJSON() throws {
        let request = try create().request(Arguments(body: .value(article)))
        #expect(request.headers["Content-Type"] == "application/json")
        #expect(text(request) == #"{"title":"Hello","tags":["a"]}"#)
        let vendor = try create(["application/vnd.example+json"]).request(Arguments(body: .value(article)))
        #expect(vendor.headers["Content-Type"] == "application/vnd.example+json")
    }

    @Test func valueIsEncodedAsAForm() throws {
        var operation = try create(["application/x-www-form-urlencoded"])
        let value = JSONValue.object([
            .init("title", .string("a b&c")), .init("tags", .array([.string("x"), .string("y,z")])),
            .init("address", .object([.init("city", .string("Zürich"))])), .init("gone", .null),
        ])
        var request = try operation.request(Arguments(body: .value(value)))
        #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        #expect(
            text(request) == "title=a+b%26c&tags=x&tags=y%2Cz&address=%7B%22city%22%3A%22Z%C3%BCrich%22%7D")
        var tags = RequestContent.PartEncoding()
        tags.explodes = false
        var address = RequestContent.PartEncoding()
        address.style = .deepObject
        operation.content?.choices[0].encodings = ["tags": tags, "address": address]
        request = try operation.request(Arguments(body: .value(value)))
        #expect(text(request) == "title=a+b%26c&tags=x,y%2Cz&address%5Bcity%5D=Z%C3%BCrich")
    }

    @Test func valueIsEncodedAsMultipart() throws {
        var operation = try create(["multipart/form-data"])
        var meta = RequestContent.PartEncoding()
        meta.contentType = "image/*, application/xml"
        operation.content?.choices[0].encodings = ["note": meta]
        let value = JSONValue.object([
            .init("title", .string("x")), .init("tags", .array([.integer(1), .integer(2)])),
            .init("meta", .object([.init("a", .bool(true))])), .init("note", .string("<a/>")),
        ])
        let request = try operation.request(Arguments(body: .value(value)))
        guard case .multipart(let form) = request.body else {
            Issue.record("no form")
            return
        }
        #expect(request.headers["Content-Type"] == nil)
        guard case .bytes(let bytes)? = form.segments.first else {
            Issue.record("no bytes")
            return
        }
        let b = form.boundary
        #expect(
            String(buffer: bytes)
                == [
                    "--\(b)", "Content-Disposition: form-data; name=\"title\"", "", "x",
                    "--\(b)", "Content-Disposition: form-data; name=\"tags\"", "", "1",
                    "--\(b)", "Content-Disposition: form-data; name=\"tags\"", "", "2",
                    "--\(b)", "Content-Disposition: form-data; name=\"meta\"", "Content-Type: application/json", "",
                    #"{"a":true}"#,
                    "--\(b)", "Content-Disposition: form-data; name=\"note\"", "Content-Type: application/xml", "",
                    "<a/>",
                    "--\(b)--", "",
                ].joined(separator: "\r\n"))
        let again = try operation.request(Arguments(body: .value(value)))
        guard case .multipart(let same) = again.body else { return }
        #expect(same.boundary == b)
    }

    @Test func binaryPropertyIsAFilePart() throws {
        var operation = try create(["multipart/form-data"])
        operation.content?.choices[0].schema = DeferredSchema(
            try JSONSchema(
                parsing: #"{"properties":{"photo":{"type":"string","format":"binary"},"name":{"type":"string"}}}"#))
        let request = try operation.request(
            Arguments(body: .value(.object([.init("photo", .string("GIF89a")), .init("name", .string("x"))]))))
        guard case .multipart(let form) = request.body, case .bytes(let bytes)? = form.segments.first else {
            Issue.record("no form")
            return
        }
        let parts = String(buffer: bytes).split(separator: "--\(form.boundary)")
        #expect(
            parts[0].contains(#"name="photo"; filename="photo""#) && parts[0].contains("application/octet-stream"))
        #expect(!parts[1].contains("filename") && !parts[1].contains("Content-Type"))
    }

    @Test func contentTypeOfTheRequestSelectsTheEncoding() throws {
        let operation = try create(["application/json", "application/x-www-form-urlencoded"])
        var request = Request(.get, "")
        try request.headers.set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
        try operation.apply(Arguments(body: .value(article)), to: &request)
        #expect(text(request) == "title=Hello&tags=a")
        try request.headers.set("Content-Type", "text/csv")
        let error = #expect(throws: NightjarError.self) {
            try operation.apply(Arguments(body: .value(article)), to: &request)
        }
        #expect(
            error?.message
                == #"endpoint "create_article": its body cannot have the type "text/csv"; it accepts application/json, "#
                + "application/x-www-form-urlencoded")
    }

    @Test func bytesAreSentUnchanged() throws {
        var operation = Operation("avatar", .put, "/avatar")
        operation.content = RequestContent([.init("image/*")], isRequired: true)
        let bytes = RequestBody.bytes(ByteBuffer(bytes: [0, 1, 2]))
        let typed = try operation.request(Arguments(body: .content(bytes, type: "image/png")))
        #expect(typed.headers["Content-Type"] == "image/png")
        #expect(
            message(operation, .content(bytes, type: "text/csv"))
                == #"endpoint "avatar": its body cannot have the type "text/csv"; it accepts image/*"#)
        #expect(
            message(operation, .value(article))
                == #"endpoint "avatar": its body cannot be built from an object; it accepts image/*, so set the body as bytes"#
        )
        let file = try operation.request(
            Arguments(body: .content(.file(path: "/tmp/a.png"), type: nil)))
        #expect(file.headers["Content-Type"] == nil)
    }

    @Test func textIsSentAsABody() throws {
        var operation = Operation("note", .post, "/notes")
        operation.content = RequestContent([.init("text/markdown")])
        let request = try operation.request(Arguments(body: .value("# Hi")))
        #expect(request.headers["Content-Type"] == "text/markdown")
        #expect(text(request) == "# Hi")
    }

    @Test func invalidBodyIsReportedWithItsPath() throws {
        #expect(
            message(try create(), .value(.object([])))
                == #"endpoint "create_article": the body at "/title" must be a string, found nothing"#)
        #expect(
            message(try create(), .value(.object([.init("title", .integer(1))])))
                == #"endpoint "create_article": the body at "/title" must be a string, found an integer"#)
        #expect(
            message(try create(), .content(.bytes(ByteBuffer(string: #"{"title":1}"#)), type: nil))
                == #"endpoint "create_article": the body at "/title" must be a string, found an integer"#)
        #expect(
            message(try create(), .content(.bytes(ByteBuffer(string: "{")), type: nil))
                .hasPrefix(#"endpoint "create_article": the body is not JSON"#))
        #expect(
            message(try create(), nil) == #"endpoint "create_article": it requires a body; it accepts application/json"#
        )
        #expect(message(try create(required: false), nil) == "no error")
        #expect(
            message(Operation("article", .get, "/a"), .value(article))
                == #"endpoint "article": it accepts no body"#)
    }

    @Test func bodyOfTheRequestIsValidated() throws {
        var request = Request(.post, "")
        request.body = .bytes(ByteBuffer(string: #"{"title":"x"}"#))
        try create().apply(Arguments(), to: &request)
        #expect(request.headers["Content-Type"] == "application/json")
        request.body = .bytes(ByteBuffer(string: "[]"))
        let error = #expect(throws: NightjarError.self) { try create().apply(Arguments(), to: &request) }
        #expect(error?.message == #"endpoint "create_article": the body must be an object, found an array"#)
    }

    @Test func getOperationMayHaveABody() throws {
        var operation = try create()
        operation.method = .get
        #expect(try operation.request(Arguments(body: .value(article))).allowsBodyOnGet)
    }
}
