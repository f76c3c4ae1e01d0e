import NIOCore
import NightjarCrypto
import NightjarHTTP
import Synchronization

/// Uploads a file or a stream. The state machine and the requests run on the client's loop, file operations on worker
/// threads, and the callbacks on the queue.
///
///     begin ──file opened──▶ transfer ──complete──▶ ended
///                               └── failure, cancel ──upload removed, if requested──▶ ended
package final class UploadOperation: TransferOperation, @unchecked Sendable {
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

    private let content: Content
    private var settings: UploadSettings
    /// Released at the end, because they may refer to the upload. Used on the loop.
    private(set) var handlers: Handlers
    let snapshot = Mutex(Snapshot())

    // Used on the loop:
    /// Nil before the file is open.
    var schedule: UploadSchedule?
    private(set) var file: UploadContent?
    private(set) var stream: UploadStream?
    var exchange: UploadExchange?
    /// The request that waits for the journal or for ``connect(with:)``.
    var pendingRequest: UploadRequest?
    /// Whether the caller prepares ``pendingRequest``, which the journal has.
    var isPreparedByCaller = false
    /// Changes with each request, and when a request is cancelled.
    var preparation = 0
    /// The idempotency key of all attempts. Nil: none is sent.
    private(set) var idempotencyKey: String?
    /// The state in the journal.
    private var savedRecord: UploadRecord?
    /// The error of the file, which explains the failure of the request that sent it.
    var contentError: NightjarError?
    var response: Response?
    /// The request that sends a stream of unknown length as its body.
    weak var streamTarget: UploadExchange?
    /// The state of the caller's source.
    var deferral = BodyDeferral()
    /// The maximum size of the part that was last requested from the source.
    var requestedBytes = 0
    /// The body bytes that the ended requests have sent.
    var sentBefore = 0
    var reported = Upload.Progress()

    init(
        _ client: Client, _ request: Request, _ content: Content, _ settings: UploadSettings,
        on queue: CompletionQueue?, _ handlers: Handlers, as identity: TransferIdentity? = nil,
        finished: @escaping @Sendable (UploadOperation, Swift.Result<Void, NightjarError>) -> Void
    ) {
        self.content = content
        self.settings = settings
        self.handlers = handlers
        idempotencyKey = request.headers[IdempotencyKey.fieldName]
        super.init(
            "upload", client, request, identity ?? settings.id.map { .id($0) }, maximumRate: settings.maximumRate,
            on: queue
        ) {
            transfer, result in
            if let upload = transfer as? UploadOperation { finished(upload, result) }
        }
    }

    // MARK: Any thread

    package var progress: Upload.Progress { snapshot.withLock { $0.progress } }
    /// The result. Nil before the upload has succeeded.
    package var result: Upload.Result? { snapshot.withLock { $0.result } }
    /// The text with which a later upload continues; see ``UploadSettings/resumeState``. Nil before the server has
    /// created the upload, after the end of a complete one, and for streams, put and post.
    package override var resumeState: String? { snapshot.withLock { $0.record }?.text }

    // MARK: The journal

    override func journalInput() throws(NightjarError) -> [JSONValue.Member] {
        guard case .file(let path) = content else { return [] }
        return [
            .init("protocol", .string(settings.uploadProtocol.rawValue)),
            .init("file", .string(try FilePath.absolute(path))),
        ]
    }

    override func journalContent() throws(NightjarError) -> [JSONValue.Member] {
        guard case .file(let path) = content else { return [] }
        let identity = try UploadContent(path).identity
        return [.init("size", .integer(Int64(identity.size))), .init("modified", .integer(identity.modified))]
    }

    override var canRepeat: Bool { request.isIdempotent || idempotencyKey != nil }

    override var journalResult: [JSONValue.Member] { result?.members ?? [] }

    override func restore(_ result: JSONValue) {
        let result = Upload.Result(result)
        snapshot.withLock { $0.result = result }
    }

    // MARK: On the loop: the progress

    override var transferred: Int { sentBefore + (exchange?.sent ?? 0) }

    override func note() {
        guard !isStopping else { return }
        let (progress, record) = (presentProgress, schedule?.record)
        snapshot.withLock { ($0.progress, $0.record) = (progress, record) }
        if let entry, record != savedRecord {
            savedRecord = record
            entry.save(record?.text)
        }
    }

    override func noteEnd() {
        snapshot.withLock {
            $0.progress.state = .ended
            if let result = $0.result { ($0.progress.sent, $0.progress.total) = (result.size, result.size) }
            ($0.progress.rate, $0.progress.timeLeft) = (nil, nil)
        }
    }

    override func progressEvent() -> ProgressEvent? {
        let progress = progress
        guard let handler = handlers.progress, progress != reported else { return nil }
        reported = progress
        return ProgressEvent { [self] in handler(self, progress) }
    }

    // MARK: On the loop: the start

    override func open(_ state: String?, idempotencyKey: String?) {
        settings.resumeState = state ?? settings.resumeState
        self.idempotencyKey = idempotencyKey ?? self.idempotencyKey
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
                isIdempotent: canRepeat, source,
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
    func update(_ body: (inout UploadSchedule) -> Void) {
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
            case .fail(let error): stop(error, keeps: true)
            }
        }
        note()
    }

    override func paused() {
        startsPaused = schedule == nil
        update { $0.pause(afterWholeBody: exchange?.isWhole ?? true) }
        note()
    }

    override func resumed() {
        startsPaused = false
        update { $0.resume() }
        note()
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
    override func stop(_ error: NightjarError?, keeps: Bool) {
        guard !isStopping else { return }
        if let exchange { schedule?.cancelled(afterWholeBody: exchange.isWhole) }
        note()
        let removal = keeps ? nil : schedule?.termination
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

    override func released() {
        super.released()
        isStopping = true
        noteEnd()
        cancelExchange()
        (file, stream, handlers) = (nil, nil, Handlers())
    }

    private static let cancelled = NightjarError(.cancelled, "the upload was cancelled")
    private static let removalTimeout = Duration.seconds(5)
}
