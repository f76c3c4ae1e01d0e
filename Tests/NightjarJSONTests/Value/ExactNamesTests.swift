import NightjarTestSupport
import Testing

@testable import NightjarJSON

/// Names and texts of JSON are compared by code points. Swift treats canonically equivalent texts as equal.
@Suite struct ExactNamesTests {
    private let one = "caf\u{e9}"
    private let other = "cafe\u{301}"

    @Test func valuesAreComparedByCodePoints() throws {
        #expect(JSONValue.string(one) != .string(other))
        let object = JSONValue.object([.init(one, 1), .init(other, 2)])
        #expect(object[other] == 2)
        #expect(object != .object([.init(other, 1), .init(one, 2)]))
        #expect(JSONPointer(tokens: [one]) != JSONPointer(tokens: [other]))
        #expect(JSONPointer(tokens: [other]).value(in: object) == 2)
    }

    private struct Both: Codable, Equatable {
        var composed: Int
        var decomposed: Int

        enum CodingKeys: String, CodingKey {
            case composed = "caf\u{e9}"
            case decomposed = "cafe\u{301} "
        }
    }

    @Test func typesAreDecodedByExactNames() throws {
        let value = JSONValue.object([.init(other, 5), .init(one, 1), .init(other + " ", 2)])
        #expect(try value.decode(Both.self) == Both(composed: 1, decomposed: 2))
        let many = (0..<20).map { JSONValue.Member("m\($0)", .null) }
        guard case .object(let members) = value else { return }
        #expect(try JSONValue.object(many + members).decode(Both.self) == Both(composed: 1, decomposed: 2))
    }

    // MARK: JSON Schema

    /// A schema, a document, and whether the document is valid. `C` stands for the composed name, `D` for the
    /// decomposed name.
    @Test(arguments: [
        (#"{"required": ["C"]}"#, #"{"C": 1}"#, true),
        (#"{"required": ["C"]}"#, #"{"D": 1}"#, false),
        (#"{"properties": {"C": {"type": "string"}}}"#, #"{"D": 1}"#, true),
        (#"{"properties": {"C": {"type": "string"}, "D": {"type": "integer"}}}"#, #"{"C": "", "D": 1}"#, true),
        (#"{"properties": {"C": {"type": "string"}, "D": {"type": "integer"}}}"#, #"{"C": 1, "D": 1}"#, false),
        (#"{"properties": {"C": true}, "additionalProperties": false}"#, #"{"C": 1}"#, true),
        (#"{"properties": {"C": true}, "additionalProperties": false}"#, #"{"D": 1}"#, false),
        (
            #"{"properties": {"C": true}, "patternProperties": {"^x": true}, "additionalProperties": false}"#,
            #"{"D": 1}"#, false
        ),
        (#"{"properties": {"C": true}, "unevaluatedProperties": false}"#, #"{"D": 1}"#, false),
        (#"{"dependentRequired": {"C": ["a"]}}"#, #"{"D": 1}"#, true),
        (#"{"dependentRequired": {"a": ["C"]}}"#, #"{"a": 1, "D": 1}"#, false),
        (#"{"dependentSchemas": {"C": false}}"#, #"{"D": 1}"#, true),
        (#"{"const": {"C": "C"}}"#, #"{"C": "D"}"#, false),
        (#"{"enum": ["C"]}"#, #""D""#, false),
        (#"{"uniqueItems": true}"#, #"[{"C": 1, "D": 2}, {"D": 2, "C": 1}]"#, false),
        (#"{"uniqueItems": true}"#, #"["C", "D"]"#, true),
        (##"{"$defs": {"C": {"type": "string"}, "D": {"type": "integer"}}, "$ref": "#/$defs/D"}"##, "1", true),
        (##"{"$defs": {"a": {"$anchor": "C", "type": "string"}, "b": {"$anchor": "D"}}, "$ref": "#D"}"##, "1", true),
    ])
    func schemasCompareNamesByCodePoints(schema: String, document: String, isValid: Bool) throws {
        func spelled(_ text: String) -> String {
            text.replacingOccurrences(of: "C", with: one).replacingOccurrences(of: "D", with: other)
        }
        let schema = try JSONSchema(parsing: spelled(schema))
        let document = try JSONValue(parsing: spelled(document))
        #expect((schema.mismatch(in: document) == nil) == isValid)
    }

    /// Duplicate names are found without comparing all pairs.
    @Test func repeatedPropertiesAreReadOnce() throws {
        let count = 20_000
        func members(_ type: String) -> [JSONValue.Member] {
            (0..<count).map { .init("p\($0)", .object([.init("type", .string(type))])) }
        }
        let text = JSONValue.object([.init("properties", .object(members("string") + members("integer")))])
        var made: JSONSchema?
        #expect(try processorSeconds { made = try JSONSchema(text) } < 20)
        let schema = try #require(made)
        #expect(schema.properties.count == count)
        #expect(schema.mismatch(in: .object([.init("p7", "")])) == nil)
        #expect(schema.mismatch(in: .object([.init("p7", 1)])) != nil)
    }
}

extension String {
    /// Replaces Unicode scalars. This file does not import Foundation.
    fileprivate func replacingOccurrences(of old: Unicode.Scalar, with new: String) -> String {
        var result = ""
        for scalar in unicodeScalars {
            if scalar == old {
                result.unicodeScalars.append(contentsOf: new.unicodeScalars)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
