import NIOCore
import NIOHTTP1

/// The query parameters of `/cache/{name}` besides those of ``CacheFields``:
///
/// - `etag`: `none`, `strong` or `weak`. The ETag differs for each version, variant and coding.
/// - `status`: the status. If it is not 200, conditions and ranges are ignored.
/// - `length`: the length of the body, up to 64 MiB (``CacheContent``). The default is a small JSON document.
/// - `seed`: selects a different body and ETag.
/// - `gzip`: `1` encodes the body for clients that accept gzip, and adds Accept-Encoding to Vary.
/// - `chunked`: `1` sends the body without Content-Length.
/// - `cut`: closes the connection after this number of body bytes.
/// - `delay`: the delay before the response, in seconds.
/// - `private-to`: `user` restricts the response to identified users (``Requester``). Any other value is the name of
///   the only user who may read the response. The body contains the user's name.
struct CacheHit {
    static let maximumDelay = 60.0
    /// The largest body that is encoded in memory, in bytes.
    private static let gzipLimit = 4 << 20

    let delay: TimeAmount
    private let fields: CacheFields
    private let validator: String
    private let status: Int
    private let length: Int?
    private let seed: Int
    private let isEncoded: Bool
    private let variesByCoding: Bool
    private let isChunked: Bool
    private let cut: Int?
    private let owner: String?

    init(_ request: Request, _ requester: Requester) throws(Problem) {
        fields = try CacheFields(request)
        validator = try request.query("etag", oneOf: ["none", "strong", "weak"])
        status = try request.query("status", in: 200...599, or: 200)
        length = request.query("length") == nil ? nil : try request.query("length", in: CacheContent.lengths, or: 0)
        seed = try request.query("seed", in: 0...Int(Int32.max), or: 0)
        variesByCoding = try request.query("gzip", oneOf: ["0", "1"]) == "1"
        isChunked = try request.query("chunked", oneOf: ["0", "1"]) == "1"
        cut = request.query("cut") == nil ? nil : try request.query("cut", in: CacheContent.lengths, or: 0)
        delay = try request.queryDuration("delay", atMost: CacheHit.maximumDelay, or: 0)
        isEncoded = variesByCoding && CacheHit.acceptsGzip(request.head.headers)
        if variesByCoding, let length, length > CacheHit.gzipLimit {
            throw Problem.query("length", "must be at most \(CacheHit.gzipLimit) with gzip")
        }
        owner = if let allowed = request.query("private-to") { try requester.require(allowed, request) } else { nil }
    }

    func response(to request: Request, name: String, _ entry: CacheTable.Entry) throws(Problem) -> Response {
        let title = title(request, name, entry).formatted()
        var representation = Representation(
            headers: fields.headers, content: try content(title), modified: fields.modified.map { entry.changedAt - $0 }
        )
        representation.headers.add(
            name: "Content-Type", value: length == nil ? "application/json" : "application/octet-stream")
        if isEncoded { representation.headers.add(name: "Content-Encoding", value: "gzip") }
        if variesByCoding { representation.headers.add(name: "Vary", value: "Accept-Encoding") }
        if validator != "none" {
            let identity = title + "\(length ?? -1) \(isEncoded)".utf8
            representation.tag = EntityTag(isWeak: validator == "weak", opaque: EntityTag.fingerprint(identity))
        }
        representation.hasRanges = true
        var response = try respond(request, representation)
        response.date = fields.date
        if isChunked, case .source(let source, _) = response.body {
            response.body = .source(source, length: nil)
        } else if isChunked, case .bytes(let bytes) = response.body {
            response.body = .source(BufferSource(bytes), length: nil)
        }
        if let cut, response.status.mayHaveResponseBody { CacheHit.cut(&response, after: cut) }
        return response
    }

    /// Conditions and ranges apply only if the status would otherwise be 200 (RFC 9110 section 13.2.1).
    private func respond(_ request: Request, _ representation: Representation) throws(Problem) -> Response {
        if status == 200 { return try representation.respond(request) }
        var headers = representation.headers
        representation.describe(&headers)
        let content = representation.content
        return Response(
            HTTPResponseStatus(statusCode: status), headers: headers, body: content.body(in: 0..<content.length))
    }

    /// Returns the properties that distinguish this body from others.
    private func title(_ request: Request, _ name: String, _ entry: CacheTable.Entry) -> JSON {
        var members: [JSON.Member] = [
            .init(name: "name", value: .string(name)),
            .init(name: "version", value: .int(entry.version)),
            .init(name: "seed", value: .int(seed)),
        ]
        if !fields.varying.isEmpty {
            let seen = fields.varying.map { field in
                let values = request.head.headers[field].joined(separator: ", ")
                return JSON.Member(
                    name: field.lowercased(),
                    value: request.head.headers.contains(name: field) ? .string(String(values.prefix(200))) : .null)
            }
            members.append(.init(name: "varied", value: .object(seen)))
        }
        if let owner { members.append(.init(name: "private_to", value: .string(owner))) }
        return .object(members)
    }

    private func content(_ title: [UInt8]) throws(Problem) -> any RangedContent {
        let whole: any RangedContent =
            if let length { CacheContent(title: title, length: length) } else { ByteBuffer(bytes: title) }
        guard isEncoded else { return whole }
        var bytes: [UInt8] = []
        switch whole.body(in: 0..<whole.length) {
        case .bytes(let buffer): bytes = Array(buffer.readableBytesView)
        case .source(var source, _):
            while case .bytes(let piece) = source.next() { bytes += piece.readableBytesView }
        }
        guard let encoded = ContentEncoder.gzip.encode(bytes) else {
            throw Problem(.internalServerError, "not enough memory to encode the body")
        }
        return ByteBuffer(bytes: encoded)
    }

    private static func cut(_ response: inout Response, after count: Int) {
        response.closesConnection = true
        switch response.body {
        case .bytes(let bytes):
            response.body = .source(CutSource(BufferSource(bytes), after: count), length: bytes.readableBytes)
        case .source(let source, let length):
            response.body = .source(CutSource(source, after: count), length: length)
        }
    }

    private static func acceptsGzip(_ headers: HTTPHeaders) -> Bool {
        headers[canonicalForm: "accept-encoding"].contains { item in
            let parts = item.lowercased().split(separator: ";").map(\.trimmed)
            return parts.first == "gzip" && !parts.dropFirst().contains { $0 == "q=0" || $0 == "q=0.0" }
        }
    }
}
