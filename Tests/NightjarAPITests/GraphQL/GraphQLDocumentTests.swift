import Testing

@testable import NightjarAPI

/// Executable GraphQL documents. GraphQL specification (October 2021) section 2.
@Suite struct GraphQLDocumentTests {
    /// Uses all forms of the syntax.
    static let full = """
        # A comment
        query Q($id: ID!, $tags: [String!]! = ["a", "b"] @d, $input: In = {a: 1, b: {c: [null, true, RED]}}) @live(x: -1.5e3) {
          first: article(id: $id, filter: {tags: $tags}, text: "a\\"{", block: \"""
            { \\\""" }
          \""") @include(if: $flag) { ...Part, ... on Node { id } ... @skip(if: false) { x } ... { y } }
        }
        fragment Part on Article @f { comments(after: $cursor) { nodes { id } } }
        mutation M { run }
        subscription S { events { id } }
        """

    @Test func operationsAreRead() throws {
        let document = try GraphQLDocument(parsing: Self.full)
        #expect(document.operations.map(\.name) == ["Q", "M", "S"])
        #expect(document.operations.map(\.kind) == [.query, .mutation, .subscription])
        let query = try document.operation("Q")
        #expect(query.variables.map(\.name) == ["id", "tags", "input"])
        #expect(query.variables.map(\.type.description) == ["ID!", "[String!]!", "In"])
        #expect(query.variables.map(\.hasDefault) == [false, true, true])
        let article = try #require(document.fields(of: query.selections).first)
        #expect(article.key == "first" && article.name == "article")
        #expect(article.variables.map(\.argument) == ["id"] && article.variables.map(\.variable) == ["id"])
        #expect(document.fields(of: article.selections).map(\.name) == ["comments", "id", "x", "y"])
    }

    @Test func anonymousQueryIsRead() throws {
        let operation = try GraphQLDocument(parsing: "\u{FEFF}{ a, b }").operation(nil)
        #expect(operation.kind == .query && operation.name == nil && operation.selections.count == 2)
    }

    /// Each text that ends early is an error, and no text stops the parser.
    @Test func truncatedDocumentsAreRejected() {
        let bytes = Array(Self.full.utf8)
        let ends = ["fragment", "mutation", "subscription"].compactMap { definition in
            Self.full.firstRange(of: "\n\(definition)").map {
                Self.full.utf8.distance(from: Self.full.startIndex, to: $0.lowerBound)
            }
        }
        for count in 0..<bytes.count {
            let text = String(decoding: bytes[..<count], as: UTF8.self)
            let isWhole = ends.contains { $0 <= count && bytes[$0..<count].allSatisfy { $0 == UInt8(ascii: "\n") } }
            guard !isWhole else { continue }
            #expect(throws: NightjarError.self, "\(text)") { try GraphQLDocument(parsing: text) }
        }
    }

    @Test(arguments: [
        ("", "the GraphQL document has no operation; write query { ... }"),
        ("fragment A on B { c }", "the GraphQL document has no operation; write query { ... }"),
        ("{ }", "the GraphQL document is invalid: expected a field, found \"}\" at line 1 column 3"),
        (
            "{ a }\n  x",
            "the GraphQL document is invalid: \"x\" does not begin an executable definition (query, mutation, subscription, fragment) at line 2 column 3"
        ),
        (
            "type A { b: C }",
            "the GraphQL document is invalid: \"type\" does not begin an executable definition (query, mutation, subscription, fragment) at line 1 column 1"
        ),
        ("{ a(b: ) }", "the GraphQL document is invalid: expected a value, found \")\" at line 1 column 8"),
        ("{ a ~ }", "the GraphQL document is invalid: the character \"~\" is not allowed at line 1 column 5"),
        ("{ a(b: \"c) }", "the GraphQL document is invalid: a string has no end at line 1 column 8"),
        ("{ a(b: 1x) }", "the GraphQL document is invalid: a number is invalid at line 1 column 8"),
        ("{ a .. b }", "the GraphQL document is invalid: expected \"...\" at line 1 column 5"),
        ("query ($a: [B) { c }", "the GraphQL document is invalid: expected \"]\", found \")\" at line 1 column 14"),
        (
            "fragment on on A { b }",
            "the GraphQL document is invalid: expected fragment NAME on TYPE at line 1 column 13"
        ),
        (
            "query A { b } { c }",
            "the GraphQL document has several operations, and one has no name; give each operation a name"
        ),
    ]) func invalidDocumentsAreRejected(text: String, message: String) {
        let error = #expect(throws: NightjarError.self) { try GraphQLDocument(parsing: text) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message == message)
    }

    @Test func deepDocumentsAreRejected() {
        for (open, close) in [("{ a ", "}"), ("{ a(b: [", "]"), ("query($a: [", "]")] {
            let text = String(repeating: open, count: 5000) + String(repeating: close, count: 5000)
            #expect(throws: NightjarError.self) { try GraphQLDocument(parsing: text) }
        }
        let values = "{ a(b: " + String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000) + ") }"
        let error = #expect(throws: NightjarError.self) { try GraphQLDocument(parsing: values) }
        #expect(error?.message.contains("nested too deeply") == true)
    }

    @Test func longDocumentIsRejected() {
        let error = #expect(throws: NightjarError.self) {
            try GraphQLDocument(parsing: "{ a #" + String(repeating: "x", count: GraphQLLexer.maximumLength) + "\n}")
        }
        #expect(error?.kind == .tooLarge)
    }

    @Test func unknownOperationIsRejected() throws {
        let document = try GraphQLDocument(parsing: "query Articles { a } query Users { b }")
        let unknown = #expect(throws: NightjarError.self) { try document.operation("Article") }
        #expect(unknown?.message == "the GraphQL document has no operation \"Article\"; did you mean \"Articles\"?")
        let unnamed = #expect(throws: NightjarError.self) { try document.operation(nil) }
        #expect(
            unnamed?.message
                == "the GraphQL document has 2 operations (Articles, Users); set operation_name to one of them")
    }

    /// Fragments may refer to each other; the server rejects them.
    @Test func cyclicFragmentsEnd() throws {
        let document = try GraphQLDocument(parsing: "{ ...A } fragment A on T { ...B x } fragment B on T { ...A y }")
        #expect(document.fields(of: document.operations[0].selections).map(\.name) == ["y", "x"])
    }
}
