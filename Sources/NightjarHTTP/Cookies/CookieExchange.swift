/// Merges the cookies of one process with a file that several processes share. Contains no file access, clock or lock.
///
///     changes(_:) ──▶ transaction: read the file, content(_:over:at:), write the file
///                 ──▶ committed(_:after:) ──▶ CookieJar.take(_:over:at:)
///
/// The changes and the content of the file are merged in one transaction, cookie by cookie, by the rules of
/// ``CookieJar/merge(_:at:)``.
public struct CookieExchange: Sendable {
    /// True if session cookies are stored in the file.
    public let keepsSession: Bool
    /// The content of the file after the last exchange, even if the file has been replaced since.
    private var given = CookieJar.Snapshot()

    public init(keepsSession: Bool) { self.keepsSession = keepsSession }

    /// Returns the changes that the process writes to the file.
    ///
    /// - Parameter jar: the jar's content. Must include the content that ``committed(_:after:)`` has returned.
    public func changes(_ jar: CookieJar.Snapshot) -> CookieJar.Snapshot { jar.withDeletions(of: given) }

    /// Returns the new content of the file: `stored` merged with `changes`.
    public func content(
        _ changes: CookieJar.Snapshot, over stored: CookieJar.Snapshot, at now: Double
    ) -> CookieJar.Snapshot {
        // Accept all domains, because the jar that reads the file checks the domains.
        var jar = CookieJar(isPublicSuffix: { _ in false })
        jar.merge(stored, at: now)
        jar.merge(keepsSession ? changes : changes.withoutSession(replacing: stored), at: now)
        return jar.snapshot()
    }

    /// Reports that the content was committed.
    ///
    /// - Returns: the part of `content` that differs from `changes` and that the jar must merge. Usually empty.
    public mutating func committed(
        _ content: CookieJar.Snapshot, after changes: CookieJar.Snapshot
    ) -> CookieJar.Snapshot {
        given = visible(content)
        return given.news(for: changes, keepsSession: keepsSession)
    }

    /// Returns `content` without session cookies, unless ``keepsSession`` is true.
    public func visible(_ content: CookieJar.Snapshot) -> CookieJar.Snapshot {
        guard !keepsSession else { return content }
        var content = content
        content.cookies.removeAll { $0.expires == nil }
        return content
    }
}

extension CookieJar {
    /// Merges content from the file.
    ///
    /// - Parameter revision: the jar's revision when the exchange began. Nil if the file was only read.
    /// - Returns: the revision that the file now contains. Nil if the jar has changed since the exchange began.
    public mutating func take(_ news: Snapshot, over revision: UInt64?, at now: Double) -> UInt64? {
        let before = self.revision
        merge(news, at: now)
        return revision == nil || before == revision ? self.revision : nil
    }
}

extension CookieJar.Snapshot {
    /// Adds deletions for the cookies in `given` that this content no longer has. A jar records a bounded number of
    /// deletions, so a cookie whose record was dropped would otherwise stay in the file.
    fileprivate func withDeletions(of given: CookieJar.Snapshot) -> CookieJar.Snapshot {
        let kept = Set(cookies.map(\.identity))
        var result = self
        for cookie in given.cookies
        where !kept.contains(cookie.identity) && cookie.modified > max(cleared, deletions[cookie.identity] ?? 0) {
            result.deletions[cookie.identity] = cookie.modified
        }
        return result
    }

    /// Returns the part of this content that a jar with the content `known` must merge.
    fileprivate func news(for known: CookieJar.Snapshot, keepsSession: Bool) -> CookieJar.Snapshot {
        var unmatched = Dictionary(known.cookies.map { ($0.identity, $0) }) { $1 }
        var news = self
        news.cookies.removeAll { own in
            unmatched.removeValue(forKey: own.identity).map {
                $0.modified == own.modified && $0.value.isExactly(own.value) && $0.expires == own.expires
                    && $0.created == own.created
            } ?? false
        }
        news.deletions = deletions.filter { known.deletions[$0.key] != $0.value }
        // These cookies are not in the file, because they were deleted. The jar must delete them too.
        for cookie in unmatched.values where keepsSession || cookie.expires != nil {
            news.deletions[cookie.identity] = max(deletions[cookie.identity] ?? 0, cookie.modified)
        }
        return news
    }

    /// Returns this content without session cookies. If a session cookie replaced a cookie in the file, the cookie in
    /// the file is deleted.
    fileprivate func withoutSession(replacing stored: CookieJar.Snapshot) -> CookieJar.Snapshot {
        var result = self
        result.cookies = cookies.filter { $0.expires != nil }
        guard result.cookies.count < cookies.count else { return result }
        let known = Set(stored.cookies.map(\.identity))
        for cookie in cookies where cookie.expires == nil && known.contains(cookie.identity) {
            // The deletion is older than the session cookie. The jar therefore keeps the session cookie when it merges
            // the deletion.
            result.deletions[cookie.identity] = cookie.modified.nextDown
        }
        return result
    }
}
