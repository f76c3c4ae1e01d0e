import Nightjar
import NightjarHTTP
import NightjarStorage
import NightjarSystem
import Synchronization

/// A background transfer that runs in this process. Used on the daemon's thread.
final class RunningTransfer: @unchecked Sendable {
    private let lease: JournalLease
    private let journal: Journal
    private let description: TransferDescription
    private var client: Client?
    private var operation: TransferOperation?
    /// Whether the daemon has interrupted the transfer, which continues later.
    private let isSuspended = Atomic<Bool>(false)
    private let decided = Mutex<TransferEnding?>(nil)

    init(_ lease: JournalLease, of journal: Journal, _ description: TransferDescription) {
        (self.lease, self.journal, self.description) = (lease, journal, description)
    }

    /// Starts the transfer.
    ///
    /// - Parameters:
    ///   - queue: Where `ended` runs.
    ///   - maximumRate: In bytes per second. Nil: that of the transfer.
    ///   - ended: Called once. Nil: the transfer has succeeded.
    func start(on queue: CompletionQueue, maximumRate: Int?, ended: @escaping @Sendable (NightjarError?) -> Void) {
        let finished: @Sendable (Result<Void, NightjarError>) -> Void = { [self] result in
            client.take()?.close()
            operation = nil
            if case .failure(let error) = result { ended(error) } else { ended(nil) }
        }
        do throws(NightjarError) {
            try begin(on: queue, maximumRate, finished)
        } catch {
            // If the journal cannot be written, the lease expires.
            try? lease.end(decide(error), in: journal)
            queue.run { finished(.failure(error)) }
        }
    }

    /// The weight in the division of the bandwidth.
    var bandwidthShare: Int { description.constraints.bandwidthShare }

    /// Limits the rate, in bytes per second. The limit of the transfer itself also applies.
    func setMaximumRate(_ rate: Int) {
        operation?.setMaximumRate(RunningTransfer.least(ownMaximumRate, rate) ?? rate)
    }

    private static func least(_ first: Int?, _ second: Int?) -> Int? { [first, second].compactMap { $0 }.min() }

    private var ownMaximumRate: Int? {
        switch description.kind {
        case .download: try? description.makeDownloadSettings().maximumRate
        case .upload: try? description.makeUploadSettings().maximumRate
        }
    }

    private func begin(
        on queue: CompletionQueue, _ maximumRate: Int?,
        _ finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) {
        let client = try Client(try description.makeConfiguration())
        self.client = client
        let request = try description.makeRequest()
        let identity = TransferIdentity.taken(TakenEntry(lease, of: journal) { [self] error in decide(error) })
        switch description.kind {
        case .download:
            var settings = try description.makeDownloadSettings()
            settings.maximumRate = RunningTransfer.least(settings.maximumRate, maximumRate)
            operation = try client.startDownload(request, to: description.path, settings, on: queue, as: identity) {
                finished($1)
            }
        case .upload:
            var settings = try description.makeUploadSettings()
            settings.maximumRate = RunningTransfer.least(settings.maximumRate, maximumRate)
            operation = try client.startUpload(request, .file(description.path), settings, on: queue, as: identity) {
                finished($1)
            }
        }
    }

    /// The path of the file.
    var path: String { description.path }

    /// Nil before the transfer has started, and after its end.
    var progress: TransferProgress? {
        switch operation {
        case let download as DownloadOperation:
            let now = download.progress
            return TransferProgress(transferred: now.received, total: now.total, rate: now.rate)
        case let upload as UploadOperation:
            let now = upload.progress
            return TransferProgress(transferred: now.sent, total: now.total, rate: now.rate)
        default: return nil
        }
    }

    /// Interrupts the transfer, so that it continues later.
    func suspend() {
        isSuspended.store(true, ordering: .relaxed)
        operation?.cancel(keeps: true)
    }

    /// Ends or interrupts the transfer if a caller has requested it, or if its constraints do not allow it any more.
    func check(_ entry: JournalEntry, _ circumstances: TransferConstraints.Circumstances) {
        if entry.isCancelRequested || entry.isPaused { operation?.checkRequests() }
        if case .run = description.constraints.decision(circumstances, created: entry.created ?? .epoch) { return }
        suspend()
    }

    /// Ends the lease if the transfer has ended without its journal entry, so that it is repeated soon. Returns false if the entry
    /// was ended.
    func giveUp() -> Bool {
        do throws(JournalError) {
            try lease.end(.pending(after: RunningTransfer.shortestDelay), in: journal)
            return true
        } catch {
            return false
        }
    }

    /// The decision about the failure of the transfer. Nil: it has not failed by itself. Any thread.
    var endingAfterFailure: TransferEnding? { decided.withLock { $0 } }

    private func decide(_ error: NightjarError) -> TransferEnding {
        let ending = afterFailure(error)
        decided.withLock { $0 = ending }
        return ending
    }

    /// Decides whether the transfer is repeated. Any thread.
    private func afterFailure(_ error: NightjarError) -> TransferEnding {
        if isSuspended.load(ordering: .relaxed) { return .pending(after: .zero) }
        guard error.isRetryable || RunningTransfer.isShortage(error) else { return .failed(error) }
        var random = SystemRandomNumberGenerator()
        let backoff = Backoff(base: RunningTransfer.shortestDelay, cap: RunningTransfer.longestDelay)
        let delay = backoff.wait(afterAttempt: lease.entry.attempts, using: &random)
        return .pending(after: max(delay, error.retryAfter ?? .zero))
    }

    /// Whether memory or descriptors were missing. Other transfers or programs may release them.
    private static func isShortage(_ error: NightjarError) -> Bool {
        switch error.kind {
        case .noMemory: true
        case .storage, .invalidRequest: [EMFILE, ENFILE, ENOMEM].contains(error.code)
        default: false
        }
    }

    private static let shortestDelay = Duration.seconds(2)
    private static let longestDelay = Duration.seconds(600)
}
