import NIOCore

/// The type Subscription of the articles, and the events of its fields.
enum ArticleSubscription {
    /// New comments, on one article or on all.
    case comments(article: Int?)
    /// The numbers from `next` down to 0.
    case countdown(next: Int, delay: TimeAmount)
    /// The numbers from 1 to `count`, then a failure.
    case failing(count: Int, after: Int)

    private static let maximumDelay = 60.0

    /// - Throws: a failure without a path.
    init(_ field: String, _ arguments: [String: JSON], _ store: Store) throws(GraphQL.Failure) {
        switch field {
        case "countdown":
            let delay = ArticleSubscription.double(arguments["delay"]) ?? 0
            guard 0...ArticleSubscription.maximumDelay ~= delay else {
                throw GraphQL.Failure(
                    message: "the argument delay must be between 0 and 60 seconds", code: "BAD_USER_INPUT")
            }
            self = .countdown(
                next: try ArticleSubscription.count(arguments, "from"), delay: TimeAmount(seconds: delay))
        case "failing": self = .failing(count: 0, after: try ArticleSubscription.count(arguments, "after"))
        default:
            guard case .string(let text)? = arguments["articleId"] else {
                self = .comments(article: nil)
                return
            }
            guard let id = Int(text), store.articles[id] != nil else {
                throw GraphQL.Failure(message: "there is no such article", code: "NOT_FOUND")
            }
            self = .comments(article: id)
        }
    }

    private static func count(_ arguments: [String: JSON], _ name: String) throws(GraphQL.Failure) -> Int {
        guard case .integer(let number)? = arguments[name], number >= 0 else {
            throw GraphQL.Failure(message: "the argument \(name) must not be negative", code: "BAD_USER_INPUT")
        }
        return Int(number)
    }

    private static func double(_ value: JSON?) -> Double? {
        switch value {
        case .integer(let number)?: Double(number)
        case .number(let number)?: number
        default: nil
        }
    }

    /// The root type. The source of its fields is the event.
    static var type: GraphQL.NamedType {
        let number = { (source: Any) in (source as? Int).map { GraphQL.Resolved.leaf(.int($0)) } ?? .null }
        return GraphQL.NamedType(
            name: "Subscription", description: "The events.",
            kind: .object(
                [
                    GraphQL.FieldDefinition(
                        "commentAdded", "Comment!", "Each new comment.",
                        [
                            GraphQL.InputField(
                                name: "articleId", description: "Only comments on this article.", type: "ID")
                        ]
                    ) { source, _ throws(GraphQL.Failure) in
                        (source as? Comment).map { .object(type: "Comment", $0) } ?? .null
                    },
                    GraphQL.FieldDefinition(
                        "countdown", "Int!", "The numbers down to 0.",
                        [
                            GraphQL.InputField(name: "from", description: "The first number.", type: "Int!"),
                            GraphQL.InputField(
                                name: "delay", description: "The seconds between two numbers, 0 to 60.", type: "Float",
                                fallback: .number(0.01)),
                        ]
                    ) { source, _ throws(GraphQL.Failure) in number(source) },
                    GraphQL.FieldDefinition(
                        "failing", "Int!", "The numbers from 1, then an error.",
                        [
                            GraphQL.InputField(
                                name: "after", description: "The number of results before the error.", type: "Int!",
                                fallback: .integer(0))
                        ]
                    ) { source, _ throws(GraphQL.Failure) in number(source) },
                ], interfaces: []))
    }
}
