/// Checks the variables of an operation, by the rules of input coercion: GraphQL specification sections 3 and 6.1.2.
struct GraphQLVariables {
    /// Nil: only the operation is known. Variables of types that it does not know are then not checked.
    let schema: GraphQLSchema?

    /// The maximum depth of a value.
    private static let maximumDepth = 64

    /// - Throws: `invalid_argument` with the name of the first variable that does not fit, and the reason. Unlike a
    ///   server, rejects variables that the operation does not define.
    func check(_ values: [JSONValue.Member], for operation: GraphQLDocument.Operation) throws(NightjarError) {
        for value in values where !operation.variables.contains(where: { $0.name == value.name }) {
            let known = operation.variables.map(\.name)
            let hint = nearestName(to: value.name, among: known).map { "; did you mean \(quoted($0))?" } ?? ""
            throw NightjarError(
                .invalidArgument, "the GraphQL operation has no variable \(quoted(value.name))\(hint)")
        }
        for variable in operation.variables {
            guard let value = values.first(where: { $0.name.isExactly(variable.name) })?.value else {
                if variable.type.isNonNull, !variable.hasDefault {
                    throw NightjarError(
                        .invalidArgument,
                        "the variable \(quoted(variable.name)) is missing; its type is \(variable.type)")
                }
                continue
            }
            try check(value, variable.type, variable.name, 0)
        }
    }

    private func check(
        _ value: JSONValue, _ type: GraphQLType, _ path: String, _ depth: Int
    ) throws(NightjarError) {
        guard depth < GraphQLVariables.maximumDepth else {
            throw NightjarError(.invalidArgument, "the variable \(quoted(path)) is nested too deeply")
        }
        switch (type, value) {
        case (.nonNull(let type), _):
            guard value != .null else { throw mismatch(path, "must not be null; its type is \(type)!") }
            try check(value, type, path, depth + 1)
        case (_, .null): return
        case (.list(let element), .array(let values)):
            for (index, value) in values.enumerated() { try check(value, element, "\(path)[\(index + 1)]", depth + 1) }
        case (.list(let element), _): try check(value, element, path, depth + 1)
        case (.named(let name), _): try check(value, named: name, path, depth)
        }
    }

    private func check(
        _ value: JSONValue, named name: String, _ path: String, _ depth: Int
    ) throws(NightjarError) {
        if let expected = GraphQLVariables.expectedForm(of: name, not: value) {
            throw mismatch(path, "must be \(expected), got \(value.typeName)")
        }
        guard let schema, !GraphQLVariables.builtIn.contains(name) else { return }
        switch schema.types[name] {
        case nil:
            let hint =
                nearestName(to: name, among: Array(schema.types.keys)).map { "; did you mean \(quoted($0))?" } ?? ""
            throw mismatch(path, "has the type \(quoted(name)), which the schema does not have\(hint)")
        case .scalar: return
        case .enumeration(let names): try checkEnumeration(value, name, names, path)
        case .input(let fields, let isOneOf):
            guard case .object(let members) = value else {
                throw mismatch(path, "must be an object of the type \(name), got \(value.typeName)")
            }
            try check(members, name, fields, path, depth)
            if isOneOf, members.count != 1 || members[0].value == .null {
                throw mismatch(path, "must have exactly one field, which must not be null: \(name) is a oneOf type")
            }
        case .object, .union:
            throw mismatch(path, "has the type \(quoted(name)), which is not an input type")
        }
    }

    private func checkEnumeration(
        _ value: JSONValue, _ name: String, _ names: [String], _ path: String
    ) throws(NightjarError) {
        guard case .string(let text) = value else {
            throw mismatch(path, "must be a string, a value of \(name), got \(value.typeName)")
        }
        guard !names.contains(text) else { return }
        let hint =
            nearestName(to: text, among: names).map { "; did you mean \(quoted($0))?" }
            ?? "; the values are \(names.prefix(20).joined(separator: ", "))"
        throw mismatch(path, "must be a value of \(name), got \(quoted(text))\(hint)")
    }

    private func check(
        _ members: [JSONValue.Member], _ name: String, _ fields: [GraphQLSchema.Input], _ path: String, _ depth: Int
    ) throws(NightjarError) {
        for member in members {
            guard let field = fields.first(where: { $0.name == member.name }) else {
                let hint =
                    nearestName(to: member.name, among: fields.map(\.name)).map { "; did you mean \(quoted($0))?" }
                    ?? ""
                throw mismatch(path, "has the field \(quoted(member.name)), which \(name) does not have\(hint)")
            }
            try check(member.value, field.type, "\(path).\(field.name)", depth + 1)
        }
        for field in fields where field.isRequired && !members.contains(where: { $0.name == field.name }) {
            throw mismatch(path, "lacks the field \(quoted(field.name)) of \(name), whose type is \(field.type)")
        }
    }

    private func mismatch(_ path: String, _ reason: String) -> NightjarError {
        NightjarError(.invalidArgument, "the variable \(quoted(path)) \(reason)")
    }

    // MARK: Built-in scalars

    private static let builtIn = ["Int", "Float", "String", "Boolean", "ID"]

    /// Returns the form that a built-in scalar requires if `value` does not have it. Returns nil for other types.
    private static func expectedForm(of name: String, not value: JSONValue) -> String? {
        switch (name, value) {
        case ("Int", .integer(let number)) where Int32(exactly: number) != nil: nil
        case ("Int", .number(let number)) where Int32(exactly: number) != nil: nil
        case ("Int", .integer), ("Int", .unsigned), ("Int", .number): "an integer of 32 bits"
        case ("Int", _): "an integer"
        case ("Float", .integer), ("Float", .unsigned), ("Float", .number): nil
        case ("Float", _): "a number"
        case ("String", .string), ("Boolean", .bool), ("ID", .string), ("ID", .integer), ("ID", .unsigned): nil
        case ("ID", .number(let number)) where Int64(exactly: number) != nil: nil
        case ("String", _): "a string"
        case ("Boolean", _): "a boolean"
        case ("ID", _): "a string or an integer"
        default: nil
        }
    }
}

extension GraphQLDocument.Operation {
    /// Checks the variables of the operation.
    ///
    /// - Parameter schema: Nil: only what the operation itself defines is checked.
    /// - Throws: `invalid_argument` with the name of the variable and the reason.
    package func check(_ variables: JSONValue, _ schema: GraphQLSchema?) throws(NightjarError) {
        let members: [JSONValue.Member]
        switch variables {
        case .object(let given): members = given
        case .null, .array([]): members = []
        default:
            throw NightjarError(
                .invalidArgument, "the GraphQL variables must be an object, got \(variables.typeName)")
        }
        try GraphQLVariables(schema: schema).check(members, for: self)
    }
}
