import NIOCore

/// A request as it stood on the wire, for those who look at it later.
public struct RequestRecord: Sendable {
    public enum Body: Sendable {
        case none
        case bytes(ByteBuffer)
        /// It was streamed, and nobody has kept it.
        case unkept(length: Int?)
    }

    public var method: Method
    public var url: RequestURL
    /// All fields, those that frame the message among them.
    public var headers: Headers
    public var body: Body
    /// Names of fields and query items that carry credentials, beside those known for it: they are masked where this is
    /// shown.
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
            case .none: .none
            case .bytes(let bytes): .bytes(bytes)
            case .stream, .file, .multipart: .unkept(length: request.isCompressed ? nil : request.body.length)
            }
        self.init(
            method: request.method, url: request.url, headers: request.fields, body: body,
            sensitive: request.sensitive)
    }
}
