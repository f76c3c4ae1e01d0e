import NIOCore
import NightjarHTTP
import NightjarStorage

/// Answers what it has kept, has what is stale validated, and keeps what it may (RFC 9111). Whether, `CacheRequest` decides.
///
///     look ──answer──▶ given
///      ├──validate──▶ conditions ──304──▶ updated, given
///      │                        └──else──▶ as a fetch
///      └──fetch──▶ in line, or sent ──▶ stored while it goes on to its caller
///
/// Of those that want the same at the same time one asks the server; the others wait for what it stores.
final class Cache: Stage, @unchecked Sendable {
    let hooks: StageHooks = [.outgoing, .incoming, .answered, .failed, .ended]
    private let storage: CacheStorage
    /// Nil where those above would have a say in what is given.
    private let fresh: FreshAnswers?
    private var fetches = SharedFetches<CacheKey>()
    /// Who is in line, or leads one.
    private var members: [SharedFetches<CacheKey>.Member: Call] = [:]
    private var lastMember: SharedFetches<CacheKey>.Member = 0
    /// What is fetched with nobody waiting.
    private var refreshing: Set<CacheKey> = []
    private var writes = RecentWrites()

    init(_ storage: CacheStorage, _ fresh: FreshAnswers?) {
        self.storage = storage
        self.fresh = fresh
    }

    /// What one exchange of a call has to do with the cache.
    final class Progress {
        fileprivate let asked: CacheRequest
        fileprivate let key: CacheKey
        fileprivate let member: SharedFetches<CacheKey>.Member
        /// The request without conditions of ours.
        fileprivate let plain: PreparedRequest
        /// Before it was sent.
        fileprivate let began: RecentWrites.Moment
        /// What is stored, as far as it has been looked for.
        fileprivate var entries: [CachedEntry]
        fileprivate var hasAskedDisk = false
        /// What goes to the server, if anything does.
        fileprivate var fetch: CacheFetch?
        fileprivate var isInLine = false
        fileprivate var leads = false
        /// Has been in line. It is not again.
        fileprivate var hasWaited = false
        /// What is to be sent was decided before.
        fileprivate var isDecided = false
        fileprivate var reading = Reading.nothing
        fileprivate var isRefresh = false
        fileprivate var forwardedStatus: Int?
        fileprivate var requested = Timestamp.epoch
        fileprivate var received = Timestamp.epoch
        fileprivate var announced: Int?
        fileprivate var fill: CacheFill?
        fileprivate let storage: CacheStorage
        /// The entry that the answer is of, where any thread may give it again.
        fileprivate var plainHit: MemoryCache.Entry?
        /// Where the answer came from.
        fileprivate(set) var source = ResponseSource.network

        fileprivate init(
            _ asked: CacheRequest, _ key: CacheKey, _ member: SharedFetches<CacheKey>.Member, _ plain: PreparedRequest,
            began: RecentWrites.Moment, entries: [CachedEntry], in storage: CacheStorage
        ) {
            self.asked = asked
            self.key = key
            self.member = member
            self.plain = plain
            self.began = began
            self.entries = entries
            self.storage = storage
        }

        /// The head of an answer has come.
        fileprivate func note(_ call: Call) {
            received = WallClock.now()
            let delay = (call.timing.firstByte ?? .zero) - (call.timing.sent ?? .zero)
            requested = received.later(by: .zero - delay) ?? received
        }

        /// The stale answer that may stand in for a failure by now.
        fileprivate var fallback: Int? {
            fetch?.fallback.flatMap { $0.until > WallClock.now() ? $0.index : nil }
        }

        /// Content that has gone on to the caller.
        func passed(_ bytes: ByteBuffer) {
            guard case .storable = reading else { return }
            if fill == nil { fill = CacheFill(storage, announced: announced) }
            fill?.append(bytes)
        }
    }

    /// What the answer is that is being read.
    fileprivate enum Reading {
        /// Nothing to the cache.
        case nothing
        case storable(StoredResponse)
        /// This one of the entries holds.
        case notModified(Int, ResponseHead)
        /// A failure that this one of the entries may stand in for.
        case failure(Int)
        /// One of ours, from the disk.
        case replay
    }

    // MARK: Down

    func outgoing(_ call: Call) -> Verdict {
        if let progress = call.caching, progress.isDecided {
            progress.isDecided = false
            return send(progress, call)
        }
        leave(call)
        guard let policy = call.options.cache, call.request.method == .get || call.request.method == .head,
            case .none = call.request.body
        else { return .proceed }
        let facts = call.request.cacheFacts
        let asked = facts.asked(policy, wantsDecoded: call.options.decompresses)
        guard asked.concernsCache else {
            // What is planted is never asked of a server.
            guard call.options.planted == nil else { return refuse(.request) }
            return .proceed
        }
        let key = CacheKey(url: facts.address, partition: .of(facts, login: call.login?.partition))
        let progress = Progress(
            asked, key, newMember(), call.request, began: writes.now,
            entries: storage.memory.find(key).map { .memory($0) }, in: storage)
        call.caching = progress
        if let planted = call.options.planted { return plant(planted, progress, call) }
        return look(progress, call)
    }

    private func newMember() -> SharedFetches<CacheKey>.Member {
        lastMember += 1
        return lastMember
    }

    private func look(_ progress: Progress, _ call: Call) -> Verdict {
        let decision = progress.asked.decide(among: progress.entries.map(\.response), at: WallClock.now())
        switch decision {
        case .answer(let answer): return give(answer, progress, call)
        case .answerAndRefresh(let answer, let fetch):
            refresh(fetch, progress.entries[answer.index].response, progress, call)
            return give(answer, progress, call)
        case .validate, .fetch, .refuse: break
        }
        if !progress.hasAskedDisk, progress.asked.policy != .reload, lookOnDisk(progress, call) { return .wait }
        switch decision {
        case .answer, .answerAndRefresh: return .proceed
        case .validate(let fetch), .fetch(let fetch): return forward(fetch, progress, call)
        case .refuse(let refusal):
            return .fail(
                NightjarError(
                    .cacheMiss,
                    "the cache cannot answer \(call.request.url.redacted), and the server is not to be asked: "
                        + refusal.sentence))
        }
    }

    /// - Returns: false when there is none.
    private func lookOnDisk(_ progress: Progress, _ call: Call) -> Bool {
        progress.hasAskedDisk = true
        let asking = OnLoop { [weak self, weak call] (entries: [CachedEntry]) in
            guard let self, let call, call.caching === progress else { return }
            progress.entries = entries
            call.goOn(look(progress, call))
        }
        return storage.findOnDisk(progress.key, on: call.loop.eventLoop) { asking.body($0) }
    }

    private func forward(_ fetch: CacheFetch, _ progress: Progress, _ call: Call) -> Verdict {
        progress.fetch = fetch
        call.decide(.cache(.asked(fetch.because, isConditional: fetch.validating != nil), key: call.request.url))
        guard isShareable(fetch, progress), !progress.hasWaited else { return send(progress, call) }
        switch fetches.wants(progress.key, progress.member) {
        case .isAlone: return send(progress, call)
        case .leads:
            progress.leads = true
            members[progress.member] = call
            return send(progress, call)
        case .waits:
            progress.isInLine = true
            members[progress.member] = call
            let leaving = OnLoop { [weak self, weak call] (_: Void) in
                guard let self, let call, call.caching === progress, progress.isInLine else { return }
                stepOut(progress)
                call.goOn(send(progress, call))
            }
            call.loop.after(Cache.patience) { leaving.body(()) }
            return .wait
        }
    }

    /// Whether what the one gets is what the other wants: the whole answer, as old as a stored one may be.
    private func isShareable(_ fetch: CacheFetch, _ progress: Progress) -> Bool {
        guard progress.asked.mayBeStored, progress.asked.policy != .reload else { return false }
        switch fetch.because {
        case .uriMiss, .varyMiss, .miss, .stale: return true
        case .bypass, .method, .request, .partial: return false
        }
    }

    private func send(_ progress: Progress, _ call: Call) -> Verdict {
        guard let fetch = progress.fetch else { return .proceed }
        do throws(NightjarError) {
            call.request = try progress.plain.applying(fetch)
            return .proceed
        } catch {
            return .fail(error)
        }
    }

    // MARK: Giving

    private func give(
        _ answer: CacheAnswer, _ progress: Progress, _ call: Call, updated: StoredResponse? = nil
    ) -> Verdict {
        let entry = progress.entries[answer.index]
        let stored = updated ?? entry.response
        progress.source = answer.source(isShared: progress.hasWaited)
        var status = CacheStatus(answer)
        if let fetch = progress.fetch {
            status.isHit = false
            status.forwarded = fetch.because
            status.forwardedStatus = progress.forwardedStatus
            status.isCollapsed = progress.hasWaited
            status.isStored = answer.because == .validated
        }
        let head = stored.head(for: answer, status)
        let count = progress.asked.method == .head ? 0 : head.contentLength ?? 0
        guard !call.collectsBody || call.task.handlers.body != nil || count <= call.options.maximumBody else {
            return .fail(.tooLarge(call.options.maximumBody))
        }
        call.decide(.cache(.answered(answer.because, age: answer.age), key: call.request.url))
        if answer.because == .validated {
            storage.counts.validated(count)
        } else {
            storage.counts.hit(count, isStale: answer.isStale)
        }
        switch entry {
        case .memory(let entry):
            storage.memory.use(entry)
            if answer.isPlain, call.isPlain { progress.plainHit = entry }
            var content = count == 0 ? ByteBuffer() : entry.body
            if case .part(let range) = answer.form {
                content =
                    entry.body.getSlice(at: entry.body.readerIndex + range.lowerBound, length: range.count) ?? content
            }
            return give(head, stored.trailers, content, progress, call)
        case .disk(let entry) where count > 0:
            return replay(entry, head, stored.trailers, answer, count, progress, call)
        case .disk: return give(head, stored.trailers, ByteBuffer(), progress, call)
        }
    }

    private func give(
        _ head: ResponseHead, _ trailers: Headers, _ content: ByteBuffer, _ progress: Progress, _ call: Call
    ) -> Verdict {
        guard 200..<300 ~= head.status || head.status == 304 else {
            // Those above may do something with it, and decide so by its head.
            progress.reading = .replay
            return .replay(
                StoredExchange(
                    head, trailers, .memory(content), count: content.readableBytes, readBy: call.loop.workers))
        }
        return .answer(
            call.settle(
                Response(
                    head: head, body: content, trailers: trailers, url: call.request.url, attempts: call.attempts,
                    timing: call.timing, source: progress.source, sent: call.request)))
    }

    private func replay(
        _ entry: DiskEntry, _ head: ResponseHead, _ trailers: Headers, _ answer: CacheAnswer, _ count: Int,
        _ progress: Progress, _ call: Call
    ) -> Verdict {
        let opened = OnLoop { [weak self, weak call] (body: BodyReader?) in
            guard let self, let call, call.caching === progress else { return }
            guard let body else { return call.goOn(fetchAnew(progress, call)) }
            if case .part(let range) = answer.form { body.seek(to: range.lowerBound) }
            progress.reading = .replay
            call.goOn(.replay(StoredExchange(head, trailers, .disk(body), count: count, readBy: call.loop.workers)))
        }
        guard storage.open(entry, on: call.loop.eventLoop, then: { opened.body($0) }) else {
            return fetchAnew(progress, call)
        }
        return .wait
    }

    /// What is stored turns out to be of no use.
    private func fetchAnew(_ progress: Progress, _ call: Call) -> Verdict {
        guard !progress.asked.staysHere else {
            return .fail(
                NightjarError(
                    .cacheMiss,
                    "the cache has lost what it had of \(call.request.url.redacted), and the server is not to be asked"
                ))
        }
        progress.entries = []
        progress.reading = .nothing
        progress.fetch = CacheFetch(because: .miss)
        progress.isDecided = true
        return .again(after: .zero)
    }

    // MARK: Up

    func incoming(_ head: ResponseHead, _ call: Call) -> Verdict {
        if Invalidation.clearsOrigin(head) { storage.remove(origin: call.request.url.origin.description) }
        guard let progress = call.caching else {
            if !call.request.method.isSafe { invalidate(head, call) }
            return .proceed
        }
        call.request = progress.plain
        progress.note(call)
        progress.forwardedStatus = head.status
        if head.status == 304, let validating = progress.fetch?.validating {
            return notModified(head, validating, progress, call)
        }
        if CacheFetch.isFailure(status: head.status), let index = progress.fallback {
            progress.reading = .failure(index)
            call.collectsBody = true
            return .proceed
        }
        storage.counts.missed()
        if call.request.method == .head {
            learn(from: head, progress)
            return .proceed
        }
        switch progress.asked.storability(
            of: head, isDecoded: call.decoding != nil, requested: progress.requested, received: progress.received)
        {
        case .store(var stored):
            stored.isInvalidated = writes.mayHaveChanged(progress.key.url, since: progress.began)
            progress.reading = .storable(stored)
            progress.announced = call.decoding == nil ? head.contentLength : nil
        case .refuse(let refusal):
            progress.reading = .nothing
            call.decide(.cache(.notStored(refusal), key: call.request.url))
            // What it takes the place of holds no longer.
            if head.status < 500, !progress.entries.isEmpty { storage.remove(progress.key) }
            release(progress, fetches.notStorable(progress.key, by: progress.member), looking: false)
        }
        return .proceed
    }

    private func notModified(_ head: ResponseHead, _ validating: Int, _ progress: Progress, _ call: Call) -> Verdict {
        switch progress.asked.meaning(
            ofNotModified: head, among: progress.entries.map(\.response), validating: validating)
        {
        case .stored(let index):
            progress.reading = .notModified(index, head)
            call.collectsBody = true
            return .proceed
        case .callers:
            progress.reading = .nothing
            return .proceed
        case .none:
            return fetchAnew(progress, call)
        }
    }

    private func invalidate(_ head: ResponseHead, _ call: Call) {
        for url in Invalidation.urls(call.request.method, call.request.url, head) {
            writes.note(url.cacheAddress)
            storage.invalidate(url.cacheAddress)
        }
    }

    /// An answer to HEAD says whether what is stored of GET still holds. RFC 9111 section 4.3.5.
    private func learn(from head: ResponseHead, _ progress: Progress) {
        for entry in progress.entries {
            switch progress.asked.meaning(
                ofHead: head, for: entry.response, requested: progress.requested, received: progress.received)
            {
            case .unaffected: break
            case .updated(let update): _ = storage.update(entry, progress.key, update)
            case .invalidated: storage.invalidate(progress.key.url)
            }
        }
    }

    func answered(_ response: Response, _ call: Call) -> Verdict {
        guard let progress = call.caching else { return .proceed }
        let reading = progress.reading
        progress.reading = .nothing
        switch reading {
        case .nothing, .replay: return .proceed
        case .storable(let stored):
            store(stored, response, progress, call)
            return .proceed
        case .notModified(let index, let head):
            let update = progress.asked.updated(
                progress.entries[index].response, byNotModified: head, requested: progress.requested,
                received: progress.received)
            progress.entries[index] = storage.update(progress.entries[index], progress.key, update)
            if writes.mayHaveChanged(progress.key.url, since: progress.began) { storage.invalidate(progress.key.url) }
            release(progress, fetches.stored(progress.key, by: progress.member), looking: true)
            let answer = progress.asked.answer(
                with: update.response, index: index, at: WallClock.now(), because: .validated)
            return give(answer, progress, call, updated: update.response)
        case .failure(let index): return giveInstead(index, progress, call)
        }
    }

    private func store(_ stored: StoredResponse, _ response: Response, _ progress: Progress, _ call: Call) {
        let count = progress.fill?.count ?? response.body.readableBytes
        guard let whole = stored.completed(contentLength: count, trailers: response.trailers) else {
            progress.fill?.discard()
            return release(progress, fetches.failed(progress.key, by: progress.member), looking: false)
        }
        if let fill = progress.fill {
            fill.complete(progress.key, whole, shown: call.request.url.redacted)
        } else {
            storage.store(progress.key, whole, response.body, shown: call.request.url.redacted)
        }
        release(progress, fetches.stored(progress.key, by: progress.member), looking: true)
    }

    func failed(_ error: NightjarError, _ call: Call) -> Verdict {
        guard let progress = call.caching else { return .proceed }
        call.request = progress.plain
        if case .replay = progress.reading {
            call.note(.warning, "a stored answer could not be read: \(error.message)")
            return call.answerIsGone ? .proceed : fetchAnew(progress, call)
        }
        progress.reading = .nothing
        progress.fill?.discard()
        if error.isOfServer, !call.answerIsGone, let index = progress.fallback {
            return giveInstead(index, progress, call)
        }
        release(progress, fetches.failed(progress.key, by: progress.member), looking: false)
        return .proceed
    }

    /// The stale answer, in place of a failure. RFC 5861 section 4.
    private func giveInstead(_ index: Int, _ progress: Progress, _ call: Call) -> Verdict {
        release(progress, fetches.failed(progress.key, by: progress.member), looking: false)
        let answer = progress.asked.answer(
            with: progress.entries[index].response, index: index, at: WallClock.now(), because: .staleIfError)
        return give(answer, progress, call)
    }

    func ended(_ result: Result<Response, NightjarError>, _ call: Call) {
        if let fresh, let entry = call.caching?.plainHit, case .success(let response) = result {
            fresh.keep(response, for: call.task.request, fresh.options(of: call.options), of: entry)
        }
        leave(call)
    }

    // MARK: Sharing

    /// The answer for which others wait is there, or is not to be.
    private func release(
        _ progress: Progress, _ released: [SharedFetches<CacheKey>.Member], looking: Bool
    ) {
        progress.leads = false
        members[progress.member] = nil
        for member in released {
            guard let call = members.removeValue(forKey: member), let waiter = call.caching, waiter.member == member,
                waiter.isInLine
            else { continue }
            waiter.isInLine = false
            waiter.hasWaited = true
            guard looking else {
                call.goOn(send(waiter, call))
                continue
            }
            waiter.entries = storage.memory.find(waiter.key).map { .memory($0) }
            waiter.hasAskedDisk = false
            call.goOn(look(waiter, call))
        }
    }

    /// The call has an end, or another exchange.
    private func leave(_ call: Call) {
        guard let progress = call.caching.take() else { return }
        if progress.isRefresh { refreshing.remove(progress.key) }
        progress.fill?.discard()
        if progress.isInLine || progress.leads { stepOut(progress) }
    }

    private func stepOut(_ progress: Progress) {
        progress.isInLine = false
        progress.leads = false
        progress.hasWaited = true
        members[progress.member] = nil
        guard let next = fetches.left(progress.key, progress.member), let call = members[next],
            let heir = call.caching
        else { return }
        heir.isInLine = false
        heir.leads = true
        call.goOn(send(heir, call))
    }

    // MARK: Refreshing

    /// Fetches anew what has been answered from the store, with nobody waiting for it. Of a redirect the caller does not
    /// hear: it leads to what it wants.
    private func refresh(_ fetch: CacheFetch, _ stored: StoredResponse, _ progress: Progress, _ call: Call) {
        guard call.request.method == .get, refreshing.count < Cache.mostRefreshed,
            refreshing.insert(progress.key).inserted
        else { return }
        do throws(NightjarError) {
            var plain = progress.plain
            for name in fetch.removes { plain = try plain.setting(name, nil) }
            let asked = plain.cacheFacts.asked(.revalidate, wantsDecoded: call.options.decompresses)
            let own = Progress(
                asked, progress.key, newMember(), plain, began: writes.now, entries: progress.entries, in: storage)
            own.fetch = fetch
            own.isDecided = true
            own.isRefresh = true
            let isRedirect = 300..<400 ~= stored.status
            if !call.refresh(plain, own, isHeard: !isRedirect) { refreshing.remove(progress.key) }
        } catch {
            refreshing.remove(progress.key)
        }
    }

    // MARK: By hand

    /// Its user has signed out: what was answered to that login goes. What is still on its way nobody finds, for the next
    /// login is another.
    func forget(_ partition: CachePartition) { storage.remove(partition) }

    /// What goes with the client's token is another's from now on.
    func loginChanged() { fresh?.login.add(1, ordering: .releasing) }

    /// Puts an answer here that no server has sent.
    private func plant(_ planted: PlantedAnswer, _ progress: Progress, _ call: Call) -> Verdict {
        let now = WallClock.now()
        switch progress.asked.storability(of: planted.head, requested: now, received: now) {
        case .store(let stored):
            guard let whole = stored.completed(contentLength: planted.body.readableBytes) else {
                return .fail(
                    NightjarError(.invalidArgument, "the answer's Content-Length is not the length of its content"))
            }
            storage.store(progress.key, whole, planted.body, shown: call.request.url.redacted)
            return .answer(
                Response(
                    head: planted.head, body: planted.body, url: call.request.url, attempts: 0, source: .cache,
                    sent: call.request))
        case .refuse(let refusal): return refuse(refusal)
        }
    }

    private func refuse(_ refusal: Storability.Refusal) -> Verdict {
        .fail(NightjarError(.invalidArgument, "the answer cannot be stored: \(refusal.sentence)"))
    }

    /// What runs on the loop alone, on its way there.
    private struct OnLoop<Value>: @unchecked Sendable {
        let body: (Value) -> Void

        init(_ body: @escaping (Value) -> Void) { self.body = body }
    }

    // MARK: Bounds

    /// How long somebody is in line for an answer that others wait for too: a server that is slow is slow to one, and who
    /// reads slowly holds up nobody else.
    private static let patience = Duration.seconds(5)
    /// At a time, of one client.
    private static let mostRefreshed = 64
}

extension CacheAnswer {
    /// The whole, and for a while yet.
    fileprivate var isPlain: Bool { because == .fresh && form == .whole && timeToLive > 0 }
}

extension Call {
    /// Nothing has been decided for this one that another would not get.
    fileprivate var isPlain: Bool {
        attempts == 0 && redirects == nil && request.method == .get && task.handlers.isForWholeAnswers
            && options.hasNoSay
    }
}

extension NightjarError {
    /// The server, or the way to it, has failed: not the caller, and not trust in who answers.
    fileprivate var isOfServer: Bool {
        switch kind {
        case .timeout, .offline, .dns, .connect, .connectionLost, .protocol, .server, .rateLimited: true
        default: false
        }
    }
}
