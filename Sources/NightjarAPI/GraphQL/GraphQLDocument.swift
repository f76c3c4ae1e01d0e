/// An executable GraphQL document, as far as a client needs it: its operations, their variables and their selections.
/// GraphQL specification (October 2021) section 2.
///
/// The syntax is checked. Validation against the schema is the server's task.
package struct GraphQLDocument: Sendable {
    package enum Kind: String, Sendable {
        case query, mutation, subscription
    }

    package struct Operation: Sendable {
        package var kind = Kind.query
        /// Nil if the operation is anonymous.
        package var name: String?
        package var variables: [Variable] = []
        package var selections: [Selection] = []
    }

    package struct Variable: Sendable, Equatable {
        package var name: String
        package var type: GraphQLType
        package var hasDefault = false
    }

    package enum Selection: Sendable {
        case field(Field)
        /// The name of a fragment.
        case spread(String)
        case inline([Selection])
    }

    package struct Field: Sendable {
        package var name: String
        /// The name in the response: the alias, or the name of the field.
        package var key: String
        /// The arguments whose values are variables: the argument's name and the variable's name.
        package var variables: [(argument: String, variable: String)] = []
        package var selections: [Selection] = []
    }

    package internal(set) var operations: [Operation] = []
    package internal(set) var fragments: [String: [Selection]] = [:]

    /// Parses a document.
    ///
    /// - Throws: `invalid_argument` with the position of the first error, or if the document has no operation;
    ///   `too_large`.
    package init(parsing text: String) throws(NightjarError) {
        var parser = try GraphQLParser(text)
        try parser.read(into: &self)
        guard !operations.isEmpty else {
            throw NightjarError(.invalidArgument, "the GraphQL document has no operation; write query { ... }")
        }
    }

    /// Returns the operation with this name, or the only operation if `name` is nil.
    ///
    /// - Throws: `invalid_argument` if there is no such operation, or if several operations require a name.
    package func operation(_ name: String?) throws(NightjarError) -> Operation {
        guard let name else {
            if operations.count == 1, let only = operations.first { return only }
            let names = operations.compactMap(\.name).joined(separator: ", ")
            throw NightjarError(
                .invalidArgument,
                "the GraphQL document has \(operations.count) operations (\(names)); set operation_name to one of them")
        }
        if let found = operations.first(where: { $0.name == name }) { return found }
        let known = operations.compactMap(\.name)
        let hint = nearestName(to: name, among: known).map { "; did you mean \(quoted($0))?" } ?? ""
        throw NightjarError(.invalidArgument, "the GraphQL document has no operation \(quoted(name))\(hint)")
    }

    /// Returns the fields of a selection set, with those of its fragments. Each fragment is included once.
    package func fields(of selections: [Selection]) -> [Field] {
        var found: [Field] = []
        var visited: Set<String> = []
        var pending = Array(selections.reversed())
        while let selection = pending.popLast() {
            switch selection {
            case .field(let field): found.append(field)
            case .inline(let selections): pending += selections.reversed()
            case .spread(let name):
                guard visited.insert(name).inserted, let selections = fragments[name] else { continue }
                pending += selections.reversed()
            }
        }
        return found
    }
}
