import NightjarHTTP

/// A pattern for requests and the responses to them.
public struct MockRoute: Sendable {
    /// The behavior after each response has been used once.
    public enum ExhaustionPolicy: String, Sendable, CaseIterable {
        /// The last response is repeated.
        case last
        /// The sequence starts again.
        case first
        /// The call fails with a message that names the route and the number of its responses.
        case error
    }

    /// The responses of a route.
    public enum Responses: Sendable {
        /// Used in order.
        case sequence([MockResponse])
        /// The program supplies each response. The number identifies its callback.
        case responder(Int)
    }

    /// The name in messages and use counts, in addition to the pattern.
    public var name: String?
    public var pattern: RequestPattern
    public var responses: Responses
    public var whenExhausted = ExhaustionPolicy.last
    /// The maximum number of requests to which the route responds. Later requests are matched against the following
    /// routes. Nil: unlimited.
    public var times: Int?
    /// True if verification ignores how often the route was used.
    public var isOptional = false

    public init(_ pattern: RequestPattern, _ responses: Responses, name: String? = nil) {
        self.pattern = pattern
        self.responses = responses
        self.name = name
    }

    public init(_ method: Method, _ path: String, _ responses: MockResponse...) throws(NightjarError) {
        self.init(RequestPattern(method, try PathPattern(path)), .sequence(responses))
    }

    /// The route in messages: `"list" (GET /articles)`.
    public var summary: String { name.map { "\(quoted($0)) (\(pattern.summary))" } ?? pattern.summary }
}
