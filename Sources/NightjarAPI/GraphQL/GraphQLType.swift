/// A reference to a type: `String`, `[ID!]!`. GraphQL specification section 3.4.1.
package indirect enum GraphQLType: Sendable, Equatable, CustomStringConvertible {
    case named(String)
    case list(GraphQLType)
    case nonNull(GraphQLType)

    /// The maximum depth of lists and non-null types. Each level of a list usually takes two.
    static let maximumDepth = 32

    package var description: String {
        switch self {
        case .named(let name): name
        case .list(let element): "[\(element)]"
        case .nonNull(let type): "\(type)!"
        }
    }

    package var isNonNull: Bool {
        if case .nonNull = self { return true }
        return false
    }

    /// The type without lists and non-null.
    package var name: String {
        switch self {
        case .named(let name): name
        case .list(let type), .nonNull(let type): type.name
        }
    }

    /// Reads the value of a field `type` of an introspection result. Returns nil if the value is not a type reference.
    init?(introspected value: JSONValue?, depth: Int = 0) {
        guard let value, depth < GraphQLType.maximumDepth, case .string(let kind)? = value["kind"] else { return nil }
        switch kind {
        case "NON_NULL":
            guard let type = GraphQLType(introspected: value["ofType"], depth: depth + 1), !type.isNonNull else {
                return nil
            }
            self = .nonNull(type)
        case "LIST":
            guard let element = GraphQLType(introspected: value["ofType"], depth: depth + 1) else { return nil }
            self = .list(element)
        default:
            guard case .string(let name)? = value["name"], GraphQLLexer.isName(name) else { return nil }
            self = .named(name)
        }
    }
}
