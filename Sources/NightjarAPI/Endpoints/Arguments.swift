/// The arguments of an operation: its parameters by name, and its body.
///
///     let arguments: Arguments = ["id": id, "fields": ["title", "tags"], "page": page]
///
/// The values of a dictionary literal are ``ParameterValue``s: integers, strings, booleans, floating-point numbers, arrays
/// of these, ``JSONValue``, and types of the program. Nil means not set.
public struct Arguments: Sendable, ExpressibleByDictionaryLiteral {
    /// The values by name. If parameters in several places share a name, `query.id` and `path.id` distinguish them.
    /// Null means not set.
    public var values: [(name: String, value: JSONValue)]
    public var body: Body?

    /// The body, before it is serialized for the operation.
    public enum Body: Sendable {
        /// Validated against the operation's schema, if there is one, and serialized as JSON, as a form or as text.
        case value(JSONValue)
        /// Sent as is. If `type` is nil and the request has no Content-Type, the first media type of the operation that
        /// has no wildcard is used, except for a multipart form.
        case content(RequestBody, type: String?)
    }

    public init() { values = [] }

    public init(body: Body?) { self.init([], body: body) }

    public init(_ values: [(name: String, value: JSONValue)], body: Body? = nil) {
        self.values = values
        self.body = body
    }

    public init(dictionaryLiteral elements: (String, (any ParameterValue)?)...) {
        self.init(elements.map { (name: $0.0, value: $0.1?.parameterValue ?? .null) })
    }
}
