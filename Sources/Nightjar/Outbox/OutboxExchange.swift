import NIOCore
import NightjarHTTP
import NightjarStorage

/// One attempt to deliver an entry of an outbox: the call, the fetch of the present version after a conflict, and the write
/// of the outcome. Used on the client's loop.
final class OutboxExchange: @unchecked Sendable {
    let lease: JournalLease
    private unowned let sender: OutboxSender
    private var delivery: OutboxDelivery?
    private var record: OutboxRecord?
    private var write: OutboxWrite?
    private var task: ClientTask?
    /// The last response to the write or to the fetch.
    private var response: Response?
    /// The call was cancelled, or the attempt has ended. No outcome is written or reported any more.
    private var hasEnded = false
    private var random = SystemRandomNumberGenerator()

    init(_ lease: JournalLease, of sender: OutboxSender) { (self.lease, self.sender) = (lease, sender) }

    // MARK: Commands

    func start() {
        do throws(NightjarError) {
            let write = try OutboxWrite(bytes: lease.entry.input)
            let record = try OutboxRecord(bytes: lease.entry.state)
            (self.write, self.record) = (write, record)
            var entry = OutboxDelivery.Entry(method: write.method, hasKey: write.usesKey)
            entry.attempts = lease.entry.attempts
            entry.isUnresolved = !lease.unresolvedIntents.isEmpty
            entry.repeatedConflicts = record.repeatedConflicts
            entry.age = age
            var delivery = OutboxDelivery(entry, sender.settings)
            let action = delivery.start()
            self.delivery = delivery
            perform(action)
        } catch {
            // Another version has recorded the entry: the entry waits, and is not changed.
            sender.client.log(.warning, "the outbox entry \(quoted(lease.id)) cannot be sent: \(error.message)")
            release(after: nil, lease.entry.state, isUnresolved: !lease.unresolvedIntents.isEmpty)
        }
    }

    /// The time since the entry was recorded, or since the last decision of the program, by the wall clock.
    private var age: Duration {
        guard let start = record?.decided ?? lease.entry.created?.secondsSince1970 else { return .zero }
        return Duration(seconds: max(0, sender.clock() - start)) ?? .zero
    }

    /// Cancels the call. The journal keeps the intent, so that the next attempt finds that the write may have
    /// been processed.
    func cancel() {
        hasEnded = true
        task.take()?.cancel()
    }

    func extendLease() {
        sender.write("extending a lease of the outbox") { [journal = sender.journal, lease] () throws(JournalError) in
            _ = try journal.extend(lease)
        } then: { [self] result in
            guard case .failure(let error) = result, error.isLeaseLost, !hasEnded else { return }
            task.take()?.cancel()
            end(reachedServer: nil, nil)
        }
    }

    // MARK: The call

    private func perform(_ action: OutboxDelivery.Action) {
        switch action {
        case .send, .fetch:
            do throws(NightjarError) { try call(isFetch: action.isFetch) } catch { failed(error) }
        case .complete: finish()
        case .hold(let state, let error): hold(state, error)
        case .retry(let retry):
            record?.repeatedConflicts = delivery?.repeatedConflicts ?? 0
            release(
                after: retry.delay, encodedRecord, isUnresolved: delivery?.isUnresolved ?? true,
                countsAttempt: retry.countsAttempt)
        }
    }

    private func call(isFetch: Bool) throws(NightjarError) {
        guard let write, let record else { return }
        response = nil
        var handlers = TaskHandlers { [self] _, result in ended(result) }
        handlers.decisionQueue = sender.queue
        var request = Request(isFetch ? .get : write.method, write.url)
        if isFetch {
            // The cache partition of the write is not recorded.
            request.usesCache = false
            try request.headers.set("Cache-Control", "no-cache")
        } else {
            // A resolved conflict has the ETag of the version that If-None-Match has found.
            for (name, value) in write.headers where record.ifMatch == nil || name.lowercased() != "if-none-match" {
                try request.headers.add(name, value)
            }
            if let match = record.ifMatch { try request.headers.set("If-Match", match) }
            if write.usesKey { try request.headers.set(IdempotencyKey.fieldName, record.idempotencyKey) }
            let body = record.revisedBody ?? write.body
            request.body =
                body.isEmpty && write.method == .delete ? .none : .bytes(ByteBuffer(bytes: body))
            request.isIdempotent = write.usesKey
            request.invalidates = write.invalidates
        }
        // A redirect that changes POST to GET would lose the write.
        var redirect = sender.client.redirect
        redirect.keepsMethod = true
        request.redirect = redirect
        request.limitGroup = write.limitGroup
        // The delivery decides about the status.
        request.expectedStatuses = [Request.StatusRange(100, 999)]
        request.maximumBody = isFetch ? OutboxWrite.maximumBody : OutboxExchange.maximumResponse
        request.coalesces = false
        var retry = RetryChanges()
        retry.maximumAttempts = 1
        request.retry = retry
        task = try sender.client.start(request, on: nil, handlers)
    }

    private func ended(_ result: Result<Response, NightjarError>) {
        if task.take()?.wasRepeated == true { delivery?.repeated() }
        guard !hasEnded else { return }
        switch result {
        case .success(let response):
            self.response = response
            record?.error = nil
            let wait = RetryAfter.duration(response.headers, now: WallClock.now().secondsSince1970)
            if let action = delivery?.responded(response.status, retryAfter: wait, using: &random) { perform(action) }
        case .failure(let error): failed(error)
        }
    }

    private func failed(_ error: NightjarError) {
        record?.error = error
        if let action = delivery?.failed(error, using: &random) { perform(action) }
    }

    // MARK: The outcome

    private var encodedRecord: [UInt8] { (try? record?.bytes) ?? lease.entry.state }

    private func finish() {
        var version = OutboxVersion(status: record?.error?.status ?? 200)
        if let response { version = OutboxVersion(response) } else { version.isBodyOmitted = true }
        notifyOfWrite()
        let result = (try? version.stored.encoded()).map { Array($0.readableBytesView) } ?? []
        store { [journal = sender.journal, lease] () throws(JournalError) in
            try journal.finishSent(lease, result: result)
        }
    }

    /// Reports the write to resources if its call has not done so, because an earlier attempt was processed or because the
    /// response was too large.
    private func notifyOfWrite() {
        guard let write, !(response.map { 200..<400 ~= $0.status } ?? false) else { return }
        let urls = (try? RequestURL(write.url)).map { [$0] } ?? []
        sender.loop.notify(of: Write(urls: urls, tags: write.invalidates))
    }

    private func hold(_ state: OutboxState, _ error: NightjarError) {
        record?.held = state
        record?.error = error
        record?.lastResponse = response.map(OutboxVersion.init)
        release(after: nil, encodedRecord, isUnresolved: delivery?.isUnresolved ?? true)
    }

    private func release(after delay: Duration?, _ state: [UInt8], isUnresolved: Bool, countsAttempt: Bool = true) {
        store { [journal = sender.journal, lease] () throws(JournalError) in
            try journal.releaseUnsent(
                lease, after: delay, state: state, isUnresolved: isUnresolved, countsAttempt: countsAttempt)
        }
    }

    /// Writes the outcome. Tries again until the journal has it, or another worker has taken the entry.
    private func store(_ work: @escaping @Sendable () throws(JournalError) -> Void) {
        let (journal, lease, isReported) = (sender.journal, lease, sender.reportsChanges)
        sender.write("writing the outbox") { () throws(JournalError) -> Outbox.Entry? in
            try work()
            guard isReported else { return nil }
            return try journal.entry(lease.id).flatMap { try? Outbox.Entry($0) }
        } then: { [self] result in
            guard !hasEnded else { return }
            switch result {
            case .success(let entry):
                end(reachedServer: delivery.map { !$0.isUnreachable }, entry)
            case .failure(let error):
                sender.client.log(.warning, error.message)
                if error.isLeaseLost { return end(reachedServer: nil, nil) }
                sender.loop.after(OutboxSender.failureDelay) { [weak self] in
                    if let self, !hasEnded { store(work) }
                }
            }
        }
    }

    /// Reports the end once: an extension of the lease may fail after the outcome was written, because the lease has ended.
    private func end(reachedServer: Bool?, _ entry: Outbox.Entry?) {
        hasEnded = true
        sender.ended(self, reachedServer: reachedServer, entry)
    }

    /// The size of a stored response body in bytes. The body of a larger response to a write is not stored.
    private static let maximumResponse = 256 << 10
}

extension OutboxDelivery.Action {
    fileprivate var isFetch: Bool { if case .fetch = self { true } else { false } }
}
