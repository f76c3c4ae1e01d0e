extension GraphQL {
    /// The fields that describe the schema. Section 4.
    enum Introspection {
        /// The executor returns the name of the object's type.
        static var typename: FieldDefinition {
            FieldDefinition("__typename", "String!", "The name of the type.") { _, _ throws(Failure) in .null }
        }

        static func rootFields(_ schema: Schema) -> [FieldDefinition] {
            [
                FieldDefinition("__schema", "__Schema!", "The schema.") { _, _ throws(Failure) in
                    .object(type: "__Schema", schema)
                },
                FieldDefinition(
                    "__type", "__Type", "A type by its name.",
                    [InputField(name: "name", description: "The name.", type: "String!")]
                ) { _, arguments throws(Failure) in
                    guard case .string(let name)? = arguments["name"], schema[name] != nil else { return .null }
                    return .object(type: "__Type", TypeSource(schema: schema, type: .named(name)))
                },
            ]
        }

        /// A type with the schema that has its definition.
        private struct TypeSource {
            let schema: Schema
            let type: TypeReference

            var named: NamedType? { if case .named(let name) = type { schema[name] } else { nil } }

            func resolved(_ type: TypeReference) -> Resolved {
                .object(type: "__Type", TypeSource(schema: schema, type: type))
            }

            func resolved(names: [String]) -> Resolved { .list(names.map { resolved(.named($0)) }) }
        }

        private struct FieldSource {
            let owner: TypeSource
            let field: FieldDefinition
        }

        private struct InputSource {
            let owner: TypeSource
            let input: InputField
        }

        private struct DirectiveSource {
            let schema: Schema
            let name: String
            let description: String
        }

        private static func text(
            _ name: String, _ type: TypeReference, _ value: @escaping (Any) -> String?
        ) -> FieldDefinition {
            FieldDefinition(name, type, "") { source, _ throws(Failure) in .optional(value(source)) }
        }

        private static func flag(_ name: String, _ value: @escaping (Any) -> Bool) -> FieldDefinition {
            FieldDefinition(name, "Boolean!", "") { source, _ throws(Failure) in .leaf(.bool(value(source))) }
        }

        private static func other(
            _ name: String, _ type: TypeReference, _ arguments: [InputField] = [],
            _ value: @escaping (Any, [String: JSON]) -> Resolved
        ) -> FieldDefinition {
            FieldDefinition(name, type, "", arguments) { source, arguments throws(Failure) in value(source, arguments) }
        }

        private static var includesDeprecated: [InputField] {
            [
                InputField(
                    name: "includeDeprecated", description: "Whether deprecated ones are returned.", type: "Boolean",
                    fallback: .bool(false))
            ]
        }

        static var types: [NamedType] {
            [
                object("__Schema", schemaFields), object("__Type", typeFields), object("__Field", fieldFields),
                object("__InputValue", inputFields), object("__EnumValue", enumerationFields),
                object("__Directive", directiveFields),
                NamedType(
                    name: "__TypeKind", description: "",
                    kind: .enumeration([
                        "SCALAR", "OBJECT", "INTERFACE", "UNION", "ENUM", "INPUT_OBJECT", "LIST", "NON_NULL",
                    ])),
                NamedType(
                    name: "__DirectiveLocation", description: "",
                    kind: .enumeration(["FIELD", "FRAGMENT_SPREAD", "INLINE_FRAGMENT"])),
            ]
        }

        private static func object(_ name: String, _ fields: [FieldDefinition]) -> NamedType {
            NamedType(name: name, description: "", kind: .object(fields, interfaces: []))
        }

        // MARK: Fields

        private static var schemaFields: [FieldDefinition] {
            [
                text("description", "String") { _ in "The articles of the demo API." },
                other("types", "[__Type!]!") { source, _ in
                    guard let schema = source as? Schema else { return .null }
                    return TypeSource(schema: schema, type: "Query").resolved(
                        names: (schema.types + types).map(\.name))
                },
                root("queryType", "__Type!", .query), root("mutationType", "__Type", .mutation),
                root("subscriptionType", "__Type", .subscription),
                other("directives", "[__Directive!]!") { source, _ in
                    guard let schema = source as? Schema else { return .null }
                    return .list(
                        [
                            ("include", "Selects the fields if the condition is true."),
                            ("skip", "Omits the fields if it is true."),
                        ]
                        .map { name, description in
                            .object(
                                type: "__Directive",
                                DirectiveSource(schema: schema, name: name, description: description))
                        })
                },
            ]
        }

        private static func root(_ name: String, _ type: TypeReference, _ kind: OperationKind) -> FieldDefinition {
            other(name, type) { source, _ in
                guard let schema = source as? Schema, let root = schema.root(kind) else { return .null }
                return TypeSource(schema: schema, type: "Query").resolved(.named(root.name))
            }
        }

        private static var typeFields: [FieldDefinition] {
            [
                text("kind", "__TypeKind!") { source in
                    guard let source = source as? TypeSource else { return nil }
                    switch source.type {
                    case .list: return "LIST"
                    case .nonNull: return "NON_NULL"
                    case .named: break
                    }
                    return switch source.named?.kind {
                    case .scalar, nil: "SCALAR"
                    case .enumeration: "ENUM"
                    case .object: "OBJECT"
                    case .interface: "INTERFACE"
                    case .input: "INPUT_OBJECT"
                    }
                },
                text("name", "String") { ($0 as? TypeSource)?.named?.name },
                text("description", "String") { ($0 as? TypeSource)?.named?.description },
                text("specifiedByURL", "String") { _ in nil },
                other("fields", "[__Field!]", includesDeprecated) { source, arguments in
                    guard let source = source as? TypeSource, let fields = source.named?.fields else { return .null }
                    return .list(
                        fields.filter { $0.deprecation == nil || arguments["includeDeprecated"] == .bool(true) }
                            .map { .object(type: "__Field", FieldSource(owner: source, field: $0)) })
                },
                other("interfaces", "[__Type!]") { source, _ in
                    guard let source = source as? TypeSource, case .object(_, let names)? = source.named?.kind else {
                        return .null
                    }
                    return source.resolved(names: names)
                },
                other("possibleTypes", "[__Type!]") { source, _ in
                    guard let source = source as? TypeSource, let type = source.named, case .interface = type.kind
                    else {
                        return .null
                    }
                    return source.resolved(names: source.schema.objects(of: type.name).sorted())
                },
                other("enumValues", "[__EnumValue!]", includesDeprecated) { source, _ in
                    guard case .enumeration(let names)? = (source as? TypeSource)?.named?.kind else { return .null }
                    return .list(names.map { .object(type: "__EnumValue", $0) })
                },
                other("inputFields", "[__InputValue!]", includesDeprecated) { source, _ in
                    guard let source = source as? TypeSource, case .input(let fields)? = source.named?.kind else {
                        return .null
                    }
                    return inputs(fields, of: source)
                },
                other("ofType", "__Type") { source, _ in
                    guard let source = source as? TypeSource else { return .null }
                    switch source.type {
                    case .list(let type), .nonNull(let type): return source.resolved(type)
                    case .named: return .null
                    }
                },
            ]
        }

        private static func inputs(_ fields: [InputField], of owner: TypeSource) -> Resolved {
            .list(fields.map { .object(type: "__InputValue", InputSource(owner: owner, input: $0)) })
        }

        private static var fieldFields: [FieldDefinition] {
            [
                text("name", "String!") { ($0 as? FieldSource)?.field.name },
                text("description", "String") { ($0 as? FieldSource)?.field.description },
                other("args", "[__InputValue!]!", includesDeprecated) { source, _ in
                    guard let source = source as? FieldSource else { return .null }
                    return inputs(source.field.arguments, of: source.owner)
                },
                other("type", "__Type!") { source, _ in
                    guard let source = source as? FieldSource else { return .null }
                    return source.owner.resolved(source.field.type)
                },
                flag("isDeprecated") { ($0 as? FieldSource)?.field.deprecation != nil },
                text("deprecationReason", "String") { ($0 as? FieldSource)?.field.deprecation },
            ]
        }

        private static var inputFields: [FieldDefinition] {
            [
                text("name", "String!") { ($0 as? InputSource)?.input.name },
                text("description", "String") { ($0 as? InputSource)?.input.description },
                other("type", "__Type!") { source, _ in
                    guard let source = source as? InputSource else { return .null }
                    return source.owner.resolved(source.input.type)
                },
                text("defaultValue", "String") { source in
                    guard let source = source as? InputSource, let value = source.input.fallback else { return nil }
                    if case .enumeration? = source.owner.schema[source.input.type.name]?.kind,
                        case .string(let name) = value
                    {
                        return name
                    }
                    return String(decoding: value.formatted(), as: UTF8.self)
                },
                flag("isDeprecated") { _ in false }, text("deprecationReason", "String") { _ in nil },
            ]
        }

        private static var enumerationFields: [FieldDefinition] {
            [
                text("name", "String!") { $0 as? String }, text("description", "String") { _ in nil },
                flag("isDeprecated") { _ in false }, text("deprecationReason", "String") { _ in nil },
            ]
        }

        private static var directiveFields: [FieldDefinition] {
            [
                text("name", "String!") { ($0 as? DirectiveSource)?.name },
                text("description", "String") { ($0 as? DirectiveSource)?.description },
                flag("isRepeatable") { _ in false },
                other("locations", "[__DirectiveLocation!]!") { _, _ in
                    .list(["FIELD", "FRAGMENT_SPREAD", "INLINE_FRAGMENT"].map { .leaf(.string($0)) })
                },
                other("args", "[__InputValue!]!", includesDeprecated) { source, _ in
                    guard let source = source as? DirectiveSource else { return .null }
                    return inputs(
                        [InputField(name: "if", description: "The condition.", type: "Boolean!")],
                        of: TypeSource(schema: source.schema, type: "Query"))
                },
            ]
        }
    }
}
