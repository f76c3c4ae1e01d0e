import Testing

@testable import NightjarHTTP

@Suite struct WaitQueueTests {
    private func line(_ ids: some Sequence<UInt64>) -> WaitQueue {
        var line = WaitQueue()
        for id in ids { line.append(id, deadline: nil) }
        return line
    }

    private func drained(_ line: WaitQueue) -> [UInt64] {
        var line = line
        var ids: [UInt64] = []
        while let first = line.first {
            ids.append(first.id)
            line.removeFirst()
        }
        #expect(line.count == 0)
        return ids
    }

    @Test func queueIsFirstInFirstOut() {
        #expect(drained(line(1...3)) == [1, 2, 3])
    }

    @Test func cancelledCallIsSkipped() {
        var line = line(1...4)
        #expect(line.remove(1) == true && line.remove(3) == true)
        #expect(line.remove(3) == false)
        #expect(line.count == 2)
        #expect(drained(line) == [2, 4])
    }

    @Test func returningCallIsLast() {
        var line = line(1...3)
        #expect(line.remove(1) == true)
        line.append(1, deadline: nil)
        line.append(2, deadline: nil)
        #expect(line.count == 3)
        #expect(drained(line) == [3, 1, 2])
    }

    @Test func positionsCountOnlyRemainingCalls() {
        var line = line(1...6)
        #expect(line.remove(2) == true)
        var places: [Int] = []
        let left = line.removeAll { place, waiter in
            places.append(place)
            return waiter.id % 2 == 1
        }
        #expect(left.map(\.id) == [1, 3, 5])
        #expect(places == [0, 0, 0, 1, 1])
        #expect(drained(line) == [4, 6])
    }

    @Test func thousandsOfCancelledCallsAreSkippedQuickly() {
        var line = line(1...10_000)
        for id in (1..<10_000 as Range<UInt64>).reversed() { #expect(line.remove(id) == true) }
        #expect(line.count == 1)
        #expect(drained(line) == [10_000])
    }
}
