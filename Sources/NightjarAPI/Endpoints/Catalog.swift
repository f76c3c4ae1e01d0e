/// The operations of an API, by name.
public struct Catalog: Sendable {
    public var title: String?
    public var version: String?
    public var documentation: String?
    /// Absolute URLs with their variables filled in. The first URL is the default base URL of a client.
    public var servers: [String] = []
    /// The security schemes in document order. A scheme with several OAuth flows occurs once for each flow.
    package var security: [SecurityScheme] = []
    /// The names and descriptions of the tags, in document order.
    public var tags: [(name: String, documentation: String?)] = []
    /// Notes about parts of the description that were skipped or need attention, such as "paths./users.get: callbacks
    /// are not supported".
    public var notes: [String] = []

    package private(set) var operations: [Operation] = []
    private var places = ExactDictionary<Int>()

    public init() {}

    /// Adds an operation.
    ///
    /// - Throws: `invalid_argument` if the catalog already has an operation of the same name.
    package mutating func add(_ operation: Operation) throws(NightjarError) {
        guard places[operation.name] == nil else {
            throw NightjarError(.invalidArgument, "there are two endpoints named \(quoted(operation.name))")
        }
        places[operation.name] = operations.count
        operations.append(operation)
    }

    /// Adds an operation, or replaces the operation of the same name.
    package mutating func set(_ operation: Operation) {
        if let place = places[operation.name] {
            operations[place] = operation
        } else {
            places[operation.name] = operations.count
            operations.append(operation)
        }
    }

    package subscript(_ name: String) -> Operation? { places[name].map { operations[$0] } }

    /// Returns the operation of this name.
    ///
    /// - Throws: `invalid_request` if there is none. The message suggests a similar name if there is one.
    package func operation(_ name: String) throws(NightjarError) -> Operation {
        if let operation = self[name] { return operation }
        let near = nearestName(to: name, among: operations.map(\.name)).map { "; did you mean \(quoted($0))?" }
        throw NightjarError(.invalidRequest, "there is no endpoint \(quoted(name))\(near ?? "")")
    }
}

/// A security scheme of an API. OpenAPI 3.1 section 4.8.27.
package struct SecurityScheme: Sendable {
    package enum Kind: Sendable {
        case bearer, basic, digest
        /// Sent in a header field, query item or cookie of this name.
        case apiKey(name: String, place: Parameter.Place)
        /// URLs are absolute. Scopes have a name and a description.
        case oauth2(
            flow: Flow, authorizationURL: String?, tokenURL: String?, scopes: [(name: String, documentation: String)])
        /// A scheme that Nightjar does not support, such as OpenID Connect discovery or mutual TLS.
        case other(String)
    }

    package enum Flow: String, Sendable { case authorizationCode, clientCredentials, implicit, password }

    package var name: String
    package var kind: Kind
    package var documentation: String?

    package init(_ name: String, _ kind: Kind) {
        self.name = name
        self.kind = kind
    }
}
