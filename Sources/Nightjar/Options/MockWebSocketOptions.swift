import NIOCore
import NightjarHTTP
import NightjarTesting

// The steps of a mocked WebSocket as JSON: `{send=}`, `{send_base64=}`, `{receive=}`, `{receive_base64=}`,
// `{close=, reason=}` or `{drop=true}`, each with `delay`.

extension MockResponse.WebSocketStep {
    static func read(steps value: JSONValue, _ path: String) throws(NightjarError) -> [MockResponse.WebSocketStep] {
        // An empty Lua table is encoded as an empty object.
        if case .object(let members) = value, members.isEmpty { return [] }
        guard case .array(let items) = value else { throw .mismatch(path, expected: "a list of steps", value) }
        var steps: [MockResponse.WebSocketStep] = []
        for (index, item) in items.enumerated() { steps.append(try step(item, "\(path)[\(index + 1)]")) }
        return steps
    }

    private static func step(_ value: JSONValue, _ path: String) throws(NightjarError) -> MockResponse.WebSocketStep {
        var draft = Draft()
        try Draft.options.apply(value, at: path, to: &draft)
        if let reason = draft.reason, draft.closeCode == nil {
            throw NightjarError(
                .invalidArgument, "option \(quoted(path)) has the reason \(quoted(reason)) without close")
        }
        if let code = draft.closeCode {
            draft.steps.append(try .close(code: code == 0 ? nil : code, reason: draft.reason ?? ""))
        }
        guard draft.steps.count == 1, var step = draft.steps.first else {
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) must have exactly one of send, send_base64, receive, receive_base64, close and drop"
            )
        }
        step.delay = draft.delay
        return step
    }

    private struct Draft {
        var steps: [MockResponse.WebSocketStep] = []
        var closeCode: Int?
        var reason: String?
        var delay = Duration.zero

        static let options = OptionTable<Draft>([
            Option(name: "send") { value, path, draft throws(NightjarError) in
                switch value {
                case .string(let text): draft.steps.append(.send(text))
                case .object, .array: draft.steps.append(.send(String(buffer: try value.encoded())))
                default: throw .mismatch(path, expected: "a string or a table", value)
                }
            },
            Option(name: "send_base64") { value, path, draft throws(NightjarError) in
                draft.steps.append(.send(try value.base64(path)))
            },
            Option(name: "receive") { value, path, draft throws(NightjarError) in
                switch value {
                case .bool(true): draft.steps.append(.receive)
                case .string(let text): draft.steps.append(.receive(text))
                case .object, .array: draft.steps.append(.receive(json: value))
                default: throw .mismatch(path, expected: "a string, a table or true", value)
                }
            },
            Option(name: "receive_base64") { value, path, draft throws(NightjarError) in
                draft.steps.append(.receive(try value.base64(path)))
            },
            Option(name: "close") { value, path, draft throws(NightjarError) in
                draft.closeCode = try value.count(path, in: 0...4999)
            },
            Option(name: "reason") { value, path, draft throws(NightjarError) in draft.reason = try value.text(path) },
            Option(name: "drop") { value, path, draft throws(NightjarError) in
                guard case .bool(true) = value else { throw .mismatch(path, expected: "true", value) }
                draft.steps.append(.drop)
            },
            Option(name: "delay") { value, path, draft throws(NightjarError) in draft.delay = try value.duration(path)
            },
        ])
    }
}

extension JSONValue {
    /// Reads bytes in base64.
    func base64(_ path: String) throws(NightjarError) -> ByteBuffer {
        guard let bytes = Base64.decode(try text(path).utf8) else {
            throw NightjarError(.invalidArgument, "option \(quoted(path)) is not valid base64")
        }
        return ByteBuffer(bytes: bytes)
    }
}
