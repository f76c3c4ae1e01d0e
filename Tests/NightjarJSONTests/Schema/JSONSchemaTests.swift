import NightjarTestSupport
import Testing

@testable import NightjarJSON

@Suite struct JSONSchemaTests {
    // MARK: Checking

    /// Schema, document and message. The message is empty if the document is valid.
    @Test(arguments: [
        // Schemas that accept every value or no value.
        ("{}", "null", ""), ("true", "{}", ""), ("false", "1", "expected nothing, found an integer"),
        // Types.
        (#"{"type": "null"}"#, "null", ""), (#"{"type": "null"}"#, "0", "expected null, found an integer"),
        (#"{"type": "boolean"}"#, "true", ""),
        (#"{"type": "boolean"}"#, #""true""#, "expected a boolean, found a string"),
        (#"{"type": "integer"}"#, "-1", ""), (#"{"type": "integer"}"#, "18446744073709551615", ""),
        (#"{"type": "integer"}"#, "1.0", ""), (#"{"type": "integer"}"#, "1e30", ""),
        (#"{"type": "integer"}"#, "1.5", "expected an integer, found a number"),
        (#"{"type": "number"}"#, "1", ""), (#"{"type": "number"}"#, "1.5", ""),
        (#"{"type": "number"}"#, "null", "expected a number, found null"),
        (#"{"type": "string"}"#, #""""#, ""), (#"{"type": "string"}"#, "[]", "expected a string, found an array"),
        (#"{"type": "array"}"#, "[]", ""), (#"{"type": "array"}"#, "{}", "expected an array, found an object"),
        (#"{"type": "object"}"#, "{}", ""), (#"{"type": "object"}"#, "false", "expected an object, found a boolean"),
        (#"{"type": ["string", "null"]}"#, "null", ""),
        (#"{"type": ["null", "string"]}"#, "1", "expected a string or null, found an integer"),
        // Nullable.
        (#"{"type": "string", "nullable": true}"#, "null", ""), (#"{"nullable": true, "type": "string"}"#, #""a""#, ""),
        (#"{"type": "string", "nullable": true}"#, "1", "expected a string or null, found an integer"),
        (#"{"type": "string", "nullable": false}"#, "null", "expected a string, found null"),
        (#"{"enum": ["a"], "nullable": true}"#, "null", ""),
        // Values.
        (#"{"enum": ["a", 1, null]}"#, "1.0", ""), (#"{"enum": ["a", 1, null]}"#, "null", ""),
        (#"{"enum": ["a", 1, null]}"#, #""b""#, #"expected one of "a", 1, null, found "b""#),
        (#"{"enum": [[1], {"a": 1}]}"#, "[1]", ""),
        (#"{"enum": [[1, 2]]}"#, "[1]", "expected a specific array, found an array"),
        (#"{"const": {"a": 1, "b": [2]}}"#, #"{"b": [2.0], "a": 1}"#, ""),
        (#"{"const": {"a": 1}}"#, #"{"a": 2}"#, "expected a specific object, found an object"),
        (#"{"const": 9007199254740993}"#, "9007199254740992.0", "expected 9007199254740993, found 9007199254740992.0"),
        (
            #"{"enum": [1,2,3,4,5,6,7,8,9]}"#, "0",
            "expected one of 1, 2, 3, 4, 5, 6, 7, 8, ..., found 0"
        ),
        // Numbers.
        (#"{"minimum": 0}"#, "0", ""),
        (#"{"minimum": 0}"#, "-1", "expected a number of at least 0, found a smaller one"),
        (#"{"maximum": 1.5}"#, "1.5", ""),
        (#"{"maximum": 1.5}"#, "2", "expected a number of at most 1.5, found a larger one"),
        (#"{"minimum": 0, "maximum": 1}"#, #""text""#, ""),
        (
            #"{"maximum": 9007199254740992}"#, "9007199254740993",
            "expected a number of at most 9007199254740992, found a larger one"
        ),
        (
            #"{"maximum": 18446744073709551615}"#, "1e30",
            "expected a number of at most 18446744073709551615, found a larger one"
        ),
        (
            #"{"minimum": -9223372036854775808}"#, "-1e30",
            "expected a number of at least -9223372036854775808, found a smaller one"
        ),
        (#"{"minimum": -0.5}"#, "-1", "expected a number of at least -0.5, found a smaller one"),
        (#"{"minimum": -1.5}"#, "-1", ""), (#"{"maximum": -0.5}"#, "-1", ""),
        // Lengths.
        (#"{"minLength": 2}"#, #""ab""#, ""),
        (#"{"minLength": 2}"#, #""a""#, "expected a string of at least 2 characters, found one of 1"),
        (#"{"maxLength": 1}"#, #""\ud83c\udf19""#, ""),
        (#"{"maxLength": 1}"#, #""ab""#, "expected a string of at most 1 character, found one of 2"),
        (#"{"minItems": 1}"#, "[]", "expected an array of at least 1 element, found one of 0"),
        (#"{"maxItems": 2.0}"#, "[1,2,3]", "expected an array of at most 2 elements, found one of 3"),
        (#"{"minItems": 1, "maxItems": 1e300}"#, "[1,2,3]", ""),
        // Elements.
        (#"{"items": {"type": "integer"}}"#, "[1, 2]", ""),
        (#"{"items": {"type": "integer"}}"#, #"[1, "2"]"#, #"at "/1": expected an integer, found a string"#),
        (#"{"items": false}"#, "[]", ""),
        (#"{"items": false}"#, "[1]", #"at "/0": expected nothing, found an integer"#),
        // Members.
        (#"{"required": ["a"]}"#, #"{"a": null}"#, ""),
        (#"{"required": ["a"]}"#, "{}", #"at "/a": expected a value, found nothing"#),
        (
            #"{"required": ["a"], "properties": {"a": {"type": "string"}}}"#, #"{"b": 1}"#,
            #"at "/a": expected a string, found nothing"#
        ),
        (#"{"properties": {"a": {"type": "string"}}}"#, #"{"b": 1}"#, ""),
        (#"{"properties": {"a": false}}"#, #"{"a": 1}"#, #"at "/a": expected nothing, found an integer"#),
        (
            #"{"properties": {"a": {}}, "additionalProperties": false}"#, #"{"a": 1, "b/c": 2}"#,
            #"at "/b~1c": expected no member with this name, found an integer"#
        ),
        (
            #"{"additionalProperties": {"type": "integer"}}"#, #"{"a": 1, "b": null}"#,
            #"at "/b": expected an integer, found null"#
        ),
        (
            #"{"properties": {"results": {"items": {"properties": {"title": {"type": "string"}}}}}}"#,
            #"{"results": [{"title": "x"}, {"title": 5}]}"#,
            #"at "/results/1/title": expected a string, found an integer"#
        ),
        // The first failure in document order is reported.
        (
            #"{"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}"#, #"{"b": 1, "a": 1}"#,
            #"at "/b": expected a string, found an integer"#
        ),
        // A value with the name of a secret is not shown. Values inside it are not shown either.
        (
            #"{"properties": {"token": {"enum": ["a"]}}}"#, #"{"token": "s3cret"}"#,
            #"at "/token": expected "a", found a string"#
        ),
        (
            #"{"properties": {"api_key": {"items": {"const": 1}}}}"#, #"{"api_key": ["s3cret"]}"#,
            #"at "/api_key/0": expected 1, found a string"#
        ),
        (
            #"{"const": "a"}"#, #""0123456789012345678901234567890123456789x\u001b""#,
            #"expected "a", found "0123456789012345678901234567890123456789...""#
        ),
        // Ignored keywords.
        (
            ##"{"$schema": "x", "title": "t", "description": "d", "default": 1, "x-any": {}, "format": "int32", "$defs": {"a": {}}}"##,
            "1", ""
        ),
    ])
    func schemaIsChecked(_ schema: String, _ document: String, _ reported: String) throws {
        let schema = try JSONSchema(parsing: schema)
        let mismatch = schema.mismatch(in: try JSONValue(parsing: document))
        #expect(mismatch?.description ?? "" == reported)
    }

    @Test func mismatchIsADecodingError() throws {
        let schema = try JSONSchema(parsing: #"{"properties": {"id": {"type": "integer"}}}"#)
        let error = #expect(throws: NightjarError.self) { try schema.check(JSONValue(parsing: #"{"id": "7"}"#)) }
        #expect(error?.kind == .decoding)
        #expect(
            error?.message == #"the JSON is not as expected: at "/id": expected an integer, found a string"#)
        let mismatch = schema.mismatch(in: try JSONValue(parsing: #"{"id": "7"}"#))
        #expect(mismatch?.path.description == "/id")
        #expect(mismatch?.expected == "an integer")
        #expect(mismatch?.found == "a string")
    }

    /// JSON cannot represent these numbers, but a program can create them.
    @Test(arguments: [
        (1e300, true), (-0.0, true), (0.5, false), (.infinity, false), (-.infinity, false), (.nan, false),
    ])
    func onlyFiniteNumbersAreIntegers(_ number: Double, _ isInteger: Bool) throws {
        let mismatch = try JSONSchema(parsing: #"{"type": "integer"}"#).mismatch(in: .number(number))
        #expect((mismatch == nil) == isInteger)
    }

    @Test func namesFromTheDocumentAreEscapedAndTruncated() throws {
        let schema = try JSONSchema(parsing: #"{"additionalProperties": false}"#)
        let document = JSONValue.object([.init("\u{1B}[2J" + String(repeating: "x", count: 5000), .null)])
        let reported = try #require(schema.mismatch(in: document)).description
        #expect(reported.hasPrefix(#"at "/\x1b[2Jxxx"#))
        #expect(reported.utf8.count < 400)
    }

    // MARK: Formats

    @Test(arguments: [
        ("date-time", "2024-02-29T23:59:59Z", true), ("date-time", "2024-02-29t23:59:59.123456789z", true),
        ("date-time", "2024-02-29T23:59:59+05:30", true), ("date-time", "2016-12-31T23:59:60Z", true),
        ("date-time", "2016-12-31T15:59:60-08:00", true), ("date-time", "2017-01-01T05:29:60+05:30", true),
        ("date-time", "2016-12-31T12:59:60Z", false), ("date-time", "2023-02-29T00:00:00Z", false),
        ("date-time", "2024-02-29 23:59:59Z", false), ("date-time", "2024-02-29T23:59:59", false),
        ("date-time", "2024-02-29T24:00:00Z", false), ("date-time", "2024-02-29T23:60:00Z", false),
        ("date-time", "2024-02-29T23:59:61Z", false), ("date-time", "2024-02-29T23:59:59.Z", false),
        ("date-time", "2024-02-29T23:59:59+0530", false), ("date-time", "2024-02-29T23:59:59+24:00", false),
        ("date-time", "2024-02-29T23:59:59Z ", false), ("date-time", "2024-13-01T00:00:00Z", false),
        ("date-time", "2024-2-9T00:00:00Z", false), ("date-time", "", false), ("date-time", "1709251199", false),
        ("date", "2024-02-29", true), ("date", "2000-02-29", true), ("date", "1900-02-29", false),
        ("date", "2024-04-31", false), ("date", "2024-00-10", false), ("date", "2024-01-00", false),
        ("date", "29.02.2024", false), ("date", "2024-02-29T00:00:00Z", false), ("date", "\u{662}024-02-29", false),
        ("uuid", "123e4567-e89b-42d3-a456-426614174000", true), ("uuid", "123E4567-E89B-42D3-A456-426614174000", true),
        ("uuid", "00000000-0000-0000-0000-000000000000", true), ("uuid", "123e4567e89b42d3a456426614174000", false),
        ("uuid", "{123e4567-e89b-42d3-a456-426614174000}", false),
        ("uuid", "123e4567-e89b-42d3-a456-42661417400g", false),
        ("uri", "https://example.com/a?b#c", true), ("uri", "urn:isbn:0451450523", true), ("uri", "mailto:a@b.c", true),
        ("uri", "HTTP://[::1]/", true), ("uri", "/relative", false), ("uri", "example.com", false),
        ("uri", "http:/example.com", false), ("uri", "http://", false), ("uri", "https:///path", false),
        ("uri", "https://example.com/a b", false), ("uri", "https://example.com/%2", false),
        ("uri", "https://example.com/\u{E9}", false), ("uri", "1a:b", false), ("uri", ":", false), ("uri", "", false),
        ("email", "name@example.com", true), ("email", "first.last+tag@sub.example.co.uk", true),
        ("email", "\"a b\"@example.com", true), ("email", "name@[192.0.2.1]", true), ("email", "n@localhost", true),
        ("email", "j\u{F6}rg@b\u{FC}cher.example", true),
        ("email", "name", false), ("email", "@example.com", false), ("email", "name@", false),
        ("email", "a@b@c.com", false), ("email", "a b@c.com", false), ("email", ".a@b.com", false),
        ("email", "a.@b.com", false), ("email", "a..b@c.com", false), ("email", "a@b..com", false),
        ("email", "a@.com", false), ("email", "Name <a@b.com>", false), ("email", "a@b.com\n", false),
        ("email", "", false),
    ])
    func formatsAreChecked(_ format: String, _ text: String, _ isOne: Bool) throws {
        let schema = try JSONSchema(.object([.init("format", .string(format))]))
        let mismatch = schema.mismatch(in: .string(text))
        #expect((mismatch == nil) == isOne)
        #expect(mismatch?.found ?? "another string" == "another string")
        #expect(schema.mismatch(in: .integer(1)) == nil)
        // Reading a truncated text must not trap.
        for count in 0...text.unicodeScalars.count {
            _ = schema.mismatch(in: .string(String(String.UnicodeScalarView(text.unicodeScalars.prefix(count)))))
        }
    }

    // MARK: Invalid schemas

    @Test(arguments: [
        ("1", "the schema: a schema must be an object, true or false, found an integer"),
        ("{", "the schema is not JSON: the text ends inside an object at line 1 column 2"),
        (
            ##"{"$dynamicRef": "#a"}"##,
            #"the schema: "$dynamicRef" is not supported and cannot be ignored"#
        ),
        (##"{"$ref": "#/$defs/a"}"##, #"a reference points to "/$defs/a", where the schema has no value"#),
        (
            ##"{"items": {"$ref": "#a"}}"##,
            ##"the schema at "/items": the reference "#a" does not match any "$anchor" of the schema"##
        ),
        (
            ##"{"$ref": "other.json#/a"}"##,
            ##"the schema: the reference "other.json#/a" points outside of the schema; references must begin with "#""##
        ),
        (
            ##"{"$ref": "#"}"##,
            ##"the schema: the reference "#" begins a chain of more than 64 references"##
        ),
        (#"{"oneOf": []}"#, #"the schema: "oneOf" is an empty list"#),
        (#"{"allOf": {}}"#, #"the schema: "allOf" must be an array of schemas, found an object"#),
        (
            #"{"properties": {"a": {"items": {"anyOf": []}}}}"#,
            #"the schema at "/properties/a/items": "anyOf" is an empty list"#
        ),
        (
            #"{"pattern": "(a"}"#,
            #"the schema: the pattern "(a" is invalid at offset 2: missing closing parenthesis"#
        ),
        (#"{"multipleOf": 0}"#, #"the schema: "multipleOf" must be a number greater than 0, got 0"#),
        (#"{"uniqueItems": 1}"#, #"the schema: "uniqueItems" must be true or false, found an integer"#),
        (#"{"oneof": []}"#, #"the schema: unknown keyword "oneof"; did you mean "oneOf"?"#),
        (#"{"requried": ["a"]}"#, #"the schema: unknown keyword "requried"; did you mean "required"?"#),
        (
            #"{"title_of_song": {}}"#,
            #"the schema: unknown keyword "title_of_song"; member names go into "properties""#
        ),
        (
            #"{"type": "int"}"#,
            #"the schema: unknown type "int"; the allowed types are string, integer, number, boolean, array, object, null"#
        ),
        (
            #"{"type": "strin"}"#,
            #"the schema: unknown type "strin"; the allowed types are string, integer, number, boolean, array, object, null"#
        ),
        (#"{"type": []}"#, #"the schema: "type" is an empty list"#),
        (#"{"type": 1}"#, #"the schema: "type" must be an array of strings, found an integer"#),
        (#"{"required": true}"#, #"the schema: "required" must be an array of strings, found a boolean"#),
        (#"{"required": [1]}"#, #"the schema: "required" must be an array of strings, found an integer"#),
        (#"{"properties": []}"#, #"the schema: "properties" must be an object, found an array"#),
        (
            #"{"properties": {"a": "string"}}"#,
            #"the schema at "/properties/a": a schema must be an object, true or false, found a string"#
        ),
        (#"{"items": [{}]}"#, #"the schema at "/items": a schema must be an object, true or false, found an array"#),
        (#"{"enum": "a"}"#, #"the schema: "enum" must be an array, found a string"#),
        (#"{"enum": []}"#, #"the schema: "enum" is an empty list"#),
        (#"{"enum": [1], "const": 1}"#, #"the schema: "enum" and "const" cannot be combined; remove one of them"#),
        (#"{"nullable": 1}"#, #"the schema: "nullable" must be true or false, found an integer"#),
        (#"{"minimum": "1"}"#, #"the schema: "minimum" must be a number, found a string"#),
        (#"{"minLength": -1}"#, #"the schema: "minLength" must be an integer of at least 0, got -1"#),
        (#"{"maxItems": 1.5}"#, #"the schema: "maxItems" must be an integer of at least 0, got 1.5"#),
        (#"{"format": "datetime"}"#, #"the schema: unknown format "datetime"; did you mean "date-time"?"#),
        (#"{"format": "url"}"#, #"the schema: unknown format "url"; did you mean "uri"?"#),
        (#"{"format": 1}"#, #"the schema: "format" must be a string, found an integer"#),
    ])
    func invalidSchemasAreRejected(_ schema: String, _ message: String) {
        let error = #expect(throws: NightjarError.self) { try JSONSchema(parsing: schema) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message == message)
    }

    // MARK: Bounds

    /// A host may call the library on a thread with a small stack. Few threads have less than 256 KiB.
    @Test func depthIsBoundedAndUsesLittleStack() throws {
        func nested(_ levels: Int) -> String {
            String(repeating: #"{"items":"#, count: levels) + "{}" + String(repeating: "}", count: levels)
        }
        #expect(throws: NightjarError.self) { try JSONSchema(parsing: nested(64)) }
        let deep = String(repeating: "[", count: 65) + String(repeating: "]", count: 65)
        #expect(throws: NightjarError.self) { try JSONSchema(parsing: #"{"const": "# + deep + "}") }

        let schema = String(repeating: #"{"items":"#, count: 63) + "{\"const\": 1}" + String(repeating: "}", count: 63)
        let text = String(repeating: "[", count: 1000) + "1" + String(repeating: "]", count: 1000)
        let depth = try onThread(stack: 256 * 1024) {
            try JSONSchema(parsing: schema).mismatch(in: JSONValue(parsing: text))?.path.tokens.count
        }
        #expect(depth == 63)
    }

    @Test func randomSchemasAreReadOrRejected() throws {
        var random = SeededRandom(seed: 2020)
        let document = try JSONValue(parsing: #"{"a": [1, "x", null, {"b": 1.5}], "b": true, "token": "t"}"#)
        for _ in 0..<2000 {
            let schema = JSONSchemaTests.value(&random, 4)
            let place = SchemaPlace(document: "any.json", pointer: JSONPointer())
            let foreign = try? JSONSchema(at: place, in: SuiteDocument(root: schema), dialect: .openAPI31)
            for read in [try? JSONSchema(schema), foreign].compactMap({ $0 }) {
                for value in [document, schema] {
                    var checker = JSONSchemaChecker(read.arena, .any, maximumSteps: 10_000)
                    _ = checker.mismatch(of: value, read.root)?.description
                }
                _ = read.shape
                guard let example = read.example() else { continue }
                #expect(read.mismatch(in: example) == nil)
            }
        }
    }

    private static func value(_ random: inout SeededRandom, _ depth: Int) -> JSONValue {
        let names = [
            "type", "items", "properties", "a", "b", "enum", "const", "required", "minimum", "maxLength", "nullable",
            "additionalProperties", "format", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "pattern",
            "patternProperties", "propertyNames", "prefixItems", "contains", "maxContains", "unevaluatedItems",
            "unevaluatedProperties", "dependentRequired", "dependentSchemas", "exclusiveMinimum", "multipleOf",
            "uniqueItems", "minProperties", "$ref", "discriminator", "propertyName", "default", "examples",
        ]
        switch Int.random(in: 0..<(depth > 0 ? 12 : 5), using: &random) {
        case 0: return .bool(Bool.random(using: &random))
        case 1: return .integer(Int64.random(in: -2...2, using: &random))
        case 2: return .string(["string", "integer", "object", "#", "date", "#/a"].randomElement(using: &random) ?? "")
        case 3: return .number(1e300)
        case 4: return .unsigned(.max)
        case 5: return .array((0..<2).map { _ in value(&random, depth - 1) })
        default:
            return .object(
                (0..<2).map { _ in
                    .init(names[Int.random(in: 0..<names.count, using: &random)], value(&random, depth - 1))
                })
        }
    }
}
