import NightjarHTTP
import NightjarStorage

/// Stores responses of the server, and updates, invalidates or removes the cache entries that they affect.
extension Cache {
    /// Records that the response in progress will be stored. Except for a POST, adds Cache-Status to the head.
    func willStore(_ stored: StoredResponse, _ head: inout ResponseHead, _ progress: Progress) {
        progress.reading = .storable(stored)
        guard let fetch = progress.fetch else { return }
        var status = CacheStatus(fetch)
        status.isStored = storing == nil
        head.headers = head.headers.adding(status)
    }

    /// Resumes caching for a response that may be stored although the last response of its URL could not be stored.
    func resume(_ call: Call, _ began: CacheMoment) {
        guard let policy = call.options.cache else { return }
        let progress = Progress(subject(of: call, policy), newMember(), began: began, in: storage)
        progress.fetch = CacheFetch(because: .uriMiss)
        call.states[states] = progress
    }

    func mayReplace(_ head: ResponseHead, _ progress: Progress) -> Bool {
        guard progress.hasQueriedDisk || !storage.isPersistent else {
            return CacheRequest.mayReplaceUnknown(with: head)
        }
        guard !progress.entries.isEmpty else { return true }
        return progress.cacheRequest.mayReplace(
            progress.entries.map(\.response), with: head, received: progress.received)
    }

    /// Handles a response that is not stored. Removes the cache entries that the response supersedes.
    func refuse(_ refusal: Storability.Refusal, _ head: ResponseHead, _ progress: Progress, _ call: Call) {
        progress.reading = .nothing
        call.decide(.cache(.notStored(refusal), key: call.request.url))
        // A reload does not search the disk, which may contain entries that are not in `progress.entries`.
        let mayBeStored = !progress.entries.isEmpty || storage.isPersistent && !progress.hasQueriedDisk
        if mayBeStored, progress.cacheRequest.isSuperseding(head) {
            storage.remove(progress.key) { [cacheRequest = progress.cacheRequest] in
                cacheRequest.isSuperseded($0, by: head)
            }
        }
        // The calls that waited for this response now send their own requests.
        if progress.isLeader {
            release(progress, fetches.notStorable(progress.key, by: progress.member), looking: false)
        }
    }

    func notModified(_ head: ResponseHead, _ validating: Int, _ progress: Progress, _ call: Call) -> Verdict {
        switch progress.cacheRequest.meaning(
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
            return refetch(progress, call)
        }
    }

    /// Updates or invalidates the entries for GET after a response to HEAD. RFC 9111 section 4.3.5.
    func observe(from head: ResponseHead, _ progress: Progress) {
        for entry in progress.entries {
            switch progress.cacheRequest.meaning(
                ofHead: head, for: entry.response, requested: progress.requested, received: progress.received)
            {
            case .unaffected: break
            case .updated(let update): _ = storage.update(entry, progress.key, update, since: progress.began)
            case .invalidated: storage.invalidate(progress.key.url)
            }
        }
    }

    /// Requests the program's decision whether the response is stored.
    func request(
        _ hooks: CallHooks, _ stored: StoredResponse, _ response: Response, _ progress: Progress, _ call: Call
    ) -> Verdict {
        // The hook cannot run for a background revalidation without a callback, because no queue belongs to it.
        guard hooks.storesOnLoop || !progress.isRefresh || call.task.decisionQueue != nil else {
            discard(response, progress, call)
            return .proceed
        }
        progress.isDeciding = true
        let decided = OnLoop<Bool> { [weak self, weak call] isStored in
            guard let self, let call, call.states[states] === progress, progress.isDeciding else { return }
            progress.isDeciding = false
            if isStored { store(stored, response, progress, call) } else { discard(response, progress, call) }
            call.resume(.proceed)
        }
        let loop = call.loop
        let pending = CallHooks.PendingStore(CallHooks.Request(of: (call.branchedFrom ?? call).task), response) {
            isStored in
            loop.submit(.run { decided.body(isStored) })
        }
        PendingDecision(on: loop, at: hooks.storesOnLoop ? .loop : .queues) { hooks.decide(pending) }.post(for: call)
        return .wait
    }

    /// Ends the caching of a response that the program does not store.
    private func discard(_ response: Response, _ progress: Progress, _ call: Call) {
        progress.fill?.discard()
        refuse(.caller, response.head, progress, call)
    }

    func store(_ stored: StoredResponse, _ response: Response, _ progress: Progress, _ call: Call) {
        let count = progress.fill?.count ?? response.body.readableBytes
        guard let whole = stored.completed(contentLength: count, trailers: response.trailers) else {
            progress.fill?.discard()
            return release(progress, fetches.failed(progress.key, by: progress.member), looking: false)
        }
        if let fill = progress.fill {
            fill.complete(progress.key, whole, shown: call.request.url.redacted, since: progress.began)
        } else {
            storage.store(
                progress.key, whole, response.body, shown: call.request.url.redacted, since: progress.began)
        }
        release(progress, fetches.stored(progress.key, by: progress.member), looking: true)
    }
}
