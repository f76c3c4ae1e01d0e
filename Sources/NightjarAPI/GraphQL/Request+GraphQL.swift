import NIOCore

/// The content of a GraphQL request. GraphQL over HTTP (draft) section 5.
package struct GraphQLContent: Sendable {
    /// The document.
    package var query: String
    /// The operation of the document. Nil: its only operation.
    package var operationName: String?
    /// An object, or null.
    package var variables = JSONValue.null
    /// An object for the server, or null.
    package var extensions = JSONValue.null
    /// The kind that the operation must have. Nil: query or mutation.
    package var kind: GraphQLDocument.Kind?
    /// For a subscription over a WebSocket: the payload of connection_init, or null.
    package var initialization = JSONValue.null
    /// For a subscription over a WebSocket: see ``GraphQLSubscription``.
    package var sendsAuthorization = false

    package init(query: String) { self.query = query }

    /// Parses the document and checks the variables.
    ///
    /// - Parameter schema: Nil: the variables are checked as far as the operation describes them.
    /// - Throws: `invalid_argument` with the position of a syntax error, with the name of a variable that does not fit,
    ///   or if the operation is of another kind; `too_large`.
    package func parsed(
        _ schema: GraphQLSchema?
    ) throws(NightjarError) -> (document: GraphQLDocument, operation: GraphQLDocument.Operation) {
        let document = try GraphQLDocument(parsing: query)
        let operation = try document.operation(operationName)
        if let kind, operation.kind != kind {
            throw NightjarError(
                .invalidArgument, "the GraphQL operation is a \(operation.kind.rawValue), not a \(kind.rawValue)")
        }
        if kind == nil, operation.kind == .subscription {
            throw NightjarError(.invalidArgument, "a GraphQL subscription has no single response; send a query")
        }
        try operation.check(variables, schema)
        return (document, operation)
    }

    /// The members of the request, as names and JSON values. Members that are null are omitted.
    package var members: [JSONValue.Member] {
        var members = [JSONValue.Member("query", .string(query))]
        if let operationName { members.append(.init("operationName", .string(operationName))) }
        for (name, value) in [("variables", variables), ("extensions", extensions)] {
            switch value {
            case .null: break
            // Lua has no empty object.
            case .array([]): members.append(.init(name, .object([])))
            default: members.append(.init(name, value))
            }
        }
        return members
    }
}

extension Request {
    /// Makes this request a GraphQL operation.
    ///
    /// - Parameter operation: The operation of `content`.
    /// - Throws: `invalid_argument` if the operation cannot be sent with this method.
    package mutating func setGraphQL(
        _ content: GraphQLContent, _ operation: GraphQLDocument.Operation
    ) throws(NightjarError) {
        let members = content.members
        switch method {
        case .post:
            body = .bytes(try JSONValue.object(members).encoded())
            impliedType = .json
        case .get:
            guard operation.kind == .query else {
                throw NightjarError(.invalidArgument, "a GET request can only have a GraphQL query; use POST")
            }
            query.removeAll { item in ["query", "operationName", "variables", "extensions"].contains(item.name) }
            for member in members {
                if case .string(let text) = member.value {
                    query.append((member.name, text))
                } else {
                    query.append(
                        (member.name, String(decoding: try member.value.encoded().readableBytesView, as: UTF8.self)))
                }
            }
        default:
            throw NightjarError(.invalidArgument, "a GraphQL request must be a POST or GET request, got \(method)")
        }
        if headers["Accept"] == nil {
            // Over HTTP, a subscription is an event stream.
            let isStream = operation.kind == .subscription
            try headers.set("Accept", isStream ? "text/event-stream" : GraphQLResponse.accepted)
        }
        isIdempotent = operation.kind != .mutation
        isGraphQL = true
    }
}
