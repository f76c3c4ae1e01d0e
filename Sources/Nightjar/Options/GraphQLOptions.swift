import NightjarAPI
import NightjarHTTP

extension Request {
    /// Reads the text of a query, or `{query=, variables=, operation_name=, extensions=}`.
    mutating func readGraphQL(_ value: JSONValue, _ path: String) throws(NightjarError) {
        guard case .none = body else {
            throw NightjarError(.invalidArgument, "option \(quoted(path)) replaces the body; remove the body")
        }
        let content = try GraphQLContent(options: value, path)
        try setGraphQL(content, try content.parsed(nil).operation)
    }
}

extension GraphQLContent {
    /// Reads the text of an operation, or `{query=, variables=, operation_name=, extensions=, kind=, init_payload=,
    /// authorize=}`. The last two are for subscriptions over a WebSocket.
    init(options value: JSONValue, _ path: String) throws(NightjarError) {
        self.init(query: "")
        if case .string(let text) = value {
            query = text
        } else {
            try GraphQLContent.options.apply(value, at: path, to: &self)
        }
    }

    static let options = OptionTable<GraphQLContent>([
        Option(name: "query") { value, path, content throws(NightjarError) in content.query = try value.text(path) },
        Option(name: "variables") { value, path, content throws(NightjarError) in
            content.variables = try object(value, path)
        },
        Option(name: "operation_name") { value, path, content throws(NightjarError) in
            content.operationName = try value.text(path)
        },
        Option(name: "extensions") { value, path, content throws(NightjarError) in
            content.extensions = try object(value, path)
        },
        Option(name: "init_payload") { value, path, content throws(NightjarError) in
            content.initialization = try object(value, path)
        },
        Option(name: "authorize") { value, path, content throws(NightjarError) in
            content.sendsAuthorization = try value.flag(path)
        },
        Option(name: "kind") { value, path, content throws(NightjarError) in
            content.kind = GraphQLDocument.Kind(rawValue: try value.word(path, ["query", "mutation", "subscription"]))
        },
    ])

    private static func object(_ value: JSONValue, _ path: String) throws(NightjarError) -> JSONValue {
        switch value {
        case .object, .array([]), .null: return value
        default: throw .mismatch(path, expected: "a table", value)
        }
    }
}
