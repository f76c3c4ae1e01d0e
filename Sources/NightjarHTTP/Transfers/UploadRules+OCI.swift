/// Uploads of blobs to container registries: OCI Distribution Specification 1.1, "Pushing a blob in chunks". Each
/// response has a new URL for the next request.
struct OCIRules: UploadRules {
    /// Whether the range `0-0` is that of one byte. Registries report it for an empty upload, too.
    private var hasOneByte = false

    private static let type = ("Content-Type", "application/octet-stream")

    func creation(_ facts: UploadFacts) -> UploadRequest { UploadRequest(.creation, .post) }

    func offsetRequest(_ facts: UploadFacts) -> UploadRequest? { UploadRequest(.offset, .get, facts.url) }

    func append(_ range: Range<Int>, isLast: Bool, _ facts: UploadFacts) -> UploadRequest {
        var request = UploadRequest(.append(range), .patch, facts.url, [OCIRules.type])
        if range.upperBound != .max {
            request.headers.append(("Content-Range", "\(range.lowerBound)-\(range.upperBound - 1)"))
        }
        request.body = .content(range)
        return request
    }

    func completion(_ facts: UploadFacts) -> UploadRequest? {
        guard let url = facts.url, let digest = facts.digest else { return nil }
        let separator = url.query == nil ? "?" : "&"
        let target = url.target + separator + "digest=" + digest.description
        return UploadRequest(
            .completion, .put,
            RequestURL(origin: url.origin, target: target, userInfo: url.userInfo, sensitive: url.sensitive),
            [OCIRules.type])
    }

    func check(_ facts: UploadFacts) -> UploadRequest? {
        guard let url = facts.url, let digest = facts.digest else { return nil }
        let parts = url.path.split(separator: "/")
        guard let end = parts.lastIndex(of: "uploads"), end > 0, parts[end - 1] == "blobs" else { return nil }
        let target = "/" + parts[..<end].joined(separator: "/") + "/" + digest.description
        return UploadRequest(
            .check, .head,
            RequestURL(origin: url.origin, target: target, userInfo: url.userInfo, sensitive: url.sensitive))
    }

    func termination(_ facts: UploadFacts) -> UploadRequest? {
        facts.url.map { UploadRequest(.termination, .delete, $0) }
    }

    mutating func responded(
        _ request: UploadRequest, _ response: UploadResponse, _ facts: UploadFacts
    ) throws(NightjarError) -> UploadOutcome {
        switch request.step {
        case .creation:
            guard let url = try response.location() else {
                throw NightjarError(
                    .protocol,
                    "the creation of the upload failed: the response has no Location; check the URL and the protocol",
                    phase: .receive)
            }
            hasOneByte = false
            var progress = UploadProgress(url: url, offset: 0)
            progress.minimumAppend = try response.headers.count("oci-chunk-min-length")
            return .accepted(progress)
        case .offset:
            return .accepted(UploadProgress(url: try response.location(), offset: try end(response.headers) ?? 0))
        case .append(let range):
            // A range of one byte is written like an empty one.
            let end = try end(response.headers).map { max($0, min(range.upperBound, 1)) }
            return .accepted(UploadProgress(url: try response.location(), offset: end ?? range.upperBound))
        case .completion, .check, .termination: return .complete
        }
    }

    /// Returns the number of bytes that a Range field such as `0-1023` reports. The range `0-0` is that of an empty
    /// upload.
    private func end(_ headers: Headers) throws(NightjarError) -> Int? {
        guard let field = headers["range"] else { return nil }
        let text = field.hasPrefix("bytes=") ? field.dropFirst(6) : field[...]
        let words = text.split(separator: "-", omittingEmptySubsequences: false)
        guard words.count == 2, words[0] == "0", let last = Int(words[1]), last >= 0, last < .max else {
            throw NightjarError(
                .protocol, "the registry sent an invalid Range: \(quoted(field))", phase: .receive)
        }
        return last == 0 && !hasOneByte ? 0 : last + 1
    }

    mutating func rejected(
        _ request: UploadRequest, _ status: Int, _ headers: Headers, _ facts: UploadFacts
    ) -> UploadOutcome? {
        if case .append(let range) = request.step, status == 416 { hasOneByte = range.lowerBound == 0 }
        return switch (request.step, status) {
        case (.append, 404), (.offset, 404), (.offset, 416), (.completion, 404), (.check, 404): .lost
        case (.append, 416): .unknown
        default: nil
        }
    }
}
