import NIOCore

/// A request as its far end has it, whole: what the routes of a mock and the exchanges of a cassette are compared with.
public struct ArrivedRequest: Sendable {
    public let method: Method
    public let url: RequestURL
    public let headers: Headers
    /// Without content coding; empty where there is none. Of a body beyond what is kept, its beginning.
    public let body: ByteBuffer
    /// Names of fields and query items that the client's configuration calls credentials.
    public let sensitive: [String]

    public init(
        method: Method, url: RequestURL, headers: Headers = Headers(), body: ByteBuffer = ByteBuffer(),
        sensitive: [String] = []
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.sensitive = sensitive
    }

    /// - Parameter body: the content as it was sent, without its coding.
    public init(_ request: PreparedRequest, body: ByteBuffer) {
        self.init(
            method: request.method, url: request.url, headers: request.fields, body: body, sensitive: request.sensitive)
    }

    public var contentType: MediaType? { headers["Content-Type"].flatMap(MediaType.init) }

    /// The body as JSON, whatever its type says; nil where it is none.
    public var json: JSONValue? {
        guard body.readableBytes > 0 else { return nil }
        return body.withUnsafeReadableBytes { try? JSONValue(parsing: $0) }
    }

    /// The items of the query, decoded, in their order.
    public var query: [(name: String, value: String)] { url.query.map { FormEncoding.decode($0.utf8) } ?? [] }

    /// The items of the body as a form, decoded, in their order.
    public var form: [(name: String, value: String)] { FormEncoding.decode(body.readableBytesView) }
}

extension FormEncoding {
    /// The items of a form or of a query. What is no escape stays; bytes that are not UTF-8 become U+FFFD. WHATWG URL
    /// section 5.1.
    public static func decode(_ text: some Collection<UInt8>) -> [(name: String, value: String)] {
        text.split(separator: UInt8(ascii: "&")).map { item in
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            return (plain(name), plain(item[name.endIndex...].dropFirst()))
        }
    }

    private static func plain(_ text: some Collection<UInt8>) -> String {
        String(decoding: PercentEncoding.decoded(text.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }), as: UTF8.self)
    }
}
