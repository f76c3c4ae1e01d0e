/// A message of a client of the subprotocol graphql-transport-ws.
enum GraphQLClientMessage {
    case initialize(payload: JSON?)
    case ping(payload: JSON?)
    case pong
    case subscribe(id: String, GraphQLRequest)
    case complete(id: String)

    /// The reason why a message is invalid.
    struct Invalid: Error {
        let reason: String
    }

    /// The maximum size of a message in bytes.
    static let maximumSize = Router.bodyLimit

    /// The maximum size of an id in bytes.
    private static let maximumID = 256

    init(_ message: WebSocketMessage) throws(Invalid) {
        guard message.isText else { throw Invalid(reason: "Invalid message: it is not text") }
        let document: JSON
        do throws(JSONError) {
            document = try JSON(parsing: Array(message.bytes.readableBytesView))
        } catch {
            throw Invalid(reason: "Invalid message: it is not JSON: \(error.reason)")
        }
        guard case .object = document, case .string(let type)? = document["type"] else {
            throw Invalid(reason: "Invalid message: it is not an object with a type")
        }
        switch type {
        case "connection_init": self = .initialize(payload: try GraphQLClientMessage.payload(document))
        case "ping": self = .ping(payload: try GraphQLClientMessage.payload(document))
        case "pong":
            _ = try GraphQLClientMessage.payload(document)
            self = .pong
        case "subscribe":
            self = .subscribe(
                id: try GraphQLClientMessage.id(document), try GraphQLClientMessage.request(document))
        case "complete": self = .complete(id: try GraphQLClientMessage.id(document))
        default: throw Invalid(reason: "Invalid message: its type is not known")
        }
    }

    private static func payload(_ document: JSON) throws(Invalid) -> JSON? {
        switch document["payload"] {
        case nil, .null?: return nil
        case .object(let members)?: return .object(members)
        default: throw Invalid(reason: "Invalid message: its payload is not an object")
        }
    }

    private static func id(_ document: JSON) throws(Invalid) -> String {
        guard case .string(let id)? = document["id"], 1...maximumID ~= id.utf8.count else {
            throw Invalid(reason: "Invalid message: its id is not a string of 1 to \(maximumID) bytes")
        }
        return id
    }

    private static func request(_ document: JSON) throws(Invalid) -> GraphQLRequest {
        guard let payload = document["payload"], case .string(let text)? = payload["query"] else {
            throw Invalid(reason: "Invalid message: its payload has no query")
        }
        var operation: String?
        switch payload["operationName"] {
        case nil, .null?: break
        case .string(let name)?: operation = name
        default: throw Invalid(reason: "Invalid message: operationName is not a string")
        }
        let variables = payload["variables"] ?? .null
        switch variables {
        case .null, .object: break
        default: throw Invalid(reason: "Invalid message: variables are not an object")
        }
        return GraphQLRequest(text: text, operation: operation, variables: variables)
    }
}
