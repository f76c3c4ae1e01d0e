/// Values for an operation: its parameters by name, and its body.
///
///     let arguments: Arguments = ["id": 42, "fields": ["title", "tags"]]
public struct Arguments: Sendable, ExpressibleByDictionaryLiteral {
    /// By name; where parameters in several places share one, `query.id` and `path.id` tell them apart. Null: not given.
    public var values: [(name: String, value: JSONValue)]
    public var body: Body?

    /// The body, before it is written as the operation wants it.
    public enum Body: Sendable {
        /// Written as JSON or as a form, by what the operation takes, and checked against its schema.
        case value(JSONValue)
        /// Sent as it is; `type` nil: the operation's first.
        case content(RequestBody, type: String?)
    }

    public init() { values = [] }

    public init(body: Body?) { self.init([], body: body) }

    public init(_ values: [(name: String, value: JSONValue)], body: Body? = nil) {
        self.values = values
        self.body = body
    }

    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements.map { (name: $0.0, value: $0.1) })
    }
}
