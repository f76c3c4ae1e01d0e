import NightjarHTTP
import Testing

@Suite struct SharedFetchesTests {
    private var fetches = SharedFetches()

    @Test mutating func laterRequestsWaitForTheLeader() {
        #expect(fetches.join("a", 1) == .leads)
        #expect(fetches.join("a", 2) == .waits)
        #expect(fetches.join("b", 3) == .leads)
        #expect(fetches.join("a", 4) == .waits)
        #expect(fetches.stored("a", by: 1) == [2, 4])
        #expect(fetches.join("a", 5) == .leads)
    }

    @Test mutating func uncacheableResponseIsAwaitedOnce() {
        #expect(fetches.join("a", 1) == .leads)
        #expect(fetches.join("a", 2) == .waits)
        #expect(fetches.notStorable("a", by: 1) == [2])
        #expect(fetches.join("a", 2) == .isIndependent)
        #expect(fetches.join("a", 3) == .isIndependent)
        #expect(fetches.count == 0)
    }

    @Test mutating func storableResponseIsSharedAgain() {
        #expect(fetches.join("a", 1) == .leads)
        #expect(fetches.notStorable("a", by: 1) == [])
        #expect(fetches.join("a", 2) == .isIndependent)
        #expect(fetches.stored("a", by: 2) == [])
        #expect(fetches.join("a", 3) == .leads)
    }

    @Test mutating func cancelledLeaderIsReplacedByAFollower() {
        #expect(fetches.join("a", 1) == .leads)
        for member: UInt64 in 2...4 { #expect(fetches.join("a", member) == .waits) }
        #expect(fetches.left("a", 2) == nil)
        #expect(fetches.left("a", 1) == 3)
        // The new leader joins again and remains the leader.
        #expect(fetches.join("a", 3) == .leads)
        // Events of the former leader are ignored.
        #expect(fetches.stored("a", by: 1) == [])
        #expect(fetches.stored("a", by: 3) == [4])
        #expect(fetches.count == 0)
    }

    @Test mutating func cancelledFetchLeavesNoState() {
        for member: UInt64 in 1...3 { _ = fetches.join("a", member) }
        #expect(fetches.left("a", 3) == nil)
        #expect(fetches.left("a", 2) == nil)
        #expect(fetches.left("a", 1) == nil)
        #expect(fetches.count == 0)
        #expect(fetches.left("a", 1) == nil)
    }

    @Test mutating func failureIsNotShared() {
        _ = fetches.join("a", 1)
        _ = fetches.join("a", 2)
        #expect(fetches.failed("a", by: 1) == [2])
        // The next fetch is shared again.
        #expect(fetches.join("a", 2) == .leads)
    }

    @Test mutating func keysAreBounded() {
        for number in 0..<5000 {
            _ = fetches.join(CacheKey(url: "\(number)"), UInt64(number))
            _ = fetches.notStorable(CacheKey(url: "\(number)"), by: UInt64(number))
        }
        #expect(fetches.join("4999", 5000) == .isIndependent)
        #expect(fetches.join("0", 5001) == .leads)
    }
}

extension CacheKey: ExpressibleByStringLiteral {
    public init(stringLiteral url: String) { self.init(url: url) }
}
