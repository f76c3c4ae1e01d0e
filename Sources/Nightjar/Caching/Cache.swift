import NightjarHTTP
import NightjarStorage

/// Responds from the cache, revalidates stale entries and stores responses (RFC 9111), as decided by `CacheRequest`.
///
///     look ──hit────▶ respond
///      ├──validate──▶ conditional request ──304──▶ update, respond
///      │                                 └──else──▶ as for fetch
///      └──fetch──▶ wait or send ──▶ store while the caller receives it
///
/// If several concurrent calls need the same storable response, one call sends a request. The others wait up to five
/// seconds for its cache entry.
final class Cache: Stage, @unchecked Sendable {
    override var hooks: StageHooks { [.outgoing, .incoming, .streamed, .responded, .failed, .expired, .ended] }
    let states = CallStateKey<Progress>()
    private let unstorable = CallStateKey<Unstorable>()
    let storage: CacheStorage
    /// The fresh responses that callers' threads can use without the loop; nil: callers' threads use none.
    let fresh: FreshResponses?
    var fetches = SharedFetches()
    /// The calls that wait for another call, and the calls for which others may wait.
    var members: [SharedFetches.Member: Call] = [:]
    private var lastMember: SharedFetches.Member = 0
    /// Background revalidations in progress.
    var refreshing: Set<CacheKey> = []
    let loginCookies: LoginCookies
    /// The hooks that decide whether a response is stored; nil: each response that may be stored is stored.
    let storing: CallHooks?
    let posts = CallStateKey<Post>()
    /// Whether the cache has read the index on disk because of a POST. Set before the read, so that a failing disk
    /// delays only one call.
    var hasReadIndex = false

    /// The state of a call whose response is not expected to be stored.
    private final class Unstorable: CallState {
        /// The cache changes that were known when the request was sent.
        let began: CacheMoment

        init(_ began: CacheMoment) { self.began = began }
    }

    init(
        _ storage: CacheStorage, _ fresh: FreshResponses?, _ loginCookies: LoginCookies, _ hooks: CallHooks? = nil
    ) {
        storing = hooks?.decidesStoring == true ? hooks : nil
        self.storage = storage
        self.fresh = fresh
        self.loginCookies = loginCookies
    }

    // MARK: Down

    override func outgoing(_ call: Call) -> Verdict {
        if let progress = call.states[states], progress.isDecided {
            progress.isDecided = false
            return send(progress, call)
        }
        leave(call)
        guard let policy = call.options.cache else { return .proceed }
        guard call.request.method == .get || call.request.method == .head, case .none = call.request.body else {
            guard policy != .cacheOnly else {
                return .fail(
                    NightjarError(
                        .cacheMiss,
                        "the cache policy cache_only allows only GET and HEAD requests without a body, and this "
                            + "\(call.request.method) request is not one; use another cache policy"))
            }
            return noteWrite(call)
        }
        let facts = call.request.cacheFacts(loginCookies)
        let cacheRequest = facts.cacheRequest(policy, acceptsDecoded: call.options.decompresses)
        guard cacheRequest.concernsCache else {
            // A response that the program inserts must not cause a request.
            guard call.options.insertion == nil else { return refuse(.request) }
            return .proceed
        }
        let key = storage.successors.resolve(facts.key(login: call.loginPartition), call.request.url.origin)
        if skipsLookup(key, cacheRequest, call) {
            call.states[unstorable] = Unstorable(storage.moment)
            return .proceed
        }
        let isCurrent = storage.isCurrent
        let subject = Subject(
            cacheRequest: cacheRequest, key: key, login: call.loginPartition, plain: call.request)
        let progress = Progress(
            subject, newMember(), began: storage.moment,
            entries: isCurrent ? storage.memory.find(key).map { .memory($0) } : [], in: storage)
        progress.freshLogin = fresh?.login ?? 0
        call.states[states] = progress
        // The lookup on disk reads the changes of other processes.
        if !isCurrent, lookUpOnDisk(progress, call) { return .wait }
        return begin(progress, call)
    }

    /// Whether a lookup would be useless: there is no disk cache, memory has no entry for the request, and the last
    /// response could not be stored. The cache then only checks the head of the response, which costs a fifth of a
    /// lookup.
    private func skipsLookup(_ key: CacheKey, _ cacheRequest: CacheRequest, _ call: Call) -> Bool {
        fetches.isKnownNotStorable(key) && cacheRequest.isPlainLookup && !storage.isPersistent
            && call.options.insertion == nil
            && storage.memory.find(key).isEmpty && storage.successors.origin(of: key, call.request.url.origin) == nil
    }

    private func begin(_ progress: Progress, _ call: Call) -> Verdict {
        if let insertion = call.options.insertion { return insertResponse(insertion, progress, call) }
        return decide(progress, call)
    }

    func newMember() -> SharedFetches.Member {
        lastMember += 1
        return lastMember
    }

    func decide(_ progress: Progress, _ call: Call) -> Verdict {
        let decision = progress.cacheRequest.decide(among: progress.entries.map(\.response), at: WallClock.now())
        if progress.entries.isEmpty, let verdict = serveByOrigin(of: progress, call) { return verdict }
        switch decision {
        case .hit(let hit): return serve(hit, progress, call)
        case .hitAndRevalidate(let hit, let fetch):
            refresh(fetch, progress.entries[hit.index].response, progress, call)
            return serve(hit, progress, call)
        case .validate, .fetch, .refuse: break
        }
        if !progress.hasQueriedDisk, progress.cacheRequest.policy != .reload, lookUpOnDisk(progress, call) {
            return .wait
        }
        switch decision {
        case .hit, .hitAndRevalidate: return .proceed
        case .validate(let fetch), .fetch(let fetch): return forward(fetch, progress, call)
        case .refuse(let refusal):
            return .fail(
                NightjarError(
                    .cacheMiss,
                    "the cache has no usable response for \(call.request.url.redacted), and the cache policy does "
                        + "not allow a request: "
                        + refusal.sentence))
        }
    }

    /// Searches the disk, and resumes the call with the result.
    ///
    /// - Returns: False if there is no disk cache or its thread cannot be started.
    private func lookUpOnDisk(_ progress: Progress, _ call: Call) -> Bool {
        guard storage.isPersistent else { return false }
        progress.hasQueriedDisk = true
        let continuation = OnLoop { [weak self, weak call] (found: (entries: [CachedEntry], isCurrent: Bool)) in
            guard let self, let call, call.states[states] === progress else { return }
            progress.began = storage.moment
            let inMemory = found.isCurrent ? storage.memory.find(progress.key).map { CachedEntry.memory($0) } : []
            progress.entries = found.entries.joined(by: inMemory)
            call.resume(begin(progress, call))
        }
        return storage.findOnDisk(progress.key, on: call.loop.gate) { continuation.body(($0, $1)) }
    }

    private func forward(_ fetch: CacheFetch, _ progress: Progress, _ call: Call) -> Verdict {
        progress.fetch = fetch
        // A plain miss is recorded later, when it is known whether its response is stored.
        if fetch.validating != nil || fetch.because != .uriMiss {
            call.decide(
                .cache(.forwarded(fetch.because, isConditional: fetch.validating != nil), key: call.request.url))
        }
        guard isShareable(fetch, progress), !progress.hasWaited else { return send(progress, call) }
        switch fetches.join(progress.key, progress.member) {
        case .independent: return send(progress, call)
        case .leader:
            progress.isLeader = true
            members[progress.member] = call
            return send(progress, call)
        case .waiter:
            progress.isQueued = true
            members[progress.member] = call
            let leaving = OnLoop { [weak self, weak call] (_: Void) in
                guard let self, let call, call.states[states] === progress, progress.isQueued else { return }
                leaveQueue(progress)
                call.resume(send(progress, call))
            }
            call.loop.after(Cache.gracePeriod) { leaving.body(()) }
            return .wait
        }
    }

    /// Whether two calls can share the response. The response must be complete and storable, and the policy must allow
    /// stored responses.
    private func isShareable(_ fetch: CacheFetch, _ progress: Progress) -> Bool {
        guard progress.cacheRequest.mayBeStored, !progress.cacheRequest.requestsRange,
            progress.cacheRequest.policy != .reload
        else {
            return false
        }
        switch fetch.because {
        case .uriMiss, .varyMiss, .miss, .stale: return true
        case .bypass, .method, .request, .partial: return false
        }
    }

    func send(_ progress: Progress, _ call: Call) -> Verdict {
        progress.began = storage.moment
        // Most requests need no changes.
        guard let fetch = progress.fetch, fetch.changesRequest else { return .proceed }
        do throws(NightjarError) {
            call.request = try progress.plain.applying(fetch)
            return .proceed
        } catch {
            return .fail(error)
        }
    }

    func forgetUnstorable(_ call: Call) { call.states[unstorable] = nil }

    // MARK: Up

    override func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict {
        if Invalidation.clearsOrigin(head) { storage.remove(origin: call.request.url.origin.description) }
        if let began = call.states[unstorable].take()?.began {
            if CacheRequest.forbidsStoring(head) {
                storage.counts.missed()
                call.decide(.cache(.notStored(.noStore), key: call.request.url))
                return .proceed
            }
            resume(call, began)
        }
        guard let progress = call.states[states] else {
            if !call.request.method.isSafe { wrote(&head, call) }
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
            observe(from: head, progress)
            return .proceed
        }
        switch progress.cacheRequest.storability(
            of: head, isDecoded: call.decoding != nil, requested: progress.requested, received: progress.received)
        {
        case .store where !mayReplace(head, progress):
            refuse(.keepsStored, head, progress, call)
        case .store(let stored):
            noteCookies(head, stored.freshness, progress)
            if progress.fetch?.because == .uriMiss {
                call.decide(.cache(.forwarded(.uriMiss, isConditional: false), key: call.request.url))
            }
            progress.announced = call.decoding == nil ? head.contentLength : nil
            willStore(stored, &head, progress)
        case .refuse(let refusal): refuse(refusal, head, progress, call)
        }
        return .proceed
    }

    override func streamed(_ content: ByteBuffer, _ call: Call) { call.states[states]?.passed(content) }

    override func responded(_ response: Response, _ call: Call) -> Verdict {
        guard let progress = call.states[states] else { return .proceed }
        if case .nothing = progress.reading { return .proceed }
        let reading = progress.reading
        progress.reading = .nothing
        switch reading {
        case .nothing, .replay: return .proceed
        case .storable(let stored):
            if let storing { return request(storing, stored, response, progress, call) }
            store(stored, response, progress, call)
            return .proceed
        case .notModified(let index, let head):
            let update = progress.cacheRequest.updated(
                progress.entries[index].response, byNotModified: head, requested: progress.requested,
                received: progress.received)
            progress.entries[index] = storage.update(
                progress.entries[index], progress.key, update, since: progress.began)
            noteCookies(head, update.response.freshness, progress)
            release(progress, fetches.stored(progress.key, by: progress.member), looking: true)
            let hit = progress.cacheRequest.hit(
                with: update.response, index: index, at: WallClock.now(), because: .validated)
            return serve(hit, progress, call, updated: update.response)
        case .failure(let index): return serveStale(index, progress, call)
        }
    }

    override func failed(_ error: NightjarError, _ call: Call) -> Verdict {
        if call.states[unstorable].take() != nil {
            call.decide(.cache(.forwarded(.uriMiss, isConditional: false), key: call.request.url))
        }
        guard let progress = call.states[states] else { return .proceed }
        call.request = progress.plain
        if case .replay = progress.reading {
            call.note(.warning, "reading a cached response failed: \(error.message)")
            return call.responseWasDelivered ? .proceed : refetch(progress, call)
        }
        progress.fill?.discard()
        if case .failure(let index) = progress.reading, !call.responseWasDelivered, error.kind != .cancelled {
            // The server responded with an error status, and the body of this response failed.
            progress.reading = .nothing
            return serveStale(index, progress, call)
        }
        progress.reading = .nothing
        if error.isOfServer, !call.responseWasDelivered, let index = progress.fallback {
            return serveStale(index, progress, call)
        }
        if progress.fetch?.because == .uriMiss {
            call.decide(.cache(.forwarded(.uriMiss, isConditional: false), key: call.request.url))
        }
        release(progress, fetches.failed(progress.key, by: progress.member), looking: false)
        return .proceed
    }

    /// Handles the expiry of the total timeout: responds with a stale entry if the entry may replace a failure. RFC
    /// 5861 section 4.
    override func expired(_ error: NightjarError, _ call: Call) -> Verdict {
        guard let progress = call.states[states] ?? resumeShared(call) else { return .proceed }
        if case .replay = progress.reading { return .proceed }
        guard let index = progress.fallback, index < progress.entries.count else { return .proceed }
        // If the call waits for an outer stage, that stage decides.
        guard progress.isPromoted || progress.isQueued || call.isExchanging(below: call.reachedStage) else {
            return .proceed
        }
        if progress.isQueued { leaveQueue(progress) }
        call.request = progress.plain
        progress.fill?.discard()
        progress.reading = .nothing
        return serveStale(index, progress, call)
    }

    /// Copies the cache state of the exchange that the call shares. The exchange continues for the other calls.
    ///
    /// - Returns: Nil if the call shares no exchange, if the exchange has no cache state, or if the exchange waits
    ///   neither for a response nor for another call.
    private func resumeShared(_ call: Call) -> Progress? {
        guard let exchange = call.sharedExchange, let progress = exchange.states[states],
            exchange.isExchanging(below: call.reachedStage) || progress.isQueued
        else { return nil }
        call.adopt(exchange)
        let copy = progress.copy
        call.states[states] = copy
        return copy
    }

    /// Responds with a stale entry instead of a failure. RFC 5861 section 4.
    private func serveStale(_ index: Int, _ progress: Progress, _ call: Call) -> Verdict {
        release(progress, fetches.failed(progress.key, by: progress.member), looking: false)
        let hit = progress.cacheRequest.hit(
            with: progress.entries[index].response, index: index, at: WallClock.now(), because: .staleIfError)
        return serve(hit, progress, call)
    }

    override func ended(_ result: Result<Response, NightjarError>, _ call: Call) {
        if let fresh, let progress = call.states[states], let entry = progress.plainHit,
            case .success(let response) = result
        {
            fresh.keep(response, for: call.task.request, call.options, login: progress.freshLogin, of: entry)
        }
        leave(call)
    }
}

extension NightjarError {
    /// Whether the server, the connection or a limit caused the error. False, for example, for errors of the caller and
    /// for TLS errors.
    fileprivate var isOfServer: Bool {
        switch kind {
        case .timeout, .offline, .dns, .connect, .connectionLost, .protocol, .server, .rateLimited: true
        default: false
        }
    }
}
