import NightjarHTTP

/// Reads and writes the snapshot of a cookie jar as rows of a database.
struct CookieRows {
    static let schema = DatabaseSchema(
        "njck",
        steps: [
            """
            CREATE TABLE cookie (
              domain TEXT NOT NULL, path TEXT NOT NULL, name TEXT NOT NULL, host_only INTEGER NOT NULL,
              value TEXT NOT NULL, expires REAL, secure INTEGER NOT NULL, http_only INTEGER NOT NULL,
              same_site TEXT NOT NULL, created REAL NOT NULL, last_access REAL NOT NULL, modified REAL NOT NULL,
              PRIMARY KEY (domain, path, name, host_only)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE deletion (
              domain TEXT NOT NULL, path TEXT NOT NULL, name TEXT NOT NULL, host_only INTEGER NOT NULL,
              stamp REAL NOT NULL,
              PRIMARY KEY (domain, path, name, host_only)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE moment (what TEXT PRIMARY KEY, stamp REAL NOT NULL) STRICT, WITHOUT ROWID;
            """,
            "ALTER TABLE cookie ADD COLUMN login INTEGER",
        ])

    private let database: Database
    private let allCookies: Statement
    private let allDeletions: Statement
    private let allMoments: Statement
    private let putCookie: Statement
    private let dropCookie: Statement
    private let putDeletion: Statement
    private let dropDeletion: Statement
    private let putMoment: Statement

    init(_ database: Database) throws(DatabaseError) {
        self.database = database
        allCookies = try database.prepare(
            """
            SELECT domain, path, name, host_only, value, expires, secure, http_only, same_site, created, last_access,
              modified, login FROM cookie
            """)
        allDeletions = try database.prepare("SELECT domain, path, name, host_only, stamp FROM deletion")
        allMoments = try database.prepare("SELECT what, stamp FROM moment")
        putCookie = try database.prepare("REPLACE INTO cookie VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        dropCookie = try database.prepare(
            "DELETE FROM cookie WHERE domain = ? AND path = ? AND name = ? AND host_only = ?")
        putDeletion = try database.prepare("REPLACE INTO deletion VALUES (?, ?, ?, ?, ?)")
        dropDeletion = try database.prepare(
            "DELETE FROM deletion WHERE domain = ? AND path = ? AND name = ? AND host_only = ?")
        putMoment = try database.prepare("REPLACE INTO moment VALUES (?, ?)")
    }

    // MARK: Reading

    /// Returns the content. Ignores rows that no jar could have written.
    ///
    /// - Throws: `damaged` if there are more than ``maximumCount`` rows of cookies and deletions.
    func read() throws(DatabaseError) -> CookieJar.Snapshot {
        var content = CookieJar.Snapshot()
        var count = 0
        try allCookies.each { row in
            if let cookie = cookie(row) { content.cookies.append(cookie) }
            count += 1
            return count <= CookieRows.maximumCount
        }
        try allDeletions.each { row in
            if let identity = identity(row), let stamp = row.real(4) { content.deletions[identity] = stamp }
            count += 1
            return count <= CookieRows.maximumCount
        }
        guard count <= CookieRows.maximumCount else {
            throw DatabaseError(.damaged, database.path, "has more rows than a cookie jar can write")
        }
        try allMoments.each { row in
            switch row.text(0) {
            case CookieRows.cleared: content.cleared = row.real(1) ?? 0
            case CookieRows.horizon: content.horizon = row.real(1) ?? 0
            default: break
            }
            return true
        }
        return content
    }

    private func identity(_ row: Row) -> Cookie.Identity? {
        guard let domain = row.text(0), let path = row.text(1), let name = row.text(2), let isHostOnly = row.flag(3)
        else { return nil }
        return Cookie.Identity(name: name, domain: domain, isHostOnly: isHostOnly, path: path)
    }

    private func cookie(_ row: Row) -> Cookie? {
        guard let identity = identity(row), let value = row.text(4), let isSecure = row.flag(6),
            let isHTTPOnly = row.flag(7), let sameSite = row.text(8).flatMap(Cookie.SameSite.init(rawValue:)),
            let created = row.real(9), let lastAccess = row.real(10), let modified = row.real(11)
        else { return nil }
        var cookie = try? Cookie(
            name: identity.name, value: value, domain: identity.domain, isHostOnly: identity.isHostOnly,
            path: identity.path, expires: row.real(5), isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: sameSite,
            created: created, lastAccess: lastAccess, modified: modified)
        cookie?.owner = row.integer(12).map { Cookie.Owner(lineage: UInt64(bitPattern: $0), isStored: true) }
        return cookie
    }

    // MARK: Writing

    /// Writes the differences between two snapshots.
    ///
    /// - Returns: the content after writing.
    func write(
        _ after: CookieJar.Snapshot, over before: CookieJar.Snapshot
    ) throws(DatabaseError) -> CookieJar.Snapshot {
        var removed = [Cookie.Identity: Cookie](before.cookies.map { ($0.identity, $0) }) { $1 }
        for cookie in after.cookies {
            let old = removed.removeValue(forKey: cookie.identity)
            if old.map({ CookieRows.needsWriting(cookie, over: $0) }) ?? true { try put(cookie) }
        }
        for identity in removed.keys { try dropCookie.run(identity) }

        for (identity, stamp) in after.deletions where before.deletions[identity] != stamp {
            try putDeletion.run(identity, .real(stamp))
        }
        for identity in before.deletions.keys where after.deletions[identity] == nil {
            try dropDeletion.run(identity)
        }
        if after.cleared != before.cleared { try putMoment.run([.text(CookieRows.cleared), .real(after.cleared)]) }
        if after.horizon != before.horizon { try putMoment.run([.text(CookieRows.horizon), .real(after.horizon)]) }
        return after
    }

    private func put(_ cookie: Cookie) throws(DatabaseError) {
        try putCookie.run(
            cookie.identity, .text(cookie.value), .real(cookie.expires), .flag(cookie.isSecure),
            .flag(cookie.isHTTPOnly), .text(cookie.sameSite.rawValue), .real(cookie.created),
            .real(cookie.lastAccess), .real(cookie.modified), CookieRows.value(of: cookie.owner))
    }

    private static func value(of owner: Cookie.Owner?) -> SQLValue {
        guard let owner, owner.isStored else { return .null }
        return .integer(Int64(bitPattern: owner.lineage))
    }

    /// Returns whether a cookie must be written. The time of the last access only affects which cookies are evicted, so
    /// a change of only this time is written at most once a day.
    private static func needsWriting(_ cookie: Cookie, over old: Cookie) -> Bool {
        cookie.modified != old.modified || !cookie.value.isExactly(old.value) || cookie.expires != old.expires
            || cookie.created != old.created || cookie.lastAccess > old.lastAccess + 86400
    }

    // MARK: Names and bounds

    private static let cleared = "cleared"
    private static let horizon = "horizon"
    /// The maximum number of rows of cookies and deletions together. A jar has at most 3000 of each.
    private static let maximumCount = 10_000
}

extension Statement {
    /// Runs the statement with the four columns that identify a cookie or deletion, followed by `more`.
    fileprivate func run(_ identity: Cookie.Identity, _ more: SQLValue...) throws(DatabaseError) {
        try run(
            [.text(identity.domain), .text(identity.path), .text(identity.name), .flag(identity.isHostOnly)] + more)
    }
}
