import NIOCore

/// The state machine of an upload. It decides which request is sent, what its response means, when the upload starts
/// over, and when it has ended. One request is in progress at a time.
///
///     ┌──────────┐  new   ┌──────────┐          ┌───────────┐ all bytes ┌────────────┐
///     │ start    │──────▶ │ creation │────────▶ │ append    │─────────▶ │ completion │──▶ ended
///     └──────────┘        └──────────┘   ┌────▶ └───────────┘           └────────────┘
///          │ state text         ▲ lost   │            │ failure, pause
///          │               ┌──────────┐  │            ▼
///          └─────────────▶ │ offset   │──┘◀───────  wait
///                          └──────────┘
///
/// The requests and the meaning of responses are those of ``UploadRules``.
package struct UploadSchedule: Sendable {
    /// The next step of the caller.
    package enum Action: Sendable {
        /// Send the request, and then call ``responded(_:)`` or ``failed(_:using:)``.
        case request(UploadRequest)
        /// Read the stream up to this position, and then call ``read(until:isAtEnd:)``. The bytes before `from` are not
        /// needed any more.
        case read(from: Int, until: Int)
        /// Compute the digest of the range, or of the whole content, and then call ``digested(_:)``.
        case digest(Range<Int>?, Checksum.Algorithm)
        /// Wait, and then call ``waited(_:)`` with the number.
        case wait(Int, Duration)
        /// Cancel the request. Nothing is reported for it any more.
        case cancel
        case finish
        case fail(NightjarError)
    }

    /// The source of the content.
    package enum Source: Sendable, Equatable {
        /// A file, which can be read at any position.
        case file(FileIdentity)
        /// A stream. Only the last bytes, at most a chunk, can be read again.
        case stream
    }

    enum State { case running, paused, ended }

    enum Phase: Equatable {
        case idle, reading, digesting, waiting
        case requesting(UploadRequest.Step)
    }

    let settings: UploadSettings
    let source: Source
    private let isIdempotent: Bool
    package internal(set) var facts: UploadFacts
    private var rules: any UploadRules
    private var state = State.running
    private var phase = Phase.idle
    private var current: UploadRequest?
    private var actions: [Action] = []
    /// Whether the upload exists on the server.
    private var hasUpload = false
    /// Whether the number of bytes that the server has must be requested.
    private var mustRequestOffset = false
    /// The number of bytes of the stream that were read, and whether it has ended.
    private var readEnd = 0
    private var streamHasEnded = false
    /// The first byte of the stream that can be read again.
    private var readStart = 0
    /// The range whose digest is known, or is computed.
    private var digestedRange: Range<Int>?
    /// Whether the digest of the whole content was computed.
    private var hasDigest = false
    /// Whether an empty range was sent. Some protocols require it for an empty content.
    private var hasSentEmptyRange = false
    /// Whether a request that completes the upload has failed, so that the upload may be complete.
    private var hasFailedCompletion = false
    /// Whether a request with the last bytes has failed, so that the server may have processed the content.
    private var mayBeProcessed = false
    /// The number of waits.
    private var waits = 0
    package private(set) var isComplete = false
    /// Whether the last response is that of the resource. False if the server has reported the upload complete, because the
    /// response was lost.
    package private(set) var isResponseFinal = false
    /// The end of the bytes that were sent.
    private var sentEnd = 0
    /// The largest number of bytes that the server had.
    private var best = 0
    /// The number of times that the server had fewer bytes than before.
    private var losses = 0
    /// The number of failures since the server has had new bytes.
    private var failures = 0
    /// The number of times that the upload has started over.
    private var restarts = 0
    /// The number of bytes that the server had from an earlier upload.
    package private(set) var resumed = 0
    /// Whether the first request for the offset of a continued upload has no response yet.
    private var isResuming = false
    /// The number of requests.
    package private(set) var attempts = 0

    /// - Parameters:
    ///   - method: The method of the caller's request.
    ///   - url: The URL of the caller's request.
    ///   - isIdempotent: Whether the caller's request may be repeated although the server may have processed it.
    /// - Throws: `invalid_argument`; `content_changed` if the file differs from that of the state text.
    package init(
        _ settings: UploadSettings, method: Method, url: RequestURL? = nil, isIdempotent: Bool = false,
        _ source: Source, contentType: String
    ) throws(NightjarError) {
        var settings = settings
        let isSingle = [.put, .post].contains(settings.uploadProtocol)
        if source == .stream, !isSingle { settings.chunkSize = settings.chunkSize ?? UploadSchedule.streamChunk }
        self.settings = settings
        self.source = source
        self.isIdempotent = isIdempotent
        facts = UploadFacts(method: method, settings, contentType: contentType)
        facts.base = url
        if case .file(let identity) = source { facts.total = identity.size }
        rules =
            switch settings.uploadProtocol {
            case .put: PlainRules(method: .put)
            case .post: PlainRules(method: .post)
            case .tus: TusRules()
            case .resumable: ResumableRules()
            case .s3: S3Rules()
            case .oci: OCIRules()
            }
        if case .value(let checksum)? = settings.digest { facts.digest = checksum }
        if let text = settings.resumeState { try use(UploadRecord(text)) }
    }

    private mutating func use(_ record: UploadRecord) throws(NightjarError) {
        guard case .file(let identity) = source else {
            throw NightjarError(.invalidArgument, "an upload of a stream cannot be continued; pass the path of a file")
        }
        guard record.identity == identity else {
            throw NightjarError(
                .contentChanged, "the file has changed since the upload began; start a new upload without resume")
        }
        if let expected = facts.digest, let found = record.digest, expected != found {
            throw NightjarError(.contentChanged, "the checksum differs from that of the upload; start a new upload")
        }
        let url = try RequestURL(record.url)
        if let base = facts.base {
            guard url.origin.isTLS || !base.origin.isTLS else {
                throw NightjarError(
                    .invalidArgument, "resume has an http URL, and the request uses https; start a new upload")
            }
            let isSame = url.origin == base.origin
            facts.url = RequestURL(
                origin: url.origin, target: url.target, userInfo: isSame ? base.userInfo : nil,
                sensitive: base.sensitive)
        } else {
            facts.url = url
        }
        hasFailedCompletion = record.isCompleting
        (facts.id, facts.partSize) = (record.id, record.partSize)
        facts.digest = facts.digest ?? record.digest
        (hasUpload, mustRequestOffset, isResuming) = (true, true, true)
    }

    /// Removes and returns the next action.
    package mutating func next() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

    package var isPaused: Bool { state == .paused }
    package var isWaiting: Bool { phase == .waiting }
    package var isDigesting: Bool { phase == .digesting }
    /// The range of the content that is being sent.
    package var sending: Range<Int>? { current?.range }
    /// The facts that a later upload needs. Nil if it could not continue.
    package var record: UploadRecord? {
        guard hasUpload, !isComplete, let url = facts.url, case .file(let identity) = source else { return nil }
        var record = UploadRecord(settings.uploadProtocol, url: url.origin.description + url.target)
        (record.identity, record.id, record.partSize) = (identity, facts.id, facts.partSize)
        record.digest = facts.digest
        record.isCompleting = hasFailedCompletion || isCompleting
        return record
    }
    /// The request that removes the upload. Nil if there is none.
    package var termination: UploadRequest? { hasUpload && !isComplete ? rules.termination(facts) : nil }

    // MARK: Commands

    package mutating func start() { plan() }

    /// - Parameter isWhole: Whether the whole body of the request in progress was sent.
    package mutating func pause(afterWholeBody isWhole: Bool = true) {
        guard state == .running else { return }
        state = .paused
        interrupt(afterWholeBody: isWhole)
    }

    /// Cancels the request in progress of a paused upload.
    private mutating func interrupt(afterWholeBody isWhole: Bool) {
        guard case .requesting = phase else { return }
        // A creation that cannot be repeated continues until the server has sent the URL of the upload.
        guard hasUpload || canRepeatCreation, current?.range?.upperBound != .max else { return }
        actions.append(.cancel)
        if isWhole { noteLastRange() }
        hasFailedCompletion = hasFailedCompletion || isCompleting
        mustRequestOffset = hasUpload && !isCompleting
        (phase, current) = (.idle, nil)
    }

    /// Whether the request in progress completes the upload.
    private var isCompleting: Bool { current?.step == .completion || current?.step == .check }

    /// Notes that the request in progress may be processed, if it has the last bytes.
    private mutating func noteLastRange() {
        if let end = current?.range?.upperBound, end == facts.total { mayBeProcessed = true }
    }

    package mutating func resume() {
        guard state == .paused else { return }
        state = .running
        failures = 0
        if phase == .waiting { phase = .idle }
        plan()
    }

    /// Ends the upload.
    package mutating func close() {
        if case .requesting = phase { actions.append(.cancel) }
        (state, phase) = (.ended, .idle)
    }

    /// Ends the upload with an error.
    package mutating func fail(_ error: NightjarError) {
        guard state != .ended else { return }
        close()
        actions.append(.fail(error))
    }

    private var canRepeatCreation: Bool { isIdempotent || rules.canRepeatCreation(facts) }

    // MARK: Planning

    private mutating func plan() {
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

    private var needsDigest: Bool {
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

    private mutating func send(_ request: UploadRequest) {
        attempts += 1
        if let end = request.range?.upperBound { sentEnd = max(sentEnd, min(end, readLimit)) }
        current = request
        phase = .requesting(request.step)
        actions.append(.request(request))
    }

    private mutating func complete() {
        isComplete = true
        close()
        actions.append(.finish)
    }

    // MARK: Events

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
        _ status: Int, _ headers: Headers, from url: RequestURL, afterWholeBody isWhole: Bool = true
    ) {
        guard case .requesting = phase, current?.range != nil else { return }
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
        _ response: UploadResponse, toWholeBody: Bool = true, using random: inout some RandomNumberGenerator
    ) {
        guard case .requesting = phase, let request = current else { return }
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
        guard let limit = progress.maximumSize, let total = facts.total, total > limit else { return true }
        fail(
            NightjarError(
                .tooLarge, "the upload failed: the content has \(total) bytes, and the server accepts \(limit)",
                phase: .receive))
        return false
    }

    /// The end of the bytes that the server can have.
    private var readLimit: Int { source == .stream ? readEnd : facts.total ?? 0 }

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
                    guard error.retryAfter ?? .zero <= TransferSettings.longestDelay else { return fail(error) }
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
        // A stream that is sent in one request cannot be read again.
        guard error.isTemporaryForTransfers, request.range?.upperBound != .max else { return fail(error) }
        if request.step == .creation, !hasUpload, error.requestMayHaveBeenProcessed,
            !canRepeatCreation
        {
            return fail(error)
        }
        if error.requestMayHaveBeenProcessed, isWhole { noteLastRange() }
        (phase, current) = (.idle, nil)
        // The server may have completed the upload.
        let wasCompleting = request.step == .completion || request.step == .check
        if wasCompleting { hasFailedCompletion = true }
        mustRequestOffset = hasUpload && !wasCompleting
        retry(error, of: request, using: &random)
    }

    /// Waits before the next request.
    private mutating func retry(
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
        let backoff = Backoff(
            base: settings.retryDelay, cap: max(settings.retryDelay, TransferSettings.longestDelay))
        phase = .waiting
        let time = backoff.wait(afterAttempt: failures, using: &random)
        waits += 1
        actions.append(.wait(waits, max(time, error?.retryAfter ?? .zero)))
    }

    /// Whether a second upload of the same content has no further effect.
    private var isRepeatable: Bool {
        switch settings.uploadProtocol {
        case .put, .s3, .oci: true
        case .resumable: facts.method == .put
        case .post, .tus: false
        }
    }

    private var streamCannotRestart: NightjarError {
        NightjarError(.contentChanged, "the server no longer has the upload, and a stream cannot be read again")
    }

    /// The size of the requests of a stream in bytes. They are held in memory, to be sent again after a failure.
    private static let streamChunk = 8 << 20

    /// Handles an upload that the server does not have any more.
    private mutating func lost() {
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
        (facts.url, facts.id, facts.partSize, facts.offset) = (nil, nil, nil, 0)
        (hasUpload, mustRequestOffset, isResuming, resumed) = (false, false, false, 0)
        (best, sentEnd, hasFailedCompletion, mayBeProcessed) = (0, 0, false, false)
        (digestedRange, hasSentEmptyRange) = (nil, false)
        plan()
    }
}

extension NightjarError {
    /// Whether a transfer sends the request again after this error.
    var isTemporaryForTransfers: Bool {
        guard retryAfter ?? .zero <= TransferSettings.longestDelay else { return false }
        return isRetryable
    }
}
