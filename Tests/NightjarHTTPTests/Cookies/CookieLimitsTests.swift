import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// The limits of a cookie jar (RFC 6265bis section 6.1), the order of evictions, and their cost.
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

    @Test mutating func domainKeepsFiftyAndEvictsTheLeastRecentlyUsed() throws {
        for index in 0..<50 { try store("n\(index)=v; Path=/\(index)") }
        now += 1
        _ = jar.retrieve(for: try RequestURL("https://example.com/0"), at: now, isSafeMethod: true)
        now += 1
        try store("new=v")
        #expect(names.count == 50)
        #expect(names.contains("n0") && !names.contains("n1") && names.contains("new"))
    }

    @Test mutating func expiredThenInsecureCookiesAreEvictedFirst() throws {
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

    @Test mutating func insecureCookieDoesNotEvictSecureOnes() throws {
        for index in 0..<50 { try store("n\(index)=v; Secure") }
        #expect(try store("late=v", "http://example.com/") == .refused(.noRoom))
        #expect(names.count == 50 && !names.contains("late"))
    }

    @Test mutating func domainsHaveSeparateLimits() throws {
        for index in 0..<50 { try store("n\(index)=v") }
        for index in 0..<50 { try store("n\(index)=v", "https://www.example.com/") }
        #expect(jar.list(at: now).count == 100)
    }

    // MARK: All domains

    @Test mutating func jarHoldsAtMostThreeThousandCookies() throws {
        for host in 0..<100 {
            for index in 0..<50 {
                try store("n\(index)=v", "https://h\(host).example.com/")
                #expect(jar.table.count <= 3000)
            }
        }
        #expect(jar.table.count > 2700)
        // The latest cookies are present, and the first cookies were evicted.
        #expect(jar.table.cookies(of: "h99.example.com").count == 50)
        #expect(jar.table.cookies(of: "h0.example.com").isEmpty)
    }

    @Test mutating func usedCookiesOutliveUnusedOnes() throws {
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

    @Test mutating func expiredCookiesAreEvictedFirst() throws {
        for host in 0..<1500 { try store("old=v", "https://old\(host).example.com/") }
        for host in 0..<1500 { try store("brief=v; Max-Age=5", "https://h\(host).example.com/") }
        now += 10
        try store("new=v")
        #expect(jar.table.count == 1501)
        #expect(names == ["old", "new"])
    }

    // MARK: Cost, as the number of visited cookies

    enum Flood: String, CaseIterable {
        case oneHost, manyHosts, manySites, deepHosts, deletions, sameCookie
    }

    /// A scan of the jar for each cookie would visit 30 million cookies.
    @Test(arguments: Flood.allCases)
    mutating func costPerStoredCookieIsBounded(_ flood: Flood) throws {
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
        // A domain has at most 50 cookies. Storing a cookie visits each of them up to five times.
        #expect(jar.table.visited <= 10_000 * 250, "\(jar.table.visited) visited")
    }

    @Test mutating func retrievalVisitsOnlyParentDomains() throws {
        for host in 0..<2900 { try store("n=v", "https://h\(host).example.com/") }
        for index in 0..<50 { try store("n\(index)=v; Domain=example.com; Path=/p\(index)") }
        let before = jar.table.visited
        for index in 0..<1000 {
            let url = try RequestURL("https://h\(index).example.com/p1")
            #expect(jar.retrieve(for: url, at: now, isSafeMethod: true) == "n1=v; n=v")
        }
        #expect(jar.table.visited - before <= 1000 * 51)
    }

    /// The most expensive lookup searches all parent domains and subdomains for a secure cookie of the same name.
    @Test mutating func insecureCookieIsComparedOnlyWithRelatedDomains() throws {
        for host in 0..<2000 { try store("sid=v; Secure; Path=/", "https://h\(host).example.com/") }
        let before = jar.table.visited
        for index in 0..<900 { try store("sid=v", "http://plain\(index).example.com/") }
        #expect(jar.table.count == 2900)
        #expect(jar.table.visited - before <= 900 * 10)
        #expect(try store("sid=v; Domain=example.com", "http://example.com/") == .refused(.overwritesSecure))
        #expect(try store("sid=v", "http://x.h7.example.com/") == .refused(.overwritesSecure))
        #expect(try store("sid=v; Domain=h7.example.com", "http://h7.example.com/") == .refused(.overwritesSecure))
    }

    /// Compares the index of secure names with a full scan, for domains that are prefixes and suffixes of each other.
    @Test func secureNamesAreFoundBelowTheirDomains() {
        let labels = ["a", "b", "ab", "a-b", "a.a", "com", "c.com", "1"]
        var domains: [String] = []
        for first in labels {
            for second in labels { domains += [first, "\(first).\(second)", "\(first).\(second).com"] }
        }
        var index = SecureNames()
        var held: [String] = []
        var random = SeededRandom(seed: 7)
        for _ in 0..<2000 {
            let domain = domains[Int(random.next() % UInt64(domains.count))]
            if random.next() % 3 == 0, let at = held.firstIndex(of: domain) {
                held.remove(at: at)
                index.remove(name: "n", domain: domain)
            } else {
                held.append(domain)
                index.insert(name: "n", domain: domain)
            }
            let parent = domains[Int(random.next() % UInt64(domains.count))]
            let expected = Set(held.filter { $0.hasSuffix("." + parent) })
            #expect(Set(index.domains(below: parent, name: "n").map(String.init)) == expected)
            #expect(Array(index.domains(below: parent, name: "other")).isEmpty)
        }
    }
}
