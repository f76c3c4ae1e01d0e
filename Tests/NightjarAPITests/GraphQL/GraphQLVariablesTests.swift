import Testing

@testable import NightjarAPI

/// Input coercion. GraphQL specification sections 3.5, 3.9 to 3.12 and 6.1.2.
@Suite struct GraphQLVariablesTests {
    static let schema = try? GraphQLSchema(
        introspection: JSONValue(
            parsing: """
                {"data": {"__schema": {"queryType": {"name": "Query"}, "mutationType": null, "types": [
                 {"kind": "OBJECT", "name": "Query", "fields": []},
                 {"kind": "SCALAR", "name": "Date"},
                 {"kind": "ENUM", "name": "Color", "enumValues": [{"name": "RED"}, {"name": "GREEN"}]},
                 {"kind": "UNION", "name": "Any"},
                 {"kind": "INPUT_OBJECT", "name": "In", "inputFields": [
                  {"name": "a", "type": {"kind": "NON_NULL", "ofType": {"kind": "SCALAR", "name": "Int"}}},
                  {"name": "b", "type": {"kind": "NON_NULL", "ofType": {"kind": "SCALAR", "name": "Int"}}, "defaultValue": "1"},
                  {"name": "more", "type": {"kind": "LIST", "ofType": {"kind": "INPUT_OBJECT", "name": "In"}}}]},
                 {"kind": "INPUT_OBJECT", "name": "One", "isOneOf": true, "inputFields": [
                  {"name": "a", "type": {"kind": "SCALAR", "name": "Int"}},
                  {"name": "b", "type": {"kind": "SCALAR", "name": "Int"}}]}]}}}
                """))

    private func message(_ type: String, _ variables: String) throws -> String? {
        let operation = try GraphQLDocument(parsing: "query($v: \(type)) { a }").operation(nil)
        do {
            try operation.check(JSONValue(parsing: variables), try #require(Self.schema))
            return nil
        } catch let error as NightjarError {
            #expect(error.kind == .invalidArgument)
            return error.message
        }
    }

    @Test(arguments: [
        ("Int", "1"), ("Int", "1.0"), ("Int", "-2147483648"), ("Int", "null"), ("Float", "1"), ("Float", "1.5"),
        ("String", "\"\""), ("Boolean", "false"), ("ID", "\"a\""), ("ID", "7"), ("[Int]", "[1, null]"), ("[Int]", "1"),
        ("[[Int!]!]!", "[[1], [2]]"), ("[[Int]]", "1"), ("Date", "{\"any\": [1]}"), ("Color", "\"RED\""),
        ("In", "{\"a\": 1}"), ("In!", "{\"a\": 1, \"more\": [{\"a\": 2}]}"), ("In", "{\"a\": 1, \"more\": {\"a\": 2}}"),
        ("One", "{\"b\": 1}"), ("Int! = 3", "1"),
    ]) func validVariablesAreAccepted(type: String, value: String) throws {
        #expect(try message(type, "{\"v\": \(value)}") == nil)
    }

    @Test(arguments: [
        ("Int", "2147483648", "the variable \"v\" must be an integer of 32 bits, got an integer"),
        ("Int", "1.5", "the variable \"v\" must be an integer of 32 bits, got a number"),
        ("Int", "\"1\"", "the variable \"v\" must be an integer, got a string"),
        ("Float", "\"1\"", "the variable \"v\" must be a number, got a string"),
        ("String", "1", "the variable \"v\" must be a string, got an integer"),
        ("Boolean", "0", "the variable \"v\" must be a boolean, got an integer"),
        ("ID", "1.5", "the variable \"v\" must be a string or an integer, got a number"),
        ("Int!", "null", "the variable \"v\" must not be null; its type is Int!"),
        ("[Int!]", "[1, null]", "the variable \"v[2]\" must not be null; its type is Int!"),
        ("Color", "\"RAD\"", "the variable \"v\" must be a value of Color, got \"RAD\"; did you mean \"RED\"?"),
        (
            "Color", "\"PURPLE\"",
            "the variable \"v\" must be a value of Color, got \"PURPLE\"; the values are RED, GREEN"
        ),
        ("Color", "1", "the variable \"v\" must be a string, a value of Color, got an integer"),
        ("In", "1", "the variable \"v\" must be an object of the type In, got an integer"),
        ("In", "{}", "the variable \"v\" lacks the field \"a\" of In, whose type is Int!"),
        ("In", "{\"a\": null}", "the variable \"v.a\" must not be null; its type is Int!"),
        ("In", "{\"a\": 1, \"b\": null}", "the variable \"v.b\" must not be null; its type is Int!"),
        (
            "In", "{\"a\": 1, \"mor\": []}",
            "the variable \"v\" has the field \"mor\", which In does not have; did you mean \"more\"?"
        ),
        (
            "In", "{\"a\": 1, \"more\": [{\"a\": 1}, {}]}",
            "the variable \"v.more[2]\" lacks the field \"a\" of In, whose type is Int!"
        ),
        (
            "One", "{\"a\": 1, \"b\": 2}",
            "the variable \"v\" must have exactly one field, which must not be null: One is a oneOf type"
        ),
        (
            "One", "{\"a\": null}",
            "the variable \"v\" must have exactly one field, which must not be null: One is a oneOf type"
        ),
        ("Any", "1", "the variable \"v\" has the type \"Any\", which is not an input type"),
        ("Dat", "1", "the variable \"v\" has the type \"Dat\", which the schema does not have; did you mean \"Date\"?"),
    ]) func invalidVariablesAreRejected(type: String, value: String, expected: String) throws {
        #expect(try message(type, "{\"v\": \(value)}") == expected)
    }

    @Test func missingAndUnknownVariablesAreRejected() throws {
        #expect(try message("Int!", "{}") == "the variable \"v\" is missing; its type is Int!")
        #expect(try message("Int!", "null") == "the variable \"v\" is missing; its type is Int!")
        #expect(try message("Int! = 1", "{}") == nil)
        #expect(try message("Int", "{\"w\": 1}") == "the GraphQL operation has no variable \"w\"; did you mean \"v\"?")
        #expect(try message("Int", "[1]") == "the GraphQL variables must be an object, got an array")
        // Lua's empty table.
        #expect(try message("Int", "[]") == nil)
    }

    @Test func deepVariablesAreRejected() throws {
        let depth = 500
        let value =
            String(repeating: "{\"a\": 1, \"more\": ", count: depth) + "[]" + String(repeating: "}", count: depth)
        #expect(try message("In", "{\"v\": \(value)}")?.hasSuffix("is nested too deeply") == true)
    }

    @Test func withoutSchemaBuiltInScalarsAreChecked() throws {
        let operation = try GraphQLDocument(parsing: "query($a: Int, $b: Other!) { x }").operation(nil)
        try operation.check(JSONValue(parsing: "{\"a\": 1, \"b\": {\"c\": 2}}"), nil)
        #expect(throws: NightjarError.self) { try operation.check(JSONValue(parsing: "{\"a\": \"1\", \"b\": 1}"), nil) }
        #expect(throws: NightjarError.self) { try operation.check(JSONValue(parsing: "{\"b\": null}"), nil) }
    }

    @Test(arguments: ["{}", "[]", "null", #"{"data": null}"#, #"{"__schema": {"types": []}}"#])
    func otherDocumentsAreRejectedAsSchemas(text: String) throws {
        let error = try #require(
            #expect(throws: NightjarError.self) {
                try GraphQLSchema(introspection: JSONValue(parsing: text))
            })
        #expect(error.kind == .decoding)
    }

    /// Invalid types of a hostile server are ignored.
    @Test func invalidTypesAreIgnored() throws {
        let deep =
            String(repeating: #"{"kind": "LIST", "ofType": "#, count: 100) + "null" + String(repeating: "}", count: 100)
        let text = #"""
            {"__schema": {"queryType": {"name": "Q"}, "types": [1, {"kind": "SCALAR"}, {"kind": "SCALAR", "name": "a b"},
             {"kind": "OTHER", "name": "O"}, {"kind": "OBJECT", "name": "Q", "fields": [{"name": "f", "type": \#(deep)},
             {"name": "g", "type": {"kind": "SCALAR", "name": "Int"}, "isDeprecated": true}]}]}}
            """#
        let schema = try GraphQLSchema(introspection: JSONValue(parsing: text))
        #expect(schema.types.keys.sorted() == ["Q"])
        #expect(schema.fields(of: "Q").map(\.name) == ["g"])
        #expect(schema.root(.query) == "Q" && schema.root(.mutation) == nil)
    }
}
