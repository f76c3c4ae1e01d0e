import Testing

@testable import NightjarAPI

/// Completion of incomplete documents.
@Suite struct GraphQLCompletionTests {
    private static let schema = try? GraphQLSchema(
        introspection: JSONValue(
            parsing: """
                {"__schema": {"queryType": {"name": "Query"}, "mutationType": {"name": "Mutation"}, "types": [
                 {"kind": "OBJECT", "name": "Query", "fields": [
                  {"name": "article", "type": {"kind": "OBJECT", "name": "Article"}, "args": [
                   {"name": "id", "type": {"kind": "SCALAR", "name": "ID"}},
                   {"name": "order", "type": {"kind": "ENUM", "name": "Order"}},
                   {"name": "draft", "type": {"kind": "SCALAR", "name": "Boolean"}}]}]},
                 {"kind": "OBJECT", "name": "Mutation", "fields": [{"name": "run", "type": {"kind": "SCALAR", "name": "Int"}}]},
                 {"kind": "ENUM", "name": "Order", "enumValues": [{"name": "UP"}, {"name": "DOWN"}]},
                 {"kind": "OBJECT", "name": "Article", "fields": [
                  {"name": "title", "type": {"kind": "SCALAR", "name": "String"}},
                  {"name": "author", "type": {"kind": "NON_NULL", "ofType": {"kind": "OBJECT", "name": "User"}}}]},
                 {"kind": "OBJECT", "name": "User", "fields": [{"name": "handle", "type": {"kind": "SCALAR", "name": "String"}}]}
                ]}}
                """))

    private func names(_ text: String) throws -> String {
        try #require(Self.schema).completions(of: text).joined(separator: " ")
    }

    @Test(arguments: [
        ("", "fragment mutation query subscription"), ("qu", "fragment mutation query subscription"),
        ("{", "article __typename"), ("{ art", "article __typename"), ("query Q($a: ID) { ", "article __typename"),
        ("mutation { ", "run __typename"), ("{ article(", "id order draft"), ("{ article(id: 1, or", "id order draft"),
        ("{ article(order: ", "UP DOWN"), ("{ article(order: U", "UP DOWN"), ("{ article(draft: ", "false true"),
        ("{ article(id: ", ""), ("{ article(order: UP) { ", "title author __typename"),
        ("{ a: article { t: title author { ", "handle __typename"),
        ("{ article { author { handle } ", "title author __typename"),
        ("{ article(id: {a: [1]}) { ", "title author __typename"), ("{ article { ... ", "on"),
        ("{ article { ... on ", "Article Mutation Query User"),
        ("{ article { ... on User { ", "handle __typename"),
        ("{ article { ... @include(if: true) { ", "title author __typename"),
        ("{ article { title @", "include skip"), ("{ article { title @include(", ""),
        ("fragment F on User { ", "handle __typename"), ("{ unknown { ", ""), ("{ article { title \"", ""),
        ("} } ) ", "fragment mutation query subscription"),
    ]) func namesOfThePlaceAreReturned(text: String, expected: String) throws { #expect(try names(text) == expected) }
}
