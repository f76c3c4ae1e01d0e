import NIOCore

extension Cassette {
    /// The file: one member a line, so that versions of it can be compared.
    ///
    /// - Throws: `invalid_request` for a JSON body with a number that JSON has no word for.
    public func encoded() throws(NightjarError) -> ByteBuffer {
        let file = JSONValue.object([
            .init("format", .string(Cassette.format)), .init("version", .integer(Cassette.version)),
            .init("exchanges", .array(exchanges.map(\.recorded))),
        ])
        return try file.encodedForReading()
    }
}

extension RecordedExchange {
    fileprivate var recorded: JSONValue {
        var members = [JSONValue.Member("request", request.recorded)]
        if let response { members.append(.init("response", response.recorded)) }
        if let failure { members.append(.init("failure", failure.recorded)) }
        return .object(members)
    }
}

extension RecordedExchange.Request {
    fileprivate var recorded: JSONValue {
        var members: [JSONValue.Member] = [.init("method", .string(method.name)), .init("url", .string(url))]
        if !headers.isEmpty { members.append(.init("headers", headers.recorded)) }
        return .object(members + body.recorded)
    }
}

extension RecordedExchange.Response {
    fileprivate var recorded: JSONValue {
        var members: [JSONValue.Member] = [.init("status", .integer(Int64(status)))]
        if !reason.isEmpty { members.append(.init("reason", .string(reason))) }
        if !headers.isEmpty { members.append(.init("headers", headers.recorded)) }
        members += body.recorded
        if !trailers.isEmpty { members.append(.init("trailers", trailers.recorded)) }
        members.append(.init("delay", delay.recorded))
        if !pieces.isEmpty {
            members.append(
                .init("pieces", .array(pieces.map { .array([$0.delay.recorded, .integer(Int64($0.bytes))]) })))
        }
        if isCut { members.append(.init("cut", .bool(true))) }
        return .object(members)
    }
}

extension RecordedExchange.Failure {
    fileprivate var recorded: JSONValue {
        var members: [JSONValue.Member] = [.init("kind", .string(kind.name)), .init("message", .string(message))]
        if let phase { members.append(.init("phase", .string(phase.name))) }
        if requestMayHaveBeenProcessed { members.append(.init("may_have_been_processed", .bool(true))) }
        members.append(.init("delay", delay.recorded))
        return .object(members)
    }
}

extension RecordedBody {
    fileprivate var recorded: [JSONValue.Member] {
        switch self {
        case .none: []
        case .json(let value): [.init("json", value)]
        case .text(let text): [.init("text", .string(text))]
        case .binary(let bytes): [.init("base64", .string(Base64.encode(bytes.readableBytesView)))]
        case .unkept: [.init("unkept", .bool(true))]
        }
    }
}

extension Headers {
    fileprivate var recorded: JSONValue {
        JSONValue(items: self) { ASCII.equalIgnoringCase($0.utf8, $1.utf8) }
    }
}

extension Duration {
    /// Seconds, to the microsecond.
    fileprivate var recorded: JSONValue {
        let microseconds = nanosecondsClamped / 1000
        return microseconds % 1_000_000 == 0
            ? .integer(microseconds / 1_000_000) : .number(Double(microseconds) / 1_000_000)
    }
}

extension JSONValue {
    /// The value as a JSON text for people: indented, and on one line what is short.
    ///
    /// - Throws: as ``encoded()``.
    func encodedForReading() throws(NightjarError) -> ByteBuffer {
        var text = ByteBuffer()
        var open: [(isObject: Bool, rest: ArraySlice<Member>)] = []
        try begin(self)
        while let container = open.last {
            guard let member = container.rest.first else {
                open.removeLast()
                line()
                text.writeStaticString(container.isObject ? "}" : "]")
                if open.last?.rest.isEmpty == false { text.writeStaticString(",") }
                continue
            }
            open[open.count - 1].rest = container.rest.dropFirst()
            line()
            if container.isObject {
                text.writeJSONString(member.name)
                text.writeStaticString(": ")
            }
            let depth = open.count
            try begin(member.value)
            if open.count == depth, container.rest.count > 1 { text.writeStaticString(",") }
        }
        text.writeStaticString("\n")
        return text

        func begin(_ value: JSONValue) throws(NightjarError) {
            switch value {
            case .object(let members) where !members.isEmpty && !value.isShort:
                text.writeStaticString("{")
                open.append((true, members[...]))
            case .array(let elements) where !elements.isEmpty && !value.isShort:
                text.writeStaticString("[")
                open.append((false, elements.map { Member("", $0) }[...]))
            default: text.writeImmutableBuffer(try value.encoded())
            }
        }

        func line() {
            text.writeStaticString("\n")
            for _ in 0..<open.count { text.writeStaticString("  ") }
        }
    }

    /// Whether it fits on a line: a list of few numbers or of short lists of them.
    private var isShort: Bool {
        guard case .array(let elements) = self, elements.count <= 4 else { return false }
        return elements.allSatisfy {
            switch $0 {
            case .null, .bool, .integer, .unsigned, .number: true
            case .string(let text): text.utf8.count <= 20
            case .array, .object: false
            }
        }
    }
}
