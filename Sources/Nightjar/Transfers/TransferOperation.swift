import NightjarHTTP
import Synchronization

/// A download or an upload: its commands, and the reports of its progress. A subclass transfers the bytes.
package class TransferOperation: ClientOperation, @unchecked Sendable {
    let client: Client
    let request: Request
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
    var limit: TransferLimit?
    var rate = TransferRate()
    var random = SystemRandomNumberGenerator()

    /// - Parameter finished: Called once, where the callbacks run.
    init(
        _ name: String, _ client: Client, _ request: Request, maximumRate: Int?, on queue: CompletionQueue?,
        finished: @escaping @Sendable (TransferOperation, Result<Void, NightjarError>) -> Void
    ) {
        self.client = client
        self.request = request
        limit = maximumRate.map { TransferLimit($0) }
        let own = WeakTransfer()
        super.init(name, on: client.loop, queue: queue, timeout: nil) { result in
            if let transfer = own.transfer { finished(transfer, result) }
        }
        own.transfer = self
    }

    // MARK: Overridden by subclasses

    /// The text with which a later transfer continues. Nil: it could not continue. Any thread.
    package var resumeState: String? { nil }

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
        loop.submit(.run { [self] in stop(nil, keeps: keeps) })
    }

    public final override func cancel() { cancel(keeps: true) }

    /// Whether the caller has cancelled the transfer.
    final var isStopped: Bool { wasStopped.load(ordering: .relaxed) }

    package final func pause() { loop.submit(.run { [self] in if !isStopping { paused() } }) }

    package final func resume() { loop.submit(.run { [self] in if !isStopping { resumed() } }) }

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

    /// Ends the operation after a last report.
    final func finish(_ result: Result<Void, NightjarError>) {
        guard !hasEnded else { return }
        noteEnd()
        reportProgress(isLast: true)
        end(result)
    }

    private static let progressInterval = Duration.milliseconds(100)
}

/// A transfer's reference to itself. Written once, before the transfer starts.
private final class WeakTransfer: @unchecked Sendable {
    weak var transfer: TransferOperation?
}
