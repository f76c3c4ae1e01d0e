import NightjarHTTP
import NightjarStorage

// Requests with cookies that a stored response has set: see ``CookieChange``.

extension Cache {
    /// If a reusable response replaces cookies, lets requests with the new cookies use the entries that were stored for
    /// the previous cookies. If the response only adds cookies, this applies to the URL of the response only. Has no
    /// effect if all cookies identify a login (``LoginCookies/all``).
    func noteCookies(_ head: ResponseHead, _ freshness: @autoclosure () -> Freshness, _ progress: Progress) {
        guard loginCookies != .all, head.headers.firstIndex(of: "Set-Cookie") != nil, freshness().isExplicitlyReusable
        else { return }
        let before = progress.plain.fields["Cookie"]
        let origin = progress.plain.url.origin
        switch CookieChange(of: before, by: head.headers, at: progress.received) {
        case .none: break
        case .replaced(let field):
            guard let next = partition(field, progress) else { return }
            storage.successors.add(next, of: progress.key.partition, origin)
        case .added(let field):
            guard let next = partition(field, progress) else { return }
            storage.successors.add(next, of: progress.key.partition, origin, url: progress.key.url)
        }
    }

    /// Returns the partition of the same request with another Cookie field. Nil if that request would be invalid.
    private func partition(_ field: String, _ progress: Progress) -> CachePartition? {
        guard let next = try? progress.plain.setting("Cookie", field) else { return nil }
        return next.cacheFacts(loginCookies).key(login: progress.login).partition
    }

    /// Returns the response that set this request's cookies, if the response is in memory and needs no revalidation.
    func serveByOrigin(of progress: Progress, _ call: Call) -> Verdict? {
        guard let key = storage.successors.origin(of: progress.key, call.request.url.origin), storage.isCurrent else {
            return nil
        }
        let entries = storage.memory.find(key).map { CachedEntry.memory($0) }
        guard case .hit(let hit) = progress.cacheRequest.decide(among: entries.map(\.response), at: WallClock.now())
        else { return nil }
        progress.entries = entries
        return serve(hit, progress, call)
    }
}
