import NightjarHTTP
import Testing

@Suite struct SharedFetchesTests {
    private var fetches = SharedFetches()

    @Test mutating func laterRequestsWaitForTheLeader() {
        #expect(fetches.join("a", 1) == .leader)
        #expect(fetches.join("a", 2) == .waiter)
        #expect(fetches.join("b", 3) == .leader)
        #expect(fetches.join("a", 4) == .waiter)
        #expect(fetches.stored("a", by: 1) == [2, 4])
        #expect(fetches.join("a", 5) == .leader)
    }

    @Test mutating func uncacheableResponseIsAwaitedOnce() {
        #expect(fetches.join("a", 1) == .leader)
        #expect(fetches.join("a", 2) == .waiter)
        #expect(fetches.notStorable("a", by: 1) == [2])
        #expect(fetches.join("a", 2) == .independent)
        #expect(fetches.join("a", 3) == .independent)
        #expect(fetches.count == 0)
    }

    @Test mutating func storableResponseIsSharedAgain() {
        #expect(fetches.join("a", 1) == .leader)
        #expect(fetches.notStorable("a", by: 1) == [])
        #expect(fetches.join("a", 2) == .independent)
        #expect(fetches.stored("a", by: 2) == [])
        #expect(fetches.join("a", 3) == .leader)
    }

    @Test mutating func cancelledLeaderIsReplacedByAFollower() {
        #expect(fetches.join("a", 1) == .leader)
        for member: UInt64 in 2...4 { #expect(fetches.join("a", member) == .waiter) }
        #expect(fetches.left("a", 2) == nil)
        #expect(fetches.left("a", 1) == 3)
        // The new leader joins again and remains the leader.
        #expect(fetches.join("a", 3) == .leader)
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
        #expect(fetches.join("a", 2) == .leader)
    }

    @Test mutating func keysAreBounded() {
        for number in 0..<5000 {
            _ = fetches.join(CacheKey(url: "\(number)"), UInt64(number))
            _ = fetches.notStorable(CacheKey(url: "\(number)"), by: UInt64(number))
        }
        #expect(fetches.join("4999", 5000) == .independent)
        #expect(fetches.join("0", 5001) == .leader)
    }
}

extension CacheKey: ExpressibleByStringLiteral {
    public init(stringLiteral url: String) { self.init(url: url) }
}
