extension GraphQL {
    /// The result of a resolver.
    indirect enum Resolved {
        case null
        case leaf(JSON)
        case list([Resolved])
        /// An object of this type. The resolvers of its fields receive the value.
        case object(type: String, Any)

        static func optional(_ text: String?) -> Resolved { text.map { .leaf(.string($0)) } ?? .null }
    }

    /// An argument of a field, or a field of an input object.
    struct InputField: Sendable {
        let name: String
        let description: String
        let type: TypeReference
        /// The default value. Nil: none.
        var fallback: JSON?

        var isRequired: Bool { type.isNonNull && fallback == nil }
    }

    struct FieldDefinition {
        typealias Resolver = (_ source: Any, _ arguments: [String: JSON]) throws(Failure) -> Resolved

        let name: String
        let description: String
        let type: TypeReference
        let arguments: [InputField]
        let deprecation: String?
        let resolve: Resolver

        init(
            _ name: String, _ type: TypeReference, _ description: String, _ arguments: [InputField] = [],
            deprecation: String? = nil, resolve: @escaping Resolver
        ) {
            (self.name, self.type, self.description, self.arguments) = (name, type, description, arguments)
            (self.deprecation, self.resolve) = (deprecation, resolve)
        }
    }

    /// A type of the schema. Section 3.4.
    struct NamedType {
        enum Kind {
            case scalar
            case enumeration([String])
            case object([FieldDefinition], interfaces: [String])
            case interface([FieldDefinition])
            case input([InputField])
        }

        let name: String
        let description: String
        let kind: Kind

        /// The fields of an object or interface. Nil for other types.
        var fields: [FieldDefinition]? {
            switch kind {
            case .object(let fields, _), .interface(let fields): fields
            default: nil
            }
        }

        var isInput: Bool {
            switch kind {
            case .scalar, .enumeration, .input: true
            case .object, .interface: false
            }
        }
    }

    /// The types of an API. The roots are the types Query, Mutation and Subscription.
    struct Schema {
        /// In the order of their definitions, without those of introspection.
        let types: [NamedType]
        private let all: [String: NamedType]

        init(_ types: [NamedType]) {
            self.types = types + Schema.scalars
            var all: [String: NamedType] = [:]
            for type in self.types + Introspection.types { all[type.name] = type }
            self.all = all
        }

        subscript(name: String) -> NamedType? { all[name] }

        func root(_ kind: OperationKind) -> NamedType? {
            switch kind {
            case .query: self["Query"]
            case .mutation: self["Mutation"]
            case .subscription: self["Subscription"]
            }
        }

        /// Returns the definition of a field, also of those that every type or the root has. Section 4.1.
        func field(_ name: String, of type: NamedType) -> FieldDefinition? {
            if name == "__typename" { return Introspection.typename }
            if type.name == "Query", name.hasPrefix("__") {
                return Introspection.rootFields(self).first { $0.name == name }
            }
            return type.fields?.first { $0.name == name }
        }

        /// Whether objects of the type `name` have the type `condition`.
        func applies(_ condition: String, to name: String) -> Bool {
            if condition == name { return true }
            guard case .object(_, let interfaces)? = self[name]?.kind else { return false }
            return interfaces.contains(condition)
        }

        /// The names of the objects with an interface, or of one object.
        func objects(of name: String) -> Set<String> {
            guard case .interface? = self[name]?.kind else { return [name] }
            return Set(types.map(\.name).filter { $0 != name && applies(name, to: $0) })
        }

        private static var scalars: [NamedType] {
            [
                NamedType(name: "Int", description: "An integer of 32 bits.", kind: .scalar),
                NamedType(name: "Float", description: "A number.", kind: .scalar),
                NamedType(name: "String", description: "A text.", kind: .scalar),
                NamedType(name: "Boolean", description: "true or false.", kind: .scalar),
                NamedType(name: "ID", description: "An identifier: a text. Integers are accepted.", kind: .scalar),
            ]
        }
    }
}

extension GraphQL.TypeReference: ExpressibleByStringLiteral {
    /// Reads a type such as `[String!]!`. The text must be valid.
    init(stringLiteral text: String) {
        if text.hasSuffix("!") {
            self = .nonNull(GraphQL.TypeReference(stringLiteral: String(text.dropLast())))
        } else if text.hasPrefix("[") {
            self = .list(GraphQL.TypeReference(stringLiteral: String(text.dropFirst().dropLast())))
        } else {
            self = .named(text)
        }
    }
}
