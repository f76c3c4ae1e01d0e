/// What a jar remembers of cookies that it no longer has, so that an older copy of one does not come back with a merge.
///
/// Bounded like the cookies themselves. What is forgotten for want of room leaves ``horizon``: of cookies unknown here,
/// none that old is taken any more. A login may have to be repeated for it; a logout is never undone.
struct CookieDeletions: Sendable {
    static let maximumCount = CookieTable.maximumCount

    /// When each was deleted, by ``Cookie/modified``'s clock. For one that expired or was evicted, its own last change:
    /// a later one is welcome.
    private(set) var stamps: [Cookie.Identity: Double] = [:]
    /// Everything up to this moment was deleted.
    private(set) var cleared = 0.0
    /// Deletions up to this moment may have been forgotten.
    private(set) var horizon = 0.0

    /// Whether a cookie that is not in the jar was deleted after it was changed.
    func covers(_ cookie: Cookie) -> Bool {
        cookie.modified <= max(cleared, horizon) || stamps[cookie.identity].map { cookie.modified <= $0 } ?? false
    }

    /// - Returns: whether that was news.
    @discardableResult
    mutating func note(_ identity: Cookie.Identity, at stamp: Double) -> Bool {
        guard stamp > max(cleared, horizon, stamps[identity] ?? 0) else { return false }
        stamps[identity] = stamp
        if stamps.count > CookieDeletions.maximumCount { forgetOldest() }
        return true
    }

    /// A tenth at once, for it takes a sort of all.
    private mutating func forgetOldest() {
        let oldest = stamps.values.sorted().prefix(CookieDeletions.maximumCount / 10)
        horizon = max(horizon, oldest.last ?? horizon)
        stamps = stamps.filter { $0.value > horizon }
    }

    /// - Returns: whether that was news.
    mutating func raiseHorizon(to stamp: Double) -> Bool {
        guard stamp > horizon else { return false }
        horizon = stamp
        stamps = stamps.filter { $0.value > stamp }
        return true
    }

    mutating func forget(_ identity: Cookie.Identity) {
        guard !stamps.isEmpty else { return }
        stamps[identity] = nil
    }

    mutating func clear(at stamp: Double) {
        guard stamp > cleared else { return }
        cleared = stamp
        stamps = stamps.filter { $0.value > stamp }
    }
}
