import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// Several processes share a set of cookies. Each process has its own jar.
@Suite struct CookieMergeTests {
    private static let start = 1_750_000_000.0
    private var a = CookieJar()
    private var b = CookieJar()
    private var now = CookieMergeTests.start

    private func store(_ text: String, in jar: inout CookieJar, from: String = "https://example.com/") throws {
        jar.store(setCookie: text, from: try RequestURL(from), at: now)
    }

    private func sent(_ jar: CookieJar) throws -> String? {
        var jar = jar
        return jar.retrieve(for: try RequestURL("https://example.com/"), at: now, isSafeMethod: true)
    }

    // MARK: Conversations

    @Test mutating func newerChangeWinsInBothDirections() throws {
        try store("sid=1", in: &a)
        let old = a.snapshot()
        b.merge(old, at: now)
        #expect(try sent(b) == "sid=1")
        now += 1
        try store("sid=2", in: &b)
        b.merge(old, at: now)
        #expect(try sent(b) == "sid=2")
        a.merge(b.snapshot(), at: now)
        #expect(try sent(a) == "sid=2")
        a.merge(old, at: now)
        #expect(try sent(a) == "sid=2")
    }

    @Test mutating func cookiesAreMergedIndividually() throws {
        try store("x=1", in: &a)
        try store("y=1", in: &a)
        b.merge(a.snapshot(), at: now)
        now += 1
        try store("x=2", in: &a)
        try store("y=2", in: &b)
        try store("z=2", in: &b)
        let fromA = a.snapshot()
        a.merge(b.snapshot(), at: now)
        b.merge(fromA, at: now)
        #expect(try sent(a) == "x=2; y=2; z=2")
        #expect(try sent(b) == "x=2; y=2; z=2")
    }

    @Test mutating func deletionIsNotUndoneByAnOlderSnapshot() throws {
        try store("sid=1", in: &a)
        let old = a.snapshot()
        b.merge(old, at: now)
        now += 1
        try store("sid=; Max-Age=0", in: &b)
        b.merge(old, at: now)
        #expect(try sent(b) == nil)
        a.merge(b.snapshot(), at: now)
        #expect(try sent(a) == nil)
        a.merge(old, at: now)
        #expect(try sent(a) == nil)
        // A later cookie replaces the deletion.
        now += 1
        try store("sid=3", in: &a)
        b.merge(a.snapshot(), at: now)
        #expect(try sent(b) == "sid=3")
    }

    @Test mutating func deletionOfAnUnknownCookieIsPropagated() throws {
        try store("sid=1", in: &a)
        now += 1
        try store("sid=; Max-Age=0", in: &b)
        a.merge(b.snapshot(), at: now)
        #expect(try sent(a) == nil)
    }

    @Test mutating func programmaticDeletionsArePropagated() throws {
        try store("x=1", in: &a)
        try store("y=1", in: &a)
        let old = a.snapshot()
        a.delete(name: "x", at: now)
        a.merge(old, at: now)
        #expect(try sent(a) == "y=1")
        a.clear(at: now)
        a.merge(old, at: now)
        #expect(try sent(a) == nil)
        b.merge(old, at: now)
        try store("z=1", in: &b)
        b.merge(a.snapshot(), at: now)
        now += 1
        try store("w=1", in: &a)
        b.merge(a.snapshot(), at: now)
        #expect(try sent(b) == "z=1; w=1" || sent(b) == "w=1")
        #expect(try sent(b)?.contains("y=1") == false)
    }

    @Test mutating func laterOfTwoChangesInOneSecondWins() throws {
        try store("sid=1", in: &a)
        try store("sid=2", in: &a)
        let second = a.snapshot()
        try store("sid=3", in: &a)
        a.merge(second, at: now)
        #expect(try sent(a) == "sid=3")
        // A process that has seen a change gives its next change a later time, even if its clock is an hour behind.
        b.merge(a.snapshot(), at: now)
        now -= 3600
        try store("sid=4", in: &b)
        a.merge(b.snapshot(), at: now)
        #expect(try sent(a) == "sid=4")
        try store("sid=; Max-Age=0", in: &a)
        b.merge(a.snapshot(), at: now)
        #expect(try sent(b) == nil)
    }

    @Test mutating func expiredCookieIsNotRestored() throws {
        try store("sid=long; Max-Age=1000000", in: &a)
        let old = a.snapshot()
        now += 1
        try store("sid=short; Max-Age=5", in: &a)
        let short = a.snapshot()
        now += 10
        for index in 0..<50 { try store("n\(index)=v", in: &a) }
        #expect(a.table.cookies(of: "example.com").count == 50)
        a.merge(old, at: now)
        #expect(try sent(a)?.contains("sid") == false)
        // The older version is also removed by a newer version that has already expired.
        b.merge(old, at: now)
        b.merge(short, at: now)
        #expect(try sent(b) == nil)
    }

    @Test mutating func evictedCookieIsNotRestored() throws {
        try store("first=v", in: &a)
        let old = a.snapshot()
        for index in 0..<50 { try store("n\(index)=v", in: &a) }
        a.merge(old, at: now)
        #expect(a.list(at: now).allSatisfy { $0.name != "first" })
        now += 1
        try store("first=again", in: &b)
        a.merge(b.snapshot(), at: now)
        #expect(a.list(at: now).contains { $0.name == "first" })
    }

    @Test mutating func mergeRespectsTheLimits() throws {
        for host in 0..<2500 { try store("n=v", in: &a, from: "https://a\(host).com/") }
        for host in 0..<2500 { try store("n=v", in: &b, from: "https://b\(host).com/") }
        for index in 0..<50 { try store("a\(index)=v", in: &a) }
        for index in 0..<50 { try store("b\(index)=v", in: &b) }
        a.merge(b.snapshot(), at: now)
        #expect(a.table.count <= CookieTable.maximumCount)
        #expect(a.table.cookies(of: "example.com").count <= CookieTable.maximumPerDomain)
    }

    @Test mutating func accessTimesAreMergedButAreNotChanges() throws {
        try store("sid=1", in: &a)
        b.merge(a.snapshot(), at: now)
        now += 100
        _ = b.retrieve(for: try RequestURL("https://example.com/"), at: now, isSafeMethod: true)
        let revision = a.revision
        a.merge(b.snapshot(), at: now)
        #expect(a.list(at: now).first?.lastAccess == now)
        #expect(a.list(at: now).first?.modified == CookieMergeTests.start)
        #expect(a.revision == revision)
        try store("x=1", in: &b)
        a.merge(b.snapshot(), at: now)
        #expect(a.revision == revision + 1)
    }

    @Test(arguments: [Double.nan, .infinity, 1e300, -1e300])
    mutating func invalidSnapshotIsMerged(_ stamp: Double) throws {
        let cookie = try Cookie(
            name: "n", value: "v", domain: "example.com", expires: stamp, created: stamp, lastAccess: stamp,
            modified: stamp)
        try store("sid=1", in: &a)
        a.merge(CookieJar.Snapshot(cookies: [cookie], deletions: [cookie.identity: stamp], cleared: -stamp), at: stamp)
        try store("x=1", in: &a)
        #expect(try sent(a) == "sid=1; x=1")
    }

    @Test mutating func deletionsAreBoundedAndNeverUndone() throws {
        try store("sid=1", in: &a)
        let old = a.snapshot()
        try store("sid=; Max-Age=0", in: &a)
        for index in 0..<10_000 { try store("n\(index)=; Max-Age=0", in: &a) }
        #expect(a.snapshot().deletions.count <= CookieDeletions.maximumCount)
        a.merge(old, at: now)
        #expect(try sent(a) == nil)
    }

    // MARK: Any order

    /// Three jars make random changes and merge snapshots, some of which are old. After each jar has merged the others,
    /// all jars are equal.
    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func mergedJarsConverge(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        func randomIndex(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
        var jars = [CookieJar(), CookieJar(), CookieJar()]
        var snapshots: [CookieJar.Snapshot] = []
        var now = CookieMergeTests.start
        for _ in 0..<100 {
            if randomIndex(3) == 0 { now += 0.25 }
            let jar = randomIndex(3)
            // The clocks of the jars differ by up to 4 s.
            let local = now + Double(jar) * 2 - 2
            let url = try RequestURL("https://h\(randomIndex(2)).com/")
            switch randomIndex(8) {
            case 0...3: jars[jar].store(setCookie: "n\(randomIndex(4))=\(randomIndex(100))", from: url, at: local)
            case 4: jars[jar].store(setCookie: "n\(randomIndex(4))=; Max-Age=0", from: url, at: local)
            case 5: jars[jar].delete(name: "n\(randomIndex(4))", at: local)
            case 6: snapshots.append(jars[jar].snapshot())
            default:
                if randomIndex(10) == 0 { jars[jar].clear(at: local) }
                if !snapshots.isEmpty { jars[jar].merge(snapshots[randomIndex(snapshots.count)], at: local) }
            }
        }
        for _ in 0..<2 {
            for (to, from) in [(0, 1), (1, 2), (2, 0), (0, 2), (1, 0), (2, 1)] {
                jars[to].merge(jars[from].snapshot(), at: now)
            }
        }
        let contents = jars.map { $0.list(at: now).map { "\($0.domain) \($0.name)=\($0.value) \($0.modified)" } }
        #expect(contents[0] == contents[1] && contents[1] == contents[2], "seed \(seed)")
        for snapshot in snapshots { jars[0].merge(snapshot, at: now) }
        #expect(jars[0].list(at: now).map(\.value) == jars[1].list(at: now).map(\.value), "seed \(seed)")
    }
}
