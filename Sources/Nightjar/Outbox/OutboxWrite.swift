import NIOCore
import NightjarBase
import NightjarHTTP

/// A write as it is recorded: the input of its journal entry. It has no secrets except those in its URL and its body.
struct OutboxWrite: Sendable {
    let method: Method
    let url: String
    let headers: [(name: String, value: String)]
    let body: [UInt8]
    /// The value of If-Match. Nil: the write is unconditional.
    let ifMatch: String?
    /// The key that the caller has chosen. Nil: a random one is recorded.
    let key: String?
    /// Whether the server honors idempotency keys.
    let usesKey: Bool
    let limitGroup: String?
    /// The tags of the resources that the write invalidates.
    let invalidates: [String]

    /// - Throws: `invalid_argument` for a method without an effect, for header fields with credentials, and for a body that is
    ///   not in memory; `too_large` for a body above ``maximumBody``; `invalid_url`.
    init(_ request: Request, ifMatch: String?, usesKey: Bool, client: Client) throws(NightjarError) {
        guard !request.method.isSafe else {
            throw NightjarError(.invalidArgument, "an outbox records writes, got the method \(request.method)")
        }
        let url = try client.url(of: request)
        guard url.userInfo == nil else { throw OutboxWrite.secret("the URL") }
        (method, self.url) = (request.method, url.origin.description + url.target)
        var fields: [(name: String, value: String)] = []
        var choice = request.idempotencyKey
        for (name, value) in request.headers {
            if name.lowercased() == IdempotencyKey.fieldName.lowercased() {
                guard let key = IdempotencyKey(value) else {
                    throw NightjarError(.invalidArgument, "the Idempotency-Key of the request is invalid")
                }
                choice = .key(key)
                continue
            }
            if OutboxWrite.isSecret(name, value) || SecretNames.isNamed(name.utf8, in: client.sensitiveNames) {
                throw OutboxWrite.secret("the header field \(name)")
            }
            if name.lowercased() != "if-match" { fields.append((name, value)) }
        }
        if request.headers["Content-Type"] == nil {
            switch request.impliedType {
            case .json?: fields.append(("Content-Type", "application/json"))
            case .form?: fields.append(("Content-Type", FormEncoding.contentType))
            case nil: break
            }
        }
        (headers, body) = (fields, try OutboxWrite.bytes(request.body))
        self.ifMatch = ifMatch ?? request.headers["If-Match"]
        if case .key(let chosen) = choice { key = chosen.text } else { key = nil }
        self.usesKey = usesKey
        (limitGroup, invalidates) = (request.limitGroup, request.invalidates)
        if let ifMatch = self.ifMatch { try OutboxWrite.check(ifMatch: ifMatch) }
    }

    static func check(ifMatch: String) throws(NightjarError) {
        var headers = Headers()
        try headers.set("If-Match", ifMatch)
    }

    static func bytes(_ body: Request.Body) throws(NightjarError) -> [UInt8] {
        switch body {
        case .none: return []
        case .bytes(let bytes):
            try check(bodySize: bytes.readableBytes)
            return Array(bytes.readableBytesView)
        case .stream, .file, .multipart, .upgrade:
            throw NightjarError(
                .invalidArgument,
                "the body of an outbox entry must be in memory; use a background upload for files and multipart forms")
        }
    }

    static func check(bodySize: Int) throws(NightjarError) {
        guard bodySize > maximumBody else { return }
        throw NightjarError(
            .tooLarge,
            "the body of an outbox entry must have at most \(maximumBody) bytes, got \(bodySize); use a background upload"
        )
    }

    private static func isSecret(_ name: String, _ value: String) -> Bool {
        var (name, value) = (name, value)
        return name.withUTF8 { name in
            value.withUTF8 { SecretNames.isSecret(field: UnsafeRawBufferPointer(name), UnsafeRawBufferPointer($0)) }
        }
    }

    private static func secret(_ what: String) -> NightjarError {
        NightjarError(
            .invalidArgument,
            "\(what) has a secret, which an outbox must not record; configure the client's auth, which is used when the entry is sent"
        )
    }

    /// Stored as base64, so that two bodies fit into the state of a journal entry.
    static let maximumBody = 1 << 20

    // MARK: The journal

    var bytes: [UInt8] {
        get throws(NightjarError) {
            var members: [JSONValue.Member] = [
                .init("version", .integer(OutboxWrite.version)), .init("method", .string("\(method)")),
                .init("url", .string(url)),
                .init("headers", .array(headers.map { .array([.string($0.name), .string($0.value)]) })),
                .init("body", .string(Base64.encode(body))), .init("uses_key", .bool(usesKey)),
            ]
            members.addText("if_match", ifMatch)
            members.addText("key", key)
            members.addText("limit_group", limitGroup)
            if !invalidates.isEmpty { members.append(.init("invalidates", .array(invalidates.map { .string($0) }))) }
            return Array(try JSONValue.object(members).encoded().readableBytesView)
        }
    }

    /// - Throws: `invalid_argument` if another version has recorded the entry.
    init(bytes: [UInt8]) throws(NightjarError) {
        let value = try JSONValue(parsing: String(decoding: bytes, as: UTF8.self))
        guard value["version"] == .integer(OutboxWrite.version), let url = value.outboxText("url"),
            let body = value.outboxBytes("body"), let method = try value["method"]?.method("method")
        else {
            throw NightjarError(
                .invalidArgument, "the outbox entry was recorded by another version of nightjar; update nightjar")
        }
        (self.url, self.body, self.method) = (url, body, method)
        var fields: [(name: String, value: String)] = []
        if case .array(let items)? = value["headers"] {
            for case .array(let pair) in items {
                if case .string(let name)? = pair.first, case .string(let text)? = pair.last {
                    fields.append((name, text))
                }
            }
        }
        headers = fields
        (ifMatch, key) = (value.outboxText("if_match"), value.outboxText("key"))
        limitGroup = value.outboxText("limit_group")
        invalidates = try value["invalidates"]?.texts("invalidates") ?? []
        usesKey = value["uses_key"] != .bool(false)
    }

    private static let version: Int64 = 1
}

extension [JSONValue.Member] {
    mutating func addText(_ name: String, _ text: String?) {
        if let text { append(.init(name, .string(text))) }
    }
}

extension JSONValue {
    func outboxText(_ name: String) -> String? {
        if case .string(let text)? = self[name] { text } else { nil }
    }

    func outboxCount(_ name: String) -> Int? {
        if case .integer(let number)? = self[name] { Int(clamping: number) } else { nil }
    }

    func outboxBytes(_ name: String) -> [UInt8]? { outboxText(name).flatMap { Base64.decode($0.utf8) } }
}
