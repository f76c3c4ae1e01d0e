import NIOCore
import NightjarHTTP

/// A complete request as the server receives it. Mock routes and cassette exchanges are compared with it.
public struct ArrivedRequest: Sendable {
    public let method: Method
    public let url: RequestURL
    public let headers: Headers
    /// The body without content coding. Empty if the request has none. A streamed body over 64 MiB is incomplete.
    public let body: ByteBuffer
    /// The names of header fields and query items that the client's configuration declares as credentials.
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

    /// - Parameter body: the content that was sent, without content coding.
    package init(_ request: PreparedRequest, body: ByteBuffer) {
        self.init(
            method: request.method, url: request.url, headers: request.fields, body: body, sensitive: request.sensitive)
    }

    package var contentType: MediaType? { headers["Content-Type"].flatMap(MediaType.init) }

    /// The body parsed as JSON, regardless of its Content-Type. Nil if it is not JSON.
    public var json: JSONValue? {
        guard body.readableBytes > 0 else { return nil }
        return body.withUnsafeReadableBytes { try? JSONValue(parsing: $0) }
    }

    /// The decoded items of the query, in order.
    public var query: [(name: String, value: String)] { url.query.map { FormEncoding.decode($0.utf8) } ?? [] }

    /// The decoded items of a form body, in order.
    public var form: [(name: String, value: String)] { FormEncoding.decode(body.readableBytesView) }
}

extension FormEncoding {
    /// Decodes the items of a form or a query. Invalid escapes are kept. Bytes that are not UTF-8 become U+FFFD. WHATWG
    /// URL section 5.1.
    package static func decode(_ text: some Collection<UInt8>) -> [(name: String, value: String)] {
        text.split(separator: UInt8(ascii: "&")).map { item in
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            return (plain(name), plain(item[name.endIndex...].dropFirst()))
        }
    }

    private static func plain(_ text: some Collection<UInt8>) -> String {
        String(decoding: PercentEncoding.decoded(text.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }), as: UTF8.self)
    }
}
