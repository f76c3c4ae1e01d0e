import NightjarHTTP
import NightjarStorage

// Responses to requests whose cookies a stored response has set: see ``CookieSuccession``.

extension Cache {
    /// Lets the cookies that a reusable response sets find what is stored for the cookies of its request.
    func noteCookies(_ head: ResponseHead, _ freshness: @autoclosure () -> Freshness, _ progress: Progress) {
        guard loginCookies != .all, head.headers.firstIndex(of: "Set-Cookie") != nil, freshness().isExplicitlyReusable
        else { return }
        let before = progress.plain.fields["Cookie"]
        let origin = progress.plain.url.origin
        switch CookieSuccession(of: before, by: head.headers, at: progress.received) {
        case .none: break
        case .replaced(let field):
            guard let next = partition(field, progress) else { return }
            storage.heirs.add(next, of: progress.key.partition, origin)
        case .added(let field):
            guard let next = partition(field, progress) else { return }
            storage.heirs.add(next, of: progress.key.partition, origin, url: progress.key.url)
        }
    }

    /// The partition of the same request with another Cookie field; nil: the request cannot be made.
    private func partition(_ field: String, _ progress: Progress) -> CachePartition? {
        guard let next = try? progress.plain.setting("Cookie", field) else { return nil }
        return next.cacheFacts(loginCookies).key(login: progress.login).partition
    }

    /// Gives the response that has set the cookies of this request, as long as no server need be asked.
    func giveOrigin(of progress: Progress, _ call: Call) -> Verdict? {
        guard let key = storage.heirs.origin(of: progress.key, call.request.url.origin), storage.isCurrent else {
            return nil
        }
        let entries = storage.memory.find(key).map { CachedEntry.memory($0) }
        guard case .answer(let answer) = progress.asked.decide(among: entries.map(\.response), at: WallClock.now())
        else { return nil }
        progress.entries = entries
        return give(answer, progress, call)
    }
}
