extension CacheRequest {
    /// Decides which stored response is served, if any. RFC 9111 section 4.
    ///
    /// - Parameter candidates: the stored responses to choose from.
    public func decide(among candidates: [StoredResponse], at now: Timestamp) -> CacheDecision {
        guard isLookedUp else { return .fetch(CacheFetch(because: .method)) }
        if directives.noStore, !isCacheOnly { return .fetch(CacheFetch(because: .request)) }
        if policy == .reload, !isCacheOnly { return .fetch(reloading()) }
        if traits.contains(.forServer) {
            return isCacheOnly ? .refuse(.precondition) : .fetch(CacheFetch(because: .request))
        }
        let range = range
        if range == .other, !isCacheOnly { return .fetch(CacheFetch(because: .request)) }
        guard let (index, rules) = newest(of: candidates, range) else {
            if isCacheOnly { return .refuse(candidates.isEmpty ? .nothingStored : .nothingForSuchRequest) }
            return .fetch(CacheFetch(because: missed(candidates)))
        }
        return decide(candidates, index, rules, now)
    }

    private func decide(
        _ candidates: [StoredResponse], _ index: Int, _ freshness: Freshness, _ now: Timestamp
    ) -> CacheDecision {
        let stored = candidates[index]
        func hit(_ reason: CacheHit.Reason) -> CacheHit {
            self.hit(with: stored, index, freshness, at: now, because: reason)
        }
        switch use(freshness, stored.status, at: now.milliseconds) {
        case .hit(let reason): return .hit(hit(reason))
        case .hitAndRevalidate(let reason):
            if isCacheOnly { return .hit(hit(reason)) }
            return .hitAndRevalidate(hit(reason), refreshing(stored, index))
        case .forward(let reason):
            if isCacheOnly { return .refuse(.stale) }
            return forward(candidates, index, freshness, at: now, because: reason)
        }
    }

    private enum Use {
        case hit(CacheHit.Reason)
        case hitAndRevalidate(CacheHit.Reason)
        case forward(CacheStatus.ForwardReason)
    }

    private func use(_ freshness: Freshness, _ status: Int, at now: Int64) -> Use {
        // No policy serves an invalidated response without validation.
        guard !freshness.isInvalidated else { return .forward(.stale) }
        let use = useByProtocol(freshness, at: now)
        // A stored error is served only as long as the protocol allows. Otherwise, it would be served forever.
        guard policy.ignoresAge, status < 400, case .forward = use else { return use }
        return policy == .offlineFirst ? .hitAndRevalidate(.anyAge) : .hit(.anyAge)
    }

    /// Decides without regard to policies that ignore the age. Sections 4.2 and 4.2.4.
    private func useByProtocol(_ freshness: Freshness, at now: Int64) -> Use {
        let age = freshness.age(atMilliseconds: now)
        let lifetime = freshness.lifetime * 1000
        let isFresh = lifetime > age && !freshness.isFromFuture(now)
        if directives.noCache { return .forward(isFresh ? .request : .stale) }
        if freshness.directives.noCache { return .forward(.stale) }
        if policy == .revalidate, !(isFresh && freshness.directives.flags.contains(.immutable)) {
            return .forward(isFresh ? .request : .stale)
        }
        // max-age=0 requests validation regardless of the age.
        if let maxAge = directives.maxAge, maxAge == 0 || age > maxAge * 1000 {
            return .forward(isFresh ? .request : .stale)
        }
        if isFresh {
            if let minFresh = directives.minFresh, lifetime - age < minFresh * 1000 { return .forward(.request) }
            return .hit(.fresh)
        }
        guard !freshness.directives.forbidsStale, directives.minFresh == nil else { return .forward(.stale) }
        if directives.maxStale == .max || freshness.isStale(within: directives.maxStale, now) {
            return .hit(.maxStale)
        }
        if freshness.isStale(within: freshness.directives.staleWhileRevalidate, now) {
            return .hitAndRevalidate(.staleWhileRevalidate)
        }
        return .forward(.stale)
    }

    /// Returns the most recent candidate whose selecting fields match and whose form is usable. Sections 4 and 4.1.
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
        guard !stored.isDecoded || (acceptsDecoded && range == nil) else { return false }
        guard stored.status != 206 || hasPart(stored) else { return false }
        return stored.variantFields.isEmpty
            || VariantKey.matches(stored.variantFields, fields, fingerprint: fingerprint)
    }

    private func missed(_ candidates: [StoredResponse]) -> CacheStatus.ForwardReason {
        guard !candidates.isEmpty else { return .uriMiss }
        let selected = candidates.filter(isSelected)
        guard !selected.isEmpty else { return .varyMiss }
        return selected.contains { $0.status == 206 } ? .partial : .miss
    }
}
