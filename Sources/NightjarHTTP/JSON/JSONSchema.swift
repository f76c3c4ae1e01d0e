/// What a JSON document must look like: a subset of JSON Schema 2020-12, with OpenAPI's `nullable`.
///
/// Understood: type, required, properties, additionalProperties, items, enum, const, format (date-time, date, uuid, uri,
/// email), nullable, minimum, maximum, minLength, maxLength, minItems, maxItems, and schemas that are true or false.
/// Words that only describe are passed over; all others are refused when the schema is made, for a rule that is not
/// looked at is worse than none.
public struct JSONSchema: Sendable {
    /// Levels of schemas within each other, and so of the stack that checking uses.
    static let maximumDepth = 64

    private let root: Subschema

    /// - Throws: `invalid_argument` with the place in the schema.
    public init(_ schema: JSONValue) throws(NightjarError) {
        var reader = JSONSchemaReader()
        root = try reader.subschema(schema)
    }

    /// - Throws: `invalid_argument` also for what is no JSON.
    public init(parsing text: String) throws(NightjarError) {
        self = try text.withRawBytes { bytes throws(NightjarError) in try JSONSchema(parsing: bytes) }
    }

    public init(parsing text: UnsafeRawBufferPointer) throws(NightjarError) {
        let schema: JSONValue
        do throws(NightjarError) {
            schema = try JSONValue(parsing: text)
        } catch {
            throw NightjarError(.invalidArgument, "the schema is \(error.message)")
        }
        try self.init(schema)
    }

    /// The first departure in the order of the document; nil when there is none.
    public func mismatch(in document: JSONValue) -> JSONMismatch? {
        var checker = JSONSchemaChecker()
        return checker.mismatch(of: document, root)
    }

    /// - Throws: `decoding`, telling the path, what was expected and what was found.
    public func check(_ document: JSONValue) throws(NightjarError) {
        if let mismatch = mismatch(in: document) { throw mismatch.error }
    }

    // MARK: A schema, read

    indirect enum Subschema: Sendable {
        /// `true`, and where nothing is said.
        case any
        /// `false`.
        case never
        case rules(Rules)
    }

    struct Rules: Sendable {
        /// Empty: every type.
        var types: Types = []
        /// nil, or what the value must be one of; `const` is a list of one.
        var values: [JSONValue]?
        var format: JSONFormat?
        /// Numbers.
        var minimum: JSONValue?
        var maximum: JSONValue?
        /// Code points.
        var length = Bounds()
        var items = Subschema.any
        var itemCount = Bounds()
        var required: [String] = []
        var properties: [String: Subschema] = [:]
        var additionalProperties = Subschema.any
    }

    struct Bounds: Sendable {
        var minimum = 0
        var maximum = Int.max
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

        /// "a string or null"
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
