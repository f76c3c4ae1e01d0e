/// The cookies of a jar, indexed by domain, limited to the numbers in RFC 6265bis section 6.1.
///
/// Sending examines the cookies of the host and of its parent domains. Storing may also examine subdomains that have a
/// Secure cookie of the same name, and examines the whole table only to evict cookies. ``visited`` counts the examined
/// cookies, for tests.
struct CookieTable: Sendable {
    /// The maximum number of cookies of one domain, host-only or not.
    static let maximumPerDomain = 50
    static let maximumCount = 3000
    /// The minimum number of free places after an eviction from the full table. Many cookies are evicted at once,
    /// because each eviction sorts the whole table.
    static let purged = maximumCount / 10

    /// The keys are slices, so that parent domains can be looked up without a copy.
    private var domains: [Substring: [Cookie]] = [:]
    private var secureNames = SecureNames()
    private(set) var count = 0
    /// The number of cookies that sending and storing have examined so far.
    private(set) var visited = 0

    var isEmpty: Bool { count == 0 }
    var all: some Sequence<Cookie> { domains.values.joined() }

    func find(_ identity: Cookie.Identity) -> Cookie? {
        domains[Substring(identity.domain)]?.first { $0.identity == identity }
    }

    func cookies(of domain: String) -> [Cookie] { domains[Substring(domain)] ?? [] }

    // MARK: Changing

    /// Inserts a cookie. Replaces the cookie with the same identity.
    mutating func insert(_ cookie: Cookie) {
        let identity = cookie.identity
        let domain = Substring(cookie.domain)
        visited &+= domains[domain]?.count ?? 0
        let index = domains[domain]?.firstIndex { $0.identity == identity }
        if let index, let old = domains[domain]?[index] {
            if old.isSecure { secureNames.remove(name: old.name, domain: old.domain) }
            domains[domain]?[index] = cookie
        } else {
            domains[domain, default: []].append(cookie)
            count += 1
        }
        if cookie.isSecure { secureNames.insert(name: cookie.name, domain: cookie.domain) }
    }

    @discardableResult
    mutating func remove(_ identity: Cookie.Identity) -> Cookie? {
        let domain = Substring(identity.domain)
        visited &+= domains[domain]?.count ?? 0
        guard let index = domains[domain]?.firstIndex(where: { $0.identity == identity }) else { return nil }
        return remove(at: index, of: domain)
    }

    private mutating func remove(at index: Int, of domain: Substring) -> Cookie? {
        guard let cookie = domains[domain]?.remove(at: index) else { return nil }
        if domains[domain]?.isEmpty == true { domains[domain] = nil }
        count -= 1
        if cookie.isSecure { secureNames.remove(name: cookie.name, domain: cookie.domain) }
        return cookie
    }

    // MARK: Looking up

    /// Calls `body` for each cookie whose domain, path and Secure attribute match a request.
    mutating func forEach(
        sentTo host: String, path: Substring, isSecure: Bool, _ body: (inout Cookie) -> Void
    ) {
        for domain in CookieScope.ancestry(of: host) {
            guard let slot = domains.index(forKey: domain) else { continue }
            let isHost = domain.utf8.count == host.utf8.count
            domains.values[slot].withUnsafeMutableBufferPointer { cookies in
                visited &+= cookies.count
                for index in cookies.indices {
                    let cookie = cookies[index]
                    let isSent =
                        (isHost || !cookie.isHostOnly) && (isSecure || !cookie.isSecure)
                        && CookieScope.matches(path: path, cookiePath: cookie.path)
                    if isSent { body(&cookies[index]) }
                }
            }
        }
    }

    /// Returns true if `cookie` would shadow a Secure cookie of the same name. The domain of the Secure cookie is
    /// equal, a parent or a subdomain, and its path is equal or a parent. Section 5.7 ("leave secure cookies alone").
    mutating func hasSecureCookie(shadowedBy cookie: Cookie, at now: Double) -> Bool {
        for domain in CookieScope.ancestry(of: cookie.domain) where hasSecureCookie(of: domain, cookie, now) {
            return true
        }
        for domain in secureNames.domains(below: cookie.domain, name: cookie.name)
        where hasSecureCookie(of: domain, cookie, now) {
            return true
        }
        return false
    }

    private mutating func hasSecureCookie(of domain: Substring, _ cookie: Cookie, _ now: Double) -> Bool {
        guard let cookies = domains[domain] else { return false }
        visited &+= cookies.count
        let path = Substring(cookie.path)
        return cookies.contains {
            $0.isSecure && $0.name.isExactly(cookie.name) && !$0.isExpired(at: now)
                && CookieScope.matches(path: path, cookiePath: $0.path)
        }
    }

    // MARK: Limits

    /// Evicts cookies if a domain exceeds its limit: all expired cookies, then as many as necessary of the cookies that
    /// are not Secure, then of the Secure cookies. Among these, the least recently used cookies are evicted first.
    mutating func evict(from domain: String, at now: Double) -> [Cookie] {
        let expiring = leastImportant(of: Substring(domain), at: now)
        for cookie in expiring { remove(cookie.identity) }
        return expiring
    }

    /// Returns the cookies to evict. This is a separate function, because its reference to the array must be released
    /// before the array is changed. Otherwise, the change would copy the array.
    private mutating func leastImportant(of domain: Substring, at now: Double) -> [Cookie] {
        guard let cookies = domains[domain], cookies.count > CookieTable.maximumPerDomain else { return [] }
        visited &+= cookies.count
        let excess = cookies.count - CookieTable.maximumPerDomain
        let expired = cookies.filter { $0.isExpired(at: now) }
        guard expired.count < excess else { return expired }
        // In the usual case, one cookie exceeds the limit and no sorting is needed.
        if excess == 1 { return cookies.min(by: CookieTable.isLessImportant).map { [$0] } ?? [] }
        let unexpired = cookies.filter { !$0.isExpired(at: now) }
        return expired + unexpired.sorted(by: CookieTable.isLessImportant).prefix(excess - expired.count)
    }

    private static func isLessImportant(_ a: Cookie, _ b: Cookie) -> Bool {
        a.isSecure == b.isSecure ? isLongerUnused(a, b) : b.isSecure
    }

    /// Evicts cookies if the table exceeds its limit: expired cookies, then the least recently used cookies until a
    /// tenth of the table is free.
    mutating func purge(at now: Double) -> [Cookie] {
        guard count > CookieTable.maximumCount else { return [] }
        visited &+= count
        let expired = removeExpired(at: now)
        let excess = count - (CookieTable.maximumCount - CookieTable.purged)
        guard excess > 0 else { return expired }
        let oldest = all.sorted(by: CookieTable.isLongerUnused).prefix(excess)
        for cookie in oldest { remove(cookie.identity) }
        return expired + oldest
    }

    mutating func removeExpired(at now: Double) -> [Cookie] {
        let expired = all.filter { $0.isExpired(at: now) }
        for cookie in expired { remove(cookie.identity) }
        return expired
    }

    /// Orders by last access, then by creation.
    private static func isLongerUnused(_ a: Cookie, _ b: Cookie) -> Bool {
        (a.lastAccess, a.created) < (b.lastAccess, b.created)
    }
}
