import NIOCore
import NIOHTTP1

/// Responses with content codings, valid and invalid. RFC 9110 section 8.4.
struct Encodings {
    /// The largest request body before and after decoding, in bytes.
    private static let requestLimit = 8 << 20

    func add(to router: inout Router) {
        router.on(.GET, "/encoded/{codings}", encoded)
        router.on(.GET, "/encoded/broken", broken)
        router.on(.GET, "/encoded/truncated", truncated)
        router.on(.GET, "/encoded/trailing", trailing)
        router.on(.GET, "/encoded/empty", empty)
        router.on(.GET, "/encoded/unknown", unknown)
        router.on(.GET, "/encoded/bomb", bomb)
        router.onAny("/decoded", limit: Encodings.requestLimit, decoded)
    }

    /// Sends a body with the codings in the path, in the order of application: `gzip`, `gzip+br`. The content is a JSON
    /// document, or the first `bytes` bytes of ``DemoContent``. With `chunk`, the body is sent in chunks of that many
    /// bytes, `delay` seconds apart.
    private func encoded(_ request: Request) throws(Problem) -> Response {
        var codings: [ContentEncoder] = []
        for name in (request.parameters["codings"] ?? "").split(separator: "+", omittingEmptySubsequences: false) {
            guard let coding = ContentEncoder(rawValue: name.lowercased()) else {
                let known = ContentEncoder.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem(.notFound, "{codings} must be a +-separated list of \(known)")
            }
            codings.append(coding)
        }
        guard codings.count <= 8 else { throw Problem(.notFound, "{codings} must have at most 8 elements") }
        let content = try Content(request, label: codings.map(\.coding).joined(separator: ", "))
        var response = try content.response(encodedWith: codings)
        if request.query("chunk") != nil, case .bytes(let bytes) = response.body {
            let chunk = try request.query("chunk", in: 1...65_536, or: 1024)
            let pause = try request.queryDuration("delay", atMost: 60, or: 0)
            response.body = .source(PacedSource(bytes: bytes, chunk: chunk, pause: pause), length: nil)
        }
        return response
    }

    /// Sends a body with `coding`, with the second half overwritten with 0xFF. The damage includes the end marker,
    /// because not all codings have a checksum.
    private func broken(_ request: Request) throws(Problem) -> Response {
        try corrupted(request) { bytes in
            for index in (bytes.count / 2)..<bytes.count { bytes[index] = 0xFF }
        }
    }

    /// Sends a body with `coding` without its last `missing` bytes. The HTTP message is complete.
    private func truncated(_ request: Request) throws(Problem) -> Response {
        let missing = try request.query("missing", in: 1...(1 << 20), or: 10)
        return try corrupted(request) { $0.removeLast(min(missing, $0.count)) }
    }

    /// Sends a body with `coding`, followed by other data.
    private func trailing(_ request: Request) throws(Problem) -> Response {
        try corrupted(request) { $0 += "something else".utf8 }
    }

    /// Sends an empty body whose Content-Encoding is `coding`.
    private func empty(_ request: Request) throws(Problem) -> Response {
        try corrupted(request) { $0 = [] }
    }

    /// Sends a body that is not encoded, with an unknown coding in Content-Encoding.
    private func unknown(_ request: Request) throws(Problem) -> Response {
        var response = try Content(request, label: "x-demo").response(encodedWith: [])
        response.headers.add(name: "Content-Encoding", value: "x-demo")
        return response
    }

    /// Returns the request's body without its gzip coding, like `/echo`, for any method.
    private func decoded(_ request: Request) throws(Problem) -> Response {
        let codings = request.head.headers[canonicalForm: "content-encoding"].map { $0.lowercased() }
        var bytes = Array(request.body.readableBytesView)
        switch codings {
        case [], ["identity"]: break
        case ["gzip"]:
            guard let decoded = Inflater.decode(bytes, limit: Encodings.requestLimit) else {
                throw Problem(
                    .badRequest, "the body is not gzip data or is larger than \(Encodings.requestLimit) bytes")
            }
            bytes = decoded
        default:
            // RFC 9110 section 12.5.3: Accept-Encoding in the response lists the accepted codings.
            throw Problem(
                .unsupportedMediaType, "the only supported coding of a request body is gzip",
                headers: ["Accept-Encoding": "gzip"])
        }
        return .json([
            "codings": .array(codings.map { .string($0) }),
            "encoded_bytes": .int(request.body.readableBytes),
            "body": Echo.body(bytes),
            "body_encoding": Echo.bodyEncoding(bytes),
            "body_bytes": .int(bytes.count),
        ])
    }

    /// Sends `bytes` zeros, which gzip compresses a thousandfold. The default is 10 GiB.
    private func bomb(_ request: Request) throws(Problem) -> Response {
        let bytes = try request.query("bytes", in: 0...(1 << 40), or: 10 << 30)
        guard let source = BombSource(bytes: bytes) else { throw Encodings.outOfMemory }
        return Response(
            .ok, headers: ["Content-Type": "application/octet-stream", "Content-Encoding": "gzip"],
            body: .source(source, length: source.length))
    }

    private func corrupted(_ request: Request, _ corrupt: (inout [UInt8]) -> Void) throws(Problem) -> Response {
        let name = request.query("coding") ?? "gzip"
        guard let coding = ContentEncoder(rawValue: name), coding != .identity else {
            let known = ContentEncoder.allCases.filter { $0 != .identity }.map(\.rawValue).joined(separator: ", ")
            throw Problem.query("coding", "must be one of \(known)")
        }
        var response = try Content(request, label: coding.coding).response(encodedWith: [coding])
        if case .bytes(let bytes) = response.body {
            var corrupted = Array(bytes.readableBytesView)
            corrupt(&corrupted)
            response.body = .bytes(ByteBuffer(bytes: corrupted))
        }
        return response
    }

    fileprivate static let outOfMemory = Problem(.internalServerError, "not enough memory to encode the body")
}

/// The content of an encoded body.
private struct Content {
    let bytes: [UInt8]
    let type: String

    /// The largest content, in bytes, because it is encoded in memory.
    private static let maximumLength = 16 << 20

    init(_ request: Request, label: String) throws(Problem) {
        if request.query("bytes") != nil {
            let length = try request.query("bytes", in: 0...Content.maximumLength, or: 0)
            bytes = (0..<length).map { DemoContent.byte(at: $0) }
            type = "application/octet-stream"
        } else {
            let sentence = "The nightjar flies by moonlight and is a kin of the swift. "
            let document: JSON = [
                "coding": .string(label), "text": .string(String(repeating: sentence, count: 20)),
                "accept_encoding": .array(request.head.headers["accept-encoding"].map { .string($0) }),
            ]
            bytes = document.formatted()
            type = "application/json"
        }
    }

    /// - Parameter codings: in the order of application.
    func response(encodedWith codings: [ContentEncoder]) throws(Problem) -> Response {
        var bytes = bytes
        for coding in codings {
            guard let encoded = coding.encode(bytes) else { throw Encodings.outOfMemory }
            bytes = encoded
        }
        var headers: HTTPHeaders = ["Content-Type": type, "Vary": "Accept-Encoding"]
        if !codings.isEmpty {
            headers.add(name: "Content-Encoding", value: codings.map(\.coding).joined(separator: ", "))
        }
        return Response(.ok, headers: headers, body: .bytes(ByteBuffer(bytes: bytes)))
    }
}
