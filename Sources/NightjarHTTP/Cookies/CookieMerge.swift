extension CookieJar {
    /// All that a jar knows, for a store or another jar.
    public struct Snapshot: Sendable, Equatable {
        public var cookies: [Cookie]
        /// What was deleted, and when.
        public var deletions: [Cookie.Identity: Double]
        /// Everything up to this moment was deleted.
        public var cleared: Double
        /// Deletions up to this moment may have been forgotten: what is that old and not among the cookies is not taken
        /// from anywhere else.
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

    /// In no order.
    public func snapshot() -> Snapshot {
        Snapshot(
            cookies: Array(table.all), deletions: deletions.stamps, cleared: deletions.cleared,
            horizon: deletions.horizon)
    }

    /// Takes from `other` what is newer there, cookie by cookie. Jars that merge each other's snapshots, in whatever
    /// order and how often, come to hold the same.
    ///
    /// The last change wins: an older copy replaces nothing, and does not bring back what was deleted later. At the same
    /// moment a deletion wins over a cookie. A cookie that was in no jar yet has no time of change and is not taken: that
    /// is for ``add(_:at:)``.
    public mutating func merge(_ other: Snapshot, at now: Double) {
        let now = Cookie.moment(now)
        merge(clearedAt: Cookie.stamp(other.cleared))
        for (identity, stamp) in other.deletions { merge(deletionOf: identity, at: Cookie.stamp(stamp)) }
        var grown: Set<String> = []
        for cookie in other.cookies {
            if cookie.isExpired(at: now) {
                // The end of the copy here too, if it is an older one that would live on.
                merge(deletionOf: cookie.identity, at: cookie.modified)
            } else if merge(cookie) {
                grown.insert(cookie.domain)
            }
        }
        for domain in grown { note(removed: table.evict(from: domain, at: now)) }
        note(removed: table.purge(at: now))
        // Last: the cookies there were known where it comes from.
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
        if let mine = table.find(identity) {
            guard mine.modified <= stamp else { return }
            table.remove(identity)
            revision &+= 1
        }
        if deletions.note(identity, at: stamp) { revision &+= 1 }
    }

    /// - Returns: whether the jar holds one more for it.
    private mutating func merge(_ cookie: Cookie) -> Bool {
        lastStamp = max(lastStamp, cookie.modified)
        guard let mine = table.find(cookie.identity) else {
            guard !deletions.covers(cookie), isAllowed(cookie) else { return false }
            deletions.forget(cookie.identity)
            table.insert(cookie)
            revision &+= 1
            return true
        }
        let isNewer = CookieJar.isOlder(mine, cookie)
        var kept = isNewer ? cookie : mine
        kept.lastAccess = max(mine.lastAccess, cookie.lastAccess)
        if kept != mine { table.insert(kept) }
        if isNewer { revision &+= 1 }
        return false
    }

    /// By the time of the change. Two changes at the very same moment are told apart by what they say, so that all
    /// jars choose the same.
    private static func isOlder(_ a: Cookie, _ b: Cookie) -> Bool {
        let (aExpires, bExpires) = (a.expires ?? .infinity, b.expires ?? .infinity)
        return (a.modified, a.value, aExpires, a.created) < (b.modified, b.value, bExpires, b.created)
    }
}
