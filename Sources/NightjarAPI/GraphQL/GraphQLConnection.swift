/// A list that an operation selects as a connection. Relay's GraphQL Cursor Connections Specification.
///
/// The operation must select `pageInfo` of the connection with `endCursor`, and set the argument `after` of the connection
/// to a variable. Backwards: `startCursor` and `before`.
package struct GraphQLConnection: Sendable, Equatable {
    /// The location of the connection in the response.
    package var location: JSONPointer
    /// The name of the variable for the cursor.
    package var variable: String
    /// The keys of the response.
    var pageInfo: String
    var cursor: String
    /// The key of `hasNextPage` or `hasPreviousPage`, if it is selected.
    var more: String?
    /// The key of `nodes`, or of `edges`.
    var items: String
    /// The key of `node` in each edge, or nil for `nodes` and for edges without `node`.
    var node: String?

    /// The maximum number of fields to search. Bounds the search in documents whose fragments repeat each other.
    private static let maximumFields = 10_000

    /// Finds the connections of an operation.
    static func all(in operation: GraphQLDocument.Operation, of document: GraphQLDocument) -> [GraphQLConnection] {
        var found: [GraphQLConnection] = []
        var pending: [(fields: [GraphQLDocument.Field], path: [String])] = [
            (document.fields(of: operation.selections), [])
        ]
        var count = 0
        while let (fields, path) = pending.popLast(), count < maximumFields {
            for field in fields.reversed() where !field.selections.isEmpty {
                let children = document.fields(of: field.selections)
                count += 1 + children.count
                let location = path + [field.key]
                if let connection = GraphQLConnection(field, children, document, at: location) {
                    found.append(connection)
                }
                guard location.count < maximumDepth else { continue }
                pending.append((children, location))
            }
        }
        return found
    }

    /// The maximum depth at which connections are found. Fragments can refer to each other without end.
    private static let maximumDepth = 32

    private init?(
        _ field: GraphQLDocument.Field, _ children: [GraphQLDocument.Field], _ document: GraphQLDocument,
        at location: [String]
    ) {
        guard let info = children.first(where: { $0.name == "pageInfo" }),
            let list = children.first(where: { $0.name == "nodes" }) ?? children.first(where: { $0.name == "edges" })
        else { return nil }
        let values = document.fields(of: info.selections)
        func key(_ name: String) -> String? { values.first { $0.name == name }?.key }
        func setBy(_ name: String) -> String? { field.variables.first { $0.argument == name }?.variable }
        if let name = setBy("after"), let cursor = key("endCursor") {
            (variable, self.cursor, more) = (name, cursor, key("hasNextPage"))
        } else if let name = setBy("before"), let cursor = key("startCursor") {
            (variable, self.cursor, more) = (name, cursor, key("hasPreviousPage"))
        } else {
            return nil
        }
        self.location = JSONPointer(tokens: ["data"] + location)
        pageInfo = info.key
        items = list.key
        node = list.name == "edges" ? document.fields(of: list.selections).first { $0.name == "node" }?.key : nil
    }

    /// Sets the options for reading the list. Keeps the others.
    package func apply(to options: inout Pagination) {
        options.style = .cursor
        options.items = location.appending(items)
        options.item = node.map { JSONPointer(tokens: [$0]) }
        options.next = location.appending(pageInfo).appending(cursor)
        options.more = more.map { location.appending(pageInfo).appending($0) }
        options.bodyParameter = JSONPointer(tokens: ["variables", variable])
    }

    /// The options of ``apply(to:)`` as a table for Lua and JSON.
    package var options: JSONValue {
        var options = Pagination()
        apply(to: &options)
        let pointers: [(String, JSONPointer?)] = [
            ("items", options.items), ("item", options.item), ("next", options.next), ("more", options.more),
            ("body_param", options.bodyParameter),
        ]
        let members = pointers.compactMap { name, pointer in
            pointer.map { JSONValue.Member(name, .string($0.description)) }
        }
        return .object([.init("style", .string(options.style.rawValue))] + members)
    }
}

extension GraphQLDocument {
    /// Returns the connection that an operation selects.
    ///
    /// - Parameter location: The location of the connection within `data`, or nil for the only connection.
    /// - Throws: `invalid_argument` if there is no such connection, or if there are several.
    package func connection(
        of operation: Operation, at location: JSONPointer?
    ) throws(NightjarError) -> GraphQLConnection {
        let all = GraphQLConnection.all(in: operation, of: self)
        let found =
            location.map { wanted in
                all.filter { $0.location == JSONPointer(tokens: ["data"] + wanted.tokens) }
            } ?? all
        if let only = found.first, found.count == 1 { return only }
        if found.isEmpty {
            let place = location.map { " at \(quoted($0.description))" } ?? ""
            throw NightjarError(
                .invalidArgument,
                "the GraphQL operation has no connection\(place): select pageInfo { endCursor hasNextPage } and nodes or "
                    + "edges of a list, and set its argument after to a variable")
        }
        let places = all.map { quoted("/" + $0.location.tokens.dropFirst().joined(separator: "/")) }
        throw NightjarError(
            .invalidArgument,
            "the GraphQL operation has \(found.count) connections; set at to one of \(places.joined(separator: ", "))")
    }
}
