import NIOCore
import NightjarHTTP

/// The options with which a write is recorded, besides its request.
package struct OutboxRecordOptions: Sendable {
    var id, key, ifMatch: String?
    var usesKey = true

    package init() {}

    /// Reads a table `{id=, key=, if_match=, idempotency_key=}`.
    package init(json: UnsafeRawBufferPointer) throws(NightjarError) {
        self = try Self.options.applied(JSONValue(parsing: json), to: OutboxRecordOptions())
    }

    static let options = OptionTable<OutboxRecordOptions>([
        Option(name: "id") { value, path, options throws(NightjarError) in options.id = try value.text(path) },
        Option(name: "key") { value, path, options throws(NightjarError) in options.key = try value.text(path) },
        Option(name: "if_match") { value, path, options throws(NightjarError) in
            options.ifMatch = try value.text(path)
        },
        Option(name: "idempotency_key") { value, path, options throws(NightjarError) in
            // The request has a key that is a string.
            if case .string = value { return }
            options.usesKey = try value.flag(path)
        },
    ])
}

extension Outbox {
    package func record(_ request: Request, _ options: OutboxRecordOptions) throws(NightjarError) -> Entry {
        try record(
            request, id: options.id, key: options.key, ifMatch: options.ifMatch, usesIdempotencyKey: options.usesKey)
    }

    /// Records a write that is given as a JSON object: `method`, `path`, the options of ``OutboxRecordOptions``, and `headers`,
    /// `query`, `params`, `limit_group`, `invalidates` and one of `json`, `body`, `body_base64`, `form` and `multipart`.
    package func record(json: String) throws(NightjarError) -> Entry {
        let (request, options) = try Outbox.write(try JSONValue(parsing: json))
        return try record(request, options)
    }

    /// Resolves an entry with a body that is given as a JSON object: one of the body options, and `if_match`.
    package func resolve(_ id: String, json: String) throws(NightjarError) {
        let value = try JSONValue(parsing: json)
        guard case .object(let members) = value else { throw .mismatch("", expected: "a table of options", value) }
        let known = TransferBody.options + ["if_match"]
        for member in members where !known.contains(member.name) { throw unknownOption(member.name, known) }
        let body = try TransferBody(value)
        try resolve(
            id, try body.map { (body) throws(NightjarError) in ByteBuffer(bytes: try body.collected()) },
            ifMatch: try value["if_match"]?.text("if_match"))
    }

    private static func write(_ value: JSONValue) throws(NightjarError) -> (Request, OutboxRecordOptions) {
        guard case .object(let members) = value else { throw .mismatch("", expected: "a table of options", value) }
        let own = OutboxRecordOptions.options.options.map(\.name)
        let ofRequest = ["headers", "limit_group", "invalidates", "idempotency_key"]
        let special = ["method", "path", "query", "params"] + TransferBody.options
        for member in members where !(own + ofRequest + special).contains(member.name) {
            throw unknownOption(member.name, own + ofRequest + special)
        }
        var request = Request(
            try value["method"]?.method("method") ?? .post, try (value["path"] ?? .null).text("path"))
        request.query = Request.Items(try value.pairs("query"))
        request.parameters = Request.Items(try value.pairs("params"))
        request = try Request.options.applied(
            .object(members.filter { ofRequest.contains($0.name) }), to: request)
        if let body = try TransferBody(value) {
            request.body = .bytes(ByteBuffer(bytes: try body.collected()))
            if let type = body.type, request.headers["Content-Type"] == nil {
                try request.headers.set("Content-Type", type)
            }
        }
        let options = try OutboxRecordOptions.options.applied(
            .object(members.filter { own.contains($0.name) }), to: OutboxRecordOptions())
        return (request, options)
    }
}

private func unknownOption(_ name: String, _ known: [String]) -> NightjarError {
    let hint = nearestName(to: name, among: known).map { "; did you mean \"\($0)\"?" }
    return NightjarError(
        .invalidArgument,
        "unknown option \(quoted(name)) of an outbox entry"
            + (hint ?? "; the known options are \(known.sorted().joined(separator: ", "))"))
}

extension TransferBody {
    /// - Throws: `too_large` above ``OutboxWrite/maximumBody``.
    fileprivate func collected() throws(NightjarError) -> [UInt8] {
        var bytes: [UInt8] = []
        try write { (part) throws(NightjarError) in
            bytes += part
            try OutboxWrite.check(bodySize: bytes.count)
        }
        return bytes
    }
}

extension JSONValue {
    /// Reads an object of texts, numbers and flags, or of lists of them.
    fileprivate func pairs(_ name: String) throws(NightjarError) -> [(name: String, value: String)] {
        guard let value = self[name] else { return [] }
        guard case .object(let members) = value else { throw .mismatch(name, expected: "an object", value) }
        var pairs: [(name: String, value: String)] = []
        for member in members {
            let items = if case .array(let items) = member.value { items } else { [member.value] }
            for item in items { pairs.append((member.name, try item.formText("\(name).\(member.name)"))) }
        }
        return pairs
    }
}
