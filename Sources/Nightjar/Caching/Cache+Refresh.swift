import NightjarHTTP

// Background revalidation, the responses to the calls of a login, and responses that the program inserts.

extension Cache: LoginResponses {
    /// Revalidates a cache entry in the background. Has no effect for a method other than GET, if the entry is already
    /// being revalidated, or if too many revalidations are in progress. If the entry is a redirect, the result is not
    /// reported, because the caller receives the response to the redirected request.
    func refresh(_ fetch: CacheFetch, _ stored: StoredResponse, _ progress: Progress, _ call: Call) {
        guard call.request.method == .get, refreshing.count < Cache.maximumRefreshed,
            refreshing.insert(progress.key).inserted
        else { return }
        do throws(NightjarError) {
            var plain = progress.plain
            for name in fetch.removes { plain = try plain.setting(name, nil) }
            // The call's policy also applies to the new response, so that the cache stores it like the old response.
            let cacheRequest = plain.cacheFacts(loginCookies).cacheRequest(
                progress.cacheRequest.policy, acceptsDecoded: call.options.decompresses)
            let subject = Subject(
                cacheRequest: cacheRequest, key: progress.key, login: progress.login, plain: plain)
            let own = Progress(
                subject, newMember(), began: storage.moment, entries: progress.entries, in: storage)
            own.fetch = fetch
            own.isDecided = true
            own.isRefresh = true
            let isRedirect = 300..<400 ~= stored.status
            let begins = call.refresh(plain, isReported: !isRedirect) { $0.states[states] = own }
            if !begins { refreshing.remove(progress.key) }
        } catch {
            refreshing.remove(progress.key)
        }
    }

    /// Removes the responses to the calls of a login that has ended. Responses in flight are not stored. The response
    /// to a request that is sent later with the token of that login is stored in the partition of that login, which the
    /// next login does not use.
    func forget(_ partition: CachePartition) { storage.remove(partition) }

    /// Called when later calls may use another login's token, or no token.
    func loginChanged() { fresh?.loginChanged() }

    func flush(on loop: ClientLoop, then completion: @escaping (NightjarError?) -> Void) {
        guard storage.isPersistent else { return completion(nil) }
        let after = OnLoop { (result: Result<Void, NightjarError>) in
            guard case .failure(let error) = result else { return completion(nil) }
            completion(
                NightjarError(
                    .storage,
                    "this client is logged out, but the cache on disk may still have its responses: \(error.message)",
                    code: error.code))
        }
        loop.workers.run("writing the cache on disk", { [storage] () throws(NightjarError) in try storage.flush() }) {
            after.body($0)
        }
    }

    /// Stores a response that the program supplies.
    func insertResponse(_ insertion: CacheInsertion, _ progress: Progress, _ call: Call) -> Verdict {
        let now = WallClock.now()
        switch progress.cacheRequest.storability(of: insertion.head, requested: now, received: now) {
        case .store(let stored):
            guard let whole = stored.completed(contentLength: insertion.body.readableBytes) else {
                return .fail(
                    NightjarError(
                        .invalidArgument,
                        "the response's Content-Length or Content-Range does not match the length of its body, "
                            + "\(insertion.body.readableBytes) bytes"))
            }
            return insert(insertion, whole, progress, call)
        case .refuse(let refusal): return refuse(refusal)
        }
    }

    private func insert(
        _ insertion: CacheInsertion, _ response: StoredResponse, _ progress: Progress, _ call: Call
    ) -> Verdict {
        let inserted = OnLoop { [weak self, weak call] (isStored: Bool) in
            guard let self, let call, call.states[states] === progress else { return }
            call.resume(verdict(of: insertion, isStored: isStored, call))
        }
        let isStored = storage.insert(
            progress.key, response, insertion.body, shown: call.request.url.redacted, since: progress.began,
            on: call.loop.gate, then: { inserted.body($0) })
        return isStored.map { verdict(of: insertion, isStored: $0, call) } ?? .wait
    }

    private func verdict(of insertion: CacheInsertion, isStored: Bool, _ call: Call) -> Verdict {
        guard isStored else {
            let size = insertion.body.readableBytes
            return .fail(
                NightjarError(
                    .tooLarge,
                    "storing the response failed: its body of \(size) bytes is larger than an eighth of the memory cache or "
                        + "than 1 MiB, and the disk cache is disabled or has no room; raise the cache's limits"))
        }
        var record = CallRecord()
        record.attempts = 0
        record.source = .cache
        return .respond(
            Response(insertion.head, insertion.body, trailers: Headers(), record, sent: call.request))
    }

    func refuse(_ refusal: Storability.Refusal) -> Verdict {
        .fail(NightjarError(.invalidArgument, "the response cannot be stored: \(refusal.sentence)"))
    }

    /// The maximum number of background revalidations in progress in one client.
    private static let maximumRefreshed = 64
}
