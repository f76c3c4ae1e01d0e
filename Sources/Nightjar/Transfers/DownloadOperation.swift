import NIOCore
import NightjarHTTP
import NightjarStorage
import Synchronization

/// Downloads a file. The state machine and the connections run on the client's loop, file operations on worker threads,
/// and the callbacks on the queue.
///
///     begin ──part opened──▶ transfer ──complete──▶ verify ──renamed──▶ ended
///                                └── failure, cancel ──part closed───────▲
package final class DownloadOperation: TransferOperation, @unchecked Sendable {
    /// The callbacks of a download. They run one at a time, and before `finished`.
    package struct Handlers: Sendable {
        /// Called before each request but the first one, which waits for ``DownloadOperation/connect(_:with:)``. Nil: all
        /// requests are the same.
        package var prepare: (@Sendable (DownloadOperation, _ connection: Int) -> Void)?
        /// Called with the head of each response whose body is read.
        package var head: (@Sendable (DownloadOperation, Response) -> Void)?
        /// Called about ten times a second while the progress changes. Calls are skipped while one waits in the queue.
        package var progress: (@Sendable (DownloadOperation, Download.Progress) -> Void)?

        package init() {}
    }

    /// The properties that any thread can read.
    struct Snapshot: Sendable {
        var progress = Download.Progress()
        var record: DownloadRecord?
        var file: Download.File?
    }

    private let path: String
    /// The response that has become this download, until it is received. Nil: the first request is sent. Used on the
    /// loop.
    var feed: ResponseFeed?
    let settings: DownloadSettings
    /// Released at the end, because they may refer to the download. Used on the loop.
    private(set) var handlers: Handlers
    let snapshot = Mutex(Snapshot())

    // Used on the loop:
    var schedule: DownloadSchedule
    private var place: DownloadPlace?
    /// Nil before the part is open, and after the end.
    private(set) var part: DownloadPart?
    var connections: [Int: DownloadConnection] = [:]
    /// The requests that wait for ``connect(_:with:)``, by connection.
    var pendingRequests: [Int: DownloadSchedule.RangeRequest?] = [:]
    /// The error of a download that was stopped before its part was open. Nil: it was cancelled.
    private var stopError: NightjarError?
    /// Whether a part that is open only after the stop is kept.
    private var keepsPart = true
    var isVerifying = false
    var reported = Download.Progress()

    init(
        _ client: Client, _ request: Request, to path: String, _ settings: DownloadSettings,
        on queue: CompletionQueue?, _ handlers: Handlers, as identity: TransferIdentity? = nil,
        receiving feed: ResponseFeed? = nil,
        finished: @escaping @Sendable (DownloadOperation, Result<Void, NightjarError>) -> Void
    ) {
        self.path = path
        self.feed = feed
        self.settings = settings
        self.handlers = handlers
        schedule = DownloadSchedule(settings, nil)
        super.init(
            "download", client, request, identity ?? settings.id.map { .id($0) }, maximumRate: settings.maximumRate,
            on: queue
        ) {
            transfer, result in
            if let download = transfer as? DownloadOperation { finished(download, result) }
        }
    }

    // MARK: Any thread

    package var progress: Download.Progress { snapshot.withLock { $0.progress } }
    /// The file. Nil before the download has succeeded.
    package var file: Download.File? { snapshot.withLock { $0.file } }
    /// The text with which a later download continues; see ``DownloadSettings/Resumption/state(_:)``. Nil while
    /// nothing was received, and if the content has no strong validator.
    package override var resumeState: String? { snapshot.withLock { $0.record }?.text }

    // MARK: The journal

    override func journalInput() throws(NightjarError) -> [JSONValue.Member] {
        let target = try DownloadTarget(path)
        var members = [JSONValue.Member("folder", .string(target.folder))]
        if let name = target.name { members.append(.init("name", .string(name))) }
        if let checksum = settings.checksum { members.append(.init("checksum", .string(checksum.description))) }
        return members
    }

    override var journalResult: [JSONValue.Member] { file?.members ?? [] }

    override func restore(_ result: JSONValue) {
        let file = Download.File(result)
        snapshot.withLock {
            $0.file = file
            ($0.progress.received, $0.progress.total) = (file.size, file.size)
        }
    }

    // MARK: On the loop: the progress

    override var transferred: Int { schedule.received.count }

    override func note() { note(schedule.received.isEmpty ? nil : usefulRecord) }

    override func noteEnd() {
        snapshot.withLock {
            $0.progress.state = .ended
            ($0.progress.rate, $0.progress.timeLeft) = (nil, nil)
        }
    }

    override func progressEvent() -> ProgressEvent? {
        let progress = progress
        guard let handler = handlers.progress, progress != reported else { return nil }
        reported = progress
        return ProgressEvent { [self] in handler(self, progress) }
    }

    // MARK: On the loop: the part

    override func open(_ state: String?, idempotencyKey: String?) {
        let (path, settings, request) = (path, settings, request)
        loop.transferWorkers.run("opening a download") { [client] () throws(NightjarError) in
            try DownloadPlace(path, try client.url(of: request), request.method, settings)
        } then: { [self] result in
            switch result {
            case .success(let place): if isStopping { close(place) } else { opened(place) }
            case .failure(let error): finish(.failure(isStopping ? stopError ?? DownloadOperation.cancelled : error))
            }
        }
    }

    /// Closes a part that was opened for a download that has been stopped meanwhile.
    private func close(_ place: DownloadPlace) {
        loop.transferWorkers.run("closing a download") { [keepsPart] () throws(NightjarError) in
            if place.record == nil || !keepsPart { place.part.discard() } else { place.part.close() }
        } then: { [self] _ in
            finish(.failure(stopError ?? DownloadOperation.cancelled))
        }
    }

    private func opened(_ place: DownloadPlace) {
        self.place = place
        schedule = DownloadSchedule(
            settings, place.record, canRepeat: request.method == .get && !request.body.isStreamedFromCaller)
        let events = DownloadPart.Events(
            written: { [weak self] in self?.wrote($0) },
            failed: { [weak self] in self?.stop($0, keeps: true) },
            record: { [weak self] in self?.usefulRecord })
        // A response that has become this download keeps its window.
        part = DownloadPart(
            place, connections: settings.connections, window: feed == nil ? window : ClientTask.window, on: loop, events
        )
        watchProgress()
        if startsPaused { schedule.pause() } else { schedule.start() }
        perform()
    }

    /// The facts that a later download needs. Nil if it could not continue.
    var usefulRecord: DownloadRecord? { schedule.canContinue ? schedule.record : nil }

    private func wrote(_ writes: [DownloadQueue.Write]) {
        guard !isStopping else { return }
        var count = 0
        // The bytes of a cancelled connection are requested again. They may be of another content.
        for write in writes where !write.connection.isCancelled {
            schedule.wrote(write.offset..<(write.offset + write.bytes.readableBytes), from: write.connection.number)
            count += write.bytes.readableBytes
        }
        let delay = limit?.delay(after: count, at: loop.now) ?? .zero
        if delay > .zero {
            loop.after(delay) { for write in writes { write.connection.consumed(write.credit) } }
        } else {
            for write in writes { write.connection.consumed(write.credit) }
        }
        note()
        part?.wrote(count, of: schedule.total)
    }

    // MARK: On the loop: the schedule

    /// Carries out the actions of the schedule.
    func perform() {
        while !isStopping, let action = schedule.next() {
            switch action {
            case .request(let number, let range): request(number, range)
            case .wait(let number, let wait, let time):
                loop.after(time) { [weak self] in
                    guard let self, !isStopping else { return }
                    schedule.waited(number, wait)
                    perform()
                }
            case .cancel(let number):
                connections.removeValue(forKey: number)?.cancel()
                pendingRequests[number] = nil
            case .reset: part?.reset()
            case .finish: verify()
            case .fail(let error): stop(error, keeps: true)
            }
        }
        note()
    }

    override func paused() {
        guard let part else {
            startsPaused = true
            return dropFeed()
        }
        schedule.pause()
        perform()
        part.sync()
    }

    /// Cancels a response that has become the download and cannot be received yet. Its call would not end otherwise.
    private func dropFeed() {
        guard let dropped = feed.take() else { return note() }
        dropped.cancel()
        guard request.method != .get else { return note() }
        stop(
            NightjarError(
                .contentChanged,
                "the download was paused before its response was received, and \(request.method) cannot be repeated"),
            keeps: true)
    }

    override func resumed() {
        startsPaused = false
        guard part != nil, schedule.isPaused else { return note() }
        schedule.resume()
        perform()
    }

    // MARK: On the loop: the end

    private func verify() {
        guard let place else { return }
        isVerifying = true
        let total = schedule.total ?? schedule.received.end
        part?.complete(
            place.completion(schedule, settings), total: total,
            checksums: [settings.checksum, schedule.digest].compactMap { $0 }, isCancelled: { [self] in isStopped }
        ) { [weak self] in
            self?.verified($0, total)
        }
    }

    private func verified(_ result: Result<String, NightjarError>, _ total: Int) {
        isVerifying = false
        switch result {
        case .success(let path):
            var file = Download.File()
            (file.path, file.size) = (path, total)
            (file.received, file.resumed, file.attempts) = (schedule.fetched, schedule.resumed, schedule.attempts)
            snapshot.withLock { [file] in
                $0.file = file
                $0.record = nil
            }
            finish(.success(()))
        case .failure(let error) where error.kind == .checksumMismatch:
            schedule.mismatched(error)
            perform()
        case .failure(let error): stop(error, keeps: true)
        }
    }

    /// Ends the download when the operations on its part have ended.
    ///
    /// - Parameter error: Nil: the download was cancelled.
    override func stop(_ error: NightjarError?, keeps: Bool) {
        guard !isStopping else { return }
        let isKept = keeps && !schedule.received.isEmpty && error?.kind != .checksumMismatch
        let record = isKept ? usefulRecord : nil
        note(record)
        isStopping = true
        stopError = error
        keepsPart = keeps
        let result = Result<Void, NightjarError>.failure(error ?? DownloadOperation.cancelled)
        cancelConnections()
        // A file system may hang.
        loop.after(DownloadOperation.closeTimeout) { [weak self] in self?.finish(result) }
        // If the part is being opened, it is closed afterwards.
        part?.close(keeping: record) { [self] in finish(result) }
    }

    override func released() {
        super.released()
        isStopping = true
        noteEnd()
        cancelConnections()
        feed.take()?.cancel()
        part = nil
        place = nil
        handlers = Handlers()
    }

    private func cancelConnections() {
        for connection in connections.values { connection.cancel() }
        connections = [:]
    }

    private static let cancelled = NightjarError(.cancelled, "the download was cancelled")
    private static let closeTimeout = Duration.seconds(5)
}
