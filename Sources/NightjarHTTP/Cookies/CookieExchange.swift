/// The decisions of one process that shares its cookies with others through a file; without the file, the clock and the lock.
///
///     unsaved or news ──▶ begin ──▶ transaction: read, content(_:over:), write, commit ──▶ committed ──▶ CookieJar.take
///
/// What a process changed and what is in the file meet in one transaction, cookie by cookie by the rules of
/// ``CookieJar/merge(_:at:)``. A process that ends before the commit has changed nothing. One that ends after it has changed
/// all, and the jar that it does not update ends with it.
public struct CookieExchange: Sendable {
    /// Whether cookies are kept that were to end with the program that got them.
    public let keepsSession: Bool
    /// The last content that the jar was given, also where the file has been replaced since.
    private var given = CookieJar.Snapshot()

    public init(keepsSession: Bool) { self.keepsSession = keepsSession }

    /// What the process brings to the file.
    ///
    /// - Parameter jar: all that the jar knows, which has merged what ``committed(_:after:)`` returned before.
    public func changes(_ jar: CookieJar.Snapshot) -> CookieJar.Snapshot { jar.withDeletions(of: given) }

    /// What is in the file after the exchange.
    public func content(
        _ changes: CookieJar.Snapshot, over stored: CookieJar.Snapshot, at now: Double
    ) -> CookieJar.Snapshot {
        // The jars that use a cookie decide whether its domain may have cookies.
        var jar = CookieJar(isPublicSuffix: { _ in false })
        jar.merge(stored, at: now)
        jar.merge(keepsSession ? changes : changes.withoutSession(replacing: stored), at: now)
        return jar.snapshot()
    }

    /// The content is in the file.
    ///
    /// - Returns: what is in it and not among the changes, for the jar to merge: mostly nothing.
    public mutating func committed(
        _ content: CookieJar.Snapshot, after changes: CookieJar.Snapshot
    ) -> CookieJar.Snapshot {
        given = visible(content)
        return given.news(for: changes, keepsSession: keepsSession)
    }

    /// Without session cookies, which a process that does not share its own must not get either.
    public func visible(_ content: CookieJar.Snapshot) -> CookieJar.Snapshot {
        guard !keepsSession else { return content }
        var content = content
        content.cookies.removeAll { $0.expires == nil }
        return content
    }
}

extension CookieJar {
    /// Merges what an exchange has found in the file.
    ///
    /// - Parameter revision: the jar's when the exchange began; nil: the jar brought nothing.
    /// - Returns: the jar's revision that is in the file now; nil when the jar has changed since the exchange began.
    public mutating func take(_ news: Snapshot, over revision: UInt64?, at now: Double) -> UInt64? {
        let before = self.revision
        merge(news, at: now)
        return revision == nil || before == revision ? self.revision : nil
    }
}

extension CookieJar.Snapshot {
    /// With what the jar was `given` and does not have any more among the deletions: a jar remembers a bounded number of
    /// them, and one that it forgot must not leave the cookie in the file for the next program.
    fileprivate func withDeletions(of given: CookieJar.Snapshot) -> CookieJar.Snapshot {
        let kept = Set(cookies.map(\.identity))
        var result = self
        for cookie in given.cookies
        where !kept.contains(cookie.identity) && cookie.modified > max(cleared, deletions[cookie.identity] ?? 0) {
            result.deletions[cookie.identity] = cookie.modified
        }
        return result
    }

    /// What a jar that knows `known` has to merge of this.
    fileprivate func news(for known: CookieJar.Snapshot, keepsSession: Bool) -> CookieJar.Snapshot {
        var theirs = Dictionary(known.cookies.map { ($0.identity, $0) }) { $1 }
        var news = self
        news.cookies.removeAll { mine in
            theirs.removeValue(forKey: mine.identity).map {
                $0.modified == mine.modified && $0.value.isExactly(mine.value) && $0.expires == mine.expires
                    && $0.created == mine.created
            } ?? false
        }
        news.deletions = deletions.filter { known.deletions[$0.key] != $0.value }
        // What the file did not take, the jar must not keep: it was deleted, and that has been forgotten.
        for cookie in theirs.values where keepsSession || cookie.expires != nil {
            news.deletions[cookie.identity] = max(deletions[cookie.identity] ?? 0, cookie.modified)
        }
        return news
    }

    /// The lasting cookies. Where a session cookie took the place of one in the file, the file's is gone.
    fileprivate func withoutSession(replacing stored: CookieJar.Snapshot) -> CookieJar.Snapshot {
        var result = self
        result.cookies = cookies.filter { $0.expires != nil }
        guard result.cookies.count < cookies.count else { return result }
        let known = Set(stored.cookies.map(\.identity))
        for cookie in cookies where cookie.expires == nil && known.contains(cookie.identity) {
            // A moment before it: the deletion comes back with the merge and must not end the new one.
            result.deletions[cookie.identity] = cookie.modified.nextDown
        }
        return result
    }
}
