extension JSONSchema {
    /// The index of a schema in its ``Arena``.
    typealias Index = Int32

    /// A parsed schema.
    final class Node: Sendable {
        let rules: Rules
        /// True if the schema has keywords that apply schemas to elements.
        let seesElements: Bool
        /// True if the schema has keywords that apply schemas to members.
        let seesMembers: Bool
        /// True if the checker must record which elements and members have been evaluated, for `unevaluatedItems` or
        /// `unevaluatedProperties`.
        let tracks: Bool
        /// Notes about ignored keywords. Nil if there are none.
        let notes: Boxed<[String]>?

        init(_ rules: Rules, notes: [String] = []) {
            self.rules = rules
            self.notes = notes.isEmpty ? nil : Boxed(notes)
            tracks = rules.unevaluatedItems != nil || rules.unevaluatedProperties != nil
            seesElements =
                rules.items != nil || !rules.prefix.isEmpty || rules.contains != nil || rules.unevaluatedItems != nil
            seesMembers =
                !rules.properties.isEmpty || rules.additional != nil || !rules.patterns.isEmpty
                || rules.names != nil || rules.unevaluatedProperties != nil
        }
    }

    struct Rules: Sendable {
        /// The schema `false`: no value is valid.
        var isNever = false
        /// Null is valid regardless of the other keywords.
        var acceptsNull = false
        var isReadOnly = false
        var isWriteOnly = false
        var isUnique = false
        /// Empty if all types are allowed.
        var types: Types = []
        var format: JSONFormat?
        /// The values that `enum` or `const` allows. Nil if both are missing.
        var values: [JSONValue]?
        var numbers: Boxed<NumberRules>?
        /// The allowed length of a string in code points.
        var length = Bounds()
        var pattern: JSONPattern?
        // Arrays.
        var itemCount = Bounds()
        var prefix: [Index] = []
        /// The schema of the elements after ``prefix``.
        var items: Index?
        var contains: Boxed<ContainsRule>?
        var unevaluatedItems: Index?
        // Objects.
        var memberCount = Bounds()
        var required: [String] = []
        var properties: [(name: String, schema: Index)] = []
        var places = ExactDictionary<Index>()
        var patterns: [(pattern: JSONPattern, schema: Index)] = []
        var additional: Index?
        var names: Index?
        var dependentRequired: [(name: String, names: [String])] = []
        var unevaluatedProperties: Index?
        /// Schemas that apply to the same value.
        var combination: Boxed<Combination>?
        var notice: Boxed<Notice>?
    }

    final class Boxed<Value: Sendable>: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    struct NumberRules: Sendable {
        var minimum: JSONValue?
        var maximum: JSONValue?
        /// `exclusiveMinimum`
        var above: JSONValue?
        /// `exclusiveMaximum`
        var below: JSONValue?
        var multipleOf: JSONValue?
    }

    struct ContainsRule: Sendable {
        var schema: Index
        var count = Bounds(minimum: 1)
    }

    struct Combination: Sendable {
        var reference: Index?
        var allOf: [Index] = []
        var anyOf: [Index] = []
        var oneOf: [Index] = []
        var not: Index?
        var condition: Index?
        var then: Index?
        var otherwise: Index?
        var dependent: [(name: String, schema: Index)] = []
        var discriminator: Discriminator?
    }

    /// Selects a schema of `anyOf` or `oneOf` by the value of a member. OpenAPI 3.1 section 4.8.25.
    struct Discriminator: Sendable {
        var property: String
        /// Maps a member's value to a position in `oneOf`, or in `anyOf` if there is no `oneOf`.
        var branches = ExactDictionary<Int>()
        /// The keys of ``branches`` in document order.
        var names: [String] = []
    }

    /// Keywords that do not affect validation.
    struct Notice: Sendable {
        var description: String?
        var format: String?
        var defaultValue: JSONValue?
        var examples: [JSONValue] = []
        var mediaType: String?
        var encoding: String?

        var isEmptyMessage: Bool {
            description == nil && format == nil && defaultValue == nil && examples.isEmpty && mediaType == nil
                && encoding == nil
        }
    }

    struct Bounds: Sendable {
        var minimum = 0
        var maximum = Int.max

        var areReported: Bool { minimum > 0 || maximum < Int.max }
    }

    struct Types: OptionSet, Sendable {
        let rawValue: UInt8

        static let null = Types(rawValue: 1)
        static let boolean = Types(rawValue: 2)
        static let integer = Types(rawValue: 4)
        static let number = Types(rawValue: 8)
        static let string = Types(rawValue: 16)
        static let array = Types(rawValue: 32)
        static let object = Types(rawValue: 64)

        static let names: [(name: String, type: Types, phrase: String)] = [
            ("string", .string, "a string"), ("integer", .integer, "an integer"), ("number", .number, "a number"),
            ("boolean", .boolean, "a boolean"), ("array", .array, "an array"), ("object", .object, "an object"),
            ("null", .null, "null"),
        ]

        /// For example "a string or null".
        var phrase: String { Types.names.filter { contains($0.type) }.map(\.phrase).joined(separator: " or ") }

        func include(_ value: JSONValue) -> Bool {
            switch value {
            case .null: contains(.null)
            case .bool: contains(.boolean)
            case .integer, .unsigned, .number: contains(.number) || contains(.integer) && value.isInteger
            case .string: contains(.string)
            case .array: contains(.array)
            case .object: contains(.object)
            }
        }
    }
}
