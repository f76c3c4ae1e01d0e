import NIOCore
import NIOHTTP1

/// `/errors/{shape}`: error bodies in the forms that APIs use, with any 4xx or 5xx `status`.
enum ErrorShapes {
    static func respond(_ request: Request) throws(Problem) -> Response {
        let code = try request.query("status", in: 400...599, or: 422)
        let name = request.parameters["shape"] ?? ""
        guard let shape = shapes.first(where: { $0.name == name }) else {
            throw Problem(.notFound, "{shape} must be one of \(shapes.map(\.name).joined(separator: ", "))")
        }
        let status = HTTPResponseStatus(statusCode: code)
        let headers = shape.type.map { HTTPHeaders([("Content-Type", $0)]) } ?? [:]
        return Response(status, headers: headers, body: .bytes(ByteBuffer(bytes: shape.body(code))))
    }

    private struct Shape: Sendable {
        let name: String
        let type: String?
        let body: @Sendable (_ status: Int) -> [UInt8]

        init(_ name: String, type: String? = "application/json", _ body: @escaping @Sendable (_ status: Int) -> [UInt8])
        {
            self.name = name
            self.type = type
            self.body = body
        }

        init(_ name: String, type: String = "application/json", json: @escaping @Sendable (_ status: Int) -> JSON) {
            self.init(name, type: type) { json($0).formatted() }
        }
    }

    private static let sentence = "The title must not be empty."

    private static let shapes: [Shape] = [
        // RFC 9457, with an extension member.
        Shape("problem", type: "application/problem+json") { status in
            [
                "type": "https://api.example/problems/invalid", "title": "The article is not valid.",
                "status": .int(status), "detail": .string(sentence), "instance": "/articles/7",
                "balance": .int(30),
            ]
        },
        // All members of a problem are optional.
        Shape("problem-empty", type: "application/problem+json") { _ in [:] },
        Shape("error-text") { _ in ["error": .string(sentence)] },
        Shape("error-object") { _ in ["error": ["code": "title_empty", "message": .string(sentence)]] },
        Shape("message") { _ in ["message": .string(sentence)] },
        Shape("errors-texts") { _ in ["errors": [.string(sentence), "The body is too long."]] },
        Shape("errors-objects") { _ in
            ["errors": [["field": "title", "message": .string(sentence)], ["field": "body", "message": "Too long."]]]
        },
        Shape("errors-by-field") { _ in
            ["message": "The article is not valid.", "errors": ["title": ["must not be empty"], "body": ["too long"]]]
        },
        // RFC 6749 section 5.2.
        Shape("oauth") { _ in
            ["error": "invalid_grant", "error_description": "The refresh token has expired."]
        },
        Shape("json-api", type: "application/vnd.api+json") { status in
            [
                "errors": [
                    [
                        "status": .string(String(status)), "code": "title_empty", "title": "Not valid",
                        "detail": .string(sentence), "source": ["pointer": "/data/attributes/title"],
                    ]
                ]
            ]
        },
        Shape("graphql") { _ in
            ["data": .null, "errors": [["message": .string(sentence), "path": ["article", "title"]]]]
        },
        Shape("text", type: "text/plain; charset=utf-8") { _ in Array(sentence.utf8) },
        Shape("html", type: "text/html; charset=utf-8") { status in
            let title = "\(status) \(HTTPResponseStatus(statusCode: status).reasonPhrase)"
            return Array(
                "<!doctype html><html><head><title>\(title)</title></head><body><h1>\(title)</h1></body></html>".utf8)
        },
        Shape("array") { _ in [.string(sentence)] },
        Shape("null") { _ in .null },
        Shape("broken-json") { _ in Array(#"{"error": {"message": "cut o"#.utf8) },
        Shape("mislabelled", type: "text/html") { _ in
            JSON.object([.init(name: "error", value: .string(sentence))]).formatted()
        },
        Shape("unlabelled", type: nil) { _ in JSON.object([.init(name: "error", value: .string(sentence))]).formatted()
        },
        Shape("empty", type: nil) { _ in [] },
    ]
}
