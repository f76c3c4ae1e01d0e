import NIOCore
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

@Suite struct OperationRequestTests {
    private func schema(_ text: String) throws -> DeferredSchema { DeferredSchema(try JSONSchema(parsing: text)) }

    private func article() throws -> Operation {
        var operation = Operation("article", .get, "/articles/{id}")
        operation.parameters = [
            Parameter("id", in: .path, schema: try schema(#"{"type":"integer","minimum":1}"#)),
            Parameter("page", in: .query, schema: try schema(#"{"type":"integer"}"#)),
            Parameter("sort", in: .query, schema: try schema(#"{"type":"string","enum":["new","old"]}"#)),
            Parameter("X-Trace", in: .header, schema: try schema(#"{"type":"string"}"#)),
            Parameter("theme", in: .cookie),
        ]
        return operation
    }

    private func message(_ operation: Operation, _ arguments: Arguments) -> String {
        do {
            _ = try operation.request(arguments)
            return "no error"
        } catch {
            #expect(error.kind == .invalidRequest)
            return error.message
        }
    }

    @Test func bodyMemberIsNotAParameter() throws {
        var operation = Operation("createChatCompletion", .post, "/chat/completions")
        let schema = try schema(
            #"{"type":"object","properties":{"messages":{"type":"array"},"model":{"type":"string"}}}"#)
        operation.content = RequestContent([.init("application/json", schema: schema)])
        operation.parameters = [Parameter("message", in: .query)]
        #expect(
            message(operation, ["messages": JSONValue.array([])])
                == "endpoint \"createChatCompletion\" has no parameter \"messages\"; it is a member of the body; set it "
                + "in the body")
        #expect(operation.memberOfBody(in: ["message": 1, "messages": 2]) == "messages")
        #expect(operation.memberOfBody(in: ["message": 1, "other": 2]) == nil)
        #expect(operation.memberOfBody(in: Arguments([("messages", 1)], body: .value(1))) == nil)
    }

    // MARK: Requests

    @Test func parametersAreSentInTheirLocations() throws {
        let request = try article().request([
            "id": 42, "page": 2, "sort": "new", "X-Trace": "abc d", "theme": "dark; x",
        ])
        #expect(request.method == .get)
        #expect(request.target == "/articles/42?page=2&sort=new")
        #expect(request.headers["x-trace"] == "abc d")
        #expect(request.cookies == ["theme=dark%3B%20x"])
        #expect(request.headers["cookie"] == nil)
    }

    @Test func defaultsAreSentForMissingParameters() throws {
        var operation = try article()
        operation.parameters[1].defaultValue = .integer(1)
        #expect(try operation.request(["id": 1]).target == "/articles/1?page=1")
        #expect(try operation.request(["id": 1, "page": JSONValue.null]).target == "/articles/1?page=1")
        #expect(try operation.request(["id": 1, "page": 3]).target == "/articles/1?page=3")
        operation.parameters[1].sendsDefault = false
        #expect(try operation.request(["id": 1]).target == "/articles/1")
        operation.parameters[1].isRequired = true
        #expect(try operation.request(["id": 1]).target == "/articles/1?page=1")
    }

    @Test func textsAreConvertedToTheSchemaType() throws {
        var operation = try article()
        operation.parameters += [
            Parameter("all", in: .query, schema: try schema(#"{"type":"boolean"}"#)),
            Parameter("ids", in: .query, schema: try schema(#"{"type":"array","items":{"type":"integer"}}"#)),
            Parameter("ratio", in: .query, schema: try schema(#"{"type":"number"}"#)),
        ]
        let request = try operation.request([
            "id": "42", "all": "true", "ids": "[1,2]", "ratio": "0.5", "page": 7.0,
        ])
        #expect(request.target == "/articles/42?page=7&all=true&ids=1&ids=2&ratio=0.5")
        #expect(try operation.request(["id": "1", "ids": ["3", 4] as JSONValue]).target == "/articles/1?ids=3&ids=4")
        #expect(
            message(operation, ["id": "4x"])
                == #"endpoint "article": parameter "id" must be an integer, found a string"#)
        #expect(
            message(operation, ["id": " 42"])
                == #"endpoint "article": parameter "id" must be an integer, found a string"#)
        #expect(
            message(operation, ["id": 1, "all": 1])
                == #"endpoint "article": parameter "all" must be a boolean, found an integer"#)
        #expect(
            message(operation, ["id": 1, "sort": 1])
                == #"endpoint "article": parameter "sort" must be a string, found an integer"#)
        #expect(
            message(operation, ["id": 1, "ids": [1, "x"] as JSONValue])
                == #"endpoint "article": parameter "ids" at "/1" must be an integer, found a string"#)
    }

    @Test func severalParametersMayShareASegment() throws {
        let file = Operation("file", .get, "/{owner}/{repo}.{format}")
        #expect(try file.request(["owner": "a", "repo": "b", "format": "zip"]).target == "/a/b.zip")
        let report = Operation("report", .get, "/report({id})/rows('{key}')")
        #expect(try report.request(["id": 7, "key": "x y"]).target == "/report(7)/rows('x%20y')")
    }

    @Test func serverOfTheOperationReplacesTheBaseURL() throws {
        var operation = try article()
        operation.server = "https://files.example/v2/"
        #expect(try operation.request(["id": 1]).target == "https://files.example/v2/articles/1")
    }

    @Test func queryOfThePathPrecedesParameters() throws {
        let operation = Operation("a", .get, "/a?action=list#part")
        #expect(try operation.request().target == "/a?action=list")
        var other = Operation("b", .get, "/b?action=list")
        other.parameters = [Parameter("page", in: .query)]
        #expect(try other.request(["page": 1]).target == "/b?action=list&page=1")
    }

    @Test func contentOfAParameterIsJSON() throws {
        var operation = Operation("search", .get, "/search")
        operation.parameters = [Parameter("filter", in: .query), Parameter("X-Filter", in: .header)]
        for index in 0...1 { operation.parameters[index].mediaType = "application/json" }
        let request = try operation.request(["filter": JSONValue.object([.init("a", .integer(1))]), "X-Filter": "b"])
        #expect(request.target == "/search?filter=%7B%22a%22%3A1%7D")
        #expect(request.headers["X-Filter"] == "\"b\"")
    }

    @Test func fieldsOfTheRequestArePreserved() throws {
        var operation = try article()
        operation.timeouts = Timeouts(idle: .seconds(5), total: .seconds(9))
        operation.cachePolicy = .reload
        operation.requiresAuth = false
        operation.isIdempotent = true
        operation.responses = [ResponseDescription(StatusRange(200))]
        operation.responses[0].schemas = [("application/json", nil)]
        var request = Request(.post, "/elsewhere/{x}")
        request.parameters = [("x", "1")]
        request.query = [("debug", "1")]
        request.timeouts.total = .seconds(1)
        request.cachePolicy = .cacheOnly
        request.expectedStatuses = [StatusRange(404)]
        try request.headers.set("X-Trace", "mine")
        try request.headers.set("Cookie", "a=b")
        try request.headers.set("Accept", "text/csv")
        try operation.apply(["id": 3, "theme": "dark"], to: &request)
        #expect(request.method == .get)
        #expect(request.target == "/articles/3")
        #expect(request.parameters.isEmpty)
        #expect(request.query.map(\.name) == ["debug"])
        #expect(request.timeouts == Timeouts(idle: .seconds(5), total: .seconds(1)))
        #expect(request.cachePolicy == .cacheOnly)
        #expect(request.expectedStatuses == [StatusRange(404)])
        #expect(request.headers["X-Trace"] == "mine")
        #expect(request.headers["Cookie"] == "a=b")
        #expect(request.cookies == ["theme=dark"])
        #expect(request.headers["Accept"] == "text/csv")
        #expect(!request.usesAuth)
        #expect(request.isIdempotent)
        let before = request.target
        #expect(throws: NightjarError.self) { try operation.apply(["idd": 1], to: &request) }
        #expect(request.target == before)
    }

    @Test func requestFieldProvidesAParameter() throws {
        var operation = try article()
        operation.parameters[3].isRequired = true
        var request = Request(.get, "")
        try request.headers.set("x-trace", "mine")
        try operation.apply(["id": 1], to: &request)
        #expect(request.headers["X-Trace"] == "mine")
        try operation.apply(["id": 1, "x-trace": "other"], to: &request)
        #expect(request.headers["X-Trace"] == "other")
    }

    @Test func acceptListsResponseTypesJSONFirst() throws {
        var operation = Operation("a", .get, "/a")
        var found = ResponseDescription(StatusRange(200, 299))
        found.schemas = [("text/csv", nil), ("application/vnd.api+json", nil)]
        var missing = ResponseDescription(StatusRange(404))
        missing.schemas = [("application/problem+json", nil)]
        operation.responses = [found, missing]
        #expect(try operation.request().headers["Accept"] == "application/vnd.api+json, text/csv;q=0.5")
        operation.responses[0].schemas = [("*/*", nil)]
        #expect(try operation.request().headers["Accept"] == nil)
        operation.responses = []
        #expect(try operation.request().headers["Accept"] == nil)
    }

    // MARK: Errors

    @Test func errorsNameTheEndpointAndTheParameter() throws {
        let operation = try article()
        #expect(
            message(operation, [:]) == #"endpoint "article": the parameter "id" in the path is missing"#)
        #expect(
            message(operation, ["id": true])
                == #"endpoint "article": parameter "id" must be an integer, found a boolean"#)
        #expect(
            message(operation, ["id": 0])
                == #"endpoint "article": parameter "id" must be a number of at least 1, found a smaller one"#)
        #expect(
            message(operation, ["id": 1, "pge": 2])
                == #"endpoint "article" has no parameter "pge"; did you mean "page"?"#)
        #expect(
            message(operation, ["id": 1, "something": 2])
                == #"endpoint "article" has no parameter "something"; "#
                + #"its parameters are "id", "page", "sort", "X-Trace", "theme""#)
        #expect(
            message(Operation("ping", .get, "/ping"), ["x": 2])
                == #"endpoint "ping" has no parameter "x"; it takes no parameters"#)
        #expect(
            message(operation, ["id": 1, "sort": "newest"])
                == #"endpoint "article": parameter "sort" must be one of "new", "old", found "newest""#)
    }

    @Test func sharedParameterNamesAreQualified() throws {
        var operation = Operation("copy", .post, "/items/{id}")
        operation.parameters = [Parameter("id", in: .path), Parameter("id", in: .query)]
        #expect(
            message(operation, ["id": 1])
                == #"endpoint "copy": there are 2 parameters named "id"; use "path.id" or "query.id""#)
        #expect(try operation.request(["path.id": 1, "query.id": 2]).target == "/items/1?id=2")
        #expect(
            message(operation, ["path.id": 1, "path.id": 2])
                == #"endpoint "copy": parameter "path.id" is set twice"#)
    }

    @Test(arguments: ["", ".", ".."]) func valuesCannotChangeThePath(_ value: String) throws {
        let operation = Operation("user", .delete, "/users/{name}")
        let problem =
            value.isEmpty
            ? "is empty, which would remove a segment of the path"
            : "makes a path segment . or .., which would select another path"
        #expect(
            message(operation, ["name": value])
                == "endpoint \"user\": the value of parameter \"name\" \(problem)")
    }

    @Test func valuesCannotFormDotSegments() throws {
        let operation = Operation("file", .get, "/{name}.{ending}")
        #expect(message(operation, ["name": "", "ending": ""]).contains("another path"))
        #expect(message(operation, ["name": ".", "ending": ""]).contains("another path"))
        #expect(try operation.request(["name": "..", "ending": ""]).target == "/...")
        #expect(try operation.request(["name": "../..", "ending": "%2e"]).target == "/..%2F...%252e")
    }

    @Test func secretsAreNotShown() throws {
        var operation = Operation("login", .get, "/login")
        operation.parameters = [
            Parameter("X-Api-Key", in: .header, schema: try schema(#"{"enum":["k1","k2"]}"#)),
            Parameter("token", in: .query, schema: try schema(#"{"enum":["t1"]}"#)),
        ]
        #expect(!message(operation, ["X-Api-Key": "hunter2"]).contains("hunter2"))
        #expect(!message(operation, ["token": "hunter2"]).contains("hunter2"))
        #expect(
            message(operation, ["X-Api-Key": "hunter2\n"])
                == #"endpoint "login": parameter "X-Api-Key" must be one of "k1", "k2", found a string"#)
        operation.parameters[0].schema = nil
        #expect(
            message(operation, ["X-Api-Key": "hunter2\r\nX: y"])
                == #"endpoint "login": the name or value of parameter "X-Api-Key" contains a character that is not "#
                + "allowed in a header field"
        )
    }
}
