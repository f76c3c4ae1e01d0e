import Foundation
import NightjarTestSupport
import Testing

/// `/graphql` of the demo API.
@Suite struct GraphQLTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func send(
        _ query: String, variables: String = "null", operation: String? = nil,
        accept: String = "application/graphql-response+json"
    ) throws -> CurlResponse {
        var request: [String: Any] = ["query": query]
        request["variables"] = try JSONSerialization.jsonObject(with: Data(variables.utf8), options: .fragmentsAllowed)
        request["operationName"] = operation
        let body = try JSONSerialization.data(withJSONObject: request)
        return try demo.curl(
            "/graphql",
            ["-X", "POST", "-H", "Content-Type: application/json", "-H", "Accept: \(accept)", "--data-binary", "@-"],
            input: Bytes(body))
    }

    /// The data as compact JSON with sorted names.
    private func data(_ query: String, variables: String = "null", operation: String? = nil) throws -> String {
        let response = try send(query, variables: variables, operation: operation)
        #expect(response.status == 200)
        let json = try response.json
        #expect(json["errors"] == nil, "\(response.text)")
        return try text(json["data"])
    }

    private func text(_ value: Any?) throws -> String {
        let bytes = try JSONSerialization.data(
            withJSONObject: try #require(value), options: [.sortedKeys, .fragmentsAllowed, .withoutEscapingSlashes])
        return String(decoding: bytes, as: UTF8.self)
    }

    private func failures(_ response: CurlResponse) throws -> [[String: Any]] {
        try #require(try response.json["errors"] as? [[String: Any]])
    }

    // MARK: Queries

    @Test(arguments: [
        ("{ article(id: 1) { id author { handle } } }", #"{"article":{"author":{"handle":"HANDLE"},"id":"1"}}"#),
        (#"query { a: article(id: "2") { id } b: article(id: 99999) { id } }"#, #"{"a":{"id":"2"},"b":null}"#),
        (
            "{ article(id: 1) { ...Part } } fragment Part on Article { id __typename }",
            #"{"article":{"__typename":"Article","id":"1"}}"#
        ),
        (
            "{ node(id: \"User:1\") { __typename ... on User { handle } ... on Article { title } } }",
            #"{"node":{"__typename":"User","handle":"ada"}}"#
        ),
        (
            "{ article(id: 1) { id @skip(if: true) globalId @include(if: true) } }",
            #"{"article":{"globalId":"Article:1"}}"#
        ),
        (
            "{ article(id: 1) { author { id } author { handle } } }",
            #"{"article":{"author":{"handle":"HANDLE","id":"ID"}}}"#
        ),
        (#"{ user(handle: """ada""") { id, # a comment\#n name } }"#, #"{"user":{"id":"1","name":"NAME"}}"#),
    ]) func queryIsExecuted(query: String, expected: String) throws {
        let article = try demo.curl("/v1/articles/1").json
        let author = try demo.curl("/v1/users/\(try #require(article["author_id"] as? Int))").json
        let ada = try demo.curl("/v1/users/1").json
        let expected = expected.replacing("HANDLE", with: "\(author["handle"] ?? "")")
            .replacing("\"ID\"", with: "\"\(author["id"] ?? "")\"").replacing("NAME", with: "\(ada["name"] ?? "")")
        #expect(try data(query) == expected)
    }

    @Test func variablesHaveTypesAndDefaultValues() throws {
        let query = """
            query Articles($first: Int = 2, $order: Order, $tag: String) {
              articles(first: $first, order: $order, tag: $tag) { nodes { id } totalCount }
            }
            query Other { users { id } }
            """
        let first = #"{"articles":{"nodes":[{"id":"1"},{"id":"2"}],"totalCount":25}}"#
        #expect(try data(query, operation: "Articles") == first)
        #expect(try data(query, variables: "{}", operation: "Articles") == first)
        let last = #"{"articles":{"nodes":[{"id":"25"}],"totalCount":25}}"#
        #expect(
            try data(query, variables: #"{"first": 1, "order": "NEWEST_FIRST"}"#, operation: "Articles") == last)
        #expect(
            try data(query, variables: #"{"tag": "no such tag"}"#, operation: "Articles")
                == #"{"articles":{"nodes":[],"totalCount":0}}"#)
    }

    @Test func connectionsHavePages() throws {
        let query = """
            query($after: String) { articles(first: 10, after: $after) {
              edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }
            """
        var ids: [String] = []
        var cursor: String?
        for page in 0..<3 {
            let variables = cursor.map { "{\"after\": \"\($0)\"}" } ?? "{}"
            let json = try send(query, variables: variables).json
            let articles = try #require((json["data"] as? [String: Any])?["articles"] as? [String: Any])
            let edges = try #require(articles["edges"] as? [[String: Any]])
            ids += edges.compactMap { ($0["node"] as? [String: Any])?["id"] as? String }
            let info = try #require(articles["pageInfo"] as? [String: Any])
            #expect(info["hasNextPage"] as? Bool == (page < 2) && info["hasPreviousPage"] as? Bool == (page > 0))
            #expect(info["startCursor"] as? String == edges.first?["cursor"] as? String)
            cursor = info["endCursor"] as? String
            #expect(cursor == edges.last?["cursor"] as? String)
        }
        #expect(ids == (1...25).map { "\($0)" })
    }

    // MARK: Writes

    @Test func mutationsChangeTheData() throws {
        let input = #"{"input": {"articleId": 1, "authorId": "2", "body": "a \"quoted\" text"}}"#
        let create = "mutation($input: CreateCommentInput!) { createComment(input: $input) { id body author { id } } }"
        #expect(
            try data(create, variables: input)
                == #"{"createComment":{"author":{"id":"2"},"body":"a \"quoted\" text","id":"61"}}"#)
        #expect(try demo.curl("/v1/comments/61").json["body"] as? String == "a \"quoted\" text")
        #expect(
            try data(
                #"mutation { updateArticle(id: 1, input: {title: "\u0041B\u{43}", summary: null}) { title summary } }"#)
                == #"{"updateArticle":{"summary":null,"title":"ABC"}}"#)
        #expect(try demo.curl("/v1/articles/1").json["title"] as? String == "ABC")
        #expect(try data("mutation { deleteComment(id: 61) }") == #"{"deleteComment":"61"}"#)
        #expect(try demo.curl("/v1/comments/61").status == 404)
        let response = try send("mutation { deleteComment(id: 61) }")
        #expect(response.status == 200 && response.text.contains(#""data":null"#))
        #expect(try failures(response).first?["message"] as? String == "there is no such comment")
        #expect(try (failures(response).first?["extensions"] as? [String: String]) == ["code": "NOT_FOUND"])
    }

    // MARK: Failures

    /// A field that fails is null, and the rest of the data is returned.
    @Test func dataOfOtherFieldsIsReturned() throws {
        let response = try send("{ article(id: 1) { id secret } users { id } }")
        #expect(response.status == 200)
        let json = try response.json
        let data = try #require(json["data"] as? [String: Any])
        #expect(try text(data["article"]) == #"{"id":"1","secret":null}"#)
        #expect((data["users"] as? [Any])?.count == 8)
        let failure = try #require(try failures(response).first)
        #expect(try text(failure["path"]) == #"["article","secret"]"#)
        #expect(try text(failure["locations"]) == #"[{"column":23,"line":1}]"#)
    }

    @Test(arguments: [
        ("{ article(id: 1) { titel } }", "the type Article has no field titel", 20),
        ("{ article { id } }", "the field article needs the argument id of the type ID!", 3),
        ("{ article(id: 1, x: 2) { id } }", "the field article has no argument x", 18),
        ("{ article(id: 1) }", "the field article of the type Article needs a selection of fields", 3),
        ("{ article(id: 1) { id { x } } }", "the field id of the type ID! has no fields", 20),
        ("{ article(id: 1) { ...Missing } }", "there is no fragment Missing", 20),
        ("{ ...A } fragment A on Query { ...A }", "the fragment A contains itself", 32),
        ("{ article(id: $id) { id } }", "the variable $id is not defined", 15),
        (
            "query($id: Int) { user(handle: $id) { id } }",
            "the variable $id has the type Int, but handle has the type String", 32
        ),
        (
            "query($id: [ID]) { article(id: $id) { id } }",
            "the variable $id has the type [ID], but id has the type ID!", 32
        ),
        ("query($id: ID) { article(id: $id) { id } }", "the variable $id has the type ID, but id has the type ID!", 30),
        ("{ users { ... on Article { id } } }", "no object of the type User has the type Article", 11),
        ("{ users { ...F } } fragment F on Article { id }", "no object of the type User has the type Article", 11),
        ("{ users { id @defer } }", "there is no directive @defer", 14),
        ("subscription { x }", "the type Subscription has no field x", 16),
        ("{ article(id: 1) { id ", "expected a field, found the end", 23),
        ("{ users { id } } x", "expected query, mutation, subscription or fragment, found the name x", 18),
        ("{ a(b: 01) }", "\"01\" is not a number", 8), ("{ a(b: \"x) }", "the string has no end", 8),
        ("{ a ? }", "the character at this place is not expected", 5),
    ]) func invalidRequestIsNotExecuted(query: String, message: String, column: Int) throws {
        let response = try send(query)
        #expect(response.status == 400)
        #expect(response["Content-Type"] == "application/graphql-response+json")
        #expect(try response.json["data"] == nil)
        let failure = try #require(try failures(response).first)
        #expect(failure["message"] as? String == message)
        #expect(try text(failure["locations"]) == "[{\"column\":\(column),\"line\":1}]")
    }

    @Test(arguments: [
        (#"{"input": {"articleId": 1, "authorId": 2}}"#, "the variable $input has no field body"),
        (
            #"{"input": {"articleId": 1, "authorId": 2, "body": 3}}"#,
            "the variable $input.body must be String, not a number"
        ),
        (
            #"{"input": {"articleId": 1, "authorId": 2, "body": "x", "y": 1}}"#,
            "the variable $input has the field y, which CreateCommentInput does not have"
        ),
        (#"{"input": null}"#, "the variable $input must not be null"), ("{}", "the variable $input has no value"),
    ]) func invalidVariableIsRejected(variables: String, message: String) throws {
        let create = "mutation($input: CreateCommentInput!) { createComment(input: $input) { id } }"
        let response = try send(create, variables: variables)
        #expect(response.status == 400)
        #expect(try failures(response).first?["message"] as? String == message)
    }

    @Test func deepRequestsAreRejected() throws {
        let query = String(repeating: "{ a", count: 5000)
        #expect(try failures(send(query)).first?["message"] as? String == "the request is nested too deeply")
    }

    /// Each fragment contains the next one twice.
    @Test func fragmentsNeedNoExponentialTime() throws {
        let fragments = (0..<40).map { "fragment F\($0) on Query { ...F\($0 + 1) ...F\($0 + 1) }" }
        let query = "{ ...F0 } \(fragments.joined(separator: " ")) fragment F40 on Query { __typename }"
        #expect(try data(query) == #"{"__typename":"Query"}"#)
    }

    // MARK: HTTP

    /// In the older format, the status is 200 also if the request was not executed.
    @Test func olderFormatIsSupported() throws {
        for (query, accept) in [("{ users { id } }", "application/json"), ("{ x }", "*/*")] {
            let response = try send(query, accept: accept)
            #expect(response.status == 200)
            #expect(response["Content-Type"] == "application/json")
        }
    }

    @Test func queriesCanBeSentByGet() throws {
        let query = "query(%24id%3AID!)%7Barticle(id%3A%24id)%7Bid%7D%7D"
        let response = try demo.curl("/graphql?query=\(query)&variables=%7B%22id%22%3A3%7D")
        #expect(response.text == #"{"data":{"article":{"id":"3"}}}"#)
        let mutation = try demo.curl("/graphql?query=mutation%7BdeleteComment(id%3A1)%7D")
        #expect(mutation.text.contains("a GET request can only have queries"))
        #expect(try demo.curl("/v1/comments/1").status == 200)
    }

    @Test(arguments: ["{}", #"{"query": 1}"#, "[]", "x"]) func bodyThatIsNoRequestIsRejected(body: String) throws {
        let response = try demo.send("POST", "/graphql", json: body)
        #expect([400, 422].contains(response.status))
        #expect(response["Content-Type"] == "application/problem+json")
    }

    // MARK: Introspection

    @Test func schemaIsDescribed() throws {
        let query = """
            { __schema { queryType { name } mutationType { name } subscriptionType { name }
                types { kind name } directives { name } }
              __type(name: "Article") { kind name interfaces { name } fields { name type { kind name ofType { name } } }
                all: fields(includeDeprecated: true) { name isDeprecated deprecationReason } } }
            """
        let json = try send(query).json
        let data = try #require(json["data"] as? [String: Any])
        let schema = try #require(data["__schema"] as? [String: Any])
        #expect(try text(schema["queryType"]) == #"{"name":"Query"}"#)
        #expect(try text(schema["subscriptionType"]) == #"{"name":"Subscription"}"#)
        let types = try #require(schema["types"] as? [[String: Any]])
        let kinds = Dictionary(uniqueKeysWithValues: types.map { ("\($0["name"] ?? "")", "\($0["kind"] ?? "")") })
        #expect(kinds["Article"] == "OBJECT" && kinds["Node"] == "INTERFACE" && kinds["Order"] == "ENUM")
        #expect(
            kinds["DateTime"] == "SCALAR" && kinds["CreateCommentInput"] == "INPUT_OBJECT"
                && kinds["__Type"] == "OBJECT")
        let article = try #require(data["__type"] as? [String: Any])
        let fields = try #require(article["fields"] as? [[String: Any]])
        #expect(
            try text(fields.first) == #"{"name":"id","type":{"kind":"NON_NULL","name":null,"ofType":{"name":"ID"}}}"#)
        #expect(!fields.contains { $0["name"] as? String == "headline" })
        let all = try #require(article["all"] as? [[String: Any]])
        #expect(
            all.contains { $0["name"] as? String == "headline" && $0["deprecationReason"] as? String == "Use title." })
    }
}
