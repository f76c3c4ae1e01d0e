import NIOCore
import NightjarHTTP

extension Cassette {
    /// Parses a cassette. Throws `decoding` with the path of the invalid value if the text is not a cassette.
    package init(parsing text: UnsafeRawBufferPointer) throws(NightjarError) {
        let file = CassetteNode(try JSONValue(parsing: text), "")
        let members = try file.members(["format", "version", "exchanges"])
        guard let format = members["format"], try format.text() == Cassette.format else {
            throw NightjarError(.decoding, "not a cassette: the format is not \(quoted(Cassette.format))")
        }
        guard let version = members["version"], case .integer(let number) = version.value else {
            throw NightjarError(.decoding, "not a cassette: the version is missing")
        }
        guard number == Cassette.version else {
            throw NightjarError(
                .decoding,
                "unsupported cassette version \(number); this library reads version \(Cassette.version)")
        }
        let list = try file.needed("exchanges", in: members).elements()
        guard list.count <= Cassette.maximumExchanges else {
            throw NightjarError(
                .decoding, "the cassette has \(list.count) exchanges; the maximum is \(Cassette.maximumExchanges)")
        }
        for node in list { exchanges.append(try RecordedExchange(node)) }
    }
}

extension RecordedExchange {
    fileprivate init(_ node: CassetteNode) throws(NightjarError) {
        let members = try node.members(["request", "response", "failure"])
        request = try Request(try node.needed("request", in: members))
        response = try members["response"].map { node throws(NightjarError) in try Response(node) }
        failure = try members["failure"].map { node throws(NightjarError) in try Failure(node) }
        guard response != nil || failure != nil else {
            throw node.error("has neither \"response\" nor \"failure\"")
        }
    }
}

extension RecordedExchange.Request {
    fileprivate init(_ node: CassetteNode) throws(NightjarError) {
        let members = try node.members(["method", "url", "headers"] + RecordedBody.names)
        let name = try node.needed("method", in: members)
        guard let method = Method(try name.text()) else { throw name.error("must be an HTTP method") }
        let address = try node.needed("url", in: members)
        let url = try address.text()
        guard (try? RequestURL(url)) != nil else { throw address.error("must be an absolute URL") }
        self.init(
            method: method, url: url, headers: try Headers(recorded: members["headers"]),
            body: try RecordedBody(members, node))
    }
}

extension RecordedExchange.Response {
    fileprivate init(_ node: CassetteNode) throws(NightjarError) {
        let members = try node.members(
            ["status", "reason", "headers", "trailers", "delay", "pieces", "cut", "messages"] + RecordedBody.names)
        let number = try node.needed("status", in: members)
        guard case .integer(let value) = number.value, let status = Int(exactly: value), (100...999).contains(status)
        else { throw number.error("must be a status from 100 to 999") }
        self.init(status: status)
        if let reason = members["reason"] {
            let text = try reason.text()
            guard FieldSyntax.isValue(text.utf8) else { throw reason.error("contains a control character") }
            self.reason = text
        }
        headers = try Headers(recorded: members["headers"])
        trailers = try Headers(recorded: members["trailers"])
        body = try RecordedBody(members, node)
        delay = try members["delay"].map { node throws(NightjarError) in try node.duration() } ?? .zero
        for piece in try members["pieces"].map({ node throws(NightjarError) in try node.elements() }) ?? [] {
            pieces.append(try RecordedExchange.Piece(piece))
        }
        messages = try members["messages"].map { node throws(NightjarError) in
            var messages: [RecordedExchange.SocketMessage] = []
            for message in try node.elements() { messages.append(try RecordedExchange.SocketMessage(message)) }
            return messages
        }
        if let cut = members["cut"] {
            guard case .bool(let flag) = cut.value else {
                throw cut.error("must be true or false, found \(cut.value.typeName)")
            }
            isTruncated = flag
        }
    }
}

extension RecordedExchange.Piece {
    fileprivate init(_ node: CassetteNode) throws(NightjarError) {
        let pair = try node.elements()
        guard pair.count == 2, case .integer(let number) = pair[1].value, let bytes = Int(exactly: number), bytes >= 0
        else { throw node.error("must be a list of a delay in seconds and a number of bytes") }
        self.init(after: try pair[0].duration(), bytes: bytes)
    }
}

extension RecordedExchange.SocketMessage {
    fileprivate init(_ node: CassetteNode) throws(NightjarError) {
        let members = try node.members(["from", "close", "reason", "delay"] + RecordedBody.names)
        let sender = try node.needed("from", in: members)
        let name = try sender.text()
        guard name == "client" || name == "server" else { throw sender.error("must be \"client\" or \"server\"") }
        let content: Content
        if let close = members["close"] {
            guard case .integer(let number) = close.value, let code = Int(exactly: number),
                code == 0 || WebSocketCloseCode(clamping: code).isValidOnWire
            else { throw close.error("must be a close code, or 0 for none") }
            let reason = try members["reason"].map { node throws(NightjarError) in try node.text() } ?? ""
            guard reason.utf8.count <= WebSocketFrame.maximumReason else {
                throw close.error("has a reason of more than \(WebSocketFrame.maximumReason) bytes")
            }
            content = .close(code == 0 ? nil : code, reason)
        } else {
            switch try RecordedBody(members, node) {
            case .binary(let bytes): content = .binary(bytes)
            case .text(""): content = .text(.none)
            case let body: content = .text(body)
            }
        }
        self.init(
            isSent: name == "client", content,
            after: try members["delay"].map { node throws(NightjarError) in try node.duration() } ?? .zero)
    }
}

extension RecordedExchange.Failure {
    fileprivate init(_ node: CassetteNode) throws(NightjarError) {
        let members = try node.members(["kind", "message", "phase", "may_have_been_processed", "delay"])
        let name = try node.needed("kind", in: members)
        let text = try name.text()
        guard let kind = ErrorKind.allCases.first(where: { $0.name == text }) else {
            throw name.error("is \(quoted(text)), which is not an error kind")
        }
        var phase: ErrorPhase?
        if let node = members["phase"] {
            let text = try node.text()
            phase = (1...7).lazy.compactMap { ErrorPhase(rawValue: $0) }.first { $0.name == text }
            if phase == nil { throw node.error("is \(quoted(text)), which is not a phase") }
        }
        var isProcessed = false
        if let node = members["may_have_been_processed"] {
            guard case .bool(let flag) = node.value else {
                throw node.error("must be true or false, found \(node.value.typeName)")
            }
            isProcessed = flag
        }
        self.init(
            kind: kind, message: try members["message"].map { node throws(NightjarError) in try node.text() } ?? "",
            phase: phase, requestMayHaveBeenProcessed: isProcessed,
            delay: try members["delay"].map { node throws(NightjarError) in try node.duration() } ?? .zero)
    }
}

extension RecordedBody {
    fileprivate static let names = ["json", "text", "base64", "omitted"]

    fileprivate init(_ members: [String: CassetteNode], _ node: CassetteNode) throws(NightjarError) {
        let given = RecordedBody.names.filter { members[$0] != nil }
        guard given.count <= 1 else {
            throw node.error("has more than one body: \(given.map { quoted($0) }.joined(separator: ", "))")
        }
        if let json = members["json"] {
            self = RecordedBody.json(json.value).legible
        } else if let text = members["text"] {
            self = .text(try text.text())
        } else if let node = members["base64"] {
            guard let bytes = Base64.decode(try node.text().utf8) else { throw node.error("must be valid base64") }
            self = .binary(ByteBuffer(bytes: bytes))
        } else {
            self = members["omitted"] == nil ? .none : .omitted
        }
    }
}

extension Headers {
    fileprivate init(recorded node: CassetteNode?) throws(NightjarError) {
        self.init()
        guard let node else { return }
        guard case .object(let members) = node.value else {
            throw node.error("must be an object, found \(node.value.typeName)")
        }
        for member in members {
            let field = CassetteNode(member.value, "\(node.path).\(member.name)")
            let values: [CassetteNode]
            if case .array = member.value { values = try field.elements() } else { values = [field] }
            for value in values {
                do throws(NightjarError) {
                    try add(member.name, try value.text())
                } catch {
                    throw field.error("is not a header: \(error.message)")
                }
            }
        }
    }
}

/// A value in the cassette, with its path for messages.
private struct CassetteNode {
    let value: JSONValue
    let path: String

    init(_ value: JSONValue, _ path: String) {
        self.value = value
        self.path = path
    }

    func error(_ what: String) -> NightjarError {
        NightjarError(.decoding, "\(path.isEmpty ? "the document" : quoted(path, limit: 200)) \(what)")
    }

    /// Returns the members by name.
    ///
    /// - Throws: `decoding` if a name is not in `known`.
    func members(_ known: [String]) throws(NightjarError) -> [String: CassetteNode] {
        guard case .object(let members) = value else { throw error("must be an object, found \(value.typeName)") }
        var named: [String: CassetteNode] = [:]
        for member in members {
            guard known.contains(member.name) else {
                let hint = nearestName(to: member.name, among: known).map { "; did you mean \(quoted($0))?" } ?? ""
                throw error("has the unknown member \(quoted(member.name))\(hint)")
            }
            named[member.name] = CassetteNode(member.value, path.isEmpty ? member.name : "\(path).\(member.name)")
        }
        return named
    }

    func needed(_ name: String, in members: [String: CassetteNode]) throws(NightjarError) -> CassetteNode {
        guard let member = members[name] else { throw error("has no member \(quoted(name))") }
        return member
    }

    func elements() throws(NightjarError) -> [CassetteNode] {
        guard case .array(let values) = value else { throw error("must be a list, found \(value.typeName)") }
        return values.enumerated().map { CassetteNode($1, "\(path)[\($0)]") }
    }

    func text() throws(NightjarError) -> String {
        guard case .string(let text) = value else { throw error("must be a string, found \(value.typeName)") }
        return text
    }

    /// Reads a number of seconds, rounded to microseconds.
    func duration() throws(NightjarError) -> Duration {
        let seconds: Double? =
            switch value {
            case .integer(let number): Double(number)
            case .number(let number): number
            default: nil
            }
        guard let seconds, Duration(seconds: seconds) != nil, let count = Int64(exactly: (seconds * 1e6).rounded())
        else { throw error("must be a non-negative number of seconds") }
        return .microseconds(count)
    }
}
