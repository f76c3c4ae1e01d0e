extension CookieJar {
    /// Deletes the cookies of logins that have ended: the cookies that responses to their requests have set, and the
    /// cookies for `host` that belong to no login. Cookies of other logins are kept.
    ///
    /// - Parameters:
    ///   - logins: the lineages of the logins.
    ///   - host: the host to which the logins' tokens are sent. Nil deletes only cookies with an owner.
    /// - Returns: the number of deleted cookies.
    @discardableResult
    package mutating func deleteCookies(of logins: [UInt64], host: String?, at now: Double) -> Int {
        for login in logins where !endedLogins.contains(login) { endedLogins.append(login) }
        endedLogins.removeFirst(max(0, endedLogins.count - CookieJar.maximumEndedLogins))
        let ended = table.all.filter { cookie in
            if let owner = cookie.owner { return logins.contains(owner.lineage) }
            guard let host else { return false }
            return cookie.isHostOnly
                ? cookie.domain == host : CookieScope.matches(host: host, domain: cookie.domain)
        }
        return delete(ended, at: now)
    }

    /// The maximum number of remembered logins.
    private static let maximumEndedLogins = 64
}
