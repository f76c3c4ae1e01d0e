import Testing

@testable import NightjarHTTP

@Suite struct ConcurrencyLimitTests {
    private func ticket(_ limit: inout ConcurrencyLimit) throws -> ConcurrencyLimit.Ticket {
        guard case .wait(let ticket) = limit.enter() else { throw NightjarError(.closed, "does not wait") }
        return ticket
    }

    @Test func whoComesFirstGoesFirst() throws {
        var limit = ConcurrencyLimit(limit: 2, maximumWaiting: 3)
        #expect(limit.enter() == .enter)
        #expect(limit.enter() == .enter)
        let waiting = try (0..<3).map { _ in try ticket(&limit) }
        #expect(limit.enter() == .refuse)
        #expect((0..<3).map { _ in limit.left() } == waiting)
        #expect(limit.inside == 2)
        #expect(limit.left() == nil)
        #expect(limit.left() == nil)
        #expect(limit.inside == 0)
    }

    @Test func whoGaveUpIsPassedOver() throws {
        var limit = ConcurrencyLimit(limit: 1, maximumWaiting: 2)
        #expect(limit.enter() == .enter)
        let first = try ticket(&limit)
        let second = try ticket(&limit)
        #expect(limit.gaveUp(first) == true)
        #expect(limit.gaveUp(first) == false)
        let third = try ticket(&limit)
        #expect(limit.left() == second)
        // It has entered: it leaves, it does not give up.
        #expect(limit.gaveUp(second) == false)
        #expect(limit.left() == third)
    }

    @Test func thousandsWhoGiveUpDoNotHoldUpTheLast() throws {
        var limit = ConcurrencyLimit(limit: 1, maximumWaiting: 10_000)
        #expect(limit.enter() == .enter)
        let all = try (0..<10_000).map { _ in try ticket(&limit) }
        for ticket in all.dropLast() { #expect(limit.gaveUp(ticket) == true) }
        #expect(limit.waiting == 1)
        #expect(limit.left() == all.last)
    }

    @Test func aLimitThatGrowsLetsInAtOnce() throws {
        var limit = ConcurrencyLimit(limit: 1, maximumWaiting: 9)
        #expect(limit.enter() == .enter)
        let waiting = try (0..<3).map { _ in try ticket(&limit) }
        #expect(limit.change(limit: 3) == Array(waiting.prefix(2)))
        #expect(limit.change(limit: 0) == [])
        #expect(limit.limit == 1)
        #expect(limit.left() == nil)
        #expect(limit.left() == nil)
        #expect(limit.left() == waiting.last)
    }
}
