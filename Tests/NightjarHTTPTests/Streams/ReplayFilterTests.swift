import NIOCore
import Testing

@testable import NightjarHTTP

/// Events that a server sends again on a new connection.
@Suite struct ReplayFilterTests {
    private func event(_ number: Int) -> ServerEvent {
        ServerEvent(
            data: ByteBuffer(string: "event \(number)"), type: ByteBuffer(), id: ByteBuffer(string: "\(number)"),
            hasOwnID: true)
    }

    /// Returns which events of a new connection are new.
    private func admitted(_ numbers: Range<Int>, by filter: inout ReplayFilter) -> [Int] {
        filter.connected()
        return numbers.filter { filter.admits(event($0)) }
    }

    @Test(arguments: [1, 2, 511, 512, 513, 1024, 1500]) func repeatedEventsAreDropped(count: Int) {
        for overlap in [0, 1, 2, 511, 512] where overlap <= count {
            var filter = ReplayFilter()
            #expect(admitted(0..<count, by: &filter) == Array(0..<count))
            #expect(admitted(count - overlap..<count + 3, by: &filter) == [count, count + 1, count + 2])
            #expect(admitted(count + 2..<count + 4, by: &filter) == [count + 3])
        }
    }

    @Test func anEventThatIsTooOldIsNew() {
        var filter = ReplayFilter()
        #expect(admitted(0..<600, by: &filter).count == 600)
        #expect(admitted(600 - ReplayFilter.capacity - 1..<601, by: &filter).count == ReplayFilter.capacity + 2)
    }

    @Test func aNewEventEndsTheRepetition() {
        var filter = ReplayFilter()
        #expect(admitted(0..<5, by: &filter) == Array(0..<5))
        filter.connected()
        #expect([2, 9, 3, 4].filter { filter.admits(event($0)) } == [9, 3, 4])
    }

    @Test func equalEventsAreComparedWithTheLatest() {
        var filter = ReplayFilter()
        filter.connected()
        #expect([1, 1, 1].filter { filter.admits(event($0)) } == [1, 1, 1])
        filter.connected()
        #expect([1, 1].filter { filter.admits(event($0)) } == [1])
    }
}
