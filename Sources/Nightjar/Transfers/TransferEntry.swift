import DequeModule
import NightjarHTTP
import NightjarStorage
import NightjarTransport

/// The journal entry of a transfer in progress. It keeps the state of the transfer, so that another process can continue
/// it, and its result, so that it is not repeated.
///
/// Used on the client's loop. The operations run on worker threads, one at a time and in their order.
final class TransferEntry: @unchecked Sendable {
    private let writer: TransferEntryWriter
    private let workers: WorkerThreads
    private let log: (String) -> Void
    private let failed: (NightjarError) -> Void
    private let requested: (JournalSignals) -> Void
    private var operations = Deque<Operation>()
    private var isBusy = false
    /// The state of the last ``save(_:)``.
    private var saved: String?

    private struct Operation {
        /// Nil: nothing is written.
        let work: (@Sendable (TransferEntryWriter) throws(JournalError) -> Void)?
        let then: (() -> Void)?
    }

    /// The result of an operation.
    private struct Written: Sendable {
        let notes: [String]
        let requests: JournalSignals?
    }

    /// - Parameters:
    ///   - log: Called with warnings.
    ///   - failed: Called if the entry cannot be written. The transfer must stop then.
    ///   - requested: Called after a write if another process has requested the cancellation or a pause.
    init(
        _ writer: TransferEntryWriter, on workers: WorkerThreads, log: @escaping (String) -> Void,
        failed: @escaping (NightjarError) -> Void, requested: @escaping (JournalSignals) -> Void
    ) {
        (self.writer, self.workers, self.log) = (writer, workers, log)
        (self.failed, self.requested) = (failed, requested)
        saved = writer.state
    }

    // MARK: During the transfer

    /// Saves the state if it has changed. Nil: a later transfer starts at the first byte.
    func save(_ state: String?) {
        guard state != saved else { return }
        saved = state
        submit { writer throws(JournalError) in try writer.save(state) }
    }

    /// Records that a request will be sent that must not be repeated, or only with its idempotency key.
    func recordIntent(_ key: String?) {
        submit { writer throws(JournalError) in try writer.recordIntent(key) }
    }

    /// Withdraws the intent of a request that the server has rejected, or has not processed.
    func withdrawIntent() {
        submit { writer throws(JournalError) in try writer.withdrawIntent() }
    }

    func extendLease() {
        submit { writer throws(JournalError) in
            do throws(JournalError) {
                try writer.extendLease()
            } catch {
                // The lease remains valid until another transfer takes the entry.
                if case .leaseLost = error.cause { throw error }
            }
        }
    }

    /// Calls `next` after the operations so far have succeeded.
    func whenWritten(_ next: @escaping () -> Void) {
        if !isBusy { return next() }
        operations.append(Operation(work: nil, then: next))
    }

    // MARK: The end

    /// Ends the work on the entry, and then calls `next`, also after an error: the transfer has ended anyway.
    func end(_ ending: TransferEnding, then next: @escaping () -> Void) {
        operations.removeAll { $0.work == nil }
        let work: @Sendable (TransferEntryWriter) throws(JournalError) -> Void = { writer throws(JournalError) in
            try writer.end(ending)
        }
        operations.append(Operation(work: work, then: next))
        proceed()
    }

    // MARK: The operations

    private func submit(_ work: @escaping @Sendable (TransferEntryWriter) throws(JournalError) -> Void) {
        operations.append(Operation(work: work, then: nil))
        proceed()
    }

    private func proceed() {
        guard !isBusy, let operation = operations.popFirst() else { return }
        guard let work = operation.work else {
            operation.then?()
            return proceed()
        }
        isBusy = true
        let then = operation.then.map { LoopAction(run: $0) }
        workers.run("writing the journal") { [writer] () throws(NightjarError) in
            do throws(JournalError) { try work(writer) } catch { throw error.failure }
            return Written(notes: writer.takeNotes(), requests: writer.requests)
        } then: { [self] result in
            written(result, then)
        }
    }

    private func written(_ result: Result<Written, NightjarError>, _ then: LoopAction?) {
        isBusy = false
        switch result {
        case .success(let written):
            for note in written.notes { log(note) }
            if let requests = written.requests, requests.isCancelRequested || requests.isPaused { requested(requests) }
        case .failure(let error):
            log(error.message)
            // Requests that wait for the operation must not be sent.
            operations.removeAll { $0.work == nil }
            if then == nil { failed(error) }
        }
        then?.run()
        proceed()
    }
}
