import NIOCore

/// Multipart uploads of Amazon S3 and compatible servers. The server stores parts, and combines them at the end.
///
/// The requests are not signed by these rules: a hook of the client signs them, or the server accepts another login.
struct S3Rules: UploadRules {
    /// The entity tags of the stored parts. The first element is that of part 1.
    private var tags: [String] = []
    /// The time of the creation by the server's clock, in seconds since 1970. Nil if it is not known.
    private var created: Int64?
    /// The number of the last part that was listed.
    private var listed = 0
    /// The parts that were listed.
    private var found: [(tag: String, size: Int)] = []

    static let smallestPart = 5 << 20
    private static let usualPart = 8 << 20
    private static let largestCount = 10_000

    /// Returns the size of the parts of a content.
    static func partSize(_ settings: UploadSettings, total: Int?) -> Int {
        let needed = total.map { $0 / largestCount + ($0 % largestCount == 0 ? 0 : 1) } ?? 0
        let chosen = settings.chunkSize ?? usualPart
        guard chosen < needed else { return chosen }
        let mebibyte = 1 << 20
        return (needed / mebibyte + (needed % mebibyte == 0 ? 0 : 1)) * mebibyte
    }

    private func request(
        _ step: UploadRequest.Step, _ method: Method, _ facts: UploadFacts,
        _ query: [(name: String, value: String)] = []
    ) -> UploadRequest {
        var request = UploadRequest(step, method, facts.url)
        request.query = query + [(name: "uploadId", value: facts.id ?? "")]
        return request
    }

    func creation(_ facts: UploadFacts) -> UploadRequest {
        var request = UploadRequest(.creation, .post, nil, [("Content-Type", facts.contentType)])
        request.headers += facts.settings.metadata.map { (name: "x-amz-meta-\($0.name)", value: $0.value) }
        request.query = [(name: "uploads", value: "")]
        return request
    }

    func offsetRequest(_ facts: UploadFacts) -> UploadRequest? {
        request(.offset, .get, facts, listed > 0 ? [(name: "part-number-marker", value: String(listed))] : [])
    }

    func append(_ range: Range<Int>, isLast: Bool, _ facts: UploadFacts) -> UploadRequest {
        let number = range.lowerBound / max(facts.partSize ?? 1, 1) + 1
        var request = request(.append(range), .put, facts, [(name: "partNumber", value: String(number))])
        if let digest = facts.rangeDigest, digest.algorithm == .md5 {
            request.headers.append(("Content-MD5", Base64.encode(digest.digest)))
        }
        request.body = .content(range)
        return request
    }

    func completion(_ facts: UploadFacts) -> UploadRequest? {
        var request = request(.completion, .post, facts)
        let parts = tags.enumerated().map { number, tag in
            "<Part><PartNumber>\(number + 1)</PartNumber><ETag>\(S3Document.escaped(tag))</ETag></Part>"
        }
        request.headers.append(("Content-Type", "application/xml"))
        request.body = .text("<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>")
        return request
    }

    func termination(_ facts: UploadFacts) -> UploadRequest? {
        facts.id == nil ? nil : request(.termination, .delete, facts)
    }

    mutating func responded(
        _ request: UploadRequest, _ response: UploadResponse, _ facts: UploadFacts
    ) throws(NightjarError) -> UploadOutcome {
        switch request.step {
        case .creation:
            guard let id = S3Document(response.body).text(of: "UploadId"), !id.isEmpty else {
                throw NightjarError(
                    .protocol,
                    "the creation of the upload failed: the response has no UploadId; check the URL and the protocol",
                    phase: .receive)
            }
            (tags, found, listed) = ([], [], 0)
            created = response.headers.date("date")
            // The later requests have the URL of this one, without credentials that the client has added.
            var progress = UploadProgress(url: facts.base ?? response.url.withoutQueryItem("uploads"), offset: 0)
            progress.id = id
            progress.partSize = S3Rules.partSize(facts.settings, total: facts.total)
            return .accepted(progress)
        case .offset: return try listParts(response, facts)
        case .append(let range):
            guard let tag = response.headers["etag"] else {
                throw NightjarError(.protocol, "the response to a part has no ETag", phase: .receive)
            }
            tags.append(tag)
            return .accepted(UploadProgress(offset: range.upperBound))
        case .completion:
            // S3 sends the status 200 before it has combined the parts.
            let document = S3Document(response.body)
            if document.contains("<CompleteMultipartUploadResult") { return .complete }
            let code = document.text(of: "Code") ?? "no result"
            let message = document.text(of: "Message") ?? ""
            let isTemporary = ["InternalError", "SlowDown", "ServiceUnavailable", "no result"].contains(code)
            throw NightjarError(
                isTemporary ? .server : .protocol,
                "the server could not complete the upload: \(quoted(code)) \(quoted(message, limit: 200))",
                phase: .receive, requestMayHaveBeenProcessed: true)
        case .check:
            guard isOwn(response, facts) else { throw S3Rules.completionInDoubt }
            return .complete
        case .termination: return .complete
        }
    }

    func check(_ facts: UploadFacts) -> UploadRequest? { UploadRequest(.check, .head, facts.url) }

    /// Returns whether the object is that of this upload: it has the same length and number of parts, and it was created
    /// at the same time or later.
    private func isOwn(_ response: UploadResponse, _ facts: UploadFacts) -> Bool {
        guard let created, let modified = response.headers.date("last-modified"), modified >= created - 1,
            let length = try? response.headers.count("content-length"), length == facts.total,
            let tag = response.headers["etag"]
        else { return false }
        return tag.hasSuffix("-\(tags.count)\"")
    }

    private static let completionInDoubt = NightjarError(
        .protocol,
        "the upload may be complete: the response to its completion was lost, and the server no longer has the upload; "
            + "check the object", phase: .receive, requestMayHaveBeenProcessed: true)

    private mutating func listParts(
        _ response: UploadResponse, _ facts: UploadFacts
    ) throws(NightjarError) -> UploadOutcome {
        let document = S3Document(response.body)
        for part in document.all("Part") {
            guard let number = part.text(of: "PartNumber").flatMap({ Int($0) }), let tag = part.text(of: "ETag"),
                let size = part.text(of: "Size").flatMap({ Int($0) }), number > listed, size >= 0
            else {
                throw NightjarError(.protocol, "the server's list of parts is invalid", phase: .receive)
            }
            listed = number
            // Parts after a gap are sent again.
            if number == found.count + 1 { found.append((tag, size)) }
        }
        if document.text(of: "IsTruncated") == "true", listed < S3Rules.largestCount, !document.all("Part").isEmpty {
            return .partial
        }
        let size = max(facts.partSize ?? 1, 1)
        tags = []
        var offset = 0
        for part in found {
            let expected = min(size, (facts.total ?? .max) - offset)
            guard expected > 0 || facts.total == 0 && tags.isEmpty, part.size == expected else { break }
            tags.append(part.tag)
            offset += part.size
        }
        (found, listed) = ([], 0)
        return .accepted(UploadProgress(offset: offset))
    }

    mutating func rejected(
        _ request: UploadRequest, _ status: Int, _ headers: Headers, _ facts: UploadFacts
    ) throws(NightjarError) -> UploadOutcome? {
        switch (request.step, status) {
        case (.append, 404), (.offset, 404): return .lost
        case (.check, 404): throw S3Rules.completionInDoubt
        default: return nil
        }
    }
}

extension RequestURL {
    /// Returns a copy without an item of the query that has no value.
    fileprivate func withoutQueryItem(_ name: String) -> RequestURL {
        guard let query else { return self }
        let items = query.split(separator: "&").filter { $0 != name && $0 != name + "=" }
        let target = items.isEmpty ? path : path + "?" + items.joined(separator: "&")
        return RequestURL(origin: origin, target: target, userInfo: userInfo, sensitive: sensitive)
    }
}
