import NightjarAPI
import NightjarHTTP

/// Sends GraphQL operations to an endpoint of a client.
///
///     let api = client.graphQL("/graphql")
///     let result = try await api.query("query($id: ID!) { article(id: $id) { title } }", variables: ["id": 7])
///     print(result.data["article"]?["title"] ?? .null, result.errors)
///
/// Each operation is a call of the client, to which logins, retries, limits and mocks apply. Responses are not normalized:
/// there is no cache of objects.
public struct GraphQLClient: Sendable {
    /// The types of a service, from an introspection query.
    public struct Schema: Sendable {
        let types: GraphQLSchema

        /// Reads the JSON text of an introspection result.
        ///
        /// - Throws: `decoding` if the text is not an introspection result.
        public init(json: String) throws(NightjarError) {
            types = try GraphQLSchema(introspection: JSONValue(parsing: json))
        }

        package init(json: UnsafeRawBufferPointer) throws(NightjarError) {
            types = try GraphQLSchema(introspection: JSONValue(parsing: json))
        }

        init(_ types: GraphQLSchema) { self.types = types }
    }

    /// The file in which a schema is kept.
    public enum SchemaFile: Sendable {
        /// A file for the endpoint in `nightjar/graphql`, in the user's cache directory (XDG_CACHE_HOME, else ~/.cache).
        /// It is not used if there is no such directory or if it cannot be accessed.
        case standard
        case path(String)
        case none

        fileprivate func location(for api: GraphQLClient) throws(NightjarError) -> GraphQLSchemaFile? {
            switch self {
            case .standard: .standard(for: try api.client.key(of: api.request))
            case .path(let path): GraphQLSchemaFile(path)
            case .none: nil
            }
        }
    }

    public let client: Client
    /// The request that each operation is added to, for headers, timeouts and other options. POST. With GET, the responses
    /// to queries can be cached; mutations and lists use POST in any case.
    public var request: Request
    /// The types that variables are checked against. Nil: variables are checked as far as the operation describes them.
    public var schema: Schema?

    /// Returns the request of an operation, which can be sent, started or streamed like any other.
    ///
    /// - Throws: `invalid_argument` with the position of a syntax error, or with the name of a variable that does not fit.
    public func request(
        _ document: String, variables: JSONValue = .null, operation: String? = nil
    ) throws(NightjarError) -> Request {
        try prepared(document, variables, operation, nil).request
    }

    /// Sends a query.
    ///
    /// - Throws: Errors of the call; `graphql` if the response has no data; `invalid_argument` as ``request(_:variables:operation:)``.
    public func query(
        _ document: String, variables: JSONValue = .null, operation: String? = nil
    ) async throws(NightjarError) -> GraphQLResult {
        try GraphQLResult(try await client.send(prepared(document, variables, operation, .query).request))
    }

    /// Sends a mutation.
    ///
    /// - Parameter idempotencyKey: The Idempotency-Key of the request. Without a key, the mutation is not sent again if
    ///   the server may have processed it.
    /// - Throws: As ``query(_:variables:operation:)``.
    public func mutate(
        _ document: String, variables: JSONValue = .null, operation: String? = nil,
        idempotencyKey: Request.IdempotencyKey.Choice = .none
    ) async throws(NightjarError) -> GraphQLResult {
        var sent = try prepared(document, variables, operation, .mutation).request
        if idempotencyKey != .none { sent.idempotencyKey = idempotencyKey }
        return try GraphQLResult(try await client.send(sent))
    }

    /// Returns the nodes of a connection, page by page. The operation selects `pageInfo { endCursor hasNextPage }` of the
    /// connection, and its variable for the argument `after` selects the page.
    ///
    /// - Parameter location: The location of the connection in the data. Nil: its only connection.
    /// - Throws: `invalid_argument` if the operation has no such connection.
    public func items(
        _ document: String, variables: JSONValue = .null, operation: String? = nil, at location: JSONPointer? = nil,
        resuming state: String? = nil
    ) throws(NightjarError) -> ItemSequence<JSONValue> {
        let (request, pagination) = try list(document, variables, operation, location)
        return client.items(request, pagination, resuming: state)
    }

    /// Returns the nodes of a connection, decoded as `type`.
    public func items<Item: Decodable & SendableMetatype>(
        _ document: String, variables: JSONValue = .null, operation: String? = nil, at location: JSONPointer? = nil,
        as type: Item.Type, _ options: JSONDecodingOptions? = nil, resuming state: String? = nil
    ) throws(NightjarError) -> ItemSequence<Item> {
        let (request, pagination) = try list(document, variables, operation, location)
        return client.items(request, pagination, as: type, options, resuming: state)
    }

    /// Returns the schema: from a file that is not too old, or from the server, by an introspection query. Many servers
    /// allow introspection only during development.
    ///
    /// - Parameters:
    ///   - file: The file, which is written after the query. It is accessible only to its owner.
    ///   - maximumAge: The age after which the file is replaced.
    /// - Throws: Errors of ``query(_:variables:operation:)``; `storage` if the file at a path cannot be read or written.
    public func loadSchema(
        file: SchemaFile = .standard, maximumAge: Duration = .seconds(86_400)
    ) async throws(NightjarError) -> Schema {
        let stored = try file.location(for: self)
        if let known = try stored?.read(maximumAge: maximumAge) { return Schema(known) }
        return try received(try await client.send(try introspection()), stored)
    }

    /// Like ``loadSchema(file:maximumAge:)``, but blocks the thread.
    public func loadSchemaBlocking(
        file: SchemaFile = .standard, maximumAge: Duration = .seconds(86_400)
    ) throws(NightjarError) -> Schema {
        let stored = try file.location(for: self)
        if let known = try stored?.read(maximumAge: maximumAge) { return Schema(known) }
        return try received(try client.sendBlocking(try introspection()), stored)
    }

    private func introspection() throws(NightjarError) -> Request {
        try prepared(GraphQLSchema.introspectionQuery, .null, nil, .query).request
    }

    private func received(_ response: Response, _ file: GraphQLSchemaFile?) throws(NightjarError) -> Schema {
        let types = try GraphQLSchema(introspection: response.json)
        try file?.write(Array(response.body.readableBytesView))
        return Schema(types)
    }

    /// The request and the options for reading a connection.
    package func list(
        _ document: String, _ variables: JSONValue, _ operation: String?, _ location: JSONPointer?
    ) throws(NightjarError) -> (Request, Pagination) {
        var posting = self
        posting.request.method = .post
        let (request, parsed, chosen) = try posting.prepared(document, variables, operation, .query)
        var pagination = Pagination()
        try parsed.connection(of: chosen, at: location).apply(to: &pagination)
        return (request, pagination)
    }

    private func prepared(
        _ document: String, _ variables: JSONValue, _ operation: String?, _ kind: GraphQLDocument.Kind?
    ) throws(NightjarError) -> (request: Request, GraphQLDocument, GraphQLDocument.Operation) {
        var content = GraphQLContent(query: document)
        (content.variables, content.operationName, content.kind) = (variables, operation, kind)
        let (parsed, chosen) = try content.parsed(schema?.types)
        var sent = request
        if chosen.kind != .query { sent.method = .post }
        try sent.setGraphQL(content, chosen)
        return (sent, parsed, chosen)
    }
}

extension Client {
    /// Returns a GraphQL client for the endpoint at `target`: a URL, or a path relative to the base URL.
    public func graphQL(_ target: String) -> GraphQLClient {
        GraphQLClient(client: self, request: Request(.post, target))
    }
}
