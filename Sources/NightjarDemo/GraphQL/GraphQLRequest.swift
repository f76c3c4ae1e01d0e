/// The text of a request with its variables, as in a body or in a message of a WebSocket.
struct GraphQLRequest {
    let text: String
    /// The name of the operation. Nil if the text has only one.
    let operation: String?
    /// An object, or null.
    let variables: JSON

    func executor(_ schema: GraphQL.Schema) throws(GraphQL.Executor.Failures) -> GraphQL.Executor {
        try GraphQL.Executor(schema, text, operation: operation, variables: variables)
    }
}
