extension CookieJar {
    /// All that a jar knows, for a store or another jar.
    public struct Snapshot: Sendable, Equatable {
        public var cookies: [Cookie]
        /// What was deleted, and when.
        public var deletions: [Cookie.Identity: Double]
        /// Everything up to this moment was deleted.
        public var cleared: Double

        public init(cookies: [Cookie] = [], deletions: [Cookie.Identity: Double] = [:], cleared: Double = 0) {
            self.cookies = cookies
            self.deletions = deletions
            self.cleared = cleared
        }
    }

    /// In no order.
    public func snapshot() -> Snapshot {
        Snapshot(cookies: Array(table.all), deletions: deletions.stamps, cleared: deletions.cleared)
    }

    /// Takes from `other` what is newer there, cookie by cookie. Jars that merge each other's snapshots, in whatever
    /// order and how often, come to hold the same.
    ///
    /// The last change wins: an older copy replaces nothing, and does not bring back what was deleted later. At the same
    /// moment a deletion wins over a cookie.
    public mutating func merge(_ other: Snapshot, at now: Double) {
        let now = Cookie.moment(now)
        let cleared = Cookie.moment(other.cleared)
        lastStamp = max(lastStamp, cleared)
        if cleared > deletions.cleared {
            deletions.clear(at: cleared)
            for cookie in Array(table.all) where cookie.modified <= cleared { table.remove(cookie.identity) }
        }
        for (identity, stamp) in other.deletions { merge(deletionOf: identity, at: Cookie.moment(stamp)) }
        var domains: Set<String> = []
        for cookie in other.cookies {
            guard !cookie.isExpired(at: now) else {
                merge(deletionOf: cookie.identity, at: cookie.modified)
                continue
            }
            lastStamp = max(lastStamp, cookie.modified)
            if take(cookie) { domains.insert(cookie.domain) }
        }
        for domain in domains { note(removed: table.evict(from: domain, at: now)) }
        note(removed: table.purge(at: now))
        revision &+= 1
    }

    private mutating func merge(deletionOf identity: Cookie.Identity, at stamp: Double) {
        lastStamp = max(lastStamp, stamp)
        if let mine = table.find(identity) {
            guard mine.modified <= stamp else { return }
            table.remove(identity)
        }
        deletions.note(identity, at: stamp)
    }

    /// - Returns: whether the jar holds more cookies for it.
    private mutating func take(_ cookie: Cookie) -> Bool {
        guard let mine = table.find(cookie.identity) else {
            guard !deletions.covers(cookie) else { return false }
            deletions.forget(cookie.identity)
            table.insert(cookie)
            return true
        }
        var newer = CookieJar.isOlder(mine, cookie) ? cookie : mine
        newer.lastAccess = max(mine.lastAccess, cookie.lastAccess)
        if newer != mine { table.insert(newer) }
        return false
    }

    /// By the time of the change. Two changes at the very same moment are told apart by what they say, so that all
    /// jars choose the same.
    private static func isOlder(_ a: Cookie, _ b: Cookie) -> Bool {
        (a.modified, a.value, a.expires ?? .infinity, a.created) < (b.modified, b.value, b.expires ?? .infinity, b.created)
    }
}
