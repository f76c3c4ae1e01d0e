import NIOCore
import NightjarCrypto
import NightjarHTTP
import Synchronization

/// Uploads a file or a stream. The state machine and the requests run on the client's loop, file operations on worker
/// threads, and the callbacks on the queue.
///
///     begin ──file opened──▶ transfer ──complete──▶ ended
///                               └── failure, cancel ──upload removed, if requested──▶ ended
package final class UploadOperation: ClientOperation, @unchecked Sendable {
    /// The callbacks of an upload. They run one at a time, and before `finished`.
    package struct Handlers: Sendable {
        /// Called before each request but the first one. The request then waits for ``UploadOperation/connect(with:)``.
        /// Nil: the caller's request is used for all.
        package var prepare: (@Sendable (UploadOperation) -> Void)?
        /// Called about ten times a second while the progress changes. Calls are skipped while one waits in the queue.
        package var progress: (@Sendable (UploadOperation, Upload.Progress) -> Void)?
        /// Returns the next bytes of a stream, at most this number, or `.later` and calls
        /// ``UploadOperation/provide(_:)``. Nil: the content is a file.
        package var read: (@Sendable (UploadOperation, Int) -> TaskHandlers.BodyPart)?

        package init() {}
    }

    /// The content of an upload.
    package enum Content: Sendable {
        /// The path of a file.
        case file(String)
        /// The bytes that ``Handlers/read`` returns.
        case stream
    }

    /// The properties that any thread can read.
    struct Snapshot: Sendable {
        var progress = Upload.Progress()
        var record: UploadRecord?
        var result: Upload.Result?
    }

    let client: Client
    let request: Request
    private let content: Content
    private let settings: UploadSettings
    let handlers: Handlers
    let snapshot = Mutex(Snapshot())
    private let wasStopped = Atomic<Bool>(false)
    /// Whether a progress event waits in the queue.
    let hasProgressEvent = Atomic<Bool>(false)

    // Used on the loop:
    /// Nil before the file is open.
    var schedule: UploadSchedule?
    private var file: UploadContent?
    private(set) var stream: UploadStream?
    private(set) var exchange: UploadExchange?
    /// The request that waits for ``connect(with:)``.
    private var pendingRequest: UploadRequest?
    private var hasSentRequest = false
    private(set) var isStopping = false
    private(set) var startsPaused = false
    /// The error of the file, which explains the failure of the request that sent it.
    private var contentError: NightjarError?
    private var response: Response?
    private var limit: TransferLimit?
    var sentBefore = 0
    var rate = TransferRate()
    var reported = Upload.Progress()
    private var random = SystemRandomNumberGenerator()

    init(
        _ client: Client, _ request: Request, _ content: Content, _ settings: UploadSettings,
        on queue: CompletionQueue?, _ handlers: Handlers,
        finished: @escaping @Sendable (UploadOperation, Swift.Result<Void, NightjarError>) -> Void
    ) {
        self.client = client
        self.request = request
        self.content = content
        self.settings = settings
        self.handlers = handlers
        limit = settings.maximumRate.map { TransferLimit($0) }
        let own = WeakUpload()
        super.init("the upload", on: client.loop, queue: queue, timeout: nil) { result in
            if let upload = own.upload { finished(upload, result) }
        }
        own.upload = self
    }

    // MARK: Any thread

    package var progress: Upload.Progress { snapshot.withLock { $0.progress } }
    /// The result. Nil before the upload has succeeded.
    package var result: Upload.Result? { snapshot.withLock { $0.result } }
    /// The text with which a later upload continues; see ``UploadSettings/resumeState``. Nil before the server has
    /// created the upload, after the end of a complete one, and for streams, put and post.
    package var resumeState: String? { snapshot.withLock { $0.record }?.text }

    /// Ends the upload with the error `cancelled`.
    ///
    /// - Parameter keepsUpload: Whether a later upload can continue. If false, the server is requested to remove the
    ///   upload.
    package func cancel(keepsUpload: Bool) {
        guard !isFinished, !wasStopped.exchange(true, ordering: .relaxed) else { return }
        loop.submit(.run { [self] in stop(nil, keepsUpload: keepsUpload) })
    }

    public override func cancel() { cancel(keepsUpload: true) }

    /// Whether the caller has cancelled the upload.
    var isStopped: Bool { wasStopped.load(ordering: .relaxed) }

    /// Cancels the request in progress, unless it could not be repeated.
    package func pause() { loop.submit(.run { [self] in if !isStopping { paused() } }) }

    /// Continues a paused upload.
    package func resume() { loop.submit(.run { [self] in if !isStopping { resumed() } }) }

    // MARK: On the loop: the start

    override func begin() {
        switch content {
        case .file(let path):
            loop.transferWorkers.run("opening a file to upload") { () throws(NightjarError) in
                try UploadContent(path)
            } then: { [self] result in
                guard !isStopping else { return finish(.failure(UploadOperation.cancelled)) }
                switch result {
                case .success(let opened):
                    file = opened
                    start(.file(opened.identity), FileType.contentType(of: path))
                case .failure(let error): finish(.failure(error))
                }
            }
        case .stream:
            let function: HashFunction? = settings.uploadProtocol == .oci ? .sha256 : nil
            stream = UploadStream(hashing: function) { [weak self] in self?.requestPart($0) }
            start(.stream, FileType.contentType(of: ""))
        }
    }

    private func start(_ source: UploadSchedule.Source, _ guessedType: String) {
        do throws(NightjarError) {
            schedule = try UploadSchedule(
                settings, method: request.method, url: try client.url(of: request),
                isIdempotent: request.isIdempotent || request.headers[IdempotencyKey.fieldName] != nil, source,
                contentType: settings.contentType ?? guessedType)
        } catch {
            return finish(.failure(error))
        }
        watchProgress()
        if startsPaused { schedule?.pause() }
        schedule?.start()
        perform()
    }

    // MARK: On the loop: the schedule

    /// Changes the schedule, and carries out its actions.
    private func update(_ body: (inout UploadSchedule) -> Void) {
        guard !isStopping, var changed = schedule.take() else { return }
        body(&changed)
        schedule = changed
        perform()
    }

    private func perform() {
        while !isStopping, let action = schedule?.next() {
            switch action {
            case .request(let request): prepare(request)
            case .read(let from, let until):
                stream?.read(from: from, until: until) { [weak self] end, isAtEnd in
                    self?.update { $0.read(until: end, isAtEnd: isAtEnd) }
                }
            case .digest(let range, let algorithm): digest(range, algorithm)
            case .wait(let number, let time):
                loop.after(time) { [weak self] in self?.update { $0.waited(number) } }
            case .cancel: cancelExchange()
            case .finish: complete()
            case .fail(let error): stop(error, keepsUpload: true)
            }
        }
        note()
    }

    private func paused() {
        startsPaused = schedule == nil
        update { $0.pause(afterWholeBody: exchange?.isWhole ?? true) }
        note()
    }

    private func resumed() {
        startsPaused = false
        update { $0.resume() }
        note()
    }

    private func digest(_ range: Range<Int>?, _ algorithm: Checksum.Algorithm) {
        guard let file else {
            guard let range else {
                guard let digest = stream?.digest else {
                    return stop(.noMemory(1024, for: "a digest"), keepsUpload: true)
                }
                return update { $0.digested(Checksum(algorithm, digest)) }
            }
            guard let hash = RunningHash(HashFunction(algorithm)), let bytes = stream?.bytes(range) else {
                return stop(.noMemory(1024, for: "a digest"), keepsUpload: true)
            }
            bytes.withUnsafeReadableBytes { hash.update($0) }
            return update { $0.digested(Checksum(algorithm, hash.finish())) }
        }
        loop.transferWorkers.run("computing the digest of an upload") { [self] () throws(NightjarError) in
            try file.digest(range, algorithm, isCancelled: { self.isStopped || self.isFinished })
        } then: { [weak self] result in
            switch result {
            case .success(let checksum): self?.update { $0.digested(checksum) }
            case .failure(let error): self?.stop(error, keepsUpload: true)
            }
        }
    }

    // MARK: On the loop: requests

    private func prepare(_ request: UploadRequest) {
        guard hasSentRequest, let prepare = handlers.prepare else {
            hasSentRequest = true
            return send(request, self.request)
        }
        pendingRequest = request
        loop.post(.run { [self] in if !isStopped { prepare(self) } }, to: queue)
    }

    /// Sends the request for which ``Handlers/prepare`` was called. Any thread.
    package func connect(with base: Request) {
        loop.submit(
            .run { [self] in
                guard !isStopping, let request = pendingRequest.take() else { return }
                send(request, base)
            })
    }

    private func send(_ request: UploadRequest, _ base: Request) {
        let exchange = UploadExchange(request, of: self)
        self.exchange = exchange
        do throws(NightjarError) {
            try exchange.start(base)
        } catch {
            let isClosed = error.kind == .closed
            stop(
                isClosed ? NightjarError(.cancelled, "the client was closed during the upload") : error,
                keepsUpload: true)
        }
    }

    func received(interim head: ResponseHead, from url: RequestURL, _ exchange: UploadExchange) {
        guard self.exchange === exchange else { return }
        update { $0.interim(head.status, head.headers, from: url, afterWholeBody: exchange.isWhole) }
    }

    func ended(_ exchange: UploadExchange, _ result: Swift.Result<Response, NightjarError>) {
        guard self.exchange === exchange, !isStopping else { return }
        switch result {
        case .success(let response):
            checkContent(after: exchange) { [weak self] in self?.responded(exchange, response) }
        case .failure(let error):
            release(exchange)
            let error = contentError.take() ?? error
            update { $0.failed(error, afterWholeBody: exchange.isWhole, using: &random) }
        }
    }

    private func responded(_ exchange: UploadExchange, _ response: Response) {
        // The upload may have been paused during the check.
        guard self.exchange === exchange, !isStopping else { return }
        release(exchange)
        self.response = response
        let found = UploadResponse(status: response.status, response.headers, response.body, url: response.location)
        update { $0.responded(found, toWholeBody: exchange.isWhole, using: &random) }
    }

    private func release(_ exchange: UploadExchange) {
        sentBefore += exchange.sent
        self.exchange = nil
    }

    /// Checks that the file has not changed while it was sent.
    private func checkContent(after exchange: UploadExchange, then next: @escaping () -> Void) {
        guard let file, exchange.request.range != nil else { return next() }
        let next = LoopAction(run: next)
        loop.transferWorkers.run("checking an uploaded file") { () throws(NightjarError) in
            try file.check()
        } then: { [weak self] result in
            switch result {
            case .success: next.run()
            case .failure(let error): self?.stop(error, keepsUpload: true)
            }
        }
    }

    private func cancelExchange() {
        guard let cancelled = exchange.take() else { return pendingRequest = nil }
        cancelled.cancel()
        sentBefore += cancelled.sent
        pendingRequest = nil
    }

    // MARK: On the loop: the content

    /// Whether the body of a request can be sent again.
    func canRewind(_ range: Range<Int>) -> Bool { file != nil || range.upperBound != .max }
    /// The media type of the content.
    var contentType: String { schedule?.facts.contentType ?? "" }

    /// Returns the body of a request.
    func body(_ range: Range<Int>) -> RequestBody {
        .stream(length: range.upperBound == .max ? nil : range.count)
    }

    /// Reads bytes for a request.
    func provide(_ range: Range<Int>, to exchange: UploadExchange) {
        let generation = exchange.generation
        guard let file else {
            if exchange.request.range?.upperBound != .max, let bytes = stream?.bytes(range) {
                return send(.bytes(bytes), to: exchange, generation)
            }
            streamTarget = exchange
            return requestPart(range.count)
        }
        loop.transferWorkers.run("reading a file to upload") { () throws(NightjarError) in
            try file.read(range)
        } then: { [weak self] result in
            switch result {
            case .success(let bytes) where bytes.readableBytes == range.count:
                self?.send(.bytes(bytes), to: exchange, generation)
            case .success:
                self?.fail(
                    NightjarError(.contentChanged, "the file was truncated during its upload; upload it again"),
                    exchange, generation)
            case .failure(let error): self?.fail(error, exchange, generation)
            }
        }
    }

    private func fail(_ error: NightjarError, _ exchange: UploadExchange, _ generation: Int) {
        contentError = error
        exchange.send(.failed(error.message), of: generation)
    }

    /// Sends a part, when the maximum rate allows it.
    private func send(_ part: TaskHandlers.BodyPart, to exchange: UploadExchange, _ generation: Int) {
        guard case .bytes(let bytes) = part,
            let delay = limit?.delay(after: bytes.readableBytes, at: loop.now), delay > .zero
        else {
            return exchange.send(part, of: generation)
        }
        loop.after(delay) { exchange.send(part, of: generation) }
    }

    /// The request that sends a stream of unknown length as its body.
    private weak var streamTarget: UploadExchange?

    private func requestPart(_ maximum: Int) {
        loop.post(
            .run { [self] in
                guard !isStopped else { return }
                provide(handlers.read?(self, maximum) ?? .end)
            }, to: queue)
    }

    /// Provides the next part of a stream. Any thread.
    package func provide(_ part: TaskHandlers.BodyPart) {
        if case .later = part { return }
        loop.submit(.run { [self] in provided(part) })
    }

    private func provided(_ part: TaskHandlers.BodyPart) {
        guard !isStopping else { return }
        switch part {
        case .failed(let message):
            stop(NightjarError(.invalidRequest, "the stream to upload has failed: \(message)"), keepsUpload: true)
        case .later: break
        case .bytes, .end:
            if let streamTarget { return send(part, to: streamTarget, streamTarget.generation) }
            if case .bytes(let bytes) = part { stream?.received(bytes) } else { stream?.ended() }
        }
    }

    // MARK: On the loop: the end

    private func complete() {
        guard let schedule else { return }
        var result = Upload.Result()
        result.size = schedule.facts.total ?? sentBefore
        (result.sent, result.resumed, result.attempts) = (sentBefore, schedule.resumed, schedule.attempts)
        result.url = response.flatMap { finalURL($0) } ?? schedule.facts.url?.description
        result.response = schedule.isResponseFinal ? response : nil
        snapshot.withLock { [result] in
            $0.result = result
            $0.record = nil
        }
        finish(.success(()))
    }

    /// The URL of a resource that the last response has created.
    private func finalURL(_ response: Response) -> String? {
        guard response.headers["location"] != nil else { return nil }
        let last = UploadResponse(status: response.status, response.headers, url: response.location)
        return (try? last.location())?.description
    }

    /// Ends the upload.
    ///
    /// - Parameter error: Nil: the upload was cancelled.
    func stop(_ error: NightjarError?, keepsUpload: Bool) {
        guard !isStopping else { return }
        note()
        let removal = keepsUpload ? nil : schedule?.termination
        isStopping = true
        cancelExchange()
        let result = Swift.Result<Void, NightjarError>.failure(error ?? UploadOperation.cancelled)
        guard let removal else { return finish(result) }
        snapshot.withLock { $0.record = nil }
        remove(removal) { [weak self] in self?.finish(result) }
    }

    /// Requests the removal of the upload. Its failure is not an error: servers remove unfinished uploads after a time.
    private func remove(_ removal: UploadRequest, then next: @escaping () -> Void) {
        let exchange = UploadExchange(removal, of: self)
        let next = LoopAction(run: next)
        loop.after(UploadOperation.removalTimeout) {
            exchange.cancel()
            next.run()
        }
        do throws(NightjarError) {
            try exchange.start(request, then: { next.run() })
        } catch {
            next.run()
        }
    }

    private func finish(_ result: Swift.Result<Void, NightjarError>) {
        guard !hasEnded else { return }
        noteEnd()
        reportProgress(isLast: true)
        end(result)
    }

    override func released() {
        isStopping = true
        noteEnd()
        cancelExchange()
        (file, stream) = (nil, nil)
    }

    private static let cancelled = NightjarError(.cancelled, "the upload was cancelled")
    private static let removalTimeout = Duration.seconds(5)
}

/// An action that runs on the loop.
private struct LoopAction: @unchecked Sendable {
    let run: () -> Void
}

/// An upload's reference to itself. Written once, before the upload starts.
private final class WeakUpload: @unchecked Sendable {
    weak var upload: UploadOperation?
}
