import Testing

@testable import NightjarHTTP

/// RFC 6265bis section 6.1: what is thrown out when there is too much, and what that costs.
@Suite struct CookieLimitsTests {
    private static let start = 1_750_000_000.0
    private var jar = CookieJar(isPublicSuffix: { suffixes.contains($0) })
    private var now = CookieLimitsTests.start

    @discardableResult
    private mutating func store(_ text: String, _ from: String = "https://example.com/") throws -> CookieJar.Outcome {
        jar.store(setCookie: text, from: try RequestURL(from), at: now)
    }

    private var names: Set<String> { Set(jar.list(at: now).map(\.name)) }

    // MARK: A domain

    @Test mutating func aDomainKeepsFiftyAndThrowsOutTheLongestUnused() throws {
        for index in 0..<50 { try store("n\(index)=v; Path=/\(index)") }
        now += 1
        _ = jar.retrieve(for: try RequestURL("https://example.com/0"), at: now, isSafeMethod: true)
        now += 1
        try store("new=v")
        #expect(names.count == 50)
        #expect(names.contains("n0") && !names.contains("n1") && names.contains("new"))
    }

    @Test mutating func theExpiredGoFirstThenTheInsecure() throws {
        try store("insecure=v")
        try store("brief=v; Max-Age=5; Secure")
        for index in 0..<48 { try store("n\(index)=v; Secure") }
        now += 10
        try store("first=v; Secure")
        #expect(names.count == 50 && names.contains("insecure"))
        try store("second=v; Secure")
        #expect(names.count == 50 && !names.contains("insecure") && names.contains("n0"))
        try store("third=v; Secure")
        #expect(names.count == 50 && !names.contains("n0") && names.contains("n1"))
    }

    @Test mutating func whatIsNotSecureHasNoRoomAmongWhatIs() throws {
        for index in 0..<50 { try store("n\(index)=v; Secure") }
        #expect(try store("late=v", "http://example.com/") == .refused(.noRoom))
        #expect(names.count == 50 && !names.contains("late"))
    }

    @Test mutating func otherDomainsDoNotCount() throws {
        for index in 0..<50 { try store("n\(index)=v") }
        for index in 0..<50 { try store("n\(index)=v", "https://www.example.com/") }
        #expect(jar.list(at: now).count == 100)
    }

    // MARK: All

    @Test mutating func thereAreNeverMoreThanThreeThousand() throws {
        for host in 0..<100 {
            for index in 0..<50 {
                try store("n\(index)=v", "https://h\(host).example.com/")
                #expect(jar.table.count <= 3000)
            }
        }
        #expect(jar.table.count > 2700)
        // The latest are there, and the first are not.
        #expect(jar.table.cookies(of: "h99.example.com").count == 50)
        #expect(jar.table.cookies(of: "h0.example.com").isEmpty)
    }

    @Test mutating func whatIsUsedOutlivesWhatIsNot() throws {
        try store("session=v", "https://used.example.com/")
        for host in 0..<10_000 {
            now += 1
            try store("n=v", "https://h\(host).example.com/")
            if host % 1000 == 0 {
                let url = try RequestURL("https://used.example.com/")
                #expect(jar.retrieve(for: url, at: now, isSafeMethod: true) == "session=v")
            }
        }
        #expect(jar.table.cookies(of: "used.example.com").count == 1)
    }

    @Test mutating func whatHasExpiredMakesRoomFirst() throws {
        for host in 0..<1500 { try store("old=v", "https://old\(host).example.com/") }
        for host in 0..<1500 { try store("brief=v; Max-Age=5", "https://h\(host).example.com/") }
        now += 10
        try store("new=v")
        #expect(jar.table.count == 1501)
        #expect(names == ["old", "new"])
    }

    // MARK: Work, in cookies looked at

    enum Flood: String, CaseIterable {
        case oneHost, manyHosts, manySites, deepHosts, deletions, sameCookie
    }

    /// A scan of the jar for each would look at ten thousand times three thousand.
    @Test(arguments: Flood.allCases)
    mutating func tenThousandCookiesCostTenThousandTimesABoundedWork(_ flood: Flood) throws {
        let deep = String(repeating: "a.", count: 100)
        for index in 0..<10_000 {
            switch flood {
            case .oneHost: try store("n\(index)=v; Secure")
            case .manyHosts: try store("n=v", "https://h\(index).example.com/")
            case .manySites: try store("n=v; Domain=s\(index).com", "https://www.s\(index).com/")
            case .deepHosts: try store("n\(index)=v", "http://\(deep)example.com/")
            case .deletions: try store("n\(index)=v; Max-Age=0")
            case .sameCookie: try store("n=v\(index)")
            }
        }
        #expect(jar.table.count <= CookieTable.maximumCount)
        #expect(jar.snapshot().deletions.count <= CookieDeletions.maximumCount)
        // 50 of a domain are looked at to find the one and again to evict; a tenth of purging all.
        #expect(jar.table.visited <= 10_000 * 200, "\(jar.table.visited) looked at")
    }

    @Test mutating func sendingLooksAtTheDomainsAboveTheHostAlone() throws {
        for host in 0..<2900 { try store("n=v", "https://h\(host).example.com/") }
        for index in 0..<50 { try store("n\(index)=v; Domain=example.com; Path=/p\(index)") }
        let before = jar.table.visited
        for index in 0..<1000 {
            let url = try RequestURL("https://h\(index).example.com/p1")
            #expect(jar.retrieve(for: url, at: now, isSafeMethod: true) == "n1=v; n=v")
        }
        #expect(jar.table.visited - before <= 1000 * 51)
    }

    /// The costliest question: is there a secure cookie of this name on any domain above or below?
    @Test mutating func whatComesInTheClearIsComparedWithItsNamesakesAlone() throws {
        for host in 0..<2000 { try store("n\(host)=v; Secure", "https://h\(host).example.com/") }
        let before = jar.table.visited
        for index in 0..<1000 { try store("x\(index)=v", "http://plain.example.com/") }
        #expect(jar.table.visited - before <= 1000 * 200)
        #expect(try store("n7=v; Domain=example.com", "http://example.com/") == .refused(.overwritesSecure))
    }
}
