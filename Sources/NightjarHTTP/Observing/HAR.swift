import NIOCore

/// An exchange, for an entry of an HTTP archive. HAR 1.2.
public struct HAREntry: Sendable {
    /// The durations of the phases. Nil if a phase did not occur or is unknown.
    public struct Timings: Sendable, Equatable {
        /// The wait for a connection.
        public var blocked: Duration?
        public var dns: Duration?
        /// The time to open the connection, including TLS.
        public var connect: Duration?
        public var tls: Duration?
        public var send: Duration?
        /// The time from the end of the request to the first byte of the response.
        public var wait: Duration?
        public var receive: Duration?

        public init() {}
    }

    /// The start of the exchange in seconds since 1970.
    public var started: Double
    public var request: RequestRecord
    /// Nil if there was no response. ``failure`` contains the reason.
    public var response: Response?
    public var timings = Timings()
    public var total: Duration
    /// The IP address of the server, without a port.
    public var serverAddress: String?
    /// An identifier of the connection.
    public var connection: String?
    /// The version of HTTP in which the request was sent.
    public var version = HTTPVersion.http1_1
    /// The identifier of the HTTP/2 stream. Nil for HTTP/1.1.
    public var stream: Int32?
    public var failure: NightjarError?
    /// The messages of a WebSocket. Nil for other exchanges.
    package var messages: WebSocketTranscript?

    public struct Response: Sendable {
        public var head: ResponseHead
        /// The decoded body. Nil if it was not kept.
        public var body: ByteBuffer?
        /// The number of transferred bytes, before decoding.
        public var encodedLength: Int?

        public init(head: ResponseHead, body: ByteBuffer?, encodedLength: Int? = nil) {
            self.head = head
            self.body = body
            self.encodedLength = encodedLength
        }
    }

    public init(started: Double, request: RequestRecord, response: Response?, total: Duration) {
        self.started = started
        self.request = request
        self.response = response
        self.total = total
    }
}

/// Writes an HTTP archive (HAR 1.2) incrementally, without keeping the archive in memory. The developer tools of
/// browsers open HAR files.
///
///     begin ──▶ entry, entry, ... ──▶ end
public struct HARWriter: Sendable {
    private let showsSecrets: Bool
    private let sensitive: [String]
    private let maximumBody: Int
    private var hasEntries = false

    /// - Parameters:
    ///   - showsSecrets: if false, credentials in fields, URLs and bodies are masked.
    ///   - sensitive: additional names of fields, query items and body members that carry credentials.
    ///   - maximumBody: the maximum number of bytes written per body. A longer body is truncated and marked by a
    ///     comment.
    public init(showsSecrets: Bool = false, sensitive: [String] = [], maximumBody: Int = 1 << 20) {
        self.showsSecrets = showsSecrets
        self.sensitive = sensitive
        self.maximumBody = max(maximumBody, 0)
    }

    /// Returns the beginning of the archive.
    public func begin(version: String) -> ByteBuffer {
        var text = ByteBuffer(string: "{\"log\":{\"version\":\"1.2\",\"creator\":")
        HARWriter.write([.init("name", .string("nightjar")), .init("version", .string(version))], into: &text)
        text.writeStaticString(",\"entries\":[")
        return text
    }

    /// Returns the text of the next entry.
    public mutating func entry(_ entry: HAREntry) -> ByteBuffer {
        var members: [JSONValue.Member] = [
            .init("startedDateTime", .string(CalendarTime.iso8601(secondsSince1970: entry.started))),
            .init("time", HARWriter.milliseconds(entry.total)),
            .init("request", .object(request(entry.request, entry.version))),
            .init("response", .object(response(entry.response, to: entry.request))),
            .init("cache", .object([])),
            .init("timings", .object(HARWriter.timings(entry.timings))),
        ]
        if let address = entry.serverAddress { members.append(.init("serverIPAddress", .string(address))) }
        if let connection = entry.connection { members.append(.init("connection", .string(connection))) }
        if let stream = entry.stream { members.append(.init("_streamId", .integer(Int64(stream)))) }
        var comments = entry.failure.map { [$0.description] } ?? []
        if let transcript = entry.messages {
            // The names are those of Chromium's developer tools.
            members.append(.init("_resourceType", .string("websocket")))
            members.append(
                .init(
                    "_webSocketMessages",
                    .array(transcript.entries.map { message($0, sensitive: entry.request.sensitive) })))
            if transcript.omittedCount > 0 {
                comments.append("\(transcript.omittedCount) later messages were not kept")
            }
        }
        if !comments.isEmpty { members.append(.init("comment", .string(comments.joined(separator: "; ")))) }
        var text = ByteBuffer(string: hasEntries ? ",\n" : "\n")
        hasEntries = true
        HARWriter.write(members, into: &text)
        return text
    }

    /// Returns the end of the archive. The archive is valid if the end is appended after any entry.
    public func end() -> ByteBuffer { ByteBuffer(string: "\n]}}\n") }

    private static func write(_ members: [JSONValue.Member], into text: inout ByteBuffer) {
        // Cannot fail: only infinite numbers and NaN cannot be encoded, and all numbers of an entry are finite.
        guard let encoded = try? JSONValue.object(members).encoded() else {
            assertionFailure("the entry cannot be encoded as JSON")
            text.writeStaticString("{}")
            return
        }
        text.writeImmutableBuffer(encoded)
    }

    // MARK: The request

    private func request(_ request: RequestRecord, _ version: HTTPVersion) -> [JSONValue.Member] {
        let url = request.url.hiding(sensitive)
        let type = request.headers["Content-Type"]
        let cookies = request.headers.values("Cookie").flatMap { $0.utf8.split(separator: UInt8(ascii: ";")) }
        var members: [JSONValue.Member] = [
            .init("method", .string(request.method.name)),
            .init("url", .string(showsSecrets ? url.origin.description + url.target : url.redacted)),
            .init("httpVersion", .string(version.description)),
            .init("cookies", .array(cookies.map(cookie))),
            .init("headers", .array(headers(request.headers, request))),
            .init("queryString", .array(query(url))),
            // -1 means unknown. The archived fields may differ in size from the sent fields.
            .init("headersSize", .integer(-1)),
        ]
        switch request.body {
        case .none: members.append(.init("bodySize", .integer(0)))
        case .bytes(let bytes):
            members.append(.init("bodySize", .integer(Int64(bytes.readableBytes))))
            members.append(.init("postData", .object(postData(bytes, type: type, sensitive + request.sensitive))))
        case .omitted(let length):
            members.append(.init("bodySize", .integer(Int64(length ?? -1))))
            members.append(
                .init(
                    "postData",
                    .object([
                        .init("mimeType", .string(type ?? "")), .init("text", .string("")),
                        .init("comment", .string("the body was streamed and was not kept")),
                    ])))
        }
        return members
    }

    private func query(_ url: RequestURL) -> [JSONValue] {
        let items = url.query?.utf8.split(separator: UInt8(ascii: "&")) ?? []
        return items.map { item in
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            let whole = String(Substring(item))
            let shown = showsSecrets ? whole : String(Masking.url("?" + whole, sensitive: url.sensitive).dropFirst())
            return HARWriter.pair(
                HARWriter.decoded(name), HARWriter.decoded(shown[shown.firstEquals...].utf8.dropFirst()))
        }
    }

    private static func decoded(_ item: Substring.UTF8View) -> String {
        String(decoding: PercentEncoding.decoded(item.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }), as: UTF8.self)
    }

    /// Returns the members of `postData`. HAR 1.2 allows only text in `postData`, so a comment marks base64.
    private func postData(_ bytes: ByteBuffer, type: String?, _ sensitive: [String]) -> [JSONValue.Member] {
        let content = content(bytes, type: type, sensitive)
        var members: [JSONValue.Member] = [
            .init("mimeType", .string(type ?? "")), .init("text", .string(content.text)),
        ]
        let comments = [content.isBase64 ? "in base64" : nil, content.comment].compactMap { $0 }
        if !comments.isEmpty { members.append(.init("comment", .string(comments.joined(separator: ", ")))) }
        return members
    }

    // MARK: The response

    private func response(_ response: HAREntry.Response?, to request: RequestRecord) -> [JSONValue.Member] {
        let head = response?.head
        let fields = head?.headers ?? Headers()
        let cookies = fields.values("Set-Cookie").map { $0.utf8.prefix { $0 != UInt8(ascii: ";") } }
        let location = fields["Location"] ?? ""
        return [
            // Developer tools show a missing response as status 0.
            .init("status", .integer(Int64(head?.status ?? 0))),
            .init("statusText", .string(head?.reason ?? "")),
            .init("httpVersion", .string(head?.version.description ?? "")),
            .init("cookies", .array(cookies.map(cookie))),
            .init("headers", .array(headers(fields, request))),
            .init(
                "content", .object(content(of: response, type: fields["Content-Type"], sensitive + request.sensitive))),
            .init(
                "redirectURL",
                .string(showsSecrets ? location : Masking.url(location, sensitive: sensitive + request.sensitive))),
            .init("headersSize", .integer(-1)),
            .init("bodySize", .integer(Int64(response?.encodedLength ?? -1))),
        ]
    }

    private func content(
        of response: HAREntry.Response?, type: String?, _ sensitive: [String]
    ) -> [JSONValue.Member] {
        let size = response?.body?.readableBytes ?? (response == nil ? 0 : -1)
        var members: [JSONValue.Member] = [
            .init("size", .integer(Int64(size))), .init("mimeType", .string(type ?? "")),
        ]
        guard let body = response?.body, body.readableBytes > 0 else { return members }
        let content = content(body, type: type, sensitive)
        members.append(.init("text", .string(content.text)))
        if content.isBase64 { members.append(.init("encoding", .string("base64"))) }
        if let comment = content.comment { members.append(.init("comment", .string(comment))) }
        return members
    }

    // MARK: Messages

    private func message(_ entry: WebSocketTranscript.Entry, sensitive names: [String]) -> JSONValue {
        let isText = entry.kind == .text
        let isJSON = entry.payload.readableBytesView.first.map { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[") }
        let content =
            isText
            ? content(entry.payload, type: isJSON == true ? "application/json" : nil, sensitive + names).text
            : Base64.encode(entry.payload.readableBytesView.prefix(maximumBody))
        var members: [JSONValue.Member] = [
            .init("type", .string(entry.isSent ? "send" : "receive")), .init("time", .number(entry.time)),
            .init("opcode", .integer(isText ? 1 : 2)), .init("data", .string(content)),
        ]
        let kept = min(entry.payload.readableBytes, maximumBody)
        if kept < entry.length {
            members.append(.init("comment", .string("only the first \(kept) of \(entry.length) bytes")))
        }
        return .object(members)
    }

    // MARK: Both

    private static func pair(_ name: String, _ value: String) -> JSONValue {
        .object([.init("name", .string(name)), .init("value", .string(value))])
    }

    private func headers(_ headers: Headers, _ request: RequestRecord) -> [JSONValue] {
        let sensitive = sensitive + request.sensitive
        return headers.map { name, value in
            HARWriter.pair(name, showsSecrets ? value : Masking.value(value, ofField: name, sensitive: sensitive))
        }
    }

    private func cookie(_ text: Substring.UTF8View) -> JSONValue {
        let text = text.drop { $0 == UInt8(ascii: " ") }
        let equals = text.firstIndex(of: UInt8(ascii: "=")) ?? text.startIndex
        let value = showsSecrets ? String(Substring(text[equals...].dropFirst())) : Masking.mask
        return HARWriter.pair(String(Substring(text[..<equals])), value)
    }

    private func content(
        _ bytes: ByteBuffer, type: String?, _ sensitive: [String]
    ) -> (text: String, isBase64: Bool, comment: String?) {
        let isTruncated = bytes.readableBytes > maximumBody
        let comment = isTruncated ? "only the first \(maximumBody) bytes" : nil
        let view = bytes.readableBytesView.prefix(maximumBody)
        if let text = HARWriter.text(view, isTruncated: isTruncated) {
            return (showsSecrets ? text : Masking.content(text, type: type, sensitive: sensitive), false, comment)
        }
        // A multipart form may contain both files and secrets.
        guard !showsSecrets, SecretContent.essence(type).hasPrefix("multipart/") else {
            return (Base64.encode(view), true, comment)
        }
        return (Base64.encode(Masking.content(Array(view), type: type, sensitive: sensitive)), true, comment)
    }

    /// Returns the bytes as text, or nil if they are not UTF-8. Omits a character that is truncated at the end.
    private static func text(_ bytes: ByteBufferView, isTruncated: Bool) -> String? {
        for missing in 0...(isTruncated ? 3 : 0) {
            if let text = String(validating: bytes.dropLast(missing), as: UTF8.self) { return text }
        }
        return nil
    }

    private static func timings(_ timings: HAREntry.Timings) -> [JSONValue.Member] {
        [
            .init("blocked", milliseconds(timings.blocked)), .init("dns", milliseconds(timings.dns)),
            .init("connect", milliseconds(timings.connect)), .init("ssl", milliseconds(timings.tls)),
            // HAR 1.2 requires these members to be at least 0.
            .init("send", milliseconds(timings.send ?? .zero)), .init("wait", milliseconds(timings.wait ?? .zero)),
            .init("receive", milliseconds(timings.receive ?? .zero)),
        ]
    }

    /// Converts a duration to milliseconds with microsecond precision. Returns -1 for nil.
    private static func milliseconds(_ length: Duration?) -> JSONValue {
        guard let length else { return .integer(-1) }
        let (whole, rest) = (length.nanosecondsClamped / 1000).quotientAndRemainder(dividingBy: 1000)
        return rest == 0 ? .integer(whole) : .number(Double(whole) + Double(rest) / 1000)
    }
}

extension String {
    /// The position of the first `=` of a query item, or the end.
    fileprivate var firstEquals: String.Index { utf8.firstIndex(of: UInt8(ascii: "=")) ?? endIndex }
}
