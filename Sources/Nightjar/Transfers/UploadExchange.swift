import NIOCore
import NightjarHTTP

/// One request of an upload. Used on the client's loop.
final class UploadExchange: @unchecked Sendable {
    let request: UploadRequest
    private weak var upload: UploadOperation?
    private var task: ClientTask?
    private var done: (() -> Void)?
    /// Whether events are ignored; true after ``cancel()``.
    private(set) var isCancelled = false
    /// The position after the bytes that were passed to the connection.
    private var position: Int
    /// Whether the connection has received the end of a body of unknown length.
    private var hasSentEnd = false
    /// Changes when the body is sent again. Parts that were read before are then discarded.
    private(set) var generation = 0
    /// The number of body bytes that the connection has accepted.
    private(set) var sent = 0

    init(_ request: UploadRequest, of upload: UploadOperation) {
        self.request = request
        self.upload = upload
        position = request.range?.lowerBound ?? 0
    }

    /// Starts the request.
    ///
    /// - Parameters:
    ///   - base: The caller's request.
    ///   - done: Called at the end instead of the upload. Nil: the upload is notified.
    func start(_ base: Request, then done: (() -> Void)? = nil) throws(NightjarError) {
        guard let upload else { return }
        self.done = done
        var handlers = TaskHandlers { [self] _, result in ended(result) }
        handlers.interim = { [self] head, url in
            if !isCancelled { self.upload?.received(interim: head, from: url, self) }
        }
        let request = try makeRequest(base, of: upload)
        if request.body.isStreamedFromCaller {
            handlers.provideBody = { [self] _, maximum in provide(maximum) }
            if let range = self.request.range, upload.canRewind(range) {
                handlers.rewindBody = { [self] _ in rewind() }
            }
            handlers.progress = { [self] _, progress in
                guard !isCancelled else { return }
                sent = progress.sent
                self.upload?.note()
            }
        }
        handlers.decisionQueue = upload.queue
        task = try upload.client.start(request, on: nil, handlers)
    }

    /// Makes the request from that of the caller. A server at another origin does not receive the caller's fields.
    private func makeRequest(_ base: Request, of upload: UploadOperation) throws(NightjarError) -> Request {
        var made = base
        made.method = request.method
        // The ranges of the protocols are those of the content.
        made.compresses = false
        if let url = request.url {
            (made.parameters, made.query) = ([], [])
            made.resolved = request.query.isEmpty ? url : url.appending(request.query)
            if try upload.client.url(of: base).origin != url.origin {
                made.headers = Headers()
                upload.client.removeCredentials(from: &made)
            }
        } else {
            made.query += request.query
        }
        made.idempotencyKey = .none
        if request.step != .creation {
            made.headers.remove(IdempotencyKey.fieldName)
        } else if let key = upload.idempotencyKey {
            try made.headers.set(IdempotencyKey.fieldName, key)
        }
        for (name, value) in request.headers {
            // A type that the caller has set describes the content.
            let isGiven =
                name == "Content-Type" && request.step == .creation && value == upload.contentType
                && made.headers[name] != nil
            if !isGiven { try made.headers.set(name, value) }
        }
        switch request.body {
        case .none: made.body = request.method == .post || request.method == .put ? .bytes(ByteBuffer()) : .none
        case .text(let text): made.body = .bytes(ByteBuffer(string: text))
        case .content(let range): made.body = upload.body(range)
        }
        if request.step != .creation { made.expectsContinue = made.expectsContinue ?? false }
        made.expectedStatuses = [request.statuses]
        made.prepareForLongExchange()
        // The upload decides about another attempt, and counts it.
        var retry = made.retry ?? RetryChanges()
        retry.maximumAttempts = 1
        made.retry = retry
        return made
    }

    func cancel() {
        noteSent()
        isCancelled = true
        task.take()?.cancel()
    }

    // MARK: The body

    private func rewind() {
        generation += 1
        position = request.range?.lowerBound ?? 0
    }

    private func provide(_ maximum: Int) -> TaskHandlers.BodyPart {
        guard !isCancelled, let upload, let range = request.range else { return .failed("the upload has ended") }
        guard position < range.upperBound else { return .end }
        let (end, isTooMuch) = position.addingReportingOverflow(maximum)
        upload.provide(position..<min(isTooMuch ? .max : end, range.upperBound), to: self)
        return .later
    }

    /// Sends a part of the body.
    ///
    /// - Parameter generation: The value of ``generation`` when the part was requested.
    func send(_ part: TaskHandlers.BodyPart, of generation: Int) {
        guard !isCancelled, generation == self.generation else { return }
        switch part {
        case .bytes(let bytes): position += bytes.readableBytes
        case .end: hasSentEnd = true
        case .later, .failed: break
        }
        task?.provide(part)
    }

    /// Whether the connection has received the whole body.
    var isWhole: Bool {
        guard let range = request.range else { return true }
        return range.upperBound == .max ? hasSentEnd : position == range.upperBound
    }

    // MARK: The end

    /// Counts the bytes that were passed to the connection since the last progress.
    private func noteSent() {
        if let range = request.range { sent = max(sent, position - range.lowerBound) }
    }

    private func ended(_ result: Result<Response, NightjarError>) {
        task = nil
        guard !isCancelled else { return }
        if let done = done.take() { return done() }
        noteSent()
        upload?.ended(self, result)
    }
}

extension RequestURL {
    /// Returns a copy with further items of the query.
    fileprivate func appending(_ items: [(name: String, value: String)]) -> RequestURL {
        var added = ByteBuffer()
        for (name, value) in items {
            let isFirst = query == nil && added.readableBytes == 0
            added.writeString(isFirst ? "?" : "&")
            PercentEncoding.writeComponent(name, into: &added)
            added.writeString("=")
            PercentEncoding.writeComponent(value, into: &added)
        }
        return RequestURL(
            origin: origin, target: target + String(buffer: added), userInfo: userInfo, sensitive: sensitive)
    }
}
