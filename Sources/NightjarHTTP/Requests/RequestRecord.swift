import NIOCore

/// A request as it was sent, for later inspection.
public struct RequestRecord: Sendable {
    /// The body as it was sent.
    public enum Body: Sendable {
        case none
        case bytes(ByteBuffer)
        /// The body was streamed and not kept. The length in bytes is nil if it is unknown.
        case omitted(length: Int?)
    }

    public var method: Method
    public var url: RequestURL
    /// All fields, including those that frame the message.
    public var headers: Headers
    public var body: Body
    /// Names of fields and query items that carry credentials, in addition to the built-in names. Their values are
    /// masked when the record is shown.
    public var sensitive: [String]

    public init(method: Method, url: RequestURL, headers: Headers, body: Body = .none, sensitive: [String] = []) {
        self.method = method
        self.url = url.hiding(sensitive)
        self.headers = headers
        self.body = body
        self.sensitive = sensitive
    }

    public init(_ request: PreparedRequest) {
        let body: Body =
            switch request.body {
            case .none, .upgrade: .none
            case .bytes(let bytes): .bytes(bytes)
            case .stream, .file, .multipart: .omitted(length: request.isCompressed ? nil : request.body.length)
            }
        self.init(
            method: request.method, url: request.url, headers: request.fields, body: body,
            sensitive: request.sensitive)
    }
}
