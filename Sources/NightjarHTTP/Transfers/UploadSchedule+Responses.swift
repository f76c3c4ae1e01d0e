/// The responses to the requests, and the results of reads, digests and waits.
extension UploadSchedule {
    /// Handles the end of a wait.
    package mutating func waited(_ number: Int) {
        guard phase == .waiting, number == waits else { return }
        phase = .idle
        plan()
    }

    /// Handles bytes that were read from the stream.
    ///
    /// - Parameter isAtEnd: Whether the stream has no bytes after `end`.
    package mutating func read(until end: Int, isAtEnd: Bool) {
        guard phase == .reading else { return }
        phase = .idle
        (readEnd, streamHasEnded) = (end, isAtEnd)
        if isAtEnd { facts.total = end }
        plan()
    }

    /// Handles a digest.
    package mutating func digested(_ checksum: Checksum) {
        guard phase == .digesting else { return }
        phase = .idle
        if !hasDigest, needsDigest {
            hasDigest = true
            if case .value(let expected)? = settings.digest, expected != checksum {
                return fail(
                    NightjarError(
                        .checksumMismatch,
                        "checksum verification of the file failed: expected \(expected), got \(checksum)"))
            }
            facts.digest = checksum
        } else {
            facts.rangeDigest = checksum
        }
        plan()
    }

    /// Handles an interim response.
    ///
    /// - Parameter isWhole: Whether the whole body of the request in progress was sent.
    package mutating func interim(
        _ status: Int, _ headers: Headers, from url: RequestURL, afterWholeBody isWhole: Bool = true,
        at now: Timestamp = .epoch
    ) {
        guard case .requesting = phase, current?.range != nil else { return }
        facts.now = now.seconds
        do throws(NightjarError) {
            guard let progress = try rules.interim(status, headers, from: url, facts) else { return }
            if let url = progress.url { (facts.url, hasUpload) = (url, true) }
            // The offset of an interim response is only a hint.
            guard admits(progress) else { return }
            if state == .paused { interrupt(afterWholeBody: isWhole) }
        } catch {
            fail(error)
        }
    }

    /// Handles a response with an expected status.
    ///
    /// - Parameter toWholeBody: Whether the whole body was sent. A server may respond before.
    package mutating func responded(
        _ response: UploadResponse, toWholeBody: Bool = true, at now: Timestamp = .epoch,
        using random: inout some RandomNumberGenerator
    ) {
        guard case .requesting = phase, let request = current else { return }
        facts.now = now.seconds
        guard toWholeBody || hasUpload else {
            return fail(
                NightjarError(
                    .protocol,
                    "the upload failed: the server responded with the status \(response.status) before it had received the content",
                    phase: .receive, requestMayHaveBeenProcessed: true))
        }
        guard toWholeBody else {
            (phase, current, mustRequestOffset) = (.idle, nil, true)
            return retry(nil, of: request, using: &random)
        }
        let outcome: UploadOutcome
        do throws(NightjarError) {
            outcome = try rules.responded(request, response, facts)
        } catch {
            return error.kind == .server ? failed(error, using: &random) : fail(error)
        }
        (phase, current) = (.idle, nil)
        apply(outcome, of: request, using: &random)
    }

    private mutating func apply(
        _ outcome: UploadOutcome, of request: UploadRequest, using random: inout some RandomNumberGenerator
    ) {
        switch outcome {
        case .complete:
            isResponseFinal = request.step != .offset
            if isResuming { resumed = facts.total ?? 0 }
            complete()
        case .lost: lost()
        case .partial: plan()
        case .unknown:
            mustRequestOffset = true
            retry(nil, of: request, using: &random)
        case .accepted(let progress): accepted(progress, of: request, using: &random)
        }
    }

    private mutating func accepted(
        _ progress: UploadProgress, of request: UploadRequest, using random: inout some RandomNumberGenerator
    ) {
        facts.url = progress.url ?? facts.url
        facts.id = progress.id ?? facts.id
        facts.partSize = progress.partSize ?? facts.partSize
        if let hasLength = progress.hasLength { facts.isLengthDeferred = !hasLength }
        hasUpload = true
        guard admits(progress) else { return }
        guard let offset = progress.offset else {
            mustRequestOffset = true
            return plan()
        }
        // The server may also have bytes that another process has sent.
        let sent = request.step == .offset ? readLimit : sentEnd
        guard source != .stream || offset >= readStart else { return fail(streamCannotRestart) }
        guard offset <= sent else {
            return fail(
                NightjarError(
                    .protocol, "the server reports \(offset) bytes of the upload, but only \(sent) were sent",
                    phase: .receive))
        }
        mustRequestOffset = false
        facts.offset = offset
        if isResuming { (isResuming, resumed, best, sentEnd) = (false, offset, offset, max(sentEnd, offset)) }
        mayBeProcessed = false
        guard noteLoss(offset) else { return }
        let isProgress = noteProgress(offset)
        isResponseFinal = request.step != .offset
        // A response without new bytes must not be followed by the same request at once, again and again.
        if case .append(let range) = request.step, !isProgress {
            let isFirstEmpty = range.isEmpty && !hasSentEmptyRange && settings.uploadProtocol != .resumable
            hasSentEmptyRange = hasSentEmptyRange || range.isEmpty
            if !isFirstEmpty { return retry(nil, of: request, using: &random) }
        }
        plan()
    }

    /// Notes the limits of the server. Fails if the content is larger.
    private mutating func admits(_ progress: UploadProgress) -> Bool {
        facts.maximumAppend = progress.maximumAppend ?? facts.maximumAppend
        facts.minimumAppend = progress.minimumAppend ?? facts.minimumAppend
        facts.expires = progress.expires ?? facts.expires
        guard let limit = progress.maximumSize, let total = facts.total, total > limit else { return true }
        fail(
            NightjarError(
                .tooLarge, "the upload failed: the content has \(total) bytes, and the server accepts \(limit)",
                phase: .receive))
        return false
    }

    /// The end of the bytes that the server can have.
    var readLimit: Int { source == .stream ? readEnd : facts.total ?? 0 }

    /// Counts the times that the server has lost bytes. Fails if it has lost bytes too often.
    private mutating func noteLoss(_ offset: Int) -> Bool {
        guard offset < best else { return true }
        best = offset
        losses += 1
        guard losses > settings.attempts else { return true }
        fail(
            NightjarError(
                .protocol, "the upload failed: the server has lost bytes \(losses) times; check the server",
                phase: .receive))
        return false
    }

    private mutating func noteProgress(_ offset: Int) -> Bool {
        guard offset > best else { return false }
        (best, failures) = (offset, 0)
        return true
    }
}
