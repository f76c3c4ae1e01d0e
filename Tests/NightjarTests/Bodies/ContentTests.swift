import NIOCore
import Testing

@testable import Nightjar

/// Checks of response bodies against the caller's schema, and error messages from the server.
@Suite struct ContentTests {
    private func outcome(
        _ status: Int, _ body: String, _ change: (inout Request) throws -> Void = { _ in }
    ) async throws -> NightjarError? {
        var configuration = Configuration()
        configuration.baseURL = "http://api.test/v1"
        configuration.retry.maximumAttempts = 1
        let steps: [ScriptedTransport.Step] = [.head(status), .body(body), .end]
        let transport = ScriptedTransport([steps])
        let client = try Client(configuration) { _ in transport }
        var request = Request(.get, "/x")
        try change(&request)
        do {
            _ = try await client.send(request)
            return nil
        } catch {
            return error
        }
    }

    private let schema = #"{"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}"#

    @Test(
        arguments: [
            (#"{"id": 1}"#, nil), ("", nil), (" ", nil),
            (#"{"id": "1"}"#, #"the JSON is not as expected: at "/id": expected an integer, found a string"#),
            ("{}", #"the JSON is not as expected: at "/id": expected an integer, found nothing"#),
            ("[]", "the JSON is not as expected: expected an object, found an array"),
        ] as [(String, String?)])
    func responseIsCheckedAgainstTheSchema(body: String, message: String?) async throws {
        let error = try await outcome(200, body) { $0.schema = try JSONSchema(parsing: schema) }
        #expect(error?.message == message)
        guard let error else { return }
        #expect(error.kind == .decoding && error.status == 200 && error.response?.text == body)
        #expect(!error.isRetryable && error.url == "http://api.test/v1/x" && error.attempts == 1)
    }

    @Test func schemaDoesNotApplyToErrors() async throws {
        let error = try await outcome(404, "{}") { $0.schema = try JSONSchema(parsing: schema) }
        #expect(error?.kind == .notFound)
    }

    @Test func schemaMayBeAnOption() async throws {
        let error = try await outcome(200, "[1]") { try $0.merge(json: #"{"schema": {"items": {"type": "string"}}}"#) }
        #expect(error?.message == #"the JSON is not as expected: at "/0": expected a string, found an integer"#)
        var request = Request(.get, "/x")
        let rejection = #expect(throws: NightjarError.self) {
            try request.merge(json: #"{"schema": {"type": "text"}}"#)
        }
        #expect(rejection?.kind == .invalidArgument)
        #expect(rejection?.message.hasPrefix(#"option "schema": the schema"#) == true)
    }

    @Test func streamCannotBeChecked() throws {
        let client = try Client(Configuration()) { _ in ScriptedTransport([]) }
        var request = Request(.get, "http://h/")
        request.schema = try JSONSchema(parsing: "{}")
        var handlers = TaskHandlers { _, _ in }
        handlers.body = { _, _ in }
        let error = #expect(throws: NightjarError.self) { try client.start(request, on: nil, handlers) }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func messageOfTheServerIsReported() async throws {
        let error = try await outcome(
            422,
            #"{"title": "Not valid", "detail": "two\nfields", "errors": [{"field": "title", "message": "is empty"}]}"#)
        #expect(error?.details?.title == "Not valid")
        #expect(error?.details?.fields == [.init("title", "is empty")])
        #expect(error?.message == #"GET returned 422 Unprocessable Content: "Not valid: two\nfields; title: is empty""#)
        let long = try await outcome(500, #"{"message": "\#(String(repeating: "x", count: 5000))"}"#)
        #expect(long?.message.utf8.count ?? 0 < 250)
        let nothing = try await outcome(500, "<html>")
        #expect(nothing?.details == nil && nothing?.message == "GET returned 500 Internal Server Error")
        let unregistered = try await outcome(499, "")
        #expect(unregistered?.message == "GET returned 499")
    }
}
