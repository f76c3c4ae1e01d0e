/// The language of GraphQL requests and their execution, as far as the demo API needs them. Specification: GraphQL, October
/// 2021.
enum GraphQL {
    /// A place in the text of a request. Both numbers start at 1.
    struct Location: Equatable, Sendable {
        let line: Int
        let column: Int

        var json: JSON { ["line": .int(line), "column": .int(column)] }
    }

    /// An error of a request or of a field. Section 7.1.2.
    struct Failure: Error, Equatable {
        let message: String
        var locations: [Location] = []
        /// The names and indices from the root of the data to the field. Empty: the request was not executed.
        var path: [JSON] = []
        /// The value of `extensions.code`. Nil: none.
        var code: String?

        var json: JSON {
            var members = [JSON.Member(name: "message", value: .string(message))]
            if !locations.isEmpty { members.append(.init(name: "locations", value: .array(locations.map(\.json)))) }
            if !path.isEmpty { members.append(.init(name: "path", value: .array(path))) }
            if let code { members.append(.init(name: "extensions", value: ["code": .string(code)])) }
            return .object(members)
        }
    }

    /// A value in a request. Section 2.9.
    indirect enum Value: Equatable {
        case variable(String, Location)
        case null
        case boolean(Bool)
        case integer(Int64)
        case float(Double)
        case string(String)
        case enumeration(String)
        case list([Value])
        case object([Member])

        struct Member: Equatable {
            let name: String
            let value: Value
        }
    }

    /// A type such as `[String!]!`. Section 2.11.
    indirect enum TypeReference: Equatable, Sendable, CustomStringConvertible {
        case named(String)
        case list(TypeReference)
        case nonNull(TypeReference)

        var description: String {
            switch self {
            case .named(let name): name
            case .list(let element): "[\(element)]"
            case .nonNull(let type): "\(type)!"
            }
        }

        /// The type without lists and exclamation marks.
        var name: String {
            switch self {
            case .named(let name): name
            case .list(let type), .nonNull(let type): type.name
            }
        }

        var isNonNull: Bool { if case .nonNull = self { true } else { false } }

        /// The type without an exclamation mark at its end.
        var nullable: TypeReference { if case .nonNull(let type) = self { type } else { self } }
    }

    struct Argument: Equatable {
        let name: String
        let value: Value
        let location: Location
    }

    struct Directive: Equatable {
        let name: String
        let arguments: [Argument]
        let location: Location
    }

    struct Field: Equatable {
        let alias: String?
        let name: String
        let arguments: [Argument]
        let directives: [Directive]
        let selections: [Selection]
        let location: Location

        /// The name of the field in the response.
        var key: String { alias ?? name }
    }

    indirect enum Selection: Equatable {
        case field(Field)
        case spread(name: String, [Directive], Location)
        /// - Parameter type: Nil: the fields belong to the type around them.
        case inline(type: String?, [Directive], [Selection], Location)
    }

    struct VariableDefinition: Equatable {
        let name: String
        let type: TypeReference
        /// The default value. Nil: none.
        let fallback: Value?
        let location: Location
    }

    enum OperationKind: String {
        case query, mutation, subscription
    }

    struct Operation: Equatable {
        let kind: OperationKind
        let name: String?
        let variables: [VariableDefinition]
        let selections: [Selection]
        let location: Location
    }

    struct Fragment: Equatable {
        let name: String
        let type: String
        let selections: [Selection]
        let location: Location
    }

    /// The text of a request. Section 2.2.
    struct Document: Equatable {
        var operations: [Operation] = []
        var fragments: [String: Fragment] = [:]
    }
}
