/// What an API can do: its operations by name. A value.
public struct Catalog: Sendable {
    public var title: String?
    public var version: String?
    public var documentation: String?
    /// Absolute, their variables filled in; the first is the base URL of a client that has none.
    public var servers: [String] = []
    /// Ways to log in, by name.
    public var security: [SecurityScheme] = []
    /// Names of groups, in the order of the document, and what they are.
    public var tags: [(name: String, documentation: String?)] = []
    /// What was passed over while it was read: "paths./users.get: callbacks are not supported".
    public var notes: [String] = []

    public private(set) var operations: [Operation] = []
    private var places = ExactDictionary<Int>()

    public init() {}

    /// - Throws: `invalid_argument` where one of that name is there already.
    public mutating func add(_ operation: Operation) throws(NightjarError) {
        guard places[operation.name] == nil else {
            throw NightjarError(.invalidArgument, "there are two endpoints of the name \(quoted(operation.name))")
        }
        places[operation.name] = operations.count
        operations.append(operation)
    }

    /// Adds one, in the place of that of its name where there is one.
    public mutating func set(_ operation: Operation) {
        if let place = places[operation.name] {
            operations[place] = operation
        } else {
            places[operation.name] = operations.count
            operations.append(operation)
        }
    }

    public subscript(_ name: String) -> Operation? { places[name].map { operations[$0] } }

    /// - Throws: `invalid_request` with the nearest name there is.
    public func operation(_ name: String) throws(NightjarError) -> Operation {
        if let operation = self[name] { return operation }
        let near = nearestName(to: name, among: operations.map(\.name)).map { "; did you mean \(quoted($0))?" }
        throw NightjarError(.invalidRequest, "there is no endpoint \(quoted(name))\(near ?? "")")
    }
}

/// A way to log in to an API. OpenAPI 3.1 section 4.8.27.
public struct SecurityScheme: Sendable {
    public enum Kind: Sendable {
        case bearer, basic, digest
        /// Sent in a header, a query item or a cookie of this name.
        case apiKey(name: String, place: Parameter.Place)
        /// URLs absolute; scopes by name and what they are for.
        case oauth2(
            flow: Flow, authorizationURL: String?, tokenURL: String?, scopes: [(name: String, documentation: String)])
        /// What Nightjar does not speak, such as OpenID Connect's discovery or mutual TLS.
        case other(String)
    }

    public enum Flow: String, Sendable { case authorizationCode, clientCredentials, implicit, password }

    public var name: String
    public var kind: Kind
    public var documentation: String?

    public init(_ name: String, _ kind: Kind) {
        self.name = name
        self.kind = kind
    }
}
