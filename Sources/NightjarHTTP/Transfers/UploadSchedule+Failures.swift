/// Failed requests, waits before the next attempt, and uploads that the server has lost.
extension UploadSchedule {
    /// Handles the failure of a request.
    ///
    /// - Parameter isWhole: Whether the whole body of the request was sent.
    package mutating func failed(
        _ error: NightjarError, afterWholeBody isWhole: Bool = true, using random: inout some RandomNumberGenerator
    ) {
        guard case .requesting = phase, let request = current else { return }
        if let status = error.status {
            do throws(NightjarError) {
                let headers = error.response?.headers ?? Headers()
                let isGone = status == 404 && (request.step == .completion || request.step == .offset)
                if isGone, hasFailedCompletion, let check = rules.check(facts) {
                    return send(check)
                }
                if let outcome = try rules.rejected(request, status, headers, facts) {
                    (phase, current) = (.idle, nil)
                    if case .lost = outcome { return lost() }
                    guard !TransferSettings.waitIsTooLong(error) else { return fail(error) }
                    switch outcome {
                    case .accepted(let progress):
                        facts.maximumAppend = progress.maximumAppend ?? facts.maximumAppend
                    case .unknown, .partial, .complete, .lost: break
                    }
                    mustRequestOffset = hasUpload
                    return retry(error, of: request, using: &random)
                }
            } catch {
                return fail(error)
            }
        }
        if error.requestMayHaveBeenProcessed, isWhole { noteLastRange() }
        // A stream that is sent in one request cannot be read again.
        guard TransferSettings.isTemporary(error), request.range?.upperBound != .max else { return fail(error) }
        if request.step == .creation, !hasUpload, error.requestMayHaveBeenProcessed,
            !canRepeatCreation
        {
            return fail(error)
        }
        (phase, current) = (.idle, nil)
        // The server may have completed the upload.
        let wasCompleting = request.step == .completion || request.step == .check
        if wasCompleting { hasFailedCompletion = true }
        mustRequestOffset = hasUpload && !wasCompleting
        retry(error, of: request, using: &random)
    }

    /// Waits before the next request.
    mutating func retry(
        _ error: NightjarError?, of request: UploadRequest, using random: inout some RandomNumberGenerator
    ) {
        failures += 1
        guard failures < settings.attempts else {
            return fail(
                error
                    ?? NightjarError(
                        .protocol, "the server has accepted no new bytes in \(settings.attempts) requests",
                        phase: .receive))
        }
        phase = .waiting
        waits += 1
        actions.append(
            .wait(waits, TransferSettings.wait(afterFailures: failures, settings.retryDelay, error, using: &random)))
    }

    /// Whether a second upload of the same content has no further effect.
    private var isRepeatable: Bool {
        switch settings.uploadProtocol {
        case .put, .s3, .oci: true
        case .resumable: facts.method == .put
        case .post, .tus: false
        }
    }

    var streamCannotRestart: NightjarError {
        NightjarError(.contentChanged, "the server no longer has the upload, and a stream cannot be read again")
    }

    /// Handles an upload that the server does not have any more.
    mutating func lost() {
        guard settings.restarts else {
            return fail(
                NightjarError(
                    .contentChanged, "the server no longer has the upload; start a new upload, or allow restart"))
        }
        guard !mayBeProcessed || isIdempotent || isRepeatable else {
            return fail(
                NightjarError(
                    .contentChanged,
                    "the upload may be complete: the response to its last request was lost, and the server no longer has the upload; check the resource",
                    requestMayHaveBeenProcessed: true))
        }
        guard source != .stream || readStart == 0 else { return fail(streamCannotRestart) }
        restarts += 1
        guard restarts <= settings.attempts else {
            return fail(
                NightjarError(
                    .contentChanged,
                    "the upload failed: it has started over \(settings.attempts) times; the server removes unfinished uploads"
                ))
        }
        (facts.url, facts.id, facts.partSize, facts.offset, facts.expires) = (nil, nil, nil, 0, nil)
        (hasUpload, mustRequestOffset, isResuming, resumed) = (false, false, false, 0)
        (best, sentEnd, hasFailedCompletion, mayBeProcessed) = (0, 0, false, false)
        (digestedRange, hasSentEmptyRange) = (nil, false)
        plan()
    }
}
