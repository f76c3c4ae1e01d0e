/// The choice of the next request.
extension UploadSchedule {
    mutating func plan() {
        guard state == .running, phase == .idle else { return }
        if needsDigest, let algorithm = wholeDigest {
            phase = .digesting
            return actions.append(.digest(nil, algorithm))
        }
        guard hasUpload else { return create() }
        if mustRequestOffset, let request = rules.offsetRequest(facts) { return send(request) }
        mustRequestOffset = false
        if let total = facts.total, facts.offset == total, !requiresEmptyRange {
            guard let completion = rules.completion(facts) else { return complete() }
            return send(completion)
        }
        append()
    }

    /// Whether an empty range must be sent although the server has all bytes: S3 requires one part, tus sends the length
    /// of a stream with the last range, and the draft completes an upload with a request.
    private var requiresEmptyRange: Bool {
        switch settings.uploadProtocol {
        case .resumable: true
        case .s3: facts.total == 0 && !hasSentEmptyRange
        case .tus: facts.total == 0 && facts.isLengthDeferred && !hasSentEmptyRange
        case .put, .post, .oci: false
        }
    }

    /// The algorithm of the digest of the whole content that the protocol sends. Nil: none.
    private var wholeDigest: Checksum.Algorithm? {
        switch settings.uploadProtocol {
        case .oci: .sha256
        case .put, .post, .resumable, .tus, .s3: settings.digest?.algorithm
        }
    }

    var needsDigest: Bool {
        guard case .file = source else {
            // The digest of a stream is known at its end.
            return settings.uploadProtocol == .oci && facts.digest == nil && facts.total == facts.offset
                && facts.total != nil
        }
        if hasDigest { return false }
        switch settings.uploadProtocol {
        case .oci: return facts.digest == nil || settings.digest != nil
        case .put, .post, .resumable: return settings.digest != nil
        // These protocols send digests of ranges.
        case .tus, .s3: if case .value = settings.digest { return true } else { return false }
        }
    }
    /// The algorithm of the digest of each range. Nil: none is sent.
    private var rangeDigest: Checksum.Algorithm? {
        switch settings.uploadProtocol {
        case .tus: settings.digest?.algorithm
        case .s3: settings.digest == nil ? nil : .md5
        case .put, .post, .resumable, .oci: nil
        }
    }

    private mutating func create() {
        facts.isLengthDeferred = facts.total == nil
        let request = rules.creation(facts)
        if let range = request.range, range.upperBound != .max, !hasRead(range) { return read(range) }
        send(request)
    }

    private func hasRead(_ range: Range<Int>) -> Bool {
        source != .stream || streamHasEnded || readEnd >= range.upperBound
    }

    private mutating func read(_ range: Range<Int>) {
        phase = .reading
        readStart = range.lowerBound
        actions.append(.read(from: range.lowerBound, until: range.upperBound))
    }

    private mutating func append() {
        var range = facts.offset..<max(facts.rangeEnd, facts.offset)
        guard hasRead(range) else { return read(range) }
        if source == .stream { range = range.lowerBound..<min(range.upperBound, readEnd) }
        if let algorithm = rangeDigest, digestedRange != range {
            (phase, digestedRange) = (.digesting, range)
            return actions.append(.digest(range, algorithm))
        }
        send(rules.append(range, isLast: range.upperBound == facts.total, facts))
    }

    mutating func send(_ request: UploadRequest) {
        attempts += 1
        if let end = request.range?.upperBound { sentEnd = max(sentEnd, min(end, readLimit)) }
        current = request
        phase = .requesting(request.step)
        actions.append(.request(request))
    }

    mutating func complete() {
        isComplete = true
        close()
        actions.append(.finish)
    }
}
