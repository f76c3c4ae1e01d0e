import NightjarTestSupport
import Testing

@testable import NightjarJSON

@Suite struct JSONSchemaDocumentTests {
    private func schema(
        _ text: String, at pointer: String = "", _ dialect: JSONSchema.Dialect = .openAPI31
    ) throws -> JSONSchema {
        let place = SchemaPlace(document: "api.json", pointer: try JSONPointer(pointer))
        return try JSONSchema(at: place, in: Documents(["api.json": JSONValue(parsing: text)]), dialect: dialect)
    }

    private func reported(_ schema: JSONSchema, _ document: String) throws -> String {
        schema.mismatch(in: try JSONValue(parsing: document))?.description ?? ""
    }

    @Test func unknownKeywordsAreNoted() throws {
        let schema = try schema(
            #"{"a": {"type": "object", "requried": ["x"], "x-any": 1, "properties": {"n": {"type": "int"}, "p": {"pattern": "(", "minLength": 1}, "r": {"type": "string", "required": true}}}}"#,
            at: "/a")
        #expect(
            schema.notes == [
                #"the schema at "api.json#/a": unknown keyword "requried"; did you mean "required"?"#,
                #"the schema at "api.json#/a/properties/n": unknown type "int"; the allowed types are string, integer, number, boolean, array, object, null"#,
                #"the schema at "api.json#/a/properties/p": the pattern "(" is invalid at offset 1: missing closing parenthesis"#,
                #"the schema at "api.json#/a/properties/r": "required" must be an array of strings, found a boolean"#,
            ])
        #expect(
            try reported(schema, #"{"n": 1, "p": "", "r": "a"}"#)
                == #"at "/p": expected a string of at least 1 character, found one of 0"#)
    }

    @Test func siblingsOfAReferenceApplyOnlyInOpenAPI31() throws {
        let text = ##"{"a": {"$ref": "#/b", "minimum": 5}, "b": {"type": "integer"}}"##
        #expect(try reported(schema(text, at: "/a", .openAPI30), "1") == "")
        #expect(
            try reported(schema(text, at: "/a"), "1") == "expected a number of at least 5, found a smaller one")
        #expect(try reported(schema(text, at: "/a", .openAPI30), "null") == "expected an integer, found null")
    }

    @Test func nullableAllowsNull() throws {
        let schema = try schema(
            ##"{"a": {"nullable": true, "allOf": [{"$ref": "#/b"}]}, "b": {"type": "integer"}}"##, at: "/a", .openAPI30)
        #expect(try reported(schema, "null") == "")
        #expect(try reported(schema, "1") == "")
        #expect(try reported(schema, "true") == "expected an integer, found a boolean")
        #expect(schema.shape == [.integer, .null])
    }

    @Test func referencesResolveAcrossDocuments() throws {
        let source = Documents([
            "api.json": try JSONValue(parsing: #"{"a": {"items": {"$ref": "other.json#/User"}}}"#),
            "other.json": try JSONValue(
                parsing: ##"{"User": {"required": ["id"], "properties": {"friends": {"$ref": "api.json#/a"}}}}"##),
        ])
        let place = SchemaPlace(document: "api.json", pointer: try JSONPointer("/a"))
        let schema = try JSONSchema(at: place, in: source, dialect: .openAPI31)
        #expect(
            try reported(schema, #"[{"id": 1, "friends": [{}]}]"#)
                == #"at "/0/friends/0/id": expected a value, found nothing"#)
        // Each schema is stored once: `true`, `false` and the schemas at /a and /User.
        #expect(schema.arena.count == 4)
    }

    @Test func danglingReferenceIsAnError() throws {
        let error = #expect(throws: NightjarError.self) { try schema(##"{"items": {"$ref": "#/no"}}"##) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message == "no schema at api.json#/no")
    }

    @Test func arrayFormOfItemsIsSupported() throws {
        let schema = try schema(#"{"items": [{"type": "string"}], "additionalItems": false}"#)
        #expect(try reported(schema, #"["a"]"#) == "")
        #expect(try reported(schema, "[1]") == #"at "/0": expected a string, found an integer"#)
        #expect(try reported(schema, #"["a", 1]"#) == #"at "/1": expected nothing, found an integer"#)
    }

    // MARK: Properties of schemas

    @Test(
        arguments: [
            ("{}", []), (#"{"type": "integer"}"#, [.integer]), (#"{"type": ["number", "null"]}"#, [.number, .null]),
            (#"{"anyOf": [{"type": "string"}, {"type": "integer"}]}"#, [.string, .integer]),
            (#"{"allOf": [{"type": ["string", "array"]}, {"type": ["array", "object"]}]}"#, [.array]),
            (#"{"enum": [1, 2]}"#, [.integer]), (#"{"enum": ["a", 1.5]}"#, [.string, .number]),
            (##"{"allOf": [{"$ref": "#"}, {"$ref": "#"}], "type": "string"}"##, [.string]),
        ] as [(String, JSONSchema.Shape)])
    func shapesAreReported(_ text: String, _ shape: JSONSchema.Shape) throws {
        #expect(try JSONSchema(parsing: text).shape == shape)
    }

    @Test func subschemasAreFoundThroughReferences() throws {
        let schema = try schema(
            ##"""
            {"allOf": [{"$ref": "#/b"}, {"properties": {"file": {"format": "binary"}, "id": {}}}],
             "properties": {"id": {"type": "integer", "format": "int64"}},
             "b": {"properties": {"tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}},
                   "required": ["tags"], "description": "d"}}
            """##)
        #expect(schema.properties.map(\.name) == ["id", "tags", "file"])
        #expect(schema.properties[0].schema.format == "int64")
        #expect(schema.properties[1].schema.elements?.shape == [.string])
        #expect(schema.properties[1].schema.shape == [.array, .null])
        #expect(schema.properties[2].schema.isBinary)
        #expect(schema.required == ["tags"])
        #expect(schema.documentation == "d")
        #expect(schema.elements == nil)
    }

    // MARK: Examples

    @Test(arguments: [
        ("{}", #""string""#), (#"{"type": "integer"}"#, "1"), (#"{"type": "integer", "minimum": 5}"#, "5"),
        (#"{"type": "integer", "exclusiveMinimum": 5, "multipleOf": 4}"#, "8"),
        (#"{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5}"#, "0.25"),
        (#"{"type": "string", "minLength": 8}"#, #""stringxx""#), (#"{"type": "string", "maxLength": 2}"#, #""st""#),
        (#"{"type": "string", "format": "date"}"#, #""2024-02-29""#),
        (#"{"type": "string", "pattern": "^[A-Z]{2}-\\d+$"}"#, #""AA-0""#),
        (#"{"type": "string", "pattern": "^a+$", "minLength": 3}"#, #""aaa""#),
        (#"{"example": "no", "examples": [7], "type": "integer"}"#, "7"),
        (#"{"default": 3, "type": "integer"}"#, "3"), (#"{"enum": ["x", "y"]}"#, #""x""#),
        (#"{"type": "array", "items": {"type": "boolean"}}"#, "[]"),
        (#"{"items": {"enum": [1, 2, 3]}, "minItems": 2, "uniqueItems": true}"#, "[1, 2]"),
        (
            #"{"type": "object", "required": ["b", "a"], "properties": {"a": {"type": "integer"}, "c": {"type": "null"}}}"#,
            #"{"b": "string", "a": 1}"#
        ),
        (#"{"oneOf": [{"type": "string", "not": {}}, {"type": "boolean"}]}"#, "true"),
        (
            #"{"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}"#, #"{"a": "string"}"#
        ),
        (
            ##"{"required": ["next"], "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}"##,
            #"{"next": null}"#
        ),
        (
            ##"""
            {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}], "discriminator": {"propertyName": "kind"},
             "$defs": {"Cat": {"required": ["kind"], "properties": {"kind": {"type": "string"}}}, "Dog": {"required": ["kind"]}}}
            """##, #"{"kind": "Cat"}"#
        ),
        (
            ##"""
            {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}], "discriminator": {"propertyName": "kind"},
             "$defs": {"Cat": {"required": ["kind"], "properties": {"kind": {"enum": ["cat"]}}},
                       "Dog": {"required": ["kind"], "properties": {"kind": {"enum": ["dog"]}}}}}
            """##, #"{"kind": "cat"}"#
        ),
        (#"{"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}}"#, #"{"name1": 1}"#),
    ])
    func examplesAreGenerated(_ text: String, _ example: String) throws {
        let schema = try JSONSchema(parsing: text)
        let made = try #require(schema.example())
        #expect(made.isSame(as: try JSONValue(parsing: example)), "\(made)")
        #expect(schema.mismatch(in: made) == nil)
    }

    /// A host may call the library on a thread with a small stack. Few threads have less than 256 KiB.
    @Test func examplesAndShapesUseLittleStack() throws {
        let level = #"{"required":["a"],"anyOf":[{"minProperties":1}],"properties":{"a":"#
        let deep = String(repeating: level, count: 20) + "{}" + String(repeating: "}}", count: 20)
        let wide = String(repeating: #"{"anyOf":["#, count: 30) + "true" + String(repeating: "]}", count: 30)
        for text in [deep, wide] {
            try onThread(stack: 256 * 1024) {
                let schema = try JSONSchema(parsing: text)
                _ = schema.example()
                _ = schema.shape
            }
        }
    }

    @Test(arguments: [
        "false", #"{"type": "string", "not": {"type": "string"}}"#,
        ##"{"required": ["a"], "properties": {"a": {"$ref": "#"}}}"##,
        #"{"type": "string", "pattern": "^(?=b)a$"}"#, #"{"minItems": 1000000, "type": "array"}"#,
    ])
    func impossibleExampleIsNil(_ text: String) throws {
        #expect(try JSONSchema(parsing: text).example() == nil)
    }
}

private struct Documents: SchemaSource {
    let documents: [String: JSONValue]

    init(_ documents: [String: JSONValue]) { self.documents = documents }

    func schema(at place: SchemaPlace, limit: inout Int) throws(NightjarError) -> JSONValue {
        guard let document = documents[place.document], let schema = place.pointer.value(in: document) else {
            throw NightjarError(.invalidArgument, "no schema at \(place)")
        }
        return schema
    }

    func place(of reference: String, in document: String) throws(NightjarError) -> SchemaPlace {
        let parts = reference.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        return SchemaPlace(
            document: parts[0].isEmpty ? document : parts[0],
            pointer: try JSONPointer(parts.count > 1 ? parts[1] : ""))
    }
}
