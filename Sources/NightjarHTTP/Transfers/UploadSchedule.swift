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
        /// Send the request, and then call ``responded(_:toWholeBody:using:)`` or ``failed(_:afterWholeBody:using:)``.
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
    let isIdempotent: Bool
    package internal(set) var facts: UploadFacts
    var rules: any UploadRules
    var state = State.running
    var phase = Phase.idle
    var current: UploadRequest?
    var actions: [Action] = []
    /// Whether the upload exists on the server.
    var hasUpload = false
    /// Whether the number of bytes that the server has must be requested.
    var mustRequestOffset = false
    /// The number of bytes of the stream that were read, and whether it has ended.
    var readEnd = 0
    var streamHasEnded = false
    /// The first byte of the stream that can be read again.
    var readStart = 0
    /// The range whose digest is known, or is computed.
    var digestedRange: Range<Int>?
    /// Whether the digest of the whole content was computed.
    var hasDigest = false
    /// Whether an empty range was sent. Some protocols require it for an empty content.
    var hasSentEmptyRange = false
    /// Whether a request that completes the upload has failed, so that the upload may be complete.
    var hasFailedCompletion = false
    /// Whether a request with the last bytes has failed, so that the server may have processed the content.
    var mayBeProcessed = false
    /// The number of waits.
    var waits = 0
    package internal(set) var isComplete = false
    /// Whether the last response is that of the resource. False if the server has reported the upload complete, because the
    /// response was lost.
    package internal(set) var isResponseFinal = false
    /// The end of the bytes that were sent.
    var sentEnd = 0
    /// The largest number of bytes that the server had.
    var best = 0
    /// The number of times that the server had fewer bytes than before.
    var losses = 0
    /// The number of failures since the server has had new bytes.
    var failures = 0
    /// The number of times that the upload has started over.
    var restarts = 0
    /// The number of bytes that the server had from an earlier upload.
    package internal(set) var resumed = 0
    /// Whether the first request for the offset of a continued upload has no response yet.
    var isResuming = false
    /// The number of requests.
    package internal(set) var attempts = 0

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

    mutating func use(_ record: UploadRecord) throws(NightjarError) {
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
        (hasFailedCompletion, mayBeProcessed) = (record.isCompleting, record.mayBeProcessed)
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
        record.mayBeProcessed = mayBeProcessed || isSendingLastRange
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
    mutating func interrupt(afterWholeBody isWhole: Bool) {
        guard case .requesting = phase else { return }
        // A creation that cannot be repeated continues until the server has sent the URL of the upload.
        guard hasUpload || canRepeatCreation, current?.range?.upperBound != .max else { return }
        actions.append(.cancel)
        mustRequestOffset = hasUpload && !isCompleting
        cancelled(afterWholeBody: isWhole)
    }

    /// Notes that the request in progress was cancelled.
    package mutating func cancelled(afterWholeBody isWhole: Bool) {
        guard case .requesting = phase else { return }
        if isWhole { noteLastRange() }
        hasFailedCompletion = hasFailedCompletion || isCompleting
        (phase, current) = (.idle, nil)
    }

    /// Whether the request in progress completes the upload.
    var isCompleting: Bool { current?.step == .completion || current?.step == .check }

    /// Notes that the request in progress may be processed, if it has the last bytes.
    mutating func noteLastRange() { mayBeProcessed = mayBeProcessed || isSendingLastRange }

    private var isSendingLastRange: Bool {
        guard case .requesting = phase, let end = current?.range?.upperBound else { return false }
        return end == facts.total
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

    /// Whether the request in progress must not be repeated after its response was lost, unless it has an idempotency key.
    package var needsIntent: Bool {
        current?.step == .creation && current?.range != nil && !rules.canRepeatCreation(facts)
    }

    var canRepeatCreation: Bool { isIdempotent || rules.canRepeatCreation(facts) }

    /// The size of the requests of a stream in bytes. They are held in memory, to be sent again after a failure.
    private static let streamChunk = 8 << 20
}
