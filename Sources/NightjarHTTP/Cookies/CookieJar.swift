/// The cookies of a client. RFC 6265bis sections 5.6 to 5.8.
///
/// A value without clock or lock: the owner passes the time in, as seconds since 1970 (see ``Cookie``). The memory that
/// a server can make it use is bounded (``CookieTable``), and so is the work for one field.
///
/// An API client shows no web pages, so each call counts as a top-level navigation. The site of the call's first URL is
/// the first party. Only a redirect to another site makes a request cross-site.
public struct CookieJar: Sendable {
    public enum Outcome: Equatable, Sendable {
        case stored
        /// The cookie had already expired. Servers delete cookies this way.
        case deleted
        case refused(CookieRefusal)
    }

    package var policy: CookiePolicy
    private let publicSuffix: @Sendable (String) -> Bool
    var table = CookieTable()
    var deletions = CookieDeletions()
    private var lastMoment = 0.0
    /// The latest value of ``Cookie/modified`` in this jar or in merged content.
    var lastStamp = 0.0
    /// Incremented by each change of ``snapshot()``. Sending a cookie is not a change.
    public internal(set) var revision: UInt64 = 0

    /// - Parameter isPublicSuffix: returns true if the names below the given name belong to different owners, as for
    ///   `com` and `co.uk`. It is called with host names in lower case without a final dot, never with addresses. The
    ///   default treats every single-label name as a public suffix.
    package init(
        policy: CookiePolicy = .all, isPublicSuffix: @escaping @Sendable (String) -> Bool = CookieJar.isSingleLabel
    ) {
        self.policy = policy
        publicSuffix = isPublicSuffix
    }

    /// Returns true for a name without a dot. The public suffix list has this rule for names that it does not contain.
    @Sendable public static func isSingleLabel(_ name: String) -> Bool { !name.utf8.contains(UInt8(ascii: ".")) }

    // MARK: Storing

    /// Stores the value of a Set-Cookie field. Section 5.7.
    ///
    /// - Parameters:
    ///   - url: the URL of the response.
    ///   - firstParty: the site that the program called. Nil if it is that of `url`.
    @discardableResult
    public mutating func store(
        setCookie: UnsafeRawBufferPointer, from url: RequestURL, at now: Double, firstParty: Origin? = nil
    ) -> Outcome {
        do throws(CookieRefusal) {
            guard policy != .none else { throw .disabled }
            guard policy != .firstParty || isSameSite(url.origin, firstParty) else { throw .thirdParty }
            let set = try SetCookie(parsing: setCookie)
            let now = Cookie.moment(now)
            let cookie = try evaluate(set, from: url, at: now)
            guard cookie.isSecure || url.origin.isTLS || !table.hasSecureCookie(shadowedBy: cookie, at: now) else {
                throw .overwritesSecure
            }
            return try keep(cookie, at: now)
        } catch {
            return .refused(error)
        }
    }

    /// Stores a Set-Cookie value given as text.
    @discardableResult
    public mutating func store(
        setCookie: String, from url: RequestURL, at now: Double, firstParty: Origin? = nil
    ) -> Outcome {
        var text = setCookie
        return text.withUTF8 {
            store(setCookie: UnsafeRawBufferPointer($0), from: url, at: now, firstParty: firstParty)
        }
    }

    /// Stores all Set-Cookie fields of a response.
    ///
    /// - Returns: the reasons of all rejections, in order.
    @discardableResult
    public mutating func store(
        from headers: Headers, of url: RequestURL, at now: Double, firstParty: Origin? = nil
    ) -> [CookieRefusal] {
        var refusals: [CookieRefusal] = []
        for index in 0..<headers.count {
            headers.withBytes(at: index) { name, value in
                guard ASCII.isCaseless(name, "set-cookie") else { return }
                let outcome = store(setCookie: value, from: url, at: now, firstParty: firstParty)
                if case .refused(let refusal) = outcome { refusals.append(refusal) }
            }
        }
        return refusals
    }

    /// Applies the steps of section 5.7 that do not depend on other cookies.
    private func evaluate(_ set: SetCookie, from url: RequestURL, at now: Double) throws(CookieRefusal) -> Cookie {
        let host = url.origin.host
        var domain = set.domain
        if let named = domain {
            if named == host || named == "[\(host)]" {
                // A public suffix that is itself a host, such as github.io, or an address can only set host-only
                // cookies.
                if CookieScope.isAddress(host) || isPublicSuffix(host) { domain = nil }
            } else {
                guard CookieScope.matches(host: host, domain: named) else { throw .domainMismatch }
                guard !isPublicSuffix(named) else { throw .publicSuffix }
            }
        }
        let path = if let path = set.path { path } else { try defaultPath(of: url) }
        guard !set.isSecure || url.origin.isTLS else { throw .secureFromPlain }
        guard set.sameSite != .none || set.isSecure else { throw .crossSiteNotSecure }
        guard
            CookiePrefix.isKept(
                name: set.name, value: set.value, isSecure: set.isSecure, isHostOnly: domain == nil,
                rootPath: set.hasPath && path == "/")
        else { throw .prefix }
        return Cookie(
            evaluated: set, domain: domain ?? host, isHostOnly: domain == nil, path: path, expires: expiry(set, at: now)
        )
    }

    private func defaultPath(of url: RequestURL) throws(CookieRefusal) -> String {
        let path = CookieScope.defaultPath(CookieScope.path(of: url.target))
        // A URL may have 64 KiB, and each cookie would store its own copy of the path.
        guard path.utf8.count <= Cookie.maximumAttribute else { throw .pathTooLong }
        return String(path)
    }

    /// Returns the expiry time. Max-Age takes precedence over Expires, and both are limited to 400 days.
    private func expiry(_ set: SetCookie, at now: Double) -> Double? {
        if let age = set.maxAge { return age > 0 ? Cookie.moment(now + Double(age)) : Cookie.timeRange.lowerBound }
        return set.expires.map { Cookie.moment(min(Double($0), now + Double(Cookie.maximumAge))) }
    }

    /// Stores an accepted cookie. If it has expired, deletes the stored cookie with the same identity instead.
    private mutating func keep(_ cookie: Cookie, at now: Double) throws(CookieRefusal) -> Outcome {
        let moment = tick(now)
        let stamp = stamp(moment)
        revision &+= 1
        if cookie.isExpired(at: now) {
            table.remove(cookie.identity)
            deletions.note(cookie.identity, at: stamp)
            return .deleted
        }
        var cookie = cookie
        let old = table.find(cookie.identity)
        cookie.created = old.flatMap { $0.isExpired(at: now) ? nil : $0.created } ?? moment
        cookie.lastAccess = moment
        cookie.modified = stamp
        deletions.forget(cookie.identity)
        table.insert(cookie)
        let evicted = table.evict(from: cookie.domain, at: now) + table.purge(at: now)
        note(removed: evicted)
        if evicted.contains(where: { $0.modified == stamp }) { throw .noRoom }
        return .stored
    }

    mutating func note(removed cookies: [Cookie]) {
        for cookie in cookies { deletions.note(cookie.identity, at: cookie.modified) }
        if !cookies.isEmpty { revision &+= 1 }
    }

    // MARK: Sending

    /// Returns the value of the Cookie field for a request. Nil if there are no cookies for it. Section 5.8.3.
    ///
    /// - Parameters:
    ///   - isSafeMethod: true for GET, HEAD, OPTIONS and TRACE. Used only if `firstParty` is another site.
    ///   - firstParty: the site that the program called. Nil if it is that of `url`.
    public mutating func retrieve(
        for url: RequestURL, at now: Double, isSafeMethod: Bool, firstParty: Origin? = nil
    ) -> String? {
        guard policy != .none, !table.isEmpty else { return nil }
        let isSameSite = isSameSite(url.origin, firstParty)
        guard policy == .all || isSameSite else { return nil }
        let now = Cookie.moment(now)
        let moment = tick(now)
        var sent: [Cookie] = []
        table.forEach(
            sentTo: url.origin.host, path: CookieScope.path(of: url.target), isSecure: url.origin.isTLS
        ) { cookie in
            guard !cookie.isExpired(at: now), isSameSite || cookie.sameSite.allowsCrossSite(isSafeMethod: isSafeMethod)
            else { return }
            cookie.lastAccess = moment
            sent.append(cookie)
        }
        guard !sent.isEmpty else { return nil }
        if sent.count > 1 { sent.sort(by: CookieJar.isSentBefore) }
        var field = ""
        field.reserveCapacity(sent.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 3 })
        for cookie in sent {
            if !field.isEmpty { field += "; " }
            if !cookie.name.isEmpty {
                field += cookie.name
                field += "="
            }
            field += cookie.value
        }
        return field
    }

    /// Orders cookies by path length, longest first, then by age, oldest first.
    private static func isSentBefore(_ a: Cookie, _ b: Cookie) -> Bool {
        let (aLength, bLength) = (a.path.utf8.count, b.path.utf8.count)
        return aLength != bLength ? aLength > bLength : a.created < b.created
    }

    // MARK: Manual changes

    /// Returns the cookies that have not expired, sorted by domain, path and name.
    public func list(at now: Double) -> [Cookie] {
        table.all.filter { !$0.isExpired(at: Cookie.moment(now)) }
            .sorted { ($0.domain, $0.path, $0.name, $0.created) < ($1.domain, $1.path, $1.name, $1.created) }
    }

    /// Stores a cookie that no server sent, regardless of the policy. It may replace a secure cookie. Its domain must
    /// not be a public suffix.
    ///
    /// Its creation, access and modification times are set to the current time.
    @discardableResult
    public mutating func add(_ cookie: Cookie, at now: Double) throws(CookieRefusal) -> Outcome {
        guard isAllowed(cookie) else { throw .publicSuffix }
        return try keep(cookie, at: Cookie.moment(now))
    }

    /// Deletes the cookies that match all given values. A domain matches exactly.
    ///
    /// - Returns: the number of deleted cookies.
    @discardableResult
    public mutating func delete(
        name: String? = nil, domain: String? = nil, path: String? = nil, at now: Double
    ) -> Int {
        let host = domain.map { CookieScope.host(named: $0) ?? $0 }
        let candidates = host.map { table.cookies(of: $0) } ?? Array(table.all)
        return delete(
            candidates.filter { cookie in
                name.map { cookie.name.isExactly($0) } ?? true && path.map { cookie.path.isExactly($0) } ?? true
            }, at: now)
    }

    private mutating func delete(_ expiring: [Cookie], at now: Double) -> Int {
        for cookie in expiring {
            table.remove(cookie.identity)
            deletions.note(cookie.identity, at: stamp(tick(now)))
        }
        if !expiring.isEmpty { revision &+= 1 }
        return expiring.count
    }

    /// Deletes all cookies. Later merges do not restore cookies from before this time.
    public mutating func clear(at now: Double) {
        deletions.clear(at: stamp(tick(now)))
        table = CookieTable()
        revision &+= 1
    }

    // MARK: Sites

    /// True unless the cookie would be sent to all subdomains of a public suffix.
    func isAllowed(_ cookie: Cookie) -> Bool { cookie.isHostOnly || !isPublicSuffix(cookie.domain) }

    private func isPublicSuffix(_ name: String) -> Bool {
        guard !CookieScope.isAddress(name) else { return false }
        return publicSuffix(name.utf8.last == UInt8(ascii: ".") ? String(name.dropLast()) : name)
    }

    /// True if both origins belong to one site: the same scheme and registrable domain; the port is ignored. Nil is the
    /// site of `origin`. RFC 6265bis section 5.2.
    private func isSameSite(_ origin: Origin, _ firstParty: Origin?) -> Bool {
        guard let firstParty, firstParty != origin else { return true }
        guard origin.isTLS == firstParty.isTLS else { return false }
        return origin.host == firstParty.host
            || CookieScope.site(of: origin.host, isPublicSuffix: isPublicSuffix)
                == CookieScope.site(of: firstParty.host, isPublicSuffix: isPublicSuffix)
    }

    // MARK: Time

    /// Returns a time later than all that were returned before, so that events at the same `now` keep their order.
    private mutating func tick(_ now: Double) -> Double {
        lastMoment = max(Cookie.moment(now), lastMoment.nextUp)
        return lastMoment
    }

    /// Returns a modification time later than all that this jar has issued or merged. A change is therefore later than
    /// the state that it follows, even if the clocks of two programs differ.
    private mutating func stamp(_ moment: Double) -> Double {
        lastStamp = max(moment, lastStamp.nextUp)
        return lastStamp
    }
}

extension Cookie.SameSite {
    /// True if the cookie is sent with a request that another site caused by a redirect. Section 5.8.3.
    func allowsCrossSite(isSafeMethod: Bool) -> Bool {
        switch self {
        case .none: true
        case .lax, .unspecified: isSafeMethod
        case .strict: false
        }
    }
}
