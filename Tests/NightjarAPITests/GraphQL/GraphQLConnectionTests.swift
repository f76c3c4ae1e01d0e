import NIOCore
import NightjarHTTP
import Testing

@testable import NightjarAPI

/// Connections as lists. GraphQL Cursor Connections Specification.
@Suite struct GraphQLConnectionTests {
    private func options(_ document: String, at location: String? = nil) throws -> String {
        let parsed = try GraphQLDocument(parsing: document)
        let found = try parsed.connection(of: parsed.operation(nil), at: location.map { try JSONPointer($0) })
        return String(buffer: try found.options.encoded())
    }

    @Test(arguments: [
        (
            "query($c: String) { list(first: 2, after: $c) { pageInfo { endCursor hasNextPage } nodes { id } } }",
            #"{"style":"cursor","items":"/data/list/nodes","next":"/data/list/pageInfo/endCursor","more":"/data/list/pageInfo/hasNextPage","body_param":"/variables/c"}"#
        ),
        (
            "query($c: String) { v: user { l: list(after: $c) { p: pageInfo { e: endCursor } x: edges { n: node { id } } } } }",
            #"{"style":"cursor","items":"/data/v/l/x","item":"/n","next":"/data/v/l/p/e","body_param":"/variables/c"}"#
        ),
        (
            "query($c: String) { list(last: 2, before: $c) { ...P edges { cursor } } } fragment P on L { pageInfo { hasPreviousPage startCursor } }",
            #"{"style":"cursor","items":"/data/list/edges","next":"/data/list/pageInfo/startCursor","more":"/data/list/pageInfo/hasPreviousPage","body_param":"/variables/c"}"#
        ),
    ]) func connectionIsFound(document: String, expected: String) throws { #expect(try options(document) == expected) }

    @Test(arguments: [
        "{ list { nodes { id } } }", "{ list(after: \"x\") { pageInfo { endCursor } nodes { id } } }",
        "query($c: String) { list(after: $c) { pageInfo { startCursor } nodes { id } } }",
        "query($c: String) { list(after: $c) { pageInfo { endCursor } } }",
    ]) func otherFieldsAreNotConnections(document: String) {
        let error = #expect(throws: NightjarError.self) { try options(document) }
        #expect(error?.kind == .invalidArgument && error?.message.contains("has no connection") == true)
    }

    @Test func severalConnectionsRequireALocation() throws {
        let part = "pageInfo { endCursor } nodes { id }"
        let document = "query($a: ID, $b: ID) { x(after: $a) { \(part) } y { z(after: $b) { \(part) } } }"
        let error = #expect(throws: NightjarError.self) { try options(document) }
        #expect(error?.message == "the GraphQL operation has 2 connections; set at to one of \"/x\", \"/y/z\"")
        #expect(try options(document, at: "/y/z").contains("\"body_param\":\"/variables/b\""))
        #expect(throws: NightjarError.self) { try options(document, at: "/y") }
    }

    /// A document whose fragments repeat each other does not take exponential time.
    @Test func repeatedFragmentsEnd() throws {
        var document = "{ ...F0 }"
        for index in 0..<200 {
            document += " fragment F\(index) on T { a { ...F\(index + 1) } b { ...F\(index + 1) } }"
        }
        #expect(throws: NightjarError.self) { try options(document) }
    }

    @Test func cursorIsSetInTheBody() throws {
        var pagination = Pagination()
        let document = "query($c: String) { l(after: $c) { pageInfo { endCursor hasNextPage } edges { node { id } } } }"
        let parsed = try GraphQLDocument(parsing: document)
        try parsed.connection(of: parsed.operation(nil), at: nil).apply(to: &pagination)
        let conversation = try Conversation(pagination)
        func page(_ ids: [Int], _ cursor: String, _ more: Bool) -> String {
            let edges = ids.map { "{\"node\": {\"id\": \($0)}}" }.joined(separator: ",")
            return
                "{\"data\":{\"l\":{\"pageInfo\":{\"endCursor\":\"\(cursor)\",\"hasNextPage\":\(more)},\"edges\":[\(edges)]}}}"
        }
        conversation.read([page([1, 2], "x", true), page([3], "y", false)])
        #expect(conversation.error == nil)
        #expect(conversation.targets.map(\.bodyValue) == [nil, "x"])
        #expect(conversation.pages == [["{\"id\": 1}", "{\"id\": 2}"], ["{\"id\": 3}"]])
        let body = try JSONPointer("/variables/c").setting(
            "x", in: ByteBuffer(string: #"{"query":"q","variables":{"n":1}}"#))
        #expect(String(buffer: body) == #"{"query":"q","variables":{"n":1,"c":"x"}}"#)
        let created = try JSONPointer("/variables/c").setting("x", in: ByteBuffer(string: #"{"query":"q"}"#))
        #expect(String(buffer: created) == #"{"query":"q","variables":{"c":"x"}}"#)
    }

    @Test(arguments: [
        (Pagination.Style.guess, "body_param requires the style page, offset, cursor or header; set style"),
        (.link, "body_param requires the style page, offset, cursor or header; set style"),
        (.cursor, "only one of body_param, param and request_header may be set"),
    ]) func bodyParameterRequiresAFittingStyle(style: Pagination.Style, message: String) throws {
        var pagination = Pagination(style)
        pagination.bodyParameter = try JSONPointer("/page")
        if style == .cursor { pagination.parameter = "cursor" }
        let error = #expect(throws: NightjarError.self) { try Conversation(pagination) }
        #expect(error?.message == message)
    }

    @Test func pageNumbersAreSetInTheBody() throws {
        var pagination = Pagination(.page)
        pagination.items = try JSONPointer("/items")
        pagination.bodyParameter = try JSONPointer("/page")
        let conversation = try Conversation(pagination)
        conversation.read([#"{"items": [1, 2]}"#, #"{"items": [3]}"#, #"{"items": []}"#])
        #expect(conversation.targets.map(\.bodyValue) == [nil, 2, 3])
        #expect(Set(conversation.requested) == ["/list"])
    }

    @Test func bodyIsPartOfTheState() throws {
        var pagination = Pagination(.cursor)
        pagination.bodyParameter = try JSONPointer("/c")
        let url = try RequestURL("https://api.example/graphql")
        let state = try PageTraversal(pagination, first: url, method: .post, body: ByteBuffer(string: "{}")).state
        _ = try PageTraversal(pagination, first: url, method: .post, body: ByteBuffer(string: "{}"), resuming: state)
        #expect(throws: NightjarError.self) {
            try PageTraversal(pagination, first: url, method: .post, body: ByteBuffer(string: "{ }"), resuming: state)
        }
    }

    @Test func elementWithoutItemIsRejected() throws {
        var pagination = Pagination(.cursor)
        pagination.items = JSONPointer()
        pagination.item = try JSONPointer("/node")
        let conversation = try Conversation(pagination)
        conversation.read([#"[{"node": 1}, {}]"#])
        #expect(
            conversation.error?.message
                == "element 1 of page 1 has nothing at \"/node\", where its item was expected; check the option item")
    }
}
