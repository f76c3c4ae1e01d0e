import NIOCore
import NightjarHTTP
import NightjarStorage
import Synchronization

/// A download or an upload: its commands, and the reports of its progress. A subclass transfers the bytes.
package class TransferOperation: ClientOperation, @unchecked Sendable {
    /// `download` or `upload`.
    private let kind: String
    let client: Client
    let request: Request
    /// Nil: the journal is not used.
    private let identity: TransferIdentity?
    private let wasStopped = Atomic<Bool>(false)
    /// Whether a progress event waits in the queue.
    private let hasProgressEvent = Atomic<Bool>(false)

    // Used on the loop:
    /// Whether the transfer ends. Later events are ignored.
    var isStopping = false
    /// Whether the transfer was paused before its file was open.
    var startsPaused = false
    /// Whether the first request was sent. The caller prepares the later ones.
    var hasSentRequest = false
    /// The entry in the journal. Nil: the transfer has no id, or the entry is not open.
    private(set) var entry: TransferEntry?
    private var isOpeningEntry = false
    /// The result of a transfer that has ended before its entry was open.
    private var earlyResult: Result<Void, NightjarError>?
    /// Whether the caller has cancelled the transfer and does not want to continue it.
    private var isDiscarded = false
    /// The end that another process has requested. Nil: none.
    private var requestedEnding: TransferEnding?
    var limit: TransferLimit?
    var rate = TransferRate()
    var random = SystemRandomNumberGenerator()

    /// - Parameter finished: Called once, where the callbacks run.
    init(
        _ kind: String, _ client: Client, _ request: Request, _ identity: TransferIdentity?, maximumRate: Int?,
        on queue: CompletionQueue?,
        finished: @escaping @Sendable (TransferOperation, Result<Void, NightjarError>) -> Void
    ) {
        self.client = client
        self.request = request
        (self.kind, self.identity) = (kind, identity)
        limit = maximumRate.map { TransferLimit($0) }
        let own = WeakTransfer()
        super.init("the \(kind)", on: client.loop, queue: queue, timeout: nil) { result in
            if let transfer = own.transfer { finished(transfer, result) }
        }
        own.transfer = self
    }

    final override var canceller: Request.Canceller? { request.canceller }

    // MARK: Overridden by subclasses

    /// The text with which a later transfer continues. Nil: it could not continue. Any thread.
    package var resumeState: String? { nil }

    /// Opens the file, and starts the transfer.
    ///
    /// - Parameters:
    ///   - state: The state that an earlier transfer with the same id has saved. Nil: there is none.
    ///   - idempotencyKey: The key of a request of that transfer whose response was lost. Nil: there is none.
    func open(_ state: String?, idempotencyKey: String?) {}

    /// The target of the transfer, for the input of its journal entry. The URL and the method are added. On a worker thread.
    func journalInput() throws(NightjarError) -> [JSONValue.Member] { [] }

    /// The version of the content that is sent, for the input of the journal entry. On a worker thread.
    func journalContent() throws(NightjarError) -> [JSONValue.Member] { [] }

    /// Whether the transfer may be repeated although the server may have processed it.
    var canRepeat: Bool { true }

    /// The result of a transfer that has succeeded, for its journal entry.
    var journalResult: [JSONValue.Member] { [] }

    /// Uses the result of an earlier transfer with the same id.
    func restore(_ result: JSONValue) {}

    /// The number of bytes that were transferred so far.
    var transferred: Int { 0 }

    /// Pauses the transfer.
    func paused() {}

    /// Continues a paused transfer.
    func resumed() {}

    /// Ends the transfer.
    ///
    /// - Parameters:
    ///   - error: Nil: the caller has cancelled the transfer.
    ///   - keeps: Whether a later transfer can continue.
    func stop(_ error: NightjarError?, keeps: Bool) {}

    /// Stores the present progress and state text for other threads.
    func note() {}

    /// Stores the progress of a transfer that has ended.
    func noteEnd() {}

    /// Returns an event that reports the progress to the caller. Nil if the progress has not changed since the last
    /// event, or if the caller does not handle it.
    func progressEvent() -> ProgressEvent? { nil }

    /// A report of the progress.
    struct ProgressEvent: Sendable {
        let report: @Sendable () -> Void
    }

    // MARK: Commands, on any thread

    /// Ends the transfer with the error `cancelled`. A second call has no effect.
    ///
    /// - Parameter keeps: Whether a later transfer can continue.
    package final func cancel(keeps: Bool) {
        guard !isFinished, !wasStopped.exchange(true, ordering: .relaxed) else { return }
        loop.submit(
            .run { [self] in
                isDiscarded = !keeps
                stop(nil, keeps: keeps)
            })
    }

    public final override func cancel() { cancel(keeps: true) }

    /// Whether the caller has cancelled the transfer.
    final var isStopped: Bool { wasStopped.load(ordering: .relaxed) }

    package final override func pause() { loop.submit(.run { [self] in if !isStopping { paused() } }) }

    package final override func resume() { loop.submit(.run { [self] in if !isStopping { resumed() } }) }

    /// Changes the maximum rate in bytes per second.
    package final func setMaximumRate(_ rate: Int) {
        loop.submit(
            .run { [self] in
                if limit == nil { limit = TransferLimit(rate) } else { limit?.set(rate) }
            })
    }

    // MARK: The start, on the loop

    final override func begin() {
        guard let identity else { return open(nil, idempotencyKey: nil) }
        isOpeningEntry = true
        loop.transferWorkers.run("opening the journal") { [self] () throws(NightjarError) in
            try openEntry(identity)
        } then: { [self] result in
            isOpeningEntry = false
            switch result {
            case .success(.taken(let writer)): use(writer)
            case .success(.ended(let result)):
                restore((try? JSONValue(parsing: String(decoding: result, as: UTF8.self))) ?? .null)
                finish(.success(()))
            case .success(.inProgress): finish(.failure(.transferInProgress(identity.id)))
            case .success(.inDoubt): finish(.failure(.transferInDoubt(identity.id)))
            case .failure(let error): finish(.failure(error))
            }
        }
    }

    /// Opens the journal and the entry. On a worker thread.
    private func openEntry(_ identity: TransferIdentity) throws(NightjarError) -> TransferEntryWriter.Opening {
        let id: String
        switch identity {
        case .id(let text): id = text
        case .taken(let entry):
            do throws(JournalError) {
                return try TransferEntryWriter.use(entry.lease, of: entry.journal, canRepeat: canRepeat)
            } catch { throw error.failure }
        }
        var members: [JSONValue.Member] = [
            .init("method", .string("\(request.method)")),
            .init("url_hash", .string(try client.url(of: request).sha256)),
        ]
        members += try journalInput()
        let journal = try client.journal.open()
        let content: [JSONValue.Member]
        do throws(NightjarError) {
            content = try journalContent()
        } catch {
            // The caller may have removed the file after its upload.
            let result = TransferEntryWriter.result(journal, id, kind: kind, input: members)
            guard let result else { throw error }
            return .ended(result)
        }
        return try TransferEntryWriter.open(journal, id, kind: kind, input: members + content, canRepeat: canRepeat)
    }

    private func use(_ writer: TransferEntryWriter) {
        let entry = TransferEntry(writer, on: loop.transferWorkers, log: { [client] in client.log(.warning, $0) }) {
            [weak self] in
            self?.stop($0, keeps: true)
        } requested: { [weak self] in
            self?.requested($0)
        }
        guard !hasEnded else { return entry.end(.pending(after: .zero)) {} }
        self.entry = entry
        if let earlyResult { return finish(earlyResult) }
        keepLease()
        open(writer.state, idempotencyKey: writer.idempotencyKey)
    }

    /// Stops the transfer because another process has requested it.
    private func requested(_ requests: JournalSignals) {
        guard !isStopping else { return }
        let isCancelled = requests.isCancelRequested
        requestedEnding = isCancelled ? .cancelled : .pending(after: .zero)
        let what = isCancelled ? "cancelled" : "paused"
        stop(NightjarError(.cancelled, "the \(kind) was \(what) by another process"), keeps: !isCancelled)
    }

    /// Reads the requests of other processes from the journal now.
    package final func checkRequests() { loop.submit(.run { [self] in entry?.extendLease() }) }

    /// Extends the lease of the entry until the transfer ends.
    private func keepLease() {
        loop.after(TransferOperation.leaseInterval) { [weak self] in
            guard let self, let entry else { return }
            entry.extendLease()
            keepLease()
        }
    }

    // MARK: Progress, on the loop

    /// Notes and reports the progress until the transfer ends.
    final func watchProgress() {
        loop.after(TransferOperation.progressInterval) { [weak self] in
            guard let self, !isStopping else { return }
            rate.note(transferred, at: loop.now)
            note()
            reportProgress(isLast: false)
            watchProgress()
        }
    }

    /// - Parameter isLast: Whether the report must not be skipped while an earlier one waits in the queue.
    private func reportProgress(isLast: Bool) {
        guard isLast || !hasProgressEvent.load(ordering: .relaxed), let event = progressEvent() else { return }
        hasProgressEvent.store(true, ordering: .relaxed)
        loop.post(
            .run { [self] in
                hasProgressEvent.store(false, ordering: .relaxed)
                event.report()
            }, to: queue)
    }

    // MARK: The end, on the loop

    /// Ends the operation after the last write of the journal and a last report.
    final func finish(_ result: Result<Void, NightjarError>) {
        guard !hasEnded else { return }
        guard !isOpeningEntry else { return earlyResult = earlyResult ?? result }
        guard let entry = entry.take() else { return conclude(earlyResult ?? result) }
        entry.end(ending(result)) { [self] in conclude(result) }
    }

    private func ending(_ result: Result<Void, NightjarError>) -> TransferEnding {
        switch result {
        case .success: return .done(JSONValue.object(journalResult))
        case .failure where isDiscarded: return .removed
        case .failure(let error):
            if let requestedEnding { return requestedEnding }
            guard case .taken(let entry) = identity else { return .pending(after: .zero) }
            return entry.afterFailure(error)
        }
    }

    private func conclude(_ result: Result<Void, NightjarError>) {
        guard !hasEnded else { return }
        noteEnd()
        reportProgress(isLast: true)
        end(result)
    }

    override func released() { entry = nil }

    private static let progressInterval = Duration.milliseconds(100)
    /// A third of the duration of a lease.
    private static let leaseInterval = Duration.seconds(20)
}

extension TransferIdentity {
    fileprivate var id: String {
        switch self {
        case .id(let id): id
        case .taken(let entry): entry.lease.id
        }
    }
}

/// A transfer's reference to itself. Written once, before the transfer starts.
private final class WeakTransfer: @unchecked Sendable {
    weak var transfer: TransferOperation?
}
