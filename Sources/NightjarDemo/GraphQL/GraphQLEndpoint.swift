import NIOHTTP1

/// `/graphql`: queries by GET, and all operations by POST. The GraphQL over HTTP draft.
struct GraphQLEndpoint {
    private let store: Store
    private let schema: GraphQL.Schema

    init(store: Store) {
        self.store = store
        schema = ArticleSchema.make(store)
    }

    func add(to router: inout Router) {
        router.on(.GET, "/graphql", get)
        router.on(.POST, "/graphql", post)
    }

    private func get(_ request: Request) throws(Problem) -> Response {
        guard let text = request.query("query") else { throw Problem.query("query", "is required") }
        var variables = JSON.null
        if let text = request.query("variables") {
            do throws(JSONError) {
                variables = try JSON(parsing: Array(text.utf8))
            } catch {
                throw Problem.query("variables", "must be a JSON object: \(error.reason)")
            }
        }
        return respond(request, text, request.query("operationName"), variables)
    }

    private func post(_ request: Request) throws(Problem) -> Response {
        let document = try request.jsonObject()
        guard case .string(let text)? = document["query"] else {
            throw Problem.invalid([.init(place: .body(pointer: "/query"), detail: "must be a string")])
        }
        var name: String?
        if case .string(let text)? = document["operationName"] { name = text }
        return respond(request, text, name, document["variables"] ?? .null)
    }

    private func respond(_ request: Request, _ text: String, _ name: String?, _ variables: JSON) -> Response {
        // A response of the older type has the status 200 also if the request was not executed.
        let isNew = request.head.headers["accept"].contains { $0.contains(GraphQLEndpoint.mediaType) }
        let type = isNew ? GraphQLEndpoint.mediaType : "application/json"
        do throws(GraphQL.Executor.Failures) {
            var executor = try GraphQL.Executor(schema, text, operation: name, variables: variables)
            guard executor.kind == .query || request.head.method == .POST else {
                throw .init(all: [GraphQL.Failure(message: "a GET request can only have queries; use POST")])
            }
            return .json(executor.execute(store), type: type)
        } catch {
            return .json(error.response, status: isNew ? .badRequest : .ok, type: type)
        }
    }

    private static let mediaType = "application/graphql-response+json"
}
