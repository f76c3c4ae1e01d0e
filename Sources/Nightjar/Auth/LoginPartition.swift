import NightjarHTTP

/// The cache partition of the login in use.
struct LoginPartition {
    /// Nil if there is no login, or if its token has no lineage.
    private(set) var current: CachePartition?
    /// The last partition in use, also after a logout.
    private var last: CachePartition?
    /// The number of times that calls started to use a token of another partition. The first partition does not count.
    private(set) var changes: UInt64 = 0

    /// The lineages of the client's logins, most recent last, at most ``maximumLineages``.
    private(set) var lineages: [UInt64] = []

    /// Returns the owner of the cookies that responses set.
    func owner(isStored: Bool) -> Cookie.Owner? {
        current.map { Cookie.Owner(lineage: $0.high, isStored: isStored) }
    }

    /// Records that calls use `token` from now on.
    ///
    /// - Returns: Whether cached responses may belong to a login other than the token's.
    mutating func use(_ token: Token) -> Bool {
        let before = current
        current = token.lineage.map { CachePartition(lineage: $0) }
        if let current, current != last {
            if last != nil { changes &+= 1 }
            last = current
            lineages.append(current.high)
            lineages.removeFirst(max(0, lineages.count - LoginPartition.maximumLineages))
        }
        return current != before || current == nil
    }

    mutating func clear() { current = nil }

    private static let maximumLineages = 8
}
