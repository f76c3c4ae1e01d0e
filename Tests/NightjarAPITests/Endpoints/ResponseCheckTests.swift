import NIOCore
import Synchronization
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

@Suite struct ResponseCheckTests {
    private func response(_ body: String) throws -> Response {
        let url = try RequestURL("http://a.example/a")
        var head = ResponseHead(status: 200)
        try head.headers.set("Content-Type", "application/json")
        return Response(head: head, body: ByteBuffer(string: body), url: url)
    }

    private func check(_ schema: String, _ body: String) throws -> ResponseCheck {
        try #require(
            ResponseCheck(try response(body), by: nil, and: try JSONSchema(parsing: schema), isEither: true))
    }

    @Test func smallResponseIsCheckedImmediately() throws {
        var check = try check(#"{"type":"array"}"#, "[1]")
        var problems = check.short()
        #expect(try #require(problems).requested == nil)
        check = try self.check(#"{"type":"array"}"#, "{}")
        problems = check.short()
        #expect(
            try #require(problems).requested?.message
                == "the JSON is not as expected: expected an array, found an object")
    }

    @Test func largeResponseIsCheckedOnAThread() throws {
        let text = "\"" + String(repeating: "x", count: ResponseCheck.shortLength - 2) + "\""
        var check = try check(#"{"type":"array"}"#, text)
        #expect(check.short() != nil)
        check = try self.check(#"{"type":"array"}"#, text + " ")
        #expect(check.short() == nil)
        #expect(
            check.whole { true }.requested?.message == "the JSON is not as expected: expected an array, found a string")
    }

    @Test func expensiveCheckRunsOnAThread() throws {
        // Each level doubles the number of schemas that apply to the value. The last number exceeds the step limit of a
        // short check.
        var schema = #"{"type":"string"}"#
        for _ in 0..<12 { schema = #"{"anyOf":[\#(schema),\#(schema)]}"# }
        var check = try check(schema, "1")
        #expect(check.short() == nil)
        #expect(
            check.whole { true }.requested?.message
                == "the JSON is not as expected: expected a string, found an integer")
    }

    @Test func unreadSchemaIsReadOnAThread() throws {
        let schema = try JSONSchema(parsing: #"{"type":"array"}"#)
        let deferred = DeferredSchema { () throws(NightjarError) in schema }
        var operation = Operation("list", .get, "/list")
        var reply = ResponseDescription(nil)
        reply.schemas = [("application/json", deferred)]
        operation.responses = [reply]
        var check = try #require(
            ResponseCheck(try response("1"), by: ResponseContract(operation), and: nil, isEither: true))
        #expect(check.short() == nil)
        #expect(check.whole { true }.described?.message.hasSuffix("expected an array, found an integer") == true)
        #expect(deferred.isRead)
        let problems = check.short()
        #expect(try #require(problems).described != nil)
    }

    @Test func abandonedCheckEnds() throws {
        var schema = #"{"type":"string"}"#
        for _ in 0..<14 { schema = #"{"anyOf":[\#(schema),\#(schema)]}"# }
        var check = try check(schema, "1")
        let requested = Atomic<Int>(0)
        _ = check.whole { requested.add(1, ordering: .relaxed).newValue < 3 }
        #expect(requested.load(ordering: .relaxed) == 3)
    }

    @Test func schemaErrorIsStored() throws {
        let reads = Atomic<Int>(0)
        let deferred = DeferredSchema { () throws(NightjarError) in
            reads.add(1, ordering: .relaxed)
            throw NightjarError(.invalidArgument, "no")
        }
        for _ in 0..<3 { #expect(throws: NightjarError.self) { try deferred.get() } }
        #expect(reads.load(ordering: .relaxed) == 1)
    }
}
