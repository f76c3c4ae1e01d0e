import Testing

@testable import NightjarHTTP

@Suite struct WaitQueueTests {
    private func queue(_ ids: some Sequence<UInt64>) -> WaitQueue {
        var queue = WaitQueue()
        for id in ids { queue.append(id, deadline: nil) }
        return queue
    }

    private func drained(_ queue: WaitQueue) -> [UInt64] {
        var queue = queue
        var ids: [UInt64] = []
        while let first = queue.first {
            ids.append(first.id)
            queue.removeFirst()
        }
        #expect(queue.count == 0)
        return ids
    }

    @Test func queueIsFirstInFirstOut() {
        #expect(drained(queue(1...3)) == [1, 2, 3])
    }

    @Test func cancelledCallIsSkipped() {
        var queue = queue(1...4)
        #expect(queue.remove(1) == true && queue.remove(3) == true)
        #expect(queue.remove(3) == false)
        #expect(queue.count == 2)
        #expect(drained(queue) == [2, 4])
    }

    @Test func returningCallIsLast() {
        var queue = queue(1...3)
        #expect(queue.remove(1) == true)
        queue.append(1, deadline: nil)
        queue.append(2, deadline: nil)
        #expect(queue.count == 3)
        #expect(drained(queue) == [3, 1, 2])
    }

    @Test func positionsCountOnlyRemainingCalls() {
        var queue = queue(1...6)
        #expect(queue.remove(2) == true)
        var places: [Int] = []
        let left = queue.removeAll { place, waiter in
            places.append(place)
            return waiter.id % 2 == 1
        }
        #expect(left.map(\.id) == [1, 3, 5])
        #expect(places == [0, 0, 0, 1, 1])
        #expect(drained(queue) == [4, 6])
    }

    @Test func thousandsOfCancelledCallsAreSkippedQuickly() {
        var queue = queue(1...10_000)
        for id in (1..<10_000 as Range<UInt64>).reversed() { #expect(queue.remove(id) == true) }
        #expect(queue.count == 1)
        #expect(drained(queue) == [10_000])
    }
}
