/// tus 1.0.0, https://tus.io/protocols/resumable-upload.
struct TusRules: UploadRules {
    private static let version = ("Tus-Resumable", "1.0.0")
    private static let type = ("Content-Type", "application/offset+octet-stream")

    func canRepeatCreation(_ facts: UploadFacts) -> Bool {
        // A second upload with part of the content has no effect. A complete one has.
        guard facts.total != 0 else { return false }
        return !sendsData(facts) || facts.total.map { facts.rangeEnd < $0 } ?? false
    }

    /// Whether the creation sends the first bytes. Their digest is not known at that time.
    private func sendsData(_ facts: UploadFacts) -> Bool {
        facts.settings.createsWithData && facts.settings.digest == nil && facts.total ?? 0 > 0
    }

    func creation(_ facts: UploadFacts) -> UploadRequest {
        var request = UploadRequest(.creation, .post, nil, [TusRules.version])
        if let total = facts.total {
            request.headers.append(("Upload-Length", String(total)))
        } else {
            request.headers.append(("Upload-Defer-Length", "1"))
        }
        if let metadata = metadata(facts) { request.headers.append(("Upload-Metadata", metadata)) }
        if sendsData(facts) {
            request.headers.append(TusRules.type)
            request.body = .content(0..<facts.rangeEnd)
        }
        return request
    }

    private func metadata(_ facts: UploadFacts) -> String? {
        guard !facts.settings.metadata.isEmpty else { return nil }
        return facts.settings.metadata.map { "\($0.name) \(Base64.encode(Array($0.value.utf8)))" }
            .joined(separator: ",")
    }

    func offsetRequest(_ facts: UploadFacts) -> UploadRequest? {
        UploadRequest(.offset, .head, facts.url, [TusRules.version])
    }

    func append(_ range: Range<Int>, isLast: Bool, _ facts: UploadFacts) -> UploadRequest {
        var request = UploadRequest(
            .append(range), .patch, facts.url,
            [TusRules.version, TusRules.type, ("Upload-Offset", String(range.lowerBound))])
        if facts.isLengthDeferred, isLast { request.headers.append(("Upload-Length", String(range.upperBound))) }
        if let digest = facts.rangeDigest {
            request.headers.append(
                ("Upload-Checksum", "\(digest.algorithm.rawValue) \(Base64.encode(digest.digest))"))
        }
        request.body = .content(range)
        return request
    }

    func termination(_ facts: UploadFacts) -> UploadRequest? {
        facts.url.map { UploadRequest(.termination, .delete, $0, [TusRules.version]) }
    }

    func responded(
        _ request: UploadRequest, _ response: UploadResponse, _ facts: UploadFacts
    ) throws(NightjarError) -> UploadOutcome {
        let offset = try response.headers.count("upload-offset")
        switch request.step {
        case .creation:
            guard let url = try response.location() else {
                throw NightjarError(
                    .protocol,
                    "the creation of the upload failed: the response has no Location; check the URL and the protocol",
                    phase: .receive)
            }
            return .accepted(
                TusRules.progress(response, url: url, offset: request.range == nil ? 0 : offset ?? 0))
        case .offset:
            guard let offset else {
                throw NightjarError(
                    .protocol, "the response to HEAD has no Upload-Offset; check the URL and the protocol",
                    phase: .receive)
            }
            let length = try response.headers.count("upload-length")
            if let length, let total = facts.total, length != total {
                throw NightjarError(
                    .contentChanged,
                    "the upload has the length \(length), and the content has \(total) bytes; start a new upload")
            }
            var progress = TusRules.progress(response, offset: offset)
            progress.hasLength = length != nil
            return .accepted(progress)
        case .append, .completion, .check, .termination:
            return offset.map { .accepted(TusRules.progress(response, offset: $0)) } ?? .unknown
        }
    }

    private static func progress(
        _ response: UploadResponse, url: RequestURL? = nil, offset: Int
    ) -> UploadProgress {
        var progress = UploadProgress(url: url, offset: offset)
        progress.expires = response.headers.date("upload-expires")
        return progress
    }

    func rejected(
        _ request: UploadRequest, _ status: Int, _ headers: Headers, _ facts: UploadFacts
    ) -> UploadOutcome? {
        switch (request.step, status) {
        case (.append, 404), (.append, 410), (.offset, 404), (.offset, 410): .lost
        // Conflict, locked by another request, and a damaged body.
        case (.append, 409), (.append, 423), (.append, 460), (.offset, 423): .unknown
        default: nil
        }
    }
}
