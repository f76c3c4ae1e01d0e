/// The types of a GraphQL service, from the result of an introspection query. GraphQL specification section 4.
package struct GraphQLSchema: Sendable {
    package enum Kind: Sendable, Equatable {
        case scalar
        /// The names of the values.
        case enumeration([String])
        /// The fields. `isOneOf`: exactly one field must be set.
        case input([Input], isOneOf: Bool)
        /// An object or an interface.
        case object([Field])
        case union
    }

    package struct Field: Sendable, Equatable {
        package var name: String
        package var text: String
        package var type: GraphQLType
        package var arguments: [Input]
        package var isDeprecated: Bool
    }

    /// An argument, or a field of an input object.
    package struct Input: Sendable, Equatable {
        package var name: String
        package var text: String
        package var type: GraphQLType
        package var hasDefault: Bool

        package var isRequired: Bool { type.isNonNull && !hasDefault }
    }

    package let types: [String: Kind]
    private let roots: [GraphQLDocument.Kind: String]

    /// Returns the name of the type whose fields an operation of this kind selects. Nil if the service has no such
    /// operations.
    package func root(_ kind: GraphQLDocument.Kind) -> String? { roots[kind] }

    /// The fields of an object or an interface. Empty for other types.
    package func fields(of type: String) -> [Field] {
        guard case .object(let fields)? = types[type] else { return [] }
        return fields
    }

    /// Reads a response of an introspection query, or the value of its `data`. Types that are invalid are ignored.
    ///
    /// - Throws: `decoding` if the value has no schema.
    package init(introspection document: JSONValue) throws(NightjarError) {
        let schema = document["data"]?["__schema"] ?? document["__schema"] ?? .null
        guard case .array(let values)? = schema["types"], case .string(let query)? = schema["queryType"]?["name"]
        else {
            throw NightjarError(
                .decoding, "the text is not the result of a GraphQL introspection query: it has no __schema with types")
        }
        var types: [String: Kind] = [:]
        for value in values {
            guard let name = GraphQLSchema.name(value), let kind = GraphQLSchema.kind(value) else { continue }
            types[name] = kind
        }
        self.types = types
        var roots = [GraphQLDocument.Kind.query: query]
        if let type = schema["mutationType"].flatMap(GraphQLSchema.name) { roots[.mutation] = type }
        if let type = schema["subscriptionType"].flatMap(GraphQLSchema.name) { roots[.subscription] = type }
        self.roots = roots
    }

    private static func name(_ value: JSONValue) -> String? {
        guard case .string(let name)? = value["name"], GraphQLLexer.isName(name) else { return nil }
        return name
    }

    private static func kind(_ value: JSONValue) -> Kind? {
        guard case .string(let kind)? = value["kind"] else { return nil }
        switch kind {
        case "SCALAR": return .scalar
        case "ENUM": return .enumeration(list(value["enumValues"]).compactMap(name))
        case "INPUT_OBJECT":
            return .input(list(value["inputFields"]).compactMap(input), isOneOf: value["isOneOf"] == .bool(true))
        case "OBJECT", "INTERFACE": return .object(list(value["fields"]).compactMap(field))
        case "UNION": return .union
        default: return nil
        }
    }

    private static func list(_ value: JSONValue?) -> [JSONValue] {
        if case .array(let elements)? = value { return elements }
        return []
    }

    private static func text(_ value: JSONValue) -> String {
        if case .string(let text)? = value["description"] { return text }
        return ""
    }

    private static func field(_ value: JSONValue) -> Field? {
        guard let name = name(value), let type = GraphQLType(introspected: value["type"]) else { return nil }
        return Field(
            name: name, text: text(value), type: type, arguments: list(value["args"]).compactMap(input),
            isDeprecated: value["isDeprecated"] == .bool(true))
    }

    private static func input(_ value: JSONValue) -> Input? {
        guard let name = name(value), let type = GraphQLType(introspected: value["type"]) else { return nil }
        return Input(name: name, text: text(value), type: type, hasDefault: value["defaultValue"] ?? .null != .null)
    }

    /// The introspection query. It uses only fields of the specification of 2018 and later, and types up to seven
    /// levels, as GraphiQL does.
    package static let introspectionQuery = """
        query IntrospectionQuery { __schema { queryType { name } mutationType { name } subscriptionType { name } \
        types { kind name description fields(includeDeprecated: true) { name description isDeprecated \
        args { ...input } type { ...type } } inputFields { ...input } enumValues(includeDeprecated: true) { name } } } } \
        fragment input on __InputValue { name description defaultValue type { ...type } } \
        fragment type on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name \
        ofType { kind name ofType { kind name ofType { kind name } } } } } } } }
        """
}
