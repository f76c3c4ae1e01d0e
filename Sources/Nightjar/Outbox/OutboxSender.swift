import NightjarHTTP
import NightjarStorage
import NightjarTransport

/// Takes the entries of an outbox from the journal and delivers them. Used on the client's loop, except for ``changed()``
/// and the functions of its superclass.
final class OutboxSender: ClientOperation, @unchecked Sendable {
    let client: Client
    let journal: Journal
    let settings: OutboxSettings
    let clock: Outbox.Clock
    private let kind: String
    private let handler: Outbox.Handler?
    private var schedule: OutboxSchedule
    private var exchanges: [Int64: OutboxExchange] = [:]
    private var isTaking = false
    /// Whether no further entries are taken, because the client is draining.
    private var drains = false
    private let watch: NetworkWatch
    /// Cleared when the outbox is closed. Changes are not reported then, and no entry is taken.
    private let isOpen = Flag()
    private var random = SystemRandomNumberGenerator()

    init(
        _ client: Client, _ journal: Journal, _ settings: OutboxSettings, on queue: CompletionQueue?,
        _ clock: @escaping Outbox.Clock, changed handler: Outbox.Handler?
    ) {
        (self.client, self.journal, self.settings) = (client, journal, settings)
        kind = settings.kind
        (self.handler, self.clock) = (handler, clock)
        schedule = OutboxSchedule(settings)
        watch = NetworkWatch(client.loop.eventLoop)
        super.init("the outbox", on: client.loop, queue: queue, timeout: nil) { _ in }
    }

    var reportsChanges: Bool { handler != nil }

    /// Ends the operation. The handler does not run again after this function, not even for queued changes, if this is the
    /// thread of its queue.
    func close() {
        isOpen.clear()
        cancel()
    }

    /// An entry was recorded, or may be sent again. Any thread.
    func changed() {
        guard settings.sends else { return }
        loop.submit(.run { [self] in if !hasEnded { perform(schedule.changed()) } })
    }

    // MARK: On the loop

    override func begin() {
        guard settings.sends else { return }
        watch.start { [weak self] _ in
            guard let self, !hasEnded else { return }
            perform(schedule.networkChanged())
        }
        keepLeases()
        removeDone()
        perform(schedule.changed())
    }

    override func released() {
        watch.stop()
        for exchange in exchanges.values { exchange.cancel() }
        exchanges = [:]
    }

    override func clientDrains() { drains = true }

    override var isInFlight: Bool { isTaking || !exchanges.isEmpty }

    private func perform(_ action: OutboxSchedule.Action?) {
        switch action {
        case nil: break
        case .take where drains: loop.checkDrained()
        case .take(let maximum): take(maximum)
        case .wait(let number, let time):
            loop.after(time) { [weak self] in
                guard let self, !hasEnded else { return }
                perform(schedule.waited(number))
            }
        }
    }

    /// The entries that were taken, and the time until the next one is due.
    private struct Taken: Sendable {
        var leases: [JournalLease] = []
        var nextDue: Duration?
        var notes: [String] = []
    }

    private func take(_ maximum: Int) {
        isTaking = true
        write("reading the outbox") { [journal, kind, isOpen] () throws(JournalError) in
            var taken = Taken()
            guard isOpen.isSet else { return taken }
            taken.leases = try journal.takeToSend(kind: kind, for: OutboxSender.leaseDuration, limit: maximum)
            if taken.leases.count < maximum { taken.nextDue = try journal.nextDue(kind: kind) }
            taken.notes = journal.takeNotes()
            return taken
        } then: { [self] result in
            isTaking = false
            switch result {
            case .success(let taken):
                for note in taken.notes { client.log(.warning, note) }
                for lease in taken.leases { deliver(lease) }
                perform(schedule.took(taken.leases.count, of: maximum, nextDue: taken.nextDue))
            case .failure(let error):
                client.log(.warning, error.message)
                perform(schedule.took(0, of: maximum, nextDue: OutboxSender.failureDelay))
            }
        }
    }

    private func deliver(_ lease: JournalLease) {
        let exchange = OutboxExchange(lease, of: self)
        exchanges[lease.entry.number] = exchange
        exchange.start()
    }

    /// An attempt has ended, and the journal has its outcome.
    ///
    /// - Parameter entry: The entry after the change. Nil: changes are not reported, or the entry was lost.
    func ended(_ exchange: OutboxExchange, reachedServer: Bool?, _ entry: Outbox.Entry?) {
        guard !hasEnded else { return }
        exchanges[exchange.lease.entry.number] = nil
        if let entry, let handler {
            loop.post(.run { [isOpen] in if isOpen.isSet { handler(entry) } }, to: queue)
        }
        perform(schedule.ended(reachedServer: reachedServer, using: &random))
        loop.checkDrained()
    }

    // MARK: The journal

    /// Runs an operation of the journal on a worker thread.
    ///
    /// - Parameter deliver: Does not run after the end of the operation.
    func write<Value: Sendable>(
        _ what: String, _ work: @escaping @Sendable () throws(JournalError) -> Value,
        then deliver: @escaping @Sendable (Result<Value, OutboxFailure>) -> Void
    ) {
        loop.transferWorkers.run(what) { () throws(NightjarError) -> Result<Value, OutboxFailure> in
            do throws(JournalError) { return .success(try work()) } catch { return .failure(OutboxFailure(error)) }
        } then: { [self] result in
            guard !hasEnded else { return }
            switch result {
            case .success(let result): deliver(result)
            case .failure(let error): deliver(.failure(OutboxFailure(error)))
            }
        }
    }

    /// Extends the leases of the entries in flight until the outbox is closed.
    private func keepLeases() {
        loop.after(OutboxSender.leaseInterval) { [weak self] in
            guard let self, !hasEnded else { return }
            for exchange in exchanges.values { exchange.extendLease() }
            keepLeases()
        }
    }

    /// Removes the entries that are done and no longer kept, until the outbox is closed.
    private func removeDone() {
        write("cleaning the outbox") { [journal, kind, settings] () throws(JournalError) in
            try journal.removeDone(kind: kind, olderThan: settings.retention, keeping: settings.retainedEntries)
        } then: { [self] result in
            if case .failure(let error) = result { client.log(.warning, error.message) }
            loop.after(OutboxSender.cleaningInterval) { [weak self] in
                guard let self, !hasEnded else { return }
                removeDone()
            }
        }
    }

    private static let leaseDuration = Duration.seconds(60)
    /// A third of the duration of a lease.
    private static let leaseInterval = Duration.seconds(20)
    private static let cleaningInterval = Duration.seconds(60)
    static let failureDelay = Duration.seconds(1)
}

/// A failed operation of the journal.
struct OutboxFailure: Error {
    let message: String
    /// Whether another worker has the entry, or the entry was removed.
    let isLeaseLost: Bool

    init(_ error: JournalError) {
        message = error.message
        isLeaseLost = if case .leaseLost = error.cause { true } else { false }
    }

    init(_ error: NightjarError) { (message, isLeaseLost) = (error.message, false) }
}
