import NIOCore
import NIOHTTP1

/// `/file`: a file of any size for tests of downloads. ``FileQuery`` and ``TransferPlan`` describe the parameters.
///
/// `/__file` returns the length, the SHA-256 digest and the entity tag for the same parameters. Its parameter `version` is
/// the number of changes.
struct Files {
    let runs: TransferRuns
    private let digests = FileDigests()

    init(runs: TransferRuns) { self.runs = runs }

    func add(to router: inout Router) {
        router.on(.GET, "/file", respond)
        router.on(.GET, "/__file", describe)
    }

    private func describe(_ request: Request) throws(Problem) -> Response {
        let query = try FileQuery(request)
        let version = try request.query("version", in: 0...1_000_000, or: 0)
        let content = query.content(version: version)
        guard content.size <= FileDigests.maximumSize else {
            throw Problem.query("size", "must be at most \(FileDigests.maximumSize) for a digest")
        }
        return .json([
            "size": .int(content.size), "sha256": .string(digests.sha256(content).hexadecimal),
            "etag": .optional(query.entityTag(version: version)?.text),
        ])
    }

    private func respond(_ request: Request) throws(Problem) -> Response {
        let query = try FileQuery(request)
        let plan = try TransferPlan(request)
        let run = runs.run(query.run)
        let entry = run.began(request)
        var fault = plan.fault(of: entry.number, in: run)
        let version = query.version(of: entry.number, hasReachedChange: run.hasReachedChange)
        let file = File(query: query, version: version, digests: digests)
        var response = file.response(to: request, ignoresRange: fault.kind == .whole)
        var source = response.fileSource
        let bytes = source?.range
        if let limit = query.changePosition, let bytes, bytes.upperBound > limit { run.hasReachedChange = true }
        if query.changeAfter == nil, version == 0, let limit = query.changePosition {
            source?.changePosition = limit
            source?.successor = query.content(version: 1)
        }
        source?.rate = query.rate
        response.replaceSource(source)
        response.frame(query.length)
        if !fault.apply(to: &response, query, request) { fault.kind = .none }
        file.addDigests(to: &response, request)
        response.delay = response.delay + query.delay
        response.date = query.date
        response.setEntry(entry)
        entry.responded(
            status: response.isDropped ? 0 : Int(response.status.code), bytes: response.fileSource?.range,
            version: version, fault: fault.kind == .none ? nil : fault.kind.rawValue)
        return response
    }
}

/// One version of a file.
private struct File {
    let query: FileQuery
    let version: Int
    let digests: FileDigests

    private var content: FileContent { query.content(version: version) }
    /// The compressed content. Nil if memory could not be allocated.
    private var coded: [UInt8]? { ContentEncoder.gzip.encode(content.bytes(in: 0..<content.size)) }

    /// Returns the response without faults: 200, 206, 304, 412 or 416.
    func response(to request: Request, ignoresRange: Bool) -> Response {
        var representation = Representation(
            headers: ["Content-Type": query.type, "Cache-Control": Representation.validated], content: content,
            tag: query.entityTag(version: version), modified: query.modified(version: version))
        representation.hasRanges = query.hasRanges && !ignoresRange
        if query.isCoded, let coded {
            representation.content = ByteBuffer(bytes: coded)
            representation.headers.add(name: "Content-Encoding", value: "gzip")
        }
        if let disposition = query.disposition {
            representation.headers.add(name: "Content-Disposition", value: disposition)
        }
        var response: Response
        do {
            response = try representation.respond(request)
        } catch {
            return error.response
        }
        if case .bytes(let bytes) = response.body, query.isCoded {
            var source = FileSource(content, 0..<content.size)
            source.replacement = bytes
            response.body = .source(source, length: bytes.readableBytes)
        }
        if query.sendsMultipart, representation.hasRanges, response.status == .ok { addRanges(&response, request) }
        switch query.acceptRanges {
        case "absent": response.headers.remove(name: "Accept-Ranges")
        case let text: response.headers.replaceOrAdd(name: "Accept-Ranges", value: text)
        }
        return response
    }

    /// Replaces the whole content by several ranges, if the request has several ranges (RFC 9110 section 14.6).
    private func addRanges(_ response: inout Response, _ request: Request) {
        guard let text = request.head.headers.first(name: "range"), text.hasPrefix("bytes="), text.contains(",") else {
            return
        }
        let ranges = text.dropFirst(6).split(separator: ",").compactMap { part -> Range<Int>? in
            if case .range(let range) = ByteRange.read("bytes=\(part.trimmed)", of: content.size) { range } else { nil }
        }
        guard !ranges.isEmpty, ranges.reduce(0, { $0 + $1.count }) <= FileQuery.maximumInMemory else { return }
        let boundary = "nightjar-demo-ranges"
        var body = ByteBuffer()
        for range in ranges {
            body.writeString("--\(boundary)\r\nContent-Type: \(query.type)\r\n")
            body.writeString("Content-Range: \(FileRange(range, content.size).text)\r\n\r\n")
            body.writeBytes(content.bytes(in: range))
            body.writeString("\r\n")
        }
        body.writeString("--\(boundary)--\r\n")
        var source = FileSource(content, ranges[0])
        source.replacement = body
        response.status = .partialContent
        response.headers.replaceOrAdd(name: "Content-Type", value: "multipart/byteranges; boundary=\(boundary)")
        response.body = .source(source, length: body.readableBytes)
    }

    /// Adds the digests of RFC 9530.
    func addDigests(to response: inout Response, _ request: Request) {
        guard let source = response.fileSource else { return }
        if query.reprDigest != "none" {
            let digest = query.isCoded ? Hash.sha256(coded ?? []) : digests.sha256(content)
            add("Repr-Digest", digest, query.reprDigest, &response)
        }
        // A response to HEAD has no content.
        if query.contentDigest != "none", request.head.method != .HEAD {
            let digest: [UInt8] =
                if let bytes = source.replacement { Hash.sha256(Array(bytes.readableBytesView)) } else {
                    content.sha256(in: source.range)
                }
            add("Content-Digest", digest, query.contentDigest, &response)
        }
    }

    private func add(_ name: String, _ digest: [UInt8], _ correctness: String, _ response: inout Response) {
        var digest = digest
        if correctness == "wrong" { digest[0] ^= 0xFF }
        response.headers.add(name: name, value: "sha-256=:\(Base64.encode(digest)):")
    }
}

extension Response {
    /// The source of the body. Nil if the response has no bytes of a file.
    var fileSource: FileSource? {
        if case .source(let source as FileSource, _) = body { source } else { nil }
    }

    /// Replaces the source. The length does not change.
    mutating func replaceSource(_ source: FileSource?) {
        guard let source, case .source(_, let length) = body else { return }
        body = .source(source, length: length)
    }

    fileprivate mutating func setEntry(_ entry: TransferEntry) {
        var source = fileSource
        source?.entry = entry
        replaceSource(source)
    }

    /// - Parameter length: `known`, `chunked` or `close`.
    fileprivate mutating func frame(_ length: String) {
        guard length != "known", case .source(let source, _) = body else { return }
        body = .source(source, length: nil)
        if length == "close" { (endsWithConnection, closesConnection) = (true, true) }
    }
}

/// The value of a Content-Range field (RFC 9110 section 14.4).
struct FileRange {
    var first: Int
    var last: Int
    var total: Int
    var unit = "bytes"
    var hasTotal = true

    init(_ range: Range<Int>, _ total: Int) {
        (first, last, self.total) = (range.lowerBound, range.upperBound - 1, total)
    }

    var text: String { "\(unit) \(first)-\(last)/\(hasTotal ? String(total) : "*")" }
}
