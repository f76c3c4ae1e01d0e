/// The cookies of a client. RFC 6265bis sections 5.6 to 5.8.
///
/// A jar has no clock and no lock. The caller passes the time in seconds since 1970 (see ``Cookie``). The memory of a
/// jar and the work for one field are bounded (see ``CookieTable``).
///
/// An API client shows no web pages, so each call counts as a top-level navigation. The site of the call's first URL is
/// the first party. Only a redirect to another site makes a request cross-site.
public struct CookieJar: Sendable {
    public enum Outcome: Equatable, Sendable {
        case stored
        /// The cookie had already expired, which is how servers delete cookies.
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
    /// Incremented by each change of ``snapshot()``, except a change of ``Cookie/lastAccess`` alone.
    public internal(set) var revision: UInt64 = 0
    /// The lineages of the latest logins that have ended and whose cookies were deleted. Late responses do not
    /// store cookies of these logins.
    var endedLogins: [UInt64] = []

    /// - Parameter isPublicSuffix: returns true for a name whose subdomains belong to different owners, such as `com`
    ///   and `co.uk`. Called with host names in lower case without a final dot, never with addresses. The default
    ///   treats every single-label name as a public suffix.
    package init(
        policy: CookiePolicy = .all, isPublicSuffix: @escaping @Sendable (String) -> Bool = CookieJar.isSingleLabel
    ) {
        self.policy = policy
        publicSuffix = isPublicSuffix
    }

    /// Returns true for a name without a dot, like the default rule of the public suffix list.
    @Sendable public static func isSingleLabel(_ name: String) -> Bool { !name.utf8.contains(UInt8(ascii: ".")) }

    // MARK: Storing

    /// Stores the value of a Set-Cookie field. Section 5.7.
    ///
    /// - Parameters:
    ///   - url: the URL of the response.
    ///   - firstParty: the origin of the call's first URL. Nil if the call was not redirected.
    ///   - owner: the login whose token the request has. Nil if the request has none.
    @discardableResult
    package mutating func store(
        setCookie: UnsafeRawBufferPointer, from url: RequestURL, at now: Double, firstParty: Origin? = nil,
        owner: Cookie.Owner? = nil
    ) -> Outcome {
        do throws(CookieRefusal) {
            guard policy != .none else { throw .disabled }
            if let owner, endedLogins.contains(owner.lineage) { throw .loginEnded }
            guard policy != .firstParty || isSameSite(url.origin, firstParty) else { throw .thirdParty }
            let set = try SetCookie(parsing: setCookie)
            let now = Cookie.moment(now)
            var cookie = try evaluate(set, from: url, at: now)
            guard cookie.isSecure || url.origin.isTLS || !table.hasSecureCookie(shadowedBy: cookie, at: now) else {
                throw .overwritesSecure
            }
            cookie.owner = owner
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
    /// - Returns: the reasons for all rejections, in order.
    @discardableResult
    package mutating func store(
        from headers: Headers, of url: RequestURL, at now: Double, firstParty: Origin? = nil,
        owner: Cookie.Owner? = nil
    ) -> [CookieRefusal] {
        var refusals: [CookieRefusal] = []
        for index in 0..<headers.count {
            headers.withBytes(at: index) { name, value in
                guard ASCII.isCaseless(name, "set-cookie") else { return }
                let outcome = store(setCookie: value, from: url, at: now, firstParty: firstParty, owner: owner)
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
                // An address, or a host that is a public suffix such as github.io, can set only host-only cookies.
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
        // A path may have up to 64 KiB, and each cookie stores a copy of its path.
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

    /// Returns the value of the Cookie field for a request, or nil if no cookie matches. Section 5.8.3.
    ///
    /// - Parameters:
    ///   - isSafeMethod: true for GET, HEAD, OPTIONS and TRACE. Used only if `firstParty` is another site.
    ///   - firstParty: the origin of the call's first URL. Nil if the call was not redirected.
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

    /// Stores a cookie from a program or a file, regardless of the policy. The cookie may replace a Secure cookie. The
    /// jar sets the times of the cookie except its expiry.
    ///
    /// - Throws: the reason if the cookie is not host-only and its domain is a public suffix, or if the domain has no
    ///   room.
    @discardableResult
    public mutating func add(_ cookie: Cookie, at now: Double) throws(CookieRefusal) -> Outcome {
        guard isAllowed(cookie) else { throw .publicSuffix }
        return try keep(cookie, at: Cookie.moment(now))
    }

    /// Deletes the cookies that match all given values. A subdomain does not match `domain`.
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

    mutating func delete(_ expiring: [Cookie], at now: Double) -> Int {
        for cookie in expiring {
            table.remove(cookie.identity)
            deletions.note(cookie.identity, at: stamp(tick(now)))
        }
        if !expiring.isEmpty { revision &+= 1 }
        return expiring.count
    }

    /// Deletes all cookies. Later merges do not restore older cookies.
    public mutating func clear(at now: Double) {
        deletions.clear(at: stamp(tick(now)))
        table = CookieTable()
        revision &+= 1
    }

    // MARK: Sites

    /// Returns false if the cookie would be sent to all subdomains of a public suffix.
    func isAllowed(_ cookie: Cookie) -> Bool { cookie.isHostOnly || !isPublicSuffix(cookie.domain) }

    private func isPublicSuffix(_ name: String) -> Bool {
        guard !CookieScope.isAddress(name) else { return false }
        return publicSuffix(name.utf8.last == UInt8(ascii: ".") ? String(name.dropLast()) : name)
    }

    /// Returns true if both origins have the same scheme and registrable domain, or if `firstParty` is nil. RFC 6265bis
    /// section 5.2.
    private func isSameSite(_ origin: Origin, _ firstParty: Origin?) -> Bool {
        guard let firstParty, firstParty != origin else { return true }
        guard origin.isTLS == firstParty.isTLS else { return false }
        return origin.host == firstParty.host
            || CookieScope.site(of: origin.host, isPublicSuffix: isPublicSuffix)
                == CookieScope.site(of: firstParty.host, isPublicSuffix: isPublicSuffix)
    }

    // MARK: Time

    /// Returns `now`, or a slightly later time if `now` is not later than the previous result. Events at the same `now`
    /// therefore keep their order.
    private mutating func tick(_ now: Double) -> Double {
        lastMoment = max(Cookie.moment(now), lastMoment.nextUp)
        return lastMoment
    }

    /// Returns a modification time that is later than all modification times in this jar and in merged content. A
    /// change is therefore later than the state that it replaces, even if the clocks of two programs differ.
    private mutating func stamp(_ moment: Double) -> Double {
        lastStamp = max(moment, lastStamp.nextUp)
        return lastStamp
    }
}

extension Cookie.SameSite {
    /// Returns true if the cookie is sent with a request that a redirect from another site caused. Section 5.8.3.
    func allowsCrossSite(isSafeMethod: Bool) -> Bool {
        switch self {
        case .none: true
        case .lax, .unspecified: isSafeMethod
        case .strict: false
        }
    }
}
