/// "Resumable Uploads for HTTP", draft-ietf-httpbis-resumable-upload, interop version 8.
///
/// The creation sends the whole content. The server sends the URL of the upload in an interim response (104), so that
/// the upload can be continued. With a chunk size, the creation sends the first bytes only.
struct ResumableRules: UploadRules {
    private static let version = ("Upload-Draft-Interop-Version", "8")
    /// 100 years, in seconds.
    private static let longestAge = 3_155_760_000
    private static let partialType = ("Content-Type", "application/partial-upload")

    func canRepeatCreation(_ facts: UploadFacts) -> Bool { facts.method == .put }

    func creation(_ facts: UploadFacts) -> UploadRequest {
        let isKnown = [Method.put, .post, .patch].contains(facts.method)
        let end = facts.rangeEnd
        var request = UploadRequest(
            .creation, isKnown ? facts.method : .post, nil,
            [ResumableRules.version, ResumableRules.complete(facts.total == end), ("Content-Type", facts.contentType)])
        if let total = facts.total { request.headers.append(("Upload-Length", String(total))) }
        if let field = facts.digest?.field { request.headers.append(("Repr-Digest", field)) }
        request.body = .content(0..<end)
        return request
    }

    func offsetRequest(_ facts: UploadFacts) -> UploadRequest? {
        UploadRequest(.offset, .head, facts.url, [ResumableRules.version])
    }

    func append(_ range: Range<Int>, isLast: Bool, _ facts: UploadFacts) -> UploadRequest {
        var request = UploadRequest(
            .append(range), .patch, facts.url,
            [
                ResumableRules.version, ResumableRules.partialType, ("Upload-Offset", String(range.lowerBound)),
                ResumableRules.complete(isLast),
            ])
        request.body = .content(range)
        return request
    }

    private static func complete(_ isComplete: Bool) -> (String, String) {
        ("Upload-Complete", isComplete ? "?1" : "?0")
    }

    func termination(_ facts: UploadFacts) -> UploadRequest? {
        facts.url.map { UploadRequest(.termination, .delete, $0, [ResumableRules.version]) }
    }

    func interim(
        _ status: Int, _ headers: Headers, from url: RequestURL, _ facts: UploadFacts
    ) throws(NightjarError) -> UploadProgress? {
        guard status == 104 else { return nil }
        var progress = limits(headers, facts)
        progress.url = facts.url == nil ? try UploadLocation.read(headers, base: url) : nil
        progress.offset = try? headers.count("upload-offset")
        return progress
    }

    func responded(
        _ request: UploadRequest, _ response: UploadResponse, _ facts: UploadFacts
    ) throws(NightjarError) -> UploadOutcome {
        let headers = response.headers
        let isComplete = headers["upload-complete"].map { ASCII.trimmed(Array($0.utf8)).elementsEqual("?1".utf8) }
        let isLast = request.headers.contains { $0.name == "Upload-Complete" && $0.value == "?1" }
        var progress = limits(headers, facts)
        progress.offset = try headers.count("upload-offset")
        if let length = try headers.count("upload-length"), let total = facts.total, length != total {
            throw ResumableRules.lengthDiffers(length, total)
        }
        if isComplete == true {
            if request.step == .offset, let offset = progress.offset, let total = facts.total, offset != total {
                throw ResumableRules.lengthDiffers(offset, total)
            }
            guard isLast || request.step == .offset else {
                throw NightjarError(
                    .protocol,
                    "the upload failed: the server has completed it before the end of the content; check its limits",
                    phase: .receive, requestMayHaveBeenProcessed: true)
            }
            return .complete
        }
        if request.step == .creation {
            // A server that does not support the draft has processed an ordinary request.
            if isLast, isComplete == nil { return .complete }
            progress.url = try response.location() ?? facts.url
            guard progress.url != nil else {
                throw NightjarError(
                    .protocol,
                    "the server does not support resumable uploads: its response has no Location; upload without chunk_size",
                    phase: .receive, requestMayHaveBeenProcessed: true)
            }
        }
        if request.step == .offset, progress.offset == nil {
            throw NightjarError(
                .protocol, "the response to HEAD has no Upload-Offset; check the URL and the protocol", phase: .receive)
        }
        // The final response of the resource has no Upload-Offset.
        if case .append = request.step, isLast, isComplete == nil, progress.offset == nil { return .complete }
        guard progress.offset != nil else {
            return progress.url == nil ? .unknown : .accepted(progress)
        }
        return .accepted(progress)
    }

    func rejected(
        _ request: UploadRequest, _ status: Int, _ headers: Headers, _ facts: UploadFacts
    ) throws(NightjarError) -> UploadOutcome? {
        switch (request.step, status) {
        case (.append, 404), (.append, 410), (.offset, 404), (.offset, 410): return .lost
        case (.append, 409): return .unknown
        case (.creation, 413), (.append, 413), (.append, 400):
            let progress = limits(headers, facts)
            guard let limit = progress.maximumAppend, let range = request.range, limit < range.count else { return nil }
            return .accepted(progress)
        default: return nil
        }
    }

    private static func lengthDiffers(_ length: Int, _ total: Int) -> NightjarError {
        NightjarError(
            .contentChanged,
            "the upload has \(length) bytes, and the content has \(total) bytes; start a new upload without resume")
    }

    /// Reads the field Upload-Limit, a dictionary of structured fields (RFC 9651).
    private func limits(_ headers: Headers, _ facts: UploadFacts) -> UploadProgress {
        var progress = UploadProgress()
        for value in headers.values("upload-limit") {
            for member in value.split(separator: ",") {
                // Parameters follow a semicolon.
                let words = member.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
                guard words.count == 2,
                    let size = Int(String(decoding: ASCII.trimmed(Array(words[1].utf8)), as: UTF8.self)), size > 0
                else { continue }
                switch String(decoding: ASCII.trimmed(Array(words[0].utf8)), as: UTF8.self) {
                case "max-append-size": progress.maximumAppend = size
                case "min-append-size": progress.minimumAppend = size
                case "max-size": progress.maximumSize = size
                case "max-age": progress.expires = facts.now + Int64(min(size, ResumableRules.longestAge))
                default: break
                }
            }
        }
        return progress
    }
}

extension Checksum {
    /// The value of a Repr-Digest or Content-Digest field. Nil for algorithms that RFC 9530 advises against.
    package var field: String? {
        switch algorithm {
        case .sha256: "sha-256=:\(Base64.encode(digest)):"
        case .sha512: "sha-512=:\(Base64.encode(digest)):"
        case .md5, .sha1, .sha384: nil
        }
    }
}
