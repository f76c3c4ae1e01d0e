extension CookieJar {
    /// The complete content of a jar, for a file or another jar.
    public struct Snapshot: Sendable, Equatable {
        public var cookies: [Cookie]
        /// The deleted cookies and the times of deletion.
        public var deletions: [Cookie.Identity: Double]
        /// All cookies that were last changed up to this time are deleted.
        public var cleared: Double
        /// Records of deletions up to this time may have been dropped. Older cookies that are not among `cookies` must
        /// not be accepted from another jar.
        public var horizon: Double

        public init(
            cookies: [Cookie] = [], deletions: [Cookie.Identity: Double] = [:], cleared: Double = 0,
            horizon: Double = 0
        ) {
            self.cookies = cookies
            self.deletions = deletions
            self.cleared = cleared
            self.horizon = horizon
        }
    }

    /// Returns the content of the jar, in no particular order.
    public func snapshot() -> Snapshot {
        Snapshot(
            cookies: Array(table.all), deletions: deletions.stamps, cleared: deletions.cleared,
            horizon: deletions.horizon)
    }

    /// Merges the newer cookies and deletions of `other`. Jars that merge each other's snapshots converge to the same
    /// content, regardless of the order and number of merges, unless a limit evicts cookies or a jar rejects the domain
    /// of a cookie as a public suffix.
    ///
    /// The last change wins: an older copy replaces nothing and does not undo a later deletion. If times are equal, a
    /// deletion wins over a cookie. Cookies without a modification time, which were never in a jar, are not merged; use
    /// ``add(_:at:)``.
    public mutating func merge(_ other: Snapshot, at now: Double) {
        let now = Cookie.moment(now)
        merge(clearedAt: Cookie.stamp(other.cleared))
        for (identity, stamp) in other.deletions { merge(deletionOf: identity, at: Cookie.stamp(stamp)) }
        var grown: Set<String> = []
        for cookie in other.cookies {
            if cookie.isExpired(at: now) {
                // An expired cookie also deletes an older copy in this jar.
                merge(deletionOf: cookie.identity, at: cookie.modified)
            } else if merge(cookie) {
                grown.insert(cookie.domain)
            }
        }
        for domain in grown { note(removed: table.evict(from: domain, at: now)) }
        note(removed: table.purge(at: now))
        // The horizon is raised last, because it must not reject cookies that the other jar still has.
        if deletions.raiseHorizon(to: Cookie.stamp(other.horizon)) { revision &+= 1 }
    }

    private mutating func merge(clearedAt stamp: Double) {
        guard stamp > deletions.cleared else { return }
        lastStamp = max(lastStamp, stamp)
        deletions.clear(at: stamp)
        for cookie in Array(table.all) where cookie.modified <= stamp { table.remove(cookie.identity) }
        revision &+= 1
    }

    private mutating func merge(deletionOf identity: Cookie.Identity, at stamp: Double) {
        lastStamp = max(lastStamp, stamp)
        if let own = table.find(identity) {
            guard own.modified <= stamp else { return }
            table.remove(identity)
            revision &+= 1
        }
        if deletions.note(identity, at: stamp) { revision &+= 1 }
    }

    /// - Returns: true if the number of cookies has increased.
    private mutating func merge(_ cookie: Cookie) -> Bool {
        lastStamp = max(lastStamp, cookie.modified)
        guard let own = table.find(cookie.identity) else {
            guard !deletions.covers(cookie), isAllowed(cookie) else { return false }
            deletions.forget(cookie.identity)
            table.insert(cookie)
            revision &+= 1
            return true
        }
        let isNewer = CookieJar.isOlder(own, cookie)
        var kept = isNewer ? cookie : own
        kept.lastAccess = max(own.lastAccess, cookie.lastAccess)
        if kept != own { table.insert(kept) }
        if isNewer { revision &+= 1 }
        return false
    }

    /// Compares modification times. If they are equal, the content decides, so that all jars choose the same cookie.
    private static func isOlder(_ a: Cookie, _ b: Cookie) -> Bool {
        let (aExpires, bExpires) = (a.expires ?? .infinity, b.expires ?? .infinity)
        return (a.modified, a.value, aExpires, a.created) < (b.modified, b.value, bExpires, b.created)
    }
}
