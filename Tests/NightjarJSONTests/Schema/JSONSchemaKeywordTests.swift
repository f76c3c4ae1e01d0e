import Testing

@testable import NightjarJSON

/// Messages of keywords that JSONSchemaTests does not cover. JSONSchemaSuiteTests checks the validation itself.
@Suite struct JSONSchemaKeywordTests {
    /// Schema, document and message. The message is empty if the document is valid.
    @Test(arguments: [
        // Numbers.
        (#"{"exclusiveMinimum": 1}"#, "1", "expected a number greater than 1, found that number itself"),
        (#"{"exclusiveMinimum": 1}"#, "0", "expected a number greater than 1, found a smaller one"),
        (#"{"exclusiveMaximum": 1}"#, "1.0", "expected a number less than 1, found that number itself"),
        (
            #"{"minimum": 1, "exclusiveMinimum": true}"#, "1",
            "expected a number greater than 1, found that number itself"
        ),
        (#"{"exclusiveMaximum": true, "maximum": 1}"#, "2", "expected a number less than 1, found a larger one"),
        (#"{"maximum": 1, "exclusiveMaximum": false}"#, "1", ""),
        (#"{"multipleOf": 3}"#, "9223372036854775806", ""),
        (#"{"multipleOf": 3}"#, "9223372036854775807", "expected a multiple of 3, found another number"),
        (#"{"multipleOf": 0.1}"#, "0.3", ""), (#"{"multipleOf": 0.01}"#, "19.99", ""),
        (#"{"multipleOf": 0.01}"#, "4.021", "expected a multiple of 0.01, found another number"),
        (#"{"multipleOf": 1e-300}"#, "1e300", ""), (#"{"multipleOf": 1e300}"#, "0", ""),
        (#"{"multipleOf": 7}"#, "1e300", "expected a multiple of 7, found another number"),
        (#"{"multipleOf": 1e300}"#, "1e-300", "expected a multiple of 1e+300, found another number"),
        // Strings.
        (#"{"pattern": "^a+$"}"#, #""aaa""#, ""),
        (#"{"pattern": "^a+$"}"#, #""ab""#, #"expected a string that matches "^a+$", found another string"#),
        (#"{"pattern": "^a+$"}"#, "1", ""),
        // Arrays.
        (#"{"prefixItems": [{"type": "string"}], "items": {"type": "null"}}"#, #"["a", null]"#, ""),
        (
            #"{"prefixItems": [{"type": "string"}], "items": {"type": "null"}}"#, #"["a", 1]"#,
            #"at "/1": expected null, found an integer"#
        ),
        (
            #"{"contains": {"type": "string"}}"#, "[1, 2]",
            #"expected an array with at least 1 element that matches "contains", found one with 0"#
        ),
        (
            #"{"contains": {"type": "string"}, "minContains": 2}"#, #"["a", 1]"#,
            #"expected an array with at least 2 elements that match "contains", found one with 1"#
        ),
        (
            #"{"contains": {"type": "string"}, "maxContains": 1}"#, #"["a", "b"]"#,
            #"expected an array with at most 1 element that matches "contains", found one with 2"#
        ),
        (
            #"{"uniqueItems": true}"#, #"[{"a": 1, "b": 2}, 1, {"b": 2.0, "a": 1.0}]"#,
            "expected an array of unique elements, found one whose elements 0 and 2 are equal"
        ),
        (#"{"uniqueItems": true}"#, #"["1", 1, true, null, [1], {"1": 1}, "a", "A"]"#, ""),
        (
            #"{"prefixItems": [true], "unevaluatedItems": false}"#, "[1, 2]",
            #"at "/1": expected nothing, found an integer"#
        ),
        // Objects.
        (#"{"minProperties": 1}"#, "{}", "expected an object of at least 1 member, found one of 0"),
        (#"{"maxProperties": 1}"#, #"{"a": 1, "b": 2}"#, "expected an object of at most 1 member, found one of 2"),
        (
            #"{"patternProperties": {"^n": {"type": "integer"}}, "additionalProperties": false}"#,
            #"{"n1": 1, "n2": "2"}"#, #"at "/n2": expected an integer, found a string"#
        ),
        (
            #"{"patternProperties": {"^n": {"type": "integer"}}, "additionalProperties": false}"#,
            #"{"n1": 1, "m": "2"}"#, #"at "/m": expected no member with this name, found a string"#
        ),
        (
            #"{"properties": {"n": {"minimum": 1}}, "patternProperties": {"n": {"maximum": 2}, "^.$": {"type": "integer"}}}"#,
            #"{"n": 1.5}"#, #"at "/n": expected an integer, found a number"#
        ),
        (
            #"{"propertyNames": {"maxLength": 1}}"#, #"{"a": 1, "bc": 2}"#,
            #"at "/bc": expected a member whose name is a string of at most 1 character, found one of 2"#
        ),
        (
            #"{"dependentRequired": {"a": ["b"]}, "properties": {"b": {"type": "string"}}}"#, #"{"a": 1}"#,
            #"at "/b": expected a string because "a" is present, found nothing"#
        ),
        (
            #"{"dependentSchemas": {"a": {"required": ["b"]}}}"#, #"{"a": 1}"#,
            #"at "/b": expected a value, found nothing"#
        ),
        (
            #"{"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false}"#, #"{"a": 1, "b": 1}"#,
            #"at "/b": expected no member with this name, found an integer"#
        ),
        // Several schemas for the same value.
        (
            #"{"allOf": [{"type": "object"}, {"required": ["a"]}]}"#, "{}",
            #"at "/a": expected a value, found nothing"#
        ),
        (
            #"{"anyOf": [{"type": "string"}, {"type": "null"}]}"#, "1",
            "expected a string or null, found an integer"
        ),
        (
            #"{"anyOf": [{"type": "string"}, {"anyOf": [{"type": "null"}, {"type": "array"}]}]}"#, "1",
            "expected a string or an array or null, found an integer"
        ),
        (
            #"{"oneOf": [{"type": "string"}, {"required": ["a"], "properties": {"b": {"type": "integer"}}}]}"#,
            #"{"a": 1, "b": "x"}"#,
            #"at "/b": expected an integer (by schema 2 of 2 in "oneOf"), found a string"#
        ),
        (
            #"{"oneOf": [{"minimum": 1}, {"maximum": 5}, {"type": "string"}]}"#, "3",
            #"expected a value that matches exactly one of the 3 schemas of "oneOf", found one that matches schemas 1, 2"#
        ),
        (#"{"not": {"type": "string"}}"#, "1", ""),
        (
            #"{"not": {"type": "string"}}"#, #""a""#,
            #"expected a value that does not match "not", found a string"#
        ),
        (
            #"{"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": "null"}}"#, #""a""#,
            "expected a string of at least 2 characters, found one of 1"
        ),
        (
            #"{"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": "null"}}"#, "1",
            "expected null, found an integer"
        ),
        (
            ##"{"properties": {"a": {"$ref": "#/$defs/id"}}, "$defs": {"id": {"type": "integer"}}}"##, #"{"a": "1"}"#,
            #"at "/a": expected an integer, found a string"#
        ),
        (
            ##"{"items": {"$ref": "#id"}, "definitions": {"x": {"$anchor": "id", "type": "integer"}}}"##, "[1, null]",
            #"at "/1": expected an integer, found null"#
        ),
        (
            ##"{"$ref": "#/$defs/a%25~1", "minimum": 2, "$defs": {"a%/": {"type": "integer"}}}"##, "1",
            "expected a number of at least 2, found a smaller one"
        ),
        // The value of a member with the name of a secret is never shown.
        (
            #"{"properties": {"token": {"oneOf": [{"const": "a"}, {"items": {"const": 1}, "type": "array"}]}}}"#,
            #"{"token": "s3cret"}"#, #"at "/token": expected "a" (by schema 1 of 2 in "oneOf"), found a string"#
        ),
    ])
    func mismatchesAreReported(_ schema: String, _ document: String, _ reported: String) throws {
        let schema = try JSONSchema(parsing: schema)
        let mismatch = schema.mismatch(in: try JSONValue(parsing: document))
        #expect(mismatch?.description ?? "" == reported)
    }

    @Test func discriminatorSelectsTheReportedSchema() throws {
        let schema = try JSONSchema(
            parsing: ##"""
                {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
                 "discriminator": {"propertyName": "kind", "mapping": {"dog": "#/$defs/Dog"}},
                 "$defs": {"Cat": {"properties": {"lives": {"type": "integer"}}},
                           "Dog": {"properties": {"bark": {"type": "boolean"}}, "required": ["kind"]}}}
                """##)
        func reported(_ document: String) throws -> String? {
            schema.mismatch(in: try JSONValue(parsing: document))?.description
        }
        #expect(try reported(#"{"kind": "dog", "bark": true, "lives": "x"}"#) == nil)
        #expect(try reported(#"{"kind": "dog", "bark": 1}"#) == #"at "/bark": expected a boolean, found an integer"#)
        #expect(try reported(#"{"kind": "Cat", "lives": "x"}"#) == #"at "/lives": expected an integer, found a string"#)
        #expect(
            try reported(#"{"kind": "cow", "lives": "x", "bark": 1}"#)
                == #"at "/kind": expected one of "dog", "Cat", found "cow""#)
        #expect(
            try reported(#"{"lives": "x", "bark": 1}"#) == #"at "/kind": expected one of "dog", "Cat", found nothing"#)
        // Without the discriminator's member, a value is valid if it matches exactly one schema.
        #expect(try reported(#"{"lives": 9}"#) == nil)
    }

    /// A mismatch with `oneOf` lists the allowed values instead of schemas, even if the discriminator has no mapping.
    @Test func mismatchListsTheAllowedValues() throws {
        let schema = try JSONSchema(
            parsing: ##"""
                {"oneOf": [{"$ref": "#/$defs/SystemMessage"}, {"$ref": "#/$defs/UserMessage"}, {"$ref": "#/$defs/Tool"}],
                 "discriminator": {"propertyName": "role"},
                 "$defs": {
                   "SystemMessage": {"properties": {"role": {"enum": ["system"]}, "content": {"type": "string"}},
                                     "required": ["role", "content"]},
                   "UserMessage": {"allOf": [{"$ref": "#/$defs/SystemLike"}], "required": ["role", "content"]},
                   "SystemLike": {"properties": {"role": {"$ref": "#/$defs/UserRole"}, "content": {"type": "string"}}},
                   "UserRole": {"const": "user"},
                   "Tool": {"properties": {"role": {"enum": ["tool", "function"]}, "id": {"type": "integer"}},
                            "required": ["role"]}}}
                """##)
        func reported(_ document: String) throws -> String? {
            schema.mismatch(in: try JSONValue(parsing: document))?.description
        }
        #expect(try reported(#"{"role": "user", "content": "hi"}"#) == nil)
        let roles = #"one of "system", "user", "tool", "function""#
        #expect(try reported(#"{"role": "usr", "content": "hi"}"#) == #"at "/role": expected \#(roles), found "usr""#)
        #expect(try reported(#"{"content": "hi"}"#) == #"at "/role": expected \#(roles), found nothing"#)
        // The `enum` or `const` of the member selects the schema whose failure is reported.
        #expect(
            try reported(#"{"role": "user", "content": 1}"#) == #"at "/content": expected a string, found an integer"#)
        #expect(try reported(#"{"role": "system"}"#) == #"at "/content": expected a string, found nothing"#)
    }

    @Test func constantSelectsTheReportedSchema() throws {
        let schema = try JSONSchema(
            parsing: #"""
                {"anyOf": [{"properties": {"type": {"const": "text"}, "text": {"type": "string"}}, "required": ["type"]},
                           {"properties": {"type": {"const": "image"}, "url": {"type": "string"}}, "required": ["type"]}]}
                """#)
        func reported(_ document: String) throws -> String? {
            schema.mismatch(in: try JSONValue(parsing: document))?.description
        }
        #expect(try reported(#"{"type": "audio"}"#) == #"at "/type": expected one of "text", "image", found "audio""#)
        #expect(
            try reported(#"{"type": "image", "url": 7}"#)
                == #"at "/url": expected a string (by schema 2 of 2 in "anyOf"), found an integer"#)
    }

    @Test func recursiveSchemaIsCheckedAtEachDepth() throws {
        let schema = try JSONSchema(
            parsing: ##"{"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": false}"##)
        let depth = 1000
        let good = String(repeating: #"{"next":"#, count: depth) + "{}" + String(repeating: "}", count: depth)
        #expect(schema.mismatch(in: try JSONValue(parsing: good)) == nil)
        let bad = String(repeating: #"{"next":"#, count: depth) + "1" + String(repeating: "}", count: depth)
        let mismatch = schema.mismatch(in: try JSONValue(parsing: bad))
        #expect(mismatch?.path.tokens.count == depth)
        #expect(mismatch?.expected == "an object")
    }

    @Test func readOnlyPropertyIsNotRequiredInRequests() throws {
        let schema = try JSONSchema(
            parsing: """
                {"required": ["id", "name", "password"], "properties": {
                  "id": {"readOnly": true, "type": "integer"}, "name": {"type": "string"},
                  "password": {"writeOnly": true, "type": "string"}}}
                """)
        let sent = try JSONValue(parsing: #"{"name": "n", "password": "p"}"#)
        #expect(schema.mismatch(in: sent)?.description == #"at "/id": expected an integer, found nothing"#)
        #expect(schema.mismatch(in: sent, use: .request) == nil)
        let response = try JSONValue(parsing: #"{"id": 1, "name": "n"}"#)
        #expect(schema.mismatch(in: response, use: .response) == nil)
        #expect(
            schema.mismatch(in: response, use: .request)?.description
                == #"at "/password": expected a string, found nothing"#)
    }

    // MARK: Bounds

    @Test func cyclicReferenceEnds() throws {
        let schema = try JSONSchema(parsing: ##"{"allOf": [{"$ref": "#"}]}"##)
        let error = #expect(throws: NightjarError.self) { try schema.check(.array([.integer(1)])) }
        #expect(error?.kind == .decoding)
        #expect(
            error?.message
                == "the JSON is not as expected: expected a value with at most 8192 nested schemas, found one that requires more"
        )
    }

    @Test func expensiveCheckIsAborted() throws {
        // Each level doubles the work, so the whole check would take 2^60 steps.
        let schema = try JSONSchema(
            parsing: ##"{"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#", "minItems": 0}]}}"##)
        let depth = 60
        let text = String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
        var checker = JSONSchemaChecker(schema.arena, .any, maximumSteps: 100_000)
        let mismatch = checker.mismatch(of: try JSONValue(parsing: text), schema.root)
        #expect(mismatch?.expected == "a value that can be checked in 100000 steps")
        #expect(mismatch?.found == "one that requires more")
    }

    /// The step limit depends on the size of the document, so the check of a small document ends early even for an
    /// expensive schema.
    @Test func stepBudgetGrowsWithTheDocument() throws {
        func steps(_ value: JSONValue) -> Int { JSONSchemaChecker.steps(for: value) }
        #expect(steps(.null) == 1_001_000)
        #expect(steps(.array([1, .object([.init("a", .string("four"))])])) == 1_004_080)
        #expect(steps(.array(Array(repeating: 1, count: 100_000))) == JSONSchemaChecker.maximumSteps)
        #expect(steps(.string(String(repeating: "a", count: 1_000_000))) == JSONSchemaChecker.maximumSteps)
        let nested = (0..<300).reduce(JSONValue.null) { value, _ in .array([value, value]) }
        #expect(steps(nested) == JSONSchemaChecker.maximumSteps)

        let names = (0..<40).map {
            ##""d\##($0)":{"allOf":[{"$ref":"#/$defs/d\##($0 + 1)"},{"$ref":"#/$defs/d\##($0 + 1)"}]}"##
        }
        let schema = try JSONSchema(
            parsing: ##"{"$ref":"#/$defs/d0","$defs":{\##(names.joined(separator: ",")),"d40":{"type":"null"}}}"##)
        #expect(schema.mismatch(in: .null)?.expected == "a value that can be checked in 1001000 steps")
    }

    @Test func catastrophicPatternIsAborted() throws {
        let schema = try JSONSchema(parsing: #"{"pattern": "^(a|aa)+$"}"#)
        var checker = JSONSchemaChecker(schema.arena, .any, maximumSteps: 10_000)
        let text = String(repeating: "a", count: 60) + "b"
        #expect(checker.mismatch(of: .string(text), schema.root)?.found == "one that requires more")
        #expect(schema.mismatch(in: .string("aaaa")) == nil)
    }

    @Test func uniqueItemsTakeNearlyLinearTime() throws {
        let schema = try JSONSchema(parsing: #"{"uniqueItems": true}"#)
        let elements = (0..<20_000).map { JSONValue.object([.init("id", .integer(Int64($0)))]) }
        #expect(schema.mismatch(in: .array(elements)) == nil)
        #expect(
            schema.mismatch(in: .array(elements + [elements[7]]))?.found == "one whose elements 7 and 20000 are equal")
    }
}
