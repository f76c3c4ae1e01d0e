import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

@Suite struct OperationDescriptionTests {
    private func create() throws -> Operation {
        var operation = Operation("create", .post, "/articles/{kind}")
        let kind = try JSONSchema(parsing: #"{"enum":["news","story"]}"#)
        var page = Parameter(
            "page", in: .query, schema: DeferredSchema(try JSONSchema(parsing: #"{"type":"integer"}"#)))
        page.defaultValue = 1
        page.example = 7
        operation.parameters = [Parameter("kind", in: .path, schema: DeferredSchema(kind)), page]
        let body = try JSONSchema(
            parsing: #"{"type":"object","required":["title"],"properties":{"title":{"type":"string","minLength":2}}}"#)
        operation.content = RequestContent([.init("application/json", schema: DeferredSchema(body))], isRequired: true)
        operation.summary = "Makes one"
        return operation
    }

    @Test func examplesAreDescribedOrGenerated() throws {
        let operation = try create()
        let json = operation.json
        guard case .array(let parameters) = json["parameters"], let example = json["body"]?["example"] else {
            Issue.record("\(json)")
            return
        }
        #expect(parameters.map { $0["example"] } == ["news", 7])
        #expect(json["unchecked"] == nil)
        // The example can be sent.
        let request = try operation.request(Arguments([("kind", "news")], body: .value(example)))
        #expect(request.target == "/articles/news?page=1")
    }

    @Test func helpHasALineForEachParameter() throws {
        #expect(
            try create().help == """
                create(kind: string, page?: integer = 1)
                POST /articles/{kind}
                Makes one
                  kind (path, required)
                  page (query)
                  body (application/json, required)
                """)
    }
}
