import NIOCore

/// A call, as an entry of an HTTP archive tells it. HAR 1.2.
public struct HAREntry: Sendable {
    /// Lengths of time; nil for what did not occur or is not known.
    public struct Timings: Sendable, Equatable {
        /// Waiting for a connection.
        public var blocked: Duration?
        public var dns: Duration?
        /// Opening the connection, TLS included.
        public var connect: Duration?
        public var tls: Duration?
        public var send: Duration?
        /// From the end of the request to the first byte of the answer.
        public var wait: Duration?
        public var receive: Duration?

        public init() {}
    }

    /// Seconds since 1970.
    public var started: Double
    public var request: RequestRecord
    /// Nil when no answer came; ``failure`` says why.
    public var response: Response?
    public var timings = Timings()
    public var total: Duration
    /// The address that answered, without a port.
    public var serverAddress: String?
    /// Tells connections apart.
    public var connection: String?
    public var failure: NightjarError?

    public struct Response: Sendable {
        public var head: ResponseHead
        /// Decoded; nil where nobody has kept it.
        public var body: ByteBuffer?
        /// Bytes on the wire, still coded.
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

/// Writes an HTTP archive piece by piece, so that a program that runs for long keeps none of it. HAR 1.2, which the
/// developer tools of browsers open.
///
///     begin ──▶ entry, entry, ... ──▶ end
public struct HARWriter: Sendable {
    private let showsSecrets: Bool
    private let maximumBody: Int
    private var hasEntries = false

    /// - Parameters:
    ///   - showsSecrets: false masks credentials in fields, in URLs and in content that is a form or JSON.
    ///   - maximumBody: bytes of content of a message that are written; of a longer one, that it was longer.
    public init(showsSecrets: Bool = false, maximumBody: Int = 1 << 20) {
        self.showsSecrets = showsSecrets
        self.maximumBody = max(maximumBody, 0)
    }

    /// The beginning of the archive.
    public func begin(version: String) -> ByteBuffer {
        var creator = JSONText()
        creator.object {
            $0.member("name", "nightjar")
            $0.member("version", version)
        }
        var text = ByteBuffer(string: "{\"log\":{\"version\":\"1.2\",\"creator\":")
        text.writeImmutableBuffer(creator.buffer)
        text.writeStaticString(",\"entries\":[")
        return text
    }

    /// The next entry.
    public mutating func entry(_ entry: HAREntry) -> ByteBuffer {
        var text = JSONText(into: ByteBuffer(string: hasEntries ? ",\n" : "\n"))
        hasEntries = true
        text.object { text in
            text.member("startedDateTime", CalendarTime.iso8601(secondsSince1970: entry.started))
            text.member("time", HARWriter.milliseconds(entry.total))
            text.object("request") { request(entry.request, &$0) }
            text.object("response") { response(entry, &$0) }
            text.object("cache") { _ in }
            text.object("timings") { HARWriter.timings(entry.timings, &$0) }
            if let address = entry.serverAddress { text.member("serverIPAddress", address) }
            if let connection = entry.connection { text.member("connection", connection) }
            if let failure = entry.failure { text.member("comment", failure.description) }
        }
        return text.buffer
    }

    /// The end of the archive. What has been written up to any entry is an archive when this follows.
    public func end() -> ByteBuffer { ByteBuffer(string: "\n]}}\n") }

    // MARK: The request

    private func request(_ request: RequestRecord, _ text: inout JSONText) {
        text.member("method", request.method.name)
        text.member("url", showsSecrets ? request.url.origin.description + request.url.target : request.url.redacted)
        text.member("httpVersion", "HTTP/1.1")
        cookies(request.headers.values("Cookie").flatMap { $0.split(separator: ";") }, &text)
        headers(request.headers, &text)
        query(request.url, &text)
        switch request.body {
        case .none: break
        case .bytes(let bytes):
            text.object("postData") { postData(bytes, type: request.headers["Content-Type"], &$0) }
        case .unkept:
            text.object("postData") {
                $0.member("mimeType", request.headers["Content-Type"] ?? "")
                $0.member("text", "")
                $0.member("comment", "the content was streamed and is not kept")
            }
        }
        // Not known: what is shown may be shorter than what was sent.
        text.member("headersSize", -1)
        let size: Int =
            switch request.body {
            case .none: 0
            case .bytes(let bytes): bytes.readableBytes
            case .unkept(let length): length ?? -1
            }
        text.member("bodySize", size)
    }

    private func query(_ url: RequestURL, _ text: inout JSONText) {
        let items = url.query?.utf8.split(separator: UInt8(ascii: "&")) ?? []
        text.array("queryString", items) { text, item in
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            let isMasked = !showsSecrets && Redaction.isSecret(name: name)
            text.object {
                $0.member("name", HARWriter.decoded(name))
                $0.member("value", isMasked ? Masking.mask : HARWriter.decoded(item[name.endIndex...].dropFirst()))
            }
        }
    }

    private static func decoded(_ item: Substring.UTF8View) -> String {
        String(decoding: PercentEncoding.decoded(item.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }), as: UTF8.self)
    }

    /// HAR 1.2 knows text alone here; binary content is in base64, which the comment says.
    private func postData(_ bytes: ByteBuffer, type: String?, _ text: inout JSONText) {
        text.member("mimeType", type ?? "")
        let content = content(bytes, type: type)
        text.member("text", content.text)
        let comment = [
            content.isBase64 ? "in base64" : nil, content.isCut ? "only the first \(maximumBody) bytes" : nil,
        ]
        .compactMap { $0 }
        if !comment.isEmpty { text.member("comment", comment.joined(separator: ", ")) }
    }

    // MARK: The response

    private func response(_ entry: HAREntry, _ text: inout JSONText) {
        let head = entry.response?.head
        let headers = head?.headers ?? Headers()
        // No answer has status 0 to the developer tools.
        text.member("status", head?.status ?? 0)
        text.member("statusText", head?.reason ?? "")
        text.member("httpVersion", head.map { "HTTP/1.\($0.minorVersion)" } ?? "")
        cookies(headers.values("Set-Cookie").map { $0.prefix { $0 != ";" } }, &text)
        self.headers(headers, &text)
        text.object("content") { content(entry.response, type: headers["Content-Type"], &$0) }
        let location = headers["Location"] ?? ""
        text.member("redirectURL", showsSecrets ? location : Masking.url(location))
        text.member("headersSize", -1)
        text.member("bodySize", entry.response?.encodedLength ?? -1)
    }

    private func content(_ response: HAREntry.Response?, type: String?, _ text: inout JSONText) {
        text.member("size", response?.body?.readableBytes ?? (response == nil ? 0 : -1))
        text.member("mimeType", type ?? "")
        guard let body = response?.body, body.readableBytes > 0 else { return }
        let content = content(body, type: type)
        text.member("text", content.text)
        if content.isBase64 { text.member("encoding", "base64") }
        if content.isCut { text.member("comment", "only the first \(maximumBody) bytes") }
    }

    // MARK: Both

    private func headers(_ headers: Headers, _ text: inout JSONText) {
        text.array("headers", headers) { text, field in
            text.object {
                $0.member("name", field.name)
                $0.member("value", showsSecrets ? field.value : Masking.value(field.value, ofField: field.name))
            }
        }
    }

    private func cookies(_ pairs: [Substring], _ text: inout JSONText) {
        text.array("cookies", pairs) { text, pair in
            let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) ?? pair.startIndex
            text.object {
                $0.member("name", String(pair[..<equals].drop { $0 == " " }))
                $0.member("value", showsSecrets ? String(pair[equals...].dropFirst()) : Masking.mask)
            }
        }
    }

    private func content(_ bytes: ByteBuffer, type: String?) -> (text: String, isBase64: Bool, isCut: Bool) {
        let isCut = bytes.readableBytes > maximumBody
        let view = bytes.readableBytesView.prefix(maximumBody)
        if let text = HARWriter.text(view, isCut: isCut) {
            return (showsSecrets ? text : Masking.content(text, type: type), false, isCut)
        }
        return (Base64.encode(view), true, isCut)
    }

    /// As text, if it is UTF-8; a character that was cut at the end is left out.
    private static func text(_ bytes: ByteBufferView, isCut: Bool) -> String? {
        for missing in 0...(isCut ? 3 : 0) {
            if let text = String(validating: bytes.dropLast(missing), as: UTF8.self) { return text }
        }
        return nil
    }

    private static func timings(_ timings: HAREntry.Timings, _ text: inout JSONText) {
        let parts: [(String, Duration?)] = [
            ("blocked", timings.blocked), ("dns", timings.dns), ("connect", timings.connect), ("ssl", timings.tls),
            ("send", timings.send), ("wait", timings.wait), ("receive", timings.receive),
        ]
        for (name, length) in parts { text.member(name, length.map(milliseconds) ?? -1) }
    }

    private static func milliseconds(_ length: Duration) -> Double { length.inSeconds * 1000 }
}
