import NIOHTTP1

/// `/graphql`: the GraphQL over HTTP draft. A GET request cannot have mutations.
///
/// Subscriptions need `Accept: text/event-stream`, which ``GraphQLEventStream`` describes, or a WebSocket, which
/// ``GraphQLSocket`` describes. Queries and mutations can use both.
///
/// - `drop_after`: the number of server-sent results after which the connection is closed.
/// - `errors=event`: a request for text/event-stream that is not executed receives its errors as an event, as graphql-sse
///   requires. By default, it receives 400.
struct GraphQLEndpoint {
    private let store: Store
    private let tokens: Tokens
    private let ledger: Ledger
    private let schema: GraphQL.Schema

    init(store: Store, tokens: Tokens, ledger: Ledger) {
        (self.store, self.tokens, self.ledger) = (store, tokens, ledger)
        schema = ArticleSchema.make(store)
    }

    func add(to router: inout Router) {
        router.on(.GET, "/graphql", get)
        router.on(.POST, "/graphql", post)
    }

    private func get(_ request: Request) throws(Problem) -> Response {
        if WebSocketHandshake.isRequested(by: request) { return try openSocket(request) }
        guard let text = request.query("query") else { throw Problem.query("query", "is required") }
        var variables = JSON.null
        if let text = request.query("variables") {
            do throws(JSONError) {
                variables = try JSON(parsing: Array(text.utf8))
            } catch {
                throw Problem.query("variables", "must be a JSON object: \(error.reason)")
            }
        }
        return try respond(
            request, GraphQLRequest(text: text, operation: request.query("operationName"), variables: variables))
    }

    private func post(_ request: Request) throws(Problem) -> Response {
        let document = try request.jsonObject()
        guard case .string(let text)? = document["query"] else {
            throw Problem.invalid([.init(place: .body(pointer: "/query"), detail: "must be a string")])
        }
        var name: String?
        if case .string(let text)? = document["operationName"] { name = text }
        return try respond(
            request, GraphQLRequest(text: text, operation: name, variables: document["variables"] ?? .null))
    }

    private func openSocket(_ request: Request) throws(Problem) -> Response {
        let handshake = try WebSocketHandshake(request)
        let agreement = try WebSocketAgreement(handshake, protocols: GraphQLSocket.subprotocol)
        let socket = GraphQLSocket(schema, store, tokens, ledger, try GraphQLSocketSettings(request))
        return Response.webSocket(handshake, agreement, socket, ledger)
    }

    private func respond(_ request: Request, _ operation: GraphQLRequest) throws(Problem) -> Response {
        let accepted = request.head.headers["accept"]
        let streams = accepted.contains { $0.contains("text/event-stream") }
        let limit = try request.query("drop_after", in: 1...1_000_000_000)
        let reportsByEvent = try request.query("errors", oneOf: ["status", "event"]) == "event"
        // A response of the older type has the status 200 also if the request was not executed.
        let isNew = accepted.contains { $0.contains(GraphQLEndpoint.mediaType) }
        let type = isNew ? GraphQLEndpoint.mediaType : "application/json"
        do throws(GraphQL.Executor.Failures) {
            var executor = try operation.executor(schema)
            guard executor.kind != .mutation || request.head.method == .POST else {
                throw .init(all: [.init(message: "a GET request can only have queries; use POST")])
            }
            guard streams || executor.kind != .subscription else {
                throw .init(all: [.init(message: "a subscription needs text/event-stream or a WebSocket")])
            }
            guard streams else { return .json(executor.execute(store), type: type) }
            return GraphQLEventStream(try GraphQLResults(executor, store, ledger), limit: limit).response
        } catch {
            guard streams, reportsByEvent else {
                return .json(error.response, status: isNew || streams ? .badRequest : .ok, type: type)
            }
            return Response(
                .ok, headers: ["Content-Type": "text/event-stream"], body: .bytes(GraphQLEventStream.events(of: error)))
        }
    }

    private static let mediaType = "application/graphql-response+json"
}
