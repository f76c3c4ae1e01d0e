import NIOCore

/// `/echo`: returns the request, for any method.
enum Echo {
    /// The largest body, in bytes. Larger than for other routes, so that tests can use large bodies.
    static let bodyLimit = 8 * 1024 * 1024

    static func respond(_ request: Request) throws(Problem) -> Response {
        let bytes = Array(request.body.readableBytesView)
        return .json([
            "method": .string(request.head.method.rawValue),
            "target": .string(request.head.uri),
            "version": .string(request.head.versionText),
            "query": .array(request.target.query.map { [.string($0.name), .string($0.value)] }),
            "headers": .array(request.head.headers.map { [.string($0.name), .string($0.value)] }),
            "body": body(bytes),
            "body_encoding": bodyEncoding(bytes),
            "body_bytes": .int(bytes.count),
            "stream": request.origin.stream.map { .int($0.id) } ?? .null,
            "connection": .int(request.connection),
            "request_on_connection": .int(request.numberOnConnection),
        ])
    }

    /// Returns the bytes as text if they are UTF-8, and in base64 otherwise.
    static func body(_ bytes: [UInt8]) -> JSON {
        .string(String(validating: bytes, as: UTF8.self) ?? Base64.encode(bytes))
    }

    static func bodyEncoding(_ bytes: [UInt8]) -> JSON {
        String(validating: bytes, as: UTF8.self) == nil ? "base64" : "text"
    }
}
