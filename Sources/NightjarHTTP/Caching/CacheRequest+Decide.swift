extension CacheRequest {
    /// Decides whether a stored response is served, and which one. RFC 9111 section 4.
    ///
    /// - Parameter candidates: all responses that are stored under the request's key.
    public func decide(among candidates: [StoredResponse], at now: Timestamp) -> CacheDecision {
        guard isLookedUp else { return .fetch(CacheFetch(because: .method)) }
        if directives.noStore, !staysHere { return .fetch(CacheFetch(because: .request)) }
        if policy == .reload, !staysHere { return .fetch(reloading()) }
        if traits.contains(.forServer) {
            return staysHere ? .refuse(.precondition) : .fetch(CacheFetch(because: .request))
        }
        let range = range
        if range == .other, !staysHere { return .fetch(CacheFetch(because: .request)) }
        guard let (index, rules) = newest(of: candidates, range) else {
            if staysHere { return .refuse(candidates.isEmpty ? .nothingStored : .nothingForSuchRequest) }
            return .fetch(CacheFetch(because: missed(candidates)))
        }
        return decide(candidates, index, rules, now)
    }

    private func decide(
        _ candidates: [StoredResponse], _ index: Int, _ freshness: Freshness, _ now: Timestamp
    ) -> CacheDecision {
        let stored = candidates[index]
        func answer(_ reason: CacheAnswer.Reason) -> CacheAnswer {
            self.answer(with: stored, index, freshness, at: now, because: reason)
        }
        switch use(freshness, stored.status, at: now.milliseconds) {
        case .answer(let reason): return .answer(answer(reason))
        case .answerAndRefresh(let reason):
            if staysHere { return .answer(answer(reason)) }
            return .answerAndRefresh(answer(reason), refreshing(stored, index))
        case .ask(let reason):
            if staysHere { return .refuse(.stale) }
            return ask(candidates, index, freshness, at: now, because: reason)
        }
    }

    private enum Use {
        case answer(CacheAnswer.Reason)
        case answerAndRefresh(CacheAnswer.Reason)
        case ask(CacheStatus.ForwardReason)
    }

    private func use(_ freshness: Freshness, _ status: Int, at now: Int64) -> Use {
        // A response that was invalidated by a call of this client is not served under any policy.
        guard !freshness.isInvalidated else { return .ask(.stale) }
        let use = useByProtocol(freshness, at: now)
        // A stored error is served only as long as the protocol allows; otherwise it would never disappear.
        guard policy.ignoresAge, status < 400, case .ask = use else { return use }
        return policy == .offlineFirst ? .answerAndRefresh(.anyAge) : .answer(.anyAge)
    }

    /// Sections 4.2 and 4.2.4.
    private func useByProtocol(_ freshness: Freshness, at now: Int64) -> Use {
        let age = freshness.age(atMilliseconds: now)
        let lifetime = freshness.lifetime * 1000
        let isFresh = lifetime > age && !freshness.isFromFuture(now)
        if directives.noCache { return .ask(isFresh ? .request : .stale) }
        if freshness.directives.noCache { return .ask(.stale) }
        if policy == .revalidate, !(isFresh && freshness.directives.flags.contains(.immutable)) {
            return .ask(isFresh ? .request : .stale)
        }
        // max-age=0 requests validation whatever the age.
        if let maxAge = directives.maxAge, maxAge == 0 || age > maxAge * 1000 {
            return .ask(isFresh ? .request : .stale)
        }
        if isFresh {
            if let minFresh = directives.minFresh, lifetime - age < minFresh * 1000 { return .ask(.request) }
            return .answer(.fresh)
        }
        guard !freshness.directives.forbidsStale, directives.minFresh == nil else { return .ask(.stale) }
        if directives.maxStale == .max || freshness.isStale(within: directives.maxStale, now) {
            return .answer(.maxStale)
        }
        if freshness.isStale(within: freshness.directives.staleWhileRevalidate, now) {
            return .answerAndRefresh(.staleWhileRevalidate)
        }
        return .ask(.stale)
    }

    /// The most recent candidate whose selecting fields match and whose form is usable. Sections 4 and 4.1.
    private func newest(
        of candidates: [StoredResponse], _ range: ByteRange?
    ) -> (Int, Freshness)? {
        var best: (index: Int, rules: Freshness)?
        for index in candidates.indices where isSuitable(candidates[index], range) {
            let rules = candidates[index].freshness
            if let best, (best.rules.date, best.rules.received) > (rules.date, rules.received) { continue }
            best = (index, rules)
        }
        return best.map { ($0.index, $0.rules) }
    }

    private func isSuitable(_ stored: StoredResponse, _ range: ByteRange?) -> Bool {
        guard !stored.isDecoded || (wantsDecoded && range == nil) else { return false }
        guard stored.status != 206 || hasPart(stored) else { return false }
        return stored.selecting.isEmpty || Selecting.matches(stored.selecting, fields, fingerprint: fingerprint)
    }

    private func missed(_ candidates: [StoredResponse]) -> CacheStatus.ForwardReason {
        guard !candidates.isEmpty else { return .uriMiss }
        let selected = candidates.filter(isSelected)
        guard !selected.isEmpty else { return .varyMiss }
        return selected.contains { $0.status == 206 } ? .partial : .miss
    }
}
