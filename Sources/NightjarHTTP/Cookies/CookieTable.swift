/// The cookies of a jar by the domain that they are of, within the limits of RFC 6265bis section 6.1.
///
/// What is looked at for one cookie stored or sent is a domain's cookies (at most ``maximumPerDomain``) for each name
/// above the host, never the whole jar; ``visited`` counts it.
struct CookieTable: Sendable {
    /// What a domain with ``Cookie/isHostOnly`` and without has together.
    static let maximumPerDomain = 50
    static let maximumCount = 3000
    /// What goes at once when the table is full: the whole table is sorted for it, so this makes it rare.
    static let purged = maximumCount / 10

    /// The keys are slices so that the names above a host are looked up without a copy of each.
    private var domains: [Substring: [Cookie]] = [:]
    private var secureNames = SecureNames()
    private(set) var count = 0
    /// Cookies compared so far.
    private(set) var visited = 0

    var isEmpty: Bool { count == 0 }
    var all: some Sequence<Cookie> { domains.values.joined() }

    func find(_ identity: Cookie.Identity) -> Cookie? {
        domains[Substring(identity.domain)]?.first { $0.identity == identity }
    }

    func cookies(of domain: String) -> [Cookie] { domains[Substring(domain)] ?? [] }

    // MARK: Changing

    /// Puts a cookie in, in the place of the one of its identity.
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

    // MARK: Asking

    /// Takes up each cookie whose domain, path and security let it go to `host`; host-only ones of other hosts are left
    /// out.
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

    /// Whether a secure cookie of the same name, on the domain, above or below it, and on the path or above it, would be
    /// sent along with this one or hidden by it. Section 5.7, the step "leave secure cookies alone".
    mutating func hasSecureCookie(overlaidBy cookie: Cookie, at now: Double) -> Bool {
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

    /// Removes what is over the limit of one domain: expired cookies, then those that are not secure, then the others;
    /// the longest unused first.
    mutating func evict(from domain: String, at now: Double) -> [Cookie] {
        let doomed = leastWorth(of: Substring(domain), at: now)
        for cookie in doomed { remove(cookie.identity) }
        return doomed
    }

    /// A function of its own, so that nobody else holds the array when it is changed, which would copy it.
    private mutating func leastWorth(of domain: Substring, at now: Double) -> [Cookie] {
        guard let cookies = domains[domain], cookies.count > CookieTable.maximumPerDomain else { return [] }
        visited &+= cookies.count
        let excess = cookies.count - CookieTable.maximumPerDomain
        let expired = cookies.filter { $0.isExpired(at: now) }
        guard expired.count < excess else { return expired }
        // What every store into a full domain comes to: no need to sort for it.
        if excess == 1 { return cookies.min(by: CookieTable.isLessWorth).map { [$0] } ?? [] }
        let living = cookies.filter { !$0.isExpired(at: now) }
        return expired + living.sorted(by: CookieTable.isLessWorth).prefix(excess - expired.count)
    }

    private static func isLessWorth(_ a: Cookie, _ b: Cookie) -> Bool {
        a.isSecure == b.isSecure ? isLongerUnused(a, b) : b.isSecure
    }

    /// Makes room when the table is over its limit: what has expired goes, then the longest unused until a tenth is free.
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

    /// Of those last used at the same moment, the one made first.
    private static func isLongerUnused(_ a: Cookie, _ b: Cookie) -> Bool {
        (a.lastAccess, a.created) < (b.lastAccess, b.created)
    }
}
