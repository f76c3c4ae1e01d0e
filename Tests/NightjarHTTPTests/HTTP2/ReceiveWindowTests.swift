import Testing

@testable import NightjarHTTP

@Suite struct ReceiveWindowTests {
    @Test func windowGrowsWhileItLimitsTheRate() {
        var window = ReceiveWindow(size: 100, maximum: 350)
        #expect(window.consumed(10, at: 0) { 1000 } == nil)
        #expect(window.consumed(40, at: 1500) { 1000 } == 200)
        // Half of the new window within two round trips.
        #expect(window.consumed(100, at: 3000) { 1000 } == 350)
        #expect(!window.canGrow)
        #expect(window.consumed(1_000_000, at: 3001) { 1000 } == nil)
    }

    @Test func slowConsumptionKeepsTheSize() {
        var window = ReceiveWindow(size: 100, maximum: 400)
        for turn in 0..<100 {
            #expect(window.consumed(30, at: UInt64(turn) * 5000) { 1000 } == nil)
        }
        #expect(window.size == 100)
    }

    @Test func extremeTimesDoNotOverflow() {
        var window = ReceiveWindow(size: 2, maximum: 4)
        _ = window.consumed(1, at: UInt64.max) { UInt64.max }
        #expect(window.consumed(1, at: 0) { UInt64.max } == nil)
        #expect(window.size == 4)
    }
}
