/// Requests of one pattern, and what they are answered.
public struct MockRoute: Sendable {
    /// What comes when each of the answers has been given once.
    public enum UsedUp: String, Sendable, CaseIterable {
        /// The last one again and again.
        case last
        /// They begin anew.
        case first
        /// The call fails, with a message that says so.
        case error
    }

    public enum Answers: Sendable {
        /// In their order.
        case sequence([MockAnswer])
        /// The program says what, each time. The number is the program's own.
        case responder(Int)
    }

    /// For messages and for counting; nil: its pattern is.
    public var name: String?
    public var pattern: RequestPattern
    public var answers: Answers
    public var usedUp = UsedUp.last
    /// How often it answers; what comes afterwards is for the routes behind it. Nil: there is no bound.
    public var times: Int?
    /// Whether all is well where it was never asked.
    public var isOptional = false

    public init(_ pattern: RequestPattern, _ answers: Answers, name: String? = nil) {
        self.pattern = pattern
        self.answers = answers
        self.name = name
    }

    public init(_ method: Method, _ path: String, _ answers: MockAnswer...) throws(NightjarError) {
        self.init(RequestPattern(method, try PathPattern(path)), .sequence(answers))
    }

    /// `"list" (GET /articles)`, for messages.
    public var summary: String { name.map { "\(quoted($0)) (\(pattern.summary))" } ?? pattern.summary }
}
