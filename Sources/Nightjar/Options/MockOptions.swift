import NIOCore
import NightjarHTTP
import NightjarTesting

// Mocks as JSON: `[route, ...]`, or `{"routes": [route, ...], "passthrough": true}`. The client option `mock` and C's
// `nj_config_set_mock` accept this form, and Lua's `nightjar.mock` accepts the same structure as a table.

extension Mock {
    /// Creates a mock from its JSON form.
    ///
    /// - Throws: `decoding` if the text is not JSON; `invalid_argument` for an unknown name or a wrong type; `storage`
    ///   for a file that cannot be read.
    public convenience init(json: String) throws(NightjarError) {
        try self.init(option: JSONValue(parsing: json), "mock")
    }

    package convenience init(json: UnsafeRawBufferPointer) throws(NightjarError) {
        try self.init(option: JSONValue(parsing: json), "mock")
    }

    convenience init(option value: JSONValue, _ path: String) throws(NightjarError) {
        self.init(try MockTable(option: value, path))
    }

    /// Creates a mock from its JSON form, with a responder.
    ///
    /// - Parameter respond: Called for routes whose response is `{"function": NUMBER}`.
    public convenience init(
        json: UnsafeRawBufferPointer, respond: @escaping @Sendable (MockRequest) -> Void
    ) throws(NightjarError) {
        self.init(try MockTable(option: JSONValue(parsing: json), "mock", takesResponders: true), respond: respond)
    }
}

extension MockTable {
    init(option value: JSONValue, _ path: String, takesResponders: Bool = false) throws(NightjarError) {
        var draft = Draft()
        if case .object = value {
            try Draft.options.apply(value, at: path, to: &draft)
        } else {
            draft.routes = try Draft.read(routes: value, path)
        }
        if !takesResponders {
            for (index, route) in draft.routes.enumerated() {
                guard case .responder = route.responses else { continue }
                throw NightjarError(
                    .invalidArgument,
                    "option \(quoted("\(path)[\(index + 1)].response.function")) is not allowed in "
                        + "JSON")
            }
        }
        try self.init(draft.routes, passesUnmatched: draft.passesUnmatched)
    }

    private struct Draft {
        var routes: [MockRoute] = []
        var passesUnmatched = false

        static let options = OptionTable<Draft>([
            Option(name: "routes") { value, path, draft throws(NightjarError) in
                draft.routes = try read(routes: value, path)
            },
            Option(name: "passthrough") { value, path, draft throws(NightjarError) in
                draft.passesUnmatched = try value.flag(path)
            },
        ])

        static func read(routes value: JSONValue, _ path: String) throws(NightjarError) -> [MockRoute] {
            // An empty Lua table is encoded as an empty object.
            if case .object(let members) = value, members.isEmpty { return [] }
            guard case .array(let items) = value else { throw .mismatch(path, expected: "a list of routes", value) }
            var routes: [MockRoute] = []
            for (index, item) in items.enumerated() {
                routes.append(try MockRoute(option: item, "\(path)[\(index + 1)]"))
            }
            return routes
        }
    }
}

extension MockRoute {
    fileprivate init(option value: JSONValue, _ path: String) throws(NightjarError) {
        var route = MockRoute(RequestPattern(), .sequence([]))
        try MockRoute.options.apply(value, at: path, to: &route)
        if case .sequence(let responses) = route.responses, responses.isEmpty {
            throw NightjarError(
                .invalidArgument, "option \(quoted(path)) is a route without a response; set response or responses")
        }
        self = route
    }

    private static let options = OptionTable<MockRoute>([
        Option(name: "name") { value, path, route throws(NightjarError) in route.name = try value.text(path) },
        Option(name: "method") { value, path, route throws(NightjarError) in
            let name = try value.text(path)
            guard let method = Method(name) else {
                throw NightjarError(
                    .invalidArgument,
                    "option \(quoted(path)) is \(quoted(name)), which is not a "
                        + "valid method")
            }
            route.pattern.method = method
        },
        Option(name: "path") { value, path, route throws(NightjarError) in
            route.pattern.path = try PathPattern(value.text(path))
        },
        Option(name: "query") { value, path, route throws(NightjarError) in
            route.pattern.query = try value.wantedItems(path)
        },
        Option(name: "headers") { value, path, route throws(NightjarError) in
            route.pattern.headers = try value.wantedItems(path)
        },
        Option(name: "json") { value, _, route throws(NightjarError) in route.pattern.body = .json(value) },
        Option(name: "form") { value, path, route throws(NightjarError) in
            route.pattern.body = .form(try value.wantedItems(path))
        },
        Option(name: "body") { value, path, route throws(NightjarError) in
            route.pattern.body = .text(try value.text(path))
        },
        Option(name: "response") { value, path, route throws(NightjarError) in
            if let function = value["function"] {
                route.responses = .responder(try function.count(path + ".function", in: 0...Int(Int32.max)))
            } else {
                route.responses = .sequence([try MockResponse(option: value, path)])
            }
        },
        Option(name: "responses") { value, path, route throws(NightjarError) in
            guard case .array(let items) = value else { throw .mismatch(path, expected: "a list of responses", value) }
            var responses: [MockResponse] = []
            for (index, item) in items.enumerated() {
                responses.append(try MockResponse(option: item, "\(path)[\(index + 1)]"))
            }
            route.responses = .sequence(responses)
        },
        Option(name: "when_exhausted") { value, path, route throws(NightjarError) in
            guard case .string(let text) = value, let whenExhausted = ExhaustionPolicy(rawValue: text) else {
                throw .mismatch(path, expected: "\"last\", \"first\" or \"error\"", value)
            }
            route.whenExhausted = whenExhausted
        },
        Option(name: "times") { value, path, route throws(NightjarError) in
            route.times = try value.count(path, in: 1...1_000_000)
        },
        Option(name: "optional") { value, path, route throws(NightjarError) in
            route.isOptional = try value.flag(path)
        },
    ])
}

extension MockResponse {
    /// Reads `{status=, headers=, json= | body= | base64= | file=, delay=, rate=, chunk_size=, fault=, websocket=}`, or
    /// only a status.
    public init(option value: JSONValue, _ path: String) throws(NightjarError) {
        self.init()
        if case .integer = value {
            status = try value.count(path, in: MockResponse.statuses)
            return
        }
        var draft = Draft(response: self)
        try Draft.options.apply(value, at: path, to: &draft)
        self = draft.response
        if let type = draft.contentType, headers.firstIndex(of: "Content-Type") == nil {
            try headers.add("Content-Type", type)
        }
    }

    private struct Draft {
        var response: MockResponse
        var contentType: String?

        static let options = OptionTable<Draft>([
            Option(name: "status") { value, path, draft throws(NightjarError) in
                draft.response.status = try value.count(path, in: MockResponse.statuses)
            },
            Option(name: "headers") { value, path, draft throws(NightjarError) in
                try draft.response.headers.readResponse(value, path)
            },
            Option(name: "json") { value, _, draft throws(NightjarError) in
                draft.response.body = try value.encoded()
                draft.contentType = "application/json"
            },
            Option(name: "body") { value, path, draft throws(NightjarError) in
                draft.response.body = ByteBuffer(string: try value.text(path))
                draft.contentType = "text/plain; charset=utf-8"
            },
            Option(name: "base64") { value, path, draft throws(NightjarError) in
                draft.response.body = try value.base64(path)
            },
            Option(name: "file") { value, path, draft throws(NightjarError) in
                let name = try value.text(path)
                draft.response.body = ByteBuffer(
                    bytes: try FileContent.read(name, atMost: MockExchange.largestBody))
                draft.contentType = FileType.contentType(of: name)
            },
            Option(name: "delay") { value, path, draft throws(NightjarError) in
                draft.response.delay = try value.duration(path)
            },
            Option(name: "rate") { value, path, draft throws(NightjarError) in
                draft.response.rate = try value.positiveSize(path)
            },
            Option(name: "chunk_size") { value, path, draft throws(NightjarError) in
                draft.response.pieces = try value.positiveSize(path)
            },
            Option(name: "fault") { value, path, draft throws(NightjarError) in
                draft.response.fault = try MockFault(option: value, path)
            },
            Option(name: "websocket") { value, path, draft throws(NightjarError) in
                draft.response.webSocketSteps = try MockResponse.WebSocketStep.read(steps: value, path)
            },
        ])
    }

    private static let statuses = 100...599
}

extension MockFault {
    /// Reads the kind of the fault, or `{kind=, after=}`.
    fileprivate init(option value: JSONValue, _ path: String) throws(NightjarError) {
        self.init(.connectionLost)
        guard case .object = value else {
            kind = try Kind(option: value, path)
            return
        }
        try MockFault.options.apply(value, at: path, to: &self)
        if let invalidity { throw NightjarError(.invalidArgument, "option \(quoted(path)): \(invalidity)") }
    }

    private static let options = OptionTable<MockFault>([
        Option(name: "kind") { value, path, fault throws(NightjarError) in fault.kind = try Kind(option: value, path) },
        Option(name: "after") { value, path, fault throws(NightjarError) in fault.after = try value.size(path) },
    ])
}

extension MockFault.Kind {
    fileprivate init(option value: JSONValue, _ path: String) throws(NightjarError) {
        let name = try value.text(path)
        guard let kind = MockFault.Kind(rawValue: name) else {
            let names = MockFault.Kind.allCases.map(\.rawValue)
            let hint = nearestName(to: name, among: names).map { "; did you mean \(quoted($0))?" }
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) is \(quoted(name)), which is not a known fault"
                    + (hint ?? "; the known faults are \(names.joined(separator: ", "))"))
        }
        self = kind
    }
}

extension Headers {
    /// Adds the fields of `{name = value or list of values, ...}`.
    fileprivate mutating func readResponse(_ value: JSONValue, _ path: String) throws(NightjarError) {
        guard case .object(let fields) = value else { throw .mismatch(path, expected: "a table of strings", value) }
        for field in fields {
            let full = "\(path).\(field.name)"
            switch field.value {
            case .array: for text in try field.value.texts(full) { try add(field.name, text) }
            case .integer(let number): try add(field.name, String(number))
            default: try add(field.name, field.value.text(full))
            }
        }
    }
}

extension JSONValue {
    /// Reads `{name = expected, ...}`. An expected value is a string, a number, or a list of strings and numbers. True
    /// means any value, and false means that the item must be absent.
    fileprivate func wantedItems(_ path: String) throws(NightjarError) -> [(
        name: String, expected: RequestPattern.ExpectedValue
    )] {
        guard case .object(let members) = self else { throw .mismatch(path, expected: "a table", self) }
        var items: [(name: String, expected: RequestPattern.ExpectedValue)] = []
        for member in members { items.append((member.name, try member.value.expected("\(path).\(member.name)"))) }
        return items
    }

    private func expected(_ path: String) throws(NightjarError) -> RequestPattern.ExpectedValue {
        switch self {
        case .bool(true): return .present
        case .bool(false), .null: return .absent
        case .array(let items):
            var texts: [String] = []
            for (index, item) in items.enumerated() {
                guard let text = item.itemText else {
                    throw .mismatch("\(path)[\(index + 1)]", expected: "a string or a number", item)
                }
                texts.append(text)
            }
            return .values(texts)
        default:
            guard let text = itemText else {
                throw .mismatch(
                    path, expected: "a string, a number, a list of strings and numbers, true or false", self)
            }
            return .value(text)
        }
    }

    private var itemText: String? {
        switch self {
        case .string(let text): text
        case .integer(let number): String(number)
        case .unsigned(let number): String(number)
        case .number(let number): String(number)
        case .null, .bool, .array, .object: nil
        }
    }

    fileprivate func positiveSize(_ path: String) throws(NightjarError) -> Int {
        let size = try size(path)
        guard size > 0 else {
            throw NightjarError(.invalidArgument, "option \(quoted(path)) must be greater than 0, got \(size)")
        }
        return size
    }
}
