import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct ErrorBodyTests {
    private struct Case: Sendable, CustomTestStringConvertible {
        let json: String
        var type: String?
        var title: String?
        var message: String?
        var detail: String?
        var code: String?
        var fields: [ErrorBody.Field] = []
        let summary: String

        var testDescription: String { json }
    }

    private static let cases: [Case] = [
        // RFC 9457 section 3, and its extension member for lists.
        Case(
            json: """
                {"type": "https://example.com/probs/out-of-credit", "title": "You do not have enough credit.",
                 "detail": "Your current balance is 30, but that costs 50.", "instance": "/account/12345/msgs/abc",
                 "balance": 30, "status": 403}
                """,
            type: "https://example.com/probs/out-of-credit", title: "You do not have enough credit.",
            detail: "Your current balance is 30, but that costs 50.",
            summary: "You do not have enough credit. Your current balance is 30, but that costs 50."),
        Case(
            json: """
                {"type": "https://example.net/validation-error", "title": "Not valid",
                 "errors": [{"detail": "must be a positive integer", "pointer": "#/age"},
                            {"detail": "must be 'green', 'red' or 'blue'", "pointer": "#/profile/color"}]}
                """,
            type: "https://example.net/validation-error", title: "Not valid",
            fields: [
                .init("#/age", "must be a positive integer"),
                .init("#/profile/color", "must be 'green', 'red' or 'blue'"),
            ],
            summary: "Not valid; #/age: must be a positive integer, #/profile/color: must be 'green', 'red' or 'blue'"),
        Case(
            json: #"{"title": "Bad", "invalid-params": [{"name": "age", "reason": "too small"}]}"#, title: "Bad",
            fields: [.init("age", "too small")], summary: "Bad; age: too small"),
        // A single text or code.
        Case(json: #"{"error": "no such article"}"#, message: "no such article", summary: "no such article"),
        Case(json: #"{"message": "Not Found"}"#, message: "Not Found", summary: "Not Found"),
        Case(json: #""Not Found""#, message: "Not Found", summary: "Not Found"),
        Case(json: #"{"detail": "Not found."}"#, detail: "Not found.", summary: "Not found."),
        Case(json: #"{"code": 1006}"#, code: "1006", summary: "1006"),
        // RFC 6749 section 5.2.
        Case(
            json: #"{"error": "invalid_grant", "error_description": "The code has expired"}"#,
            detail: "The code has expired", code: "invalid_grant", summary: "The code has expired (invalid_grant)"),
        // Spring.
        Case(
            json: #"{"timestamp": 1, "status": 404, "error": "Not Found", "message": "No article 7", "path": "/a/7"}"#,
            title: "Not Found", message: "No article 7", summary: "Not Found: No article 7"),
        // `error` is an object: Stripe and Google.
        Case(
            json:
                #"{"error": {"message": "No such token", "type": "invalid_request_error", "code": "resource_missing"}}"#,
            type: "invalid_request_error", message: "No such token", code: "resource_missing",
            summary: "No such token (resource_missing)"),
        Case(
            json: """
                {"error": {"code": 403, "message": "The caller has no permission", "status": "PERMISSION_DENIED",
                 "errors": [{"message": "The caller has no permission", "domain": "global", "reason": "forbidden"}]}}
                """,
            message: "The caller has no permission", code: "403",
            fields: [.init(nil, "The caller has no permission")], summary: "The caller has no permission (403)"),
        Case(
            json: #"{"error": {"status": "NOT_FOUND", "message": "no"}}"#, message: "no", code: "NOT_FOUND",
            summary: "no (NOT_FOUND)"),
        // Lists: GitHub, JSON:API, GraphQL, FastAPI, NestJS, Salesforce, plain texts.
        Case(
            json: """
                {"message": "Validation Failed",
                 "errors": [{"resource": "Issue", "field": "title", "code": "missing_field", "message": "is missing"}]}
                """,
            message: "Validation Failed", code: "missing_field", fields: [.init("title", "is missing")],
            summary: "Validation Failed (missing_field); title: is missing"),
        Case(
            json: """
                {"errors": [{"status": "422", "source": {"pointer": "/data/attributes/title"}, "title": "Invalid",
                 "detail": "Title must not be empty."}]}
                """,
            fields: [.init("/data/attributes/title", "Title must not be empty.")],
            summary: "/data/attributes/title: Title must not be empty."),
        Case(
            json: """
                {"errors": [{"message": "Cannot query field \\"x\\"", "path": ["user", 0, "x"],
                 "extensions": {"code": "GRAPHQL_VALIDATION_FAILED"}}]}
                """,
            code: "GRAPHQL_VALIDATION_FAILED", fields: [.init("user.0.x", "Cannot query field \"x\"")],
            summary: "GRAPHQL_VALIDATION_FAILED; user.0.x: Cannot query field \"x\""),
        Case(
            json: #"{"detail": [{"loc": ["body", "title"], "msg": "field required", "type": "value_error.missing"}]}"#,
            fields: [.init("body.title", "field required")], summary: "body.title: field required"),
        Case(
            json:
                #"{"statusCode": 400, "message": ["title must be a string", "id must be positive"], "error": "Bad Request"}"#,
            title: "Bad Request", message: "title must be a string",
            fields: [.init(nil, "title must be a string"), .init(nil, "id must be positive")],
            summary: "Bad Request: title must be a string; id must be positive"),
        Case(
            json: #"[{"message": "Session expired or invalid", "errorCode": "INVALID_SESSION_ID"}]"#,
            message: "Session expired or invalid", code: "INVALID_SESSION_ID",
            fields: [.init(nil, "Session expired or invalid")],
            summary: "Session expired or invalid (INVALID_SESSION_ID)"),
        Case(
            json: #"{"errors": ["one", "two"]}"#, message: "one", fields: [.init(nil, "one"), .init(nil, "two")],
            summary: "one; two"),
        // Maps: Rails and Laravel.
        Case(
            json: #"{"message": "Invalid", "errors": {"email": ["is taken", "is too long"], "age": "is odd"}}"#,
            message: "Invalid",
            fields: [.init("email", "is taken"), .init("email", "is too long"), .init("age", "is odd")],
            summary: "Invalid; email: is taken, email: is too long, age: is odd"),
        Case(
            json: #"{"errors": {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}}"#,
            fields: [.init("a", "1"), .init("b", "2"), .init("c", "3"), .init("d", "4"), .init("e", "5")],
            summary: "a: 1, b: 2, c: 3, and 2 more"),
        // Texts about secret fields are masked, because some servers repeat the input.
        Case(
            json:
                #"{"errors": {"password": ["hunter2 is too short"], "user[api_key]": "sk-1 is unknown", "name": "x"}}"#,
            fields: [.init("password", "***"), .init("user[api_key]", "***"), .init("name", "x")],
            summary: "password: ***, user[api_key]: ***, name: x"),
        Case(
            json: #"{"detail": [{"loc": ["body", "refresh_token", 0], "msg": "abc is no token", "input": "abc"}]}"#,
            fields: [.init("body.refresh_token.0", "***")], summary: "body.refresh_token.0: ***"),
        Case(
            json: #"{"message": "no", "access_token": "abc", "token": "abc", "password": "abc"}"#, message: "no",
            summary: "no"),
        // Members with unexpected types.
        Case(
            json: #"{"error": true, "message": "no", "code": null, "title": {}, "type": [1], "errors": 7}"#,
            message: "no", summary: "no"),
        Case(json: #"{"type": "about:blank"}"#, type: "about:blank", summary: "about:blank"),
        Case(json: #"{"message": "  ", "detail": "", "title": "t"}"#, title: "t", summary: "t"),
    ]

    @Test(arguments: cases)
    private func errorFormatsAreRead(_ one: Case) throws {
        let body = try #require(ErrorBody(parsing: ByteBuffer(string: one.json)))
        #expect(body.type == one.type)
        #expect(body.title == one.title)
        #expect(body.message == one.message)
        #expect(body.detail == one.detail)
        #expect(body.code == one.code)
        #expect(body.fields == one.fields)
        #expect(body.summary(excluding: "") == one.summary)
    }

    @Test(arguments: [
        "", " ", "not JSON", "<html></html>", " \n<!doctype html>", "{", "{}", "[]", "null", "true", "\"\"", "7.5",
        #"{"ok": false}"#, #"{"error": {}}"#, #"{"errors": []}"#, #"{"errors": [{}, 1.5, null]}"#, "\u{0}",
    ])
    func bodyWithoutAMessageIsNil(_ text: String) {
        #expect(ErrorBody(parsing: ByteBuffer(string: text)) == nil)
    }

    // MARK: Bounds

    @Test func textsAndListsAreTruncated() throws {
        let long = String(repeating: "\u{1F319}", count: 5000)
        let element = JSONValue.object([.init("field", .string(long)), .init("message", .string(long))])
        let body = try #require(
            ErrorBody(
                .object([
                    .init("title", .string(long)), .init("errors", .array(Array(repeating: element, count: 1000))),
                ])))
        #expect(body.title?.unicodeScalars.count == 1003)
        #expect(body.fields.count == 32)
        #expect(body.fields.allSatisfy { $0.message.unicodeScalars.count == 1003 })
        #expect(body.fields.allSatisfy { $0.name?.unicodeScalars.count == 1003 })
        let map = JSONValue.object([
            .init("errors", .object((0..<1000).map { .init("f\($0)", .array([.string("a"), .string("b")])) }))
        ])
        #expect(ErrorBody(map)?.fields.count == 32)
    }

    @Test func largeBodyIsNotRead() {
        let json = "{\"message\": \"x\"" + String(repeating: " ", count: ErrorBody.maximumBody) + "}"
        #expect(ErrorBody(parsing: ByteBuffer(string: json)) == nil)
    }

    @Test func truncatedBodiesAreReadOrRejected() {
        for one in ErrorBodyTests.cases {
            let bytes = Array(one.json.utf8)
            for count in 0..<bytes.count { #expect(ErrorBody(parsing: ByteBuffer(bytes: bytes[..<count])) == nil) }
        }
    }

    @Test func randomDocumentsAreReadOrRejected() {
        var random = SeededRandom(seed: 9457)
        for _ in 0..<5000 { _ = ErrorBody(ErrorBodyTests.value(&random, 4))?.summary(excluding: "") }
        for _ in 0..<2000 {
            _ = ErrorBody(parsing: ByteBuffer(bytes: random.bytes(Int.random(in: 0..<40, using: &random))))
        }
    }

    private static func value(_ random: inout SeededRandom, _ depth: Int) -> JSONValue {
        let names = [
            "error", "errors", "message", "detail", "code", "type", "title", "path", "field", "source", "token",
        ]
        switch Int.random(in: 0..<(depth > 0 ? 9 : 4), using: &random) {
        case 0: return .null
        case 1: return .integer(7)
        case 2: return .string("x")
        case 3: return .number(0.5)
        case 4, 5: return .array((0..<3).map { _ in value(&random, depth - 1) })
        default:
            return .object(
                (0..<3).map { _ in
                    .init(names[Int.random(in: 0..<names.count, using: &random)], value(&random, depth - 1))
                })
        }
    }
}
