import NightjarHTTP

/// The role of a value in an OpenAPI description. Only references in these roles are followed. A `$ref` in an example,
/// a default or an extension (`x-...`) is not followed, because OpenAPI does not define its meaning.
enum DescriptionRole: UInt8 {
    case document, info, tags, tag, text, components, securitySchemes, leaf
    case paths, pathItem, operation, parameters, parameter, requestBody, content, mediaType
    case responses, response, responseContent, responseMediaType
    case examples, schema, schemas, schemaList, mapping

    enum Shape {
        /// An object with these members.
        case members([(String, DescriptionRole)])
        /// An object with arbitrary names.
        case map(DescriptionRole)
        case list(DescriptionRole)
    }

    /// True if members beside a `$ref` are kept.
    var keepsSiblings: Bool { self == .schema || self == .pathItem }

    var shape: Shape {
        switch self {
        case .document:
            .members([("info", .info), ("tags", .tags), ("paths", .paths), ("components", .components)])
        case .info, .tag: .members([("description", .text)])
        case .tags: .list(.tag)
        case .text, .leaf, .mapping: .members([])
        case .components: .members([("securitySchemes", .securitySchemes)])
        case .securitySchemes: .map(.leaf)
        case .paths: .map(.pathItem)
        case .pathItem: DescriptionRole.pathItemShape
        case .operation: DescriptionRole.operationShape
        case .parameters: .list(.parameter)
        case .parameter: .members([("schema", .schema), ("content", .content), ("examples", .examples)])
        case .requestBody: .members([("content", .content)])
        case .content: .map(.mediaType)
        case .mediaType: .members([("schema", .schema), ("examples", .examples)])
        case .responses: .map(.response)
        case .response: .members([("content", .responseContent)])
        case .responseContent: .map(.responseMediaType)
        case .responseMediaType: .members([("schema", .schema)])
        case .examples: .map(.leaf)
        case .schema: DescriptionRole.schemaShape
        case .schemas: .map(.schema)
        case .schemaList: .list(.schema)
        }
    }

    private static let pathItemShape = Shape.members(
        [("parameters", .parameters)] + DescriptionRole.methods.map { ($0, .operation) })

    private static let operationShape = Shape.members([
        ("parameters", .parameters), ("requestBody", .requestBody), ("responses", .responses), ("description", .text),
    ])

    private static let schemaShape = Shape.members(
        ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"].map { ($0, .schemas) }
            + ["allOf", "anyOf", "oneOf", "prefixItems"].map { ($0, .schemaList) }
            + [
                "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
                "additionalItems", "unevaluatedItems", "unevaluatedProperties",
            ].map { ($0, .schema) })

    /// Members of a path item that are operations. OpenAPI 3.1 section 4.8.9.
    static let methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]
}
