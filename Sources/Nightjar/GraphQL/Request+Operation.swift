import NightjarAPI
import NightjarHTTP

extension Request {
    /// Makes this request a GraphQL operation. A POST request gets a JSON body. A GET request gets query items; it can
    /// only have a query, whose response can be cached.
    ///
    /// A query is idempotent, so it is retried like a GET request. A mutation is retried only with an idempotency key.
    /// A response without data is an error of the kind `graphql`. A response with data and errors is not an error.
    ///
    /// - Parameters:
    ///   - document: The operations and fragments.
    ///   - operation: The name of the operation. Nil: the only operation.
    ///   - variables: An object. Its values are checked as far as the operation describes them, and by `schema`.
    /// - Throws: `invalid_argument` with the position of a syntax error, with the name of a variable that does not fit,
    ///   or if the operation cannot be sent with this method; `too_large`.
    public mutating func graphQL(
        _ document: String, operation: String? = nil, variables: JSONValue = .null,
        checkedBy schema: GraphQLClient.Schema? = nil
    ) throws(NightjarError) {
        var content = GraphQLContent(query: document)
        (content.operationName, content.variables) = (operation, variables)
        try setGraphQL(content, try content.parsed(schema?.types).operation)
    }
}
