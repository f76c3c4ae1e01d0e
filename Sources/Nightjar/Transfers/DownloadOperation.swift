import NIOCore
import NightjarCrypto
import NightjarHTTP
import NightjarStorage
import Synchronization

/// Downloads a file. The state machine and the connections run on the client's loop, file operations on worker threads,
/// and the callbacks on the queue.
///
///     begin ──part opened──▶ transfer ──complete──▶ verify ──renamed──▶ ended
///                                └── failure, cancel ──part closed───────▲
package final class DownloadOperation: ClientOperation, @unchecked Sendable {
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
    private struct Snapshot: Sendable {
        var progress = Download.Progress()
        var record: DownloadRecord?
        var file: Download.File?
    }

    let client: Client
    private let request: Request
    private let path: String
    private let settings: DownloadSettings
    private let handlers: Handlers
    private let snapshot = Mutex(Snapshot())
    private let wasStopped = Atomic<Bool>(false)
    private let hasProgressEvent = Atomic<Bool>(false)

    // Used on the loop:
    private var schedule: DownloadSchedule
    private var place: DownloadPlace?
    private var files: DownloadQueue?
    private var connections: [Int: DownloadConnection] = [:]
    /// The requests that wait for ``connect(_:with:)``.
    private var pendingRequests: [Int: DownloadSchedule.RangeRequest?] = [:]
    private var isFirstRequest = true
    private var isStopping = false
    /// The error of a download that was stopped before its part was open. Nil: it was cancelled.
    private var stopError: NightjarError?
    /// Whether the download was paused before its part was open.
    private var startsPaused = false
    /// Whether the part has no gaps and was written from its beginning.
    private var isSequential = true
    private var synced = RangeSet()
    /// The bytes that were written since the last record, and since the last sync.
    private var unrecorded = 0
    private var unsynced = 0
    private var limit: TransferLimit?
    private var rate = TransferRate()
    private var state = Download.State.connecting
    private var reported = Download.Progress()
    private var random = SystemRandomNumberGenerator()

    init(
        _ client: Client, _ request: Request, to path: String, _ settings: DownloadSettings,
        on queue: CompletionQueue?, _ handlers: Handlers,
        finished: @escaping @Sendable (DownloadOperation, Result<Void, NightjarError>) -> Void
    ) {
        self.client = client
        self.request = request
        self.path = path
        self.settings = settings
        self.handlers = handlers
        schedule = DownloadSchedule(settings, nil)
        limit = settings.maximumRate.map { TransferLimit($0) }
        let own = WeakDownload()
        super.init("the download", on: client.loop, queue: queue, timeout: nil) { result in
            if let download = own.download { finished(download, result) }
        }
        own.download = self
    }

    // MARK: Any thread

    package var progress: Download.Progress { snapshot.withLock { $0.progress } }
    /// The file. Nil before the download has succeeded.
    package var file: Download.File? { snapshot.withLock { $0.file } }
    /// The text with which a later download continues; see ``DownloadSettings/Resumption/state(_:)``. Empty while
    /// nothing was received, and if the content has no strong validator.
    package var resumeState: String { snapshot.withLock { $0.record }?.text ?? "" }

    /// Ends the download with the error `cancelled` when its part is closed.
    ///
    /// - Parameter keepsPart: Whether a later download can continue the part.
    package func cancel(keepsPart: Bool) {
        guard !isFinished, !wasStopped.exchange(true, ordering: .relaxed) else { return }
        loop.submit(.run { [self] in stop(nil, keepsPart: keepsPart) })
    }

    public override func cancel() { cancel(keepsPart: true) }

    private var isStopped: Bool { wasStopped.load(ordering: .relaxed) }

    /// Cancels the requests in progress. The part is kept.
    package func pause() { loop.submit(.run { [self] in if !hasEnded, !isStopping { paused() } }) }

    /// Continues a paused download.
    package func resume() {
        loop.submit(
            .run { [self] in
                startsPaused = false
                guard !hasEnded, !isStopping, files != nil, schedule.isPaused else { return }
                schedule.resume()
                perform()
            })
    }

    /// Sends a request for which ``Handlers/prepare`` was called.
    package func connect(_ number: Int, with request: Request) {
        loop.submit(
            .run { [self] in
                guard !hasEnded, let connection = connections[number],
                    let range = pendingRequests.removeValue(forKey: number)
                else { return }
                start(connection, request, range)
            })
    }

    // MARK: On the loop: the part

    override func begin() {
        let (path, settings, request) = (path, settings, request)
        loop.workers.run("opening a download") { [client] () throws(NightjarError) in
            try DownloadPlace(path, try client.url(of: request), settings)
        } then: { [self] result in
            switch result {
            case .success(let place): if isStopping { close(place) } else { opened(place) }
            case .failure(let error): finish(isStopping ? stopError : error)
            }
        }
    }

    /// Closes a part that was opened for a download that has been stopped meanwhile.
    private func close(_ place: DownloadPlace) {
        loop.workers.run("closing a download") { () throws(NightjarError) in
            if place.record == nil { place.part.discard() } else { place.part.close() }
        } then: { [self] _ in
            finish(stopError)
        }
    }

    private func opened(_ place: DownloadPlace) {
        self.place = place
        schedule = DownloadSchedule(settings, place.record, canRepeat: request.method == .get)
        isSequential = settings.connections == 1 && place.record?.isSequential != false
        synced = place.record?.synced ?? RangeSet()
        files = DownloadQueue(place.part, on: loop.workers) { [weak self] in
            self?.wrote($0)
        } failed: { [weak self] in
            self?.stop($0, keepsPart: true)
        }
        watchProgress()
        // The length of a part that is written by several connections is not the number of received bytes.
        if !isSequential, place.record?.isSequential == true { record() }
        if startsPaused { schedule.pause() } else { schedule.start() }
        perform()
    }

    private func wrote(_ writes: [DownloadQueue.Write]) {
        guard !hasEnded, !isStopping else { return }
        var count = 0
        for write in writes {
            schedule.wrote(write.offset..<(write.offset + write.bytes.readableBytes), from: write.connection.number)
            count += write.bytes.readableBytes
        }
        unrecorded += count
        unsynced += count
        let delay = limit?.delay(after: count, at: loop.now) ?? .zero
        if delay > .zero {
            loop.after(delay) { for write in writes { write.connection.consumed(write.credit) } }
        } else {
            for write in writes { write.connection.consumed(write.credit) }
        }
        note()
        if unsynced >= DownloadOperation.syncInterval {
            sync()
        } else if !isSequential, unrecorded >= max(DownloadOperation.recordInterval, (schedule.total ?? 0) / 1024) {
            record()
        }
    }

    /// Writes the state file.
    private func record() {
        unrecorded = 0
        guard schedule.canContinue else { return }
        let record = makeRecord()
        files?.work { part throws(NightjarError) in
            try part.write(record)
        } then: { [weak self] result in
            if case .failure(let error) = result { self?.stop(error, keepsPart: true) }
        }
    }

    /// Syncs the bytes so far to the disk, and writes the state file.
    private func sync() {
        unsynced = 0
        guard schedule.canContinue else { return }
        let received = schedule.received
        files?.work { part throws(NightjarError) in
            try part.sync()
        } then: { [weak self] result in
            guard let self, !isStopping else { return }
            switch result {
            case .success:
                synced = received
                record()
            case .failure(let error): stop(error, keepsPart: true)
            }
        }
    }

    private func makeRecord() -> DownloadRecord {
        var record = schedule.record
        record.part = place?.part.path ?? ""
        record.urlHash = place?.urlHash ?? ""
        record.boot = DownloadPlace.boot
        record.isSequential = isSequential
        record.synced = synced
        return record
    }

    // MARK: On the loop: the schedule

    private func perform() {
        while !isStopping, let action = schedule.next() {
            switch action {
            case .request(let number, let range): request(number, range)
            case .wait(let number, let time):
                loop.after(time) { [weak self] in
                    guard let self, !hasEnded, !isStopping else { return }
                    schedule.waited(number)
                    perform()
                }
            case .cancel(let number):
                connections.removeValue(forKey: number)?.cancel()
                pendingRequests[number] = nil
            case .reset: reset()
            case .finish: verify()
            case .fail(let error): stop(error, keepsPart: true)
            }
        }
        note()
    }

    private func reset() {
        files?.discard()
        isSequential = settings.connections == 1
        synced = RangeSet()
        files?.work { part throws(NightjarError) in
            try part.reset()
        } then: { [weak self] result in
            if case .failure(let error) = result { self?.stop(error, keepsPart: true) }
        }
    }

    private func request(_ number: Int, _ range: DownloadSchedule.RangeRequest?) {
        let connection = DownloadConnection(number, of: self)
        connections[number] = connection
        guard !isFirstRequest, let prepare = handlers.prepare else {
            isFirstRequest = false
            return start(connection, request, range)
        }
        pendingRequests[number] = .some(range)
        loop.post(.run { [self] in if !isStopped { prepare(self, number) } }, to: queue)
    }

    private func start(
        _ connection: DownloadConnection, _ request: Request, _ range: DownloadSchedule.RangeRequest?
    ) {
        do throws(NightjarError) {
            try connection.start(request, range)
        } catch {
            stop(error, keepsPart: true)
        }
    }

    // MARK: On the loop: the connections

    func opened(_ connection: DownloadConnection, _ response: Response) {
        guard !isStopping, connections[connection.number] === connection else { return }
        if schedule.opened(connection.number, status: response.status, response.headers) {
            if let head = handlers.head {
                loop.post(.run { [self] in if !isStopped { head(self, response) } }, to: queue)
            }
            if let total = schedule.total { checkSpace(for: total - schedule.received.count) }
            // Before the first byte, so that a part always has a state.
            if schedule.received.isEmpty {
                perform()
                record()
            }
        }
        perform()
    }

    private func checkSpace(for count: Int) {
        files?.work { part throws(NightjarError) in
            try part.checkSpace(for: count)
        } then: { [weak self] result in
            if case .failure(let error) = result { self?.stop(error, keepsPart: true) }
        }
    }

    func received(_ bytes: ByteBuffer, from connection: DownloadConnection) {
        guard !isStopping, let files, connections[connection.number] === connection else { return }
        let count = bytes.readableBytes
        guard let placement = schedule.place(count, from: connection.number) else { return perform() }
        var bytes = bytes
        bytes.moveReaderIndex(forwardBy: placement.skip)
        guard placement.take > 0, let slice = bytes.readSlice(length: placement.take) else {
            return connection.consumed(count)
        }
        files.write(
            DownloadQueue.Write(connection: connection, bytes: slice, offset: placement.offset, credit: count))
    }

    func ended(_ connection: DownloadConnection, _ end: DownloadConnection.End) {
        // After the bytes of the response are written.
        files?.run { [weak self] in
            guard let self, !isStopping, connections[connection.number] === connection else { return }
            connections[connection.number] = nil
            if end.isDamaged, let error = end.error {
                isSequential = false
                schedule.damaged(connection.number, error, using: &random)
                record()
            } else {
                schedule.ended(connection.number, end.error, using: &random)
            }
            perform()
        }
    }

    private func paused() {
        guard files != nil else {
            startsPaused = true
            return note()
        }
        schedule.pause()
        perform()
        sync()
    }

    // MARK: On the loop: the end

    private func verify() {
        guard let place else { return }
        state = .verifying
        note()
        let checksums = [settings.checksum, schedule.digest].compactMap { $0 }
        let completion = place.completion(schedule, settings)
        let total = schedule.total ?? schedule.received.end
        let result = DownloadResultPath()
        files?.work { [self] part throws(NightjarError) in
            for checksum in checksums {
                try part.verify(checksum) { self.isStopped }
            }
            result.path = try part.complete(completion, total: total)
        } then: { [weak self] outcome in
            self?.verified(outcome.map { result.path }, total)
        }
    }

    private func verified(_ result: Result<String, NightjarError>, _ total: Int) {
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
            state = .connecting
            schedule.mismatched(error)
            perform()
        case .failure(let error): stop(error, keepsPart: true)
        }
    }

    /// Ends the download when the operations on its part have ended.
    ///
    /// - Parameter error: Nil: the download was cancelled.
    private func stop(_ error: NightjarError?, keepsPart: Bool) {
        guard !hasEnded, !isStopping else { return }
        isStopping = true
        let isUseful =
            keepsPart && schedule.canContinue && !schedule.received.isEmpty && error?.kind != .checksumMismatch
        schedule.close()
        for connection in connections.values { connection.cancel() }
        connections = [:]
        // A file system may hang.
        loop.after(DownloadOperation.closeTimeout) { [weak self] in self?.finish(error) }
        guard let files else {
            // The part is being opened.
            stopError = error
            return
        }
        files.discard()
        if isUseful { note() } else { snapshot.withLock { $0.record = nil } }
        let record = makeRecord()
        files.work { part throws(NightjarError) in
            defer { part.close() }
            guard isUseful else { return part.discard() }
            try part.write(record)
        } then: { [self] _ in
            finish(error)
        }
    }

    private func finish(_ error: NightjarError?) {
        finish(.failure(error ?? NightjarError(.cancelled, "the download was cancelled")))
    }

    private func finish(_ result: Result<Void, NightjarError>) {
        guard !hasEnded else { return }
        markEnded()
        reportProgress(isLast: true)
        end(result)
    }

    private func markEnded() {
        state = .ended
        snapshot.withLock {
            $0.progress.state = .ended
            ($0.progress.rate, $0.progress.timeLeft) = (nil, nil)
        }
    }

    override func released() {
        isStopping = true
        markEnded()
        for connection in connections.values { connection.cancel() }
        connections = [:]
        files = nil
        place = nil
    }

    // MARK: On the loop: progress

    private func note() {
        if state != .verifying, state != .ended { state = present }
        var progress = Download.Progress()
        progress.state = state
        progress.received = schedule.received.count
        progress.total = schedule.total
        if schedule.isActive {
            progress.rate = rate.bytesPerSecond
            progress.timeLeft = schedule.total.flatMap { rate.time(for: $0 - progress.received) }
        }
        let record = schedule.canContinue && !schedule.received.isEmpty ? makeRecord() : nil
        snapshot.withLock { [progress] in
            $0.progress = progress
            if !isStopping { $0.record = record }
        }
    }

    private var present: Download.State {
        if startsPaused && files == nil || schedule.isPaused { return .paused }
        guard schedule.isActive else { return schedule.isWaiting ? .waiting : .connecting }
        return schedule.isReceiving ? .receiving : .connecting
    }

    private func watchProgress() {
        loop.after(DownloadOperation.progressInterval) { [weak self] in
            guard let self, !hasEnded else { return }
            rate.note(schedule.received.count, at: loop.now)
            note()
            reportProgress(isLast: false)
            watchProgress()
        }
    }

    private func reportProgress(isLast: Bool) {
        guard let handler = handlers.progress else { return }
        let progress = progress
        guard progress != reported, isLast || !hasProgressEvent.exchange(true, ordering: .relaxed) else { return }
        reported = progress
        loop.post(
            .run { [self] in
                hasProgressEvent.store(false, ordering: .relaxed)
                handler(self, progress)
            }, to: queue)
    }

    private static let closeTimeout = Duration.seconds(5)
    private static let progressInterval = Duration.milliseconds(100)
    /// With several connections, the bytes that are received again after the process was killed; more for files that are
    /// larger than 256 MiB.
    private static let recordInterval = 256 * 1024
    /// The bytes that are received again after the system has stopped.
    private static let syncInterval = 64 << 20
}

/// A download's reference to itself. Written once, before the download starts.
private final class WeakDownload: @unchecked Sendable {
    weak var download: DownloadOperation?
}

/// The path of a complete file. Written on a worker thread, and then read on the loop.
private final class DownloadResultPath: @unchecked Sendable {
    var path = ""
}

extension Client {
    /// Starts a download without blocking.
    ///
    /// - Parameters:
    ///   - path: The path of the file, or of its folder. See ``DownloadTarget``.
    ///   - queue: Where the callbacks run.
    ///   - finished: Called once, after the other callbacks.
    /// - Throws: `invalid_argument` for invalid settings; `invalid_request` if the request has a Range field; `closed`;
    ///   `forked`.
    package func startDownload(
        _ request: Request, to path: String, _ settings: DownloadSettings, on queue: CompletionQueue?,
        _ handlers: DownloadOperation.Handlers = .init(),
        finished: @escaping @Sendable (DownloadOperation, Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> DownloadOperation {
        try checkProcess()
        try settings.check()
        for name in ["Range", "If-Range"] where request.headers[name] != nil {
            throw NightjarError(.invalidRequest, "a download sets the header \(name); remove it from the request")
        }
        let operation = DownloadOperation(
            self, request, to: path, settings, on: queue, handlers, finished: finished)
        try operation.start()
        return operation
    }
}
