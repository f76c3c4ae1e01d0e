/// Records the cookies that a jar has deleted. A merge does not restore older copies of these cookies.
///
/// The number of records is bounded. When records are dropped, ``horizon`` rises, and unknown cookies that are older
/// than the horizon are rejected. A login may then have to be repeated, but a logout is never undone.
struct CookieDeletions: Sendable {
    static let maximumCount = CookieTable.maximumCount

    /// The time at which each cookie was deleted, on the clock of ``Cookie/modified``. For an expired or evicted
    /// cookie, this is the time of the cookie's last change. Any later copy of the cookie is therefore accepted.
    private(set) var stamps: [Cookie.Identity: Double] = [:]
    /// All cookies that were last changed up to this time are deleted.
    private(set) var cleared = 0.0
    /// Records of deletions up to this time may have been dropped.
    private(set) var horizon = 0.0

    /// Returns true if `cookie` was deleted, or may have been deleted, after its last change.
    ///
    /// - Parameter cookie: a cookie that is not in the jar.
    func covers(_ cookie: Cookie) -> Bool {
        cookie.modified <= max(cleared, horizon) || stamps[cookie.identity].map { cookie.modified <= $0 } ?? false
    }

    /// - Returns: true if this changed the records.
    @discardableResult
    mutating func note(_ identity: Cookie.Identity, at stamp: Double) -> Bool {
        guard stamp > max(cleared, horizon, stamps[identity] ?? 0) else { return false }
        stamps[identity] = stamp
        if stamps.count > CookieDeletions.maximumCount { forgetOldest() }
        return true
    }

    /// Drops a tenth of the records at once, because each call sorts all records.
    private mutating func forgetOldest() {
        let oldest = stamps.values.sorted().prefix(CookieDeletions.maximumCount / 10)
        horizon = max(horizon, oldest.last ?? horizon)
        stamps = stamps.filter { $0.value > horizon }
    }

    /// - Returns: true if the horizon rose.
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
