import NIOCore
import NightjarHTTP
import NightjarStorage

/// Writes that are recorded in the client's journal before they are sent, and are sent by this and later processes until the
/// server has accepted them (the transactional-outbox pattern).
///
///     let outbox = try client.outbox()
///     var write = Request(.put, "/articles/7")
///     try write.json(article)
///     try outbox.record(write, id: "article-7-title", ifMatch: etag)
///
/// - The entries of one key are sent in the order in which they were recorded, those of different keys concurrently.
/// - The idempotency key and If-Match are fixed when an entry is recorded. Each attempt is a call of the client with its
///   login, proxies, limits and mocks.
/// - An entry is done when its response is stored. Conflicts (409, 412), entries that keep failing, and writes whose outcome
///   is unknown wait for the program: ``retry(_:)``, ``resolve(_:_:ifMatch:)`` or ``remove(_:)``. They block later entries of
///   their key only.
///
/// Any process with an open outbox of the same journal and name sends the entries, each of them once at a time. If a process
/// ends, the others continue. All functions block for a few milliseconds, and for at most 5 seconds while another process
/// locks the journal. Any thread may call them.
public final class Outbox: Sendable {
    public typealias Settings = OutboxSettings
    public typealias State = OutboxState

    package let client: Client
    private let settings: Settings
    private let journal: Journal
    private let sender: OutboxSender
    private let kind: String
    private let clock: Clock

    package typealias Clock = @Sendable () -> Double
    package static let wallClock: Clock = { WallClock.now().secondsSince1970 }

    /// Receives the entries whose state this object has changed, after the change is stored.
    package typealias Handler = @Sendable (Entry) -> Void

    /// The entries whose attempts end from the opening of the outbox on, after the outcome is stored: done, held, or pending for
    /// another attempt. For one reader, which receives the latest 64 entries if it falls behind. Changes of other processes are
    /// not reported. Ends when the outbox is closed.
    public let changes: AsyncStream<Entry>
    private let continuation: AsyncStream<Entry>.Continuation
    package static let maximumChanges = 64

    /// - Parameters:
    ///   - queue: Where the handler runs. Nil: on the client's loop, which the handler must not block.
    ///   - changed: Nil: changes are not reported.
    ///   - clock: Returns the time in seconds since 1970, for ``OutboxSettings/maximumAge``.
    /// - Throws: `invalid_argument` for invalid settings and for an ephemeral client; `closed`; `forked`.
    package convenience init(
        _ client: Client, _ settings: Settings, on queue: CompletionQueue? = nil, changed: Handler? = nil,
        clock: @escaping Clock = Outbox.wallClock
    ) throws(NightjarError) {
        let changes = AsyncStream<Entry>.makeStream()
        changes.continuation.finish()
        try self.init(client, settings, changes, on: queue, changed: changed, clock)
    }

    /// Reports changes to a stream.
    fileprivate convenience init(
        _ client: Client, _ settings: Settings, _ changes: Changes
    ) throws(NightjarError) {
        try self.init(
            client, settings, changes, on: nil, changed: { changes.continuation.yield($0) }, Outbox.wallClock)
    }

    fileprivate typealias Changes = (stream: AsyncStream<Entry>, continuation: AsyncStream<Entry>.Continuation)

    private init(
        _ client: Client, _ settings: Settings, _ changes: Changes, on queue: CompletionQueue?, changed: Handler?,
        _ clock: @escaping Clock
    ) throws(NightjarError) {
        try client.checkProcess()
        try settings.check()
        (self.client, self.settings, self.clock) = (client, settings, clock)
        (self.changes, continuation) = changes
        kind = settings.kind
        // The quota of the outbox limits its entries, and not the limits of the journal.
        var options = JournalOptions()
        options.limits.maximumValue = JournalLimits.largestValue
        journal = try client.journal.open(for: "an outbox", options)
        sender = OutboxSender(client, journal, settings, on: queue, clock, changed: changed)
        try sender.start()
    }

    deinit { close() }

    /// Stops to send entries. Calls in flight are cancelled, and their entries are sent by another process, or when the outbox
    /// is opened again. Has no effect if the outbox is closed.
    public func close() {
        sender.close()
        continuation.finish()
        journal.close()
    }

    // MARK: Recording

    /// Records a write. When this function returns, the entry survives a power failure.
    ///
    /// If the outbox has an entry with this id and the same write, nothing changes, and that entry is returned. The method, the
    /// URL, the header fields, the body, the idempotency key, the limit group and ``Request/invalidates`` of the request are
    /// recorded. The tags are invalidated in the process that sends the entry. The other settings are those of the client when
    /// the entry is sent.
    ///
    /// - Parameters:
    ///   - id: 1 to 256 bytes without NUL, unique in the journal. Nil: a random one.
    ///   - key: The order key, 1 to 256 bytes. Nil: the URL without its query.
    ///   - ifMatch: The value of If-Match, such as the ETag of the version that the write changes. Nil: that of the request.
    ///   - usesIdempotencyKey: False if the server ignores Idempotency-Key. None is then sent, and a POST or PATCH whose
    ///     response was lost is in doubt and not repeated.
    /// - Throws: `invalid_argument` for an invalid option, for a header field with a secret, and if the id belongs to another
    ///   write; `too_large` if a limit is reached, which the message names; `storage`.
    @discardableResult
    public func record(
        _ request: Request, id: String? = nil, key: String? = nil, ifMatch: String? = nil,
        usesIdempotencyKey: Bool = true
    ) throws(NightjarError) -> Entry {
        let write = try OutboxWrite(request, ifMatch: ifMatch, usesKey: usesIdempotencyKey, client: client)
        var random = SystemRandomNumberGenerator()
        let id = id ?? IdempotencyKey(using: &random).text
        try TransferSettings.check(id: id)
        var new = NewJournalEntry(id: id, kind: kind, input: try write.bytes)
        new.state = try OutboxRecord(write).bytes
        new.orderKey = if let key { key } else { try Outbox.orderKey(of: write.url) }
        let quota = JournalQuota(entries: settings.maximumEntries, bytes: settings.maximumBytes)
        let added: JournalEntry
        do throws(JournalError) {
            added = try journal.add(new, within: quota)
        } catch {
            guard case .conflict = error.cause else { throw error.failure }
            throw NightjarError(
                .invalidArgument,
                "the journal has an entry \(quoted(id)) with another write; use another id, or remove the entry")
        }
        sender.changed()
        return try Entry(added)
    }

    /// The URL without its query. A long one is replaced by its hash.
    private static func orderKey(of url: String) throws(NightjarError) -> String {
        let resource = String(url.prefix { $0 != "?" })
        return resource.utf8.count <= JournalLimits.maximumName ? resource : try RequestURL(resource).sha256
    }

    // MARK: Reading

    /// Returns an entry. Nil if the outbox has no entry with this id.
    public func entry(_ id: String) throws(NightjarError) -> Entry? { try found(id).map(Entry.init) }

    private func found(_ id: String) throws(NightjarError) -> JournalEntry? {
        let entry = try use { (journal) throws(JournalError) in try journal.entry(id) }
        return entry.flatMap { $0.kind.isExactly(kind) ? $0 : nil }
    }

    /// Returns the entries in the order in which they were recorded. Omits those of later versions.
    ///
    /// - Parameter state: Nil: all states.
    public func entries(_ state: State? = nil) throws(NightjarError) -> [Entry] {
        var entries: [Entry] = []
        var last: Int64 = 0
        while true {
            let page = try use { [last, kind] (journal) throws(JournalError) in
                try journal.entries(kind: kind, phase: Outbox.phase(of: state), after: last, limit: 1000)
            }
            guard let end = page.last else { return entries }
            last = end.number
            entries += page.compactMap { try? Entry($0) }.filter { state == nil || $0.state == state }
        }
    }

    private static func phase(of state: State?) -> JournalPhase? {
        switch state {
        case nil: nil
        case .done?: .done
        case .sending?: .running
        case .pending?, .conflict?, .parked?, .inDoubt?: .pending
        }
    }

    /// Returns the number of entries that are not done.
    public func count() throws(NightjarError) -> Int {
        try use { [kind] (journal) throws(JournalError) in try journal.pending(kind: kind) }.entries
    }

    // MARK: Decisions

    /// Sends an entry that is held again, with the same body and If-Match. The idempotency key is also the same if an earlier
    /// attempt may have been processed. Otherwise it is a new one, because servers repeat the responses to known keys.
    ///
    /// The wait of an entry that is pending ends, without a new key. Has no effect while the entry is sent.
    ///
    /// - Throws: `invalid_argument` if there is no entry with this id; `storage` if the entry is done.
    public func retry(_ id: String) throws(NightjarError) {
        guard let entry = try entry(id) else { throw Outbox.unknown(id) }
        if entry.state == .pending || entry.state == .sending {
            try use { (journal) throws(JournalError) in try journal.endWait(id) }
            sender.changed()
            return
        }
        try decide(id) { record in
            var changed = record
            changed.prepareToRetry()
            return changed
        }
    }

    /// Replaces the body of an entry that waits for a decision, and sends the entry with a new idempotency key.
    ///
    /// - Parameters:
    ///   - body: The new version: the merge of both versions of a conflict. Nil: the body is not changed, so that the program's
    ///     version replaces that of the server.
    ///   - ifMatch: The new value of If-Match. Nil: the ETag of the present version of the resource. Without an ETag, the
    ///     value is not changed, unless the resource was deleted: then none is sent.
    /// - Throws: `invalid_argument` if there is no entry with this id; `storage` if the entry does not wait for a decision;
    ///   `too_large`.
    public func resolve(_ id: String, _ body: ByteBuffer?, ifMatch: String? = nil) throws(NightjarError) {
        let bytes = try body.map { (body) throws(NightjarError) in try OutboxWrite.bytes(.bytes(body)) }
        if let ifMatch { try OutboxWrite.check(ifMatch: ifMatch) }
        try decide(id) { record in
            var changed = record
            changed.replaceKey()
            if let bytes { changed.revisedBody = bytes }
            let theirs = record.held == .conflict ? record.lastResponse : nil
            if let match = ifMatch ?? theirs?.etag {
                changed.ifMatch = match
            } else if let status = theirs?.status, status == 404 || status == 410 {
                changed.ifMatch = nil
            }
            return changed
        }
    }

    private func decide(_ id: String, _ change: (OutboxRecord) -> OutboxRecord) throws(NightjarError) {
        guard let entry = try found(id) else { throw Outbox.unknown(id) }
        // A state of a later version is not changed.
        _ = try Entry(entry)
        try use { [clock] (journal) throws(JournalError) in
            try journal.continueParked(id) { (entry) throws(JournalError) in
                guard let record = try? OutboxRecord(bytes: entry.state) else { return entry.state }
                var changed = change(record)
                (changed.held, changed.error, changed.lastResponse) = (nil, nil, nil)
                changed.repeatedConflicts = 0
                changed.decided = clock()
                return (try? changed.bytes) ?? entry.state
            }
        }
        sender.changed()
    }

    /// Removes an entry: a write that is not to be sent, or a response that was processed. Has no effect if there is no entry
    /// with this id.
    ///
    /// - Throws: `storage` while the entry is sent.
    public func remove(_ id: String) throws(NightjarError) {
        guard try found(id) != nil else { return }
        try use { (journal) throws(JournalError) in try journal.remove(id) }
        sender.changed()
    }

    static func unknown(_ id: String) -> NightjarError {
        NightjarError(
            .invalidArgument, "the outbox has no entry \(quoted(id)); it was removed, or is in another outbox")
    }

    private func use<Result>(_ body: (Journal) throws(JournalError) -> Result) throws(NightjarError) -> Result {
        do throws(JournalError) { return try body(journal) } catch { throw error.failure }
    }
}

extension Client {
    /// Opens an outbox, and starts to send its entries.
    ///
    /// - Throws: `invalid_argument` for invalid settings and for an ephemeral client; `closed`; `forked`.
    public func outbox(_ settings: Outbox.Settings = .init()) throws(NightjarError) -> Outbox {
        try Outbox(self, settings, AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Outbox.maximumChanges)))
    }
}

extension OutboxSettings {
    /// The kind of the entries in the journal.
    var kind: String { Journal.outboxKind + name }
}
