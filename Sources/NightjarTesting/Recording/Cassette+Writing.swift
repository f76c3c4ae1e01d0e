import NIOCore
import NightjarHTTP

extension Cassette {
    /// Encodes the cassette with one member per line, so that versions of the file can be compared. A body is written
    /// on one line if its indentation would take several times its own size; see ``IndentedJSONWriter``.
    ///
    /// - Throws: `invalid_request` if a JSON body contains a number that JSON cannot represent. `too_large` if the file
    ///   would be larger than ``largestFile`` bytes, because it could not be read again.
    package func encoded() throws(NightjarError) -> ByteBuffer {
        let file = JSONValue.object([
            .init("format", .string(Cassette.format)), .init("version", .integer(Cassette.version)),
            .init("exchanges", .array(exchanges.map(\.recorded))),
        ])
        // Each body and each header object is inside four containers: the document, its list, an exchange and a
        // message.
        var writer = IndentedJSONWriter(partLevel: 4, maximumSize: Cassette.largestFile)
        try writer.write(file)
        return writer.text
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
        if isTruncated { members.append(.init("cut", .bool(true))) }
        if let messages { members.append(.init("messages", .array(messages.map(\.recorded)))) }
        return .object(members)
    }
}

extension RecordedExchange.SocketMessage {
    fileprivate var recorded: JSONValue {
        var members: [JSONValue.Member] = [.init("from", .string(isSent ? "client" : "server"))]
        switch content {
        case .text(.none): members.append(.init("text", .string("")))
        case .text(let body): members += body.recorded
        case .binary(let bytes): members += RecordedBody.binary(bytes).recorded
        case .close(let code, let reason):
            members.append(.init("close", .integer(Int64(code ?? 0))))
            if !reason.isEmpty { members.append(.init("reason", .string(reason))) }
        }
        members.append(.init("delay", delay.recorded))
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
        switch legible {
        case .none: []
        case .json(let value): [.init("json", value)]
        case .text(let text): [.init("text", .string(text))]
        case .binary(let bytes): [.init("base64", .string(Base64.encode(bytes.readableBytesView)))]
        case .omitted: [.init("omitted", .bool(true))]
        }
    }
}

extension Headers {
    fileprivate var recorded: JSONValue {
        JSONValue(items: self) { ASCII.equalIgnoringCase($0.utf8, $1.utf8) }
    }
}

extension Duration {
    /// The duration in seconds, with microsecond resolution.
    fileprivate var recorded: JSONValue {
        let microseconds = nanosecondsClamped / 1000
        return microseconds % 1_000_000 == 0
            ? .integer(microseconds / 1_000_000) : .number(Double(microseconds) / 1_000_000)
    }
}
