import NIOCore
import Testing

@testable import NightjarTransport

/// The clock of a loop, which reads the time once per event.
@Suite struct LoopClockTests {
    @Test func timeIsConstantDuringAnEvent() {
        let clock = LoopClock()
        clock.hold()
        let moment = clock.now
        while NIODeadline.now() == moment {}
        #expect(clock.now == moment)
        clock.hold()
        #expect(clock.now == moment)
        clock.release()
        #expect(clock.now > moment)
    }

    @Test func timeAdvancesBetweenEvents() {
        let clock = LoopClock()
        let moment = clock.now
        while NIODeadline.now() == moment {}
        #expect(clock.now > moment)
    }

    /// Calls of `hold` are not counted, so the end of a nested event also releases the time of the outer event.
    @Test func timeIsMonotonic() {
        let clock = LoopClock()
        var last = clock.now
        for step in 0..<1000 {
            if step % 7 == 0 { clock.hold() }
            if step % 3 == 0 { clock.release() }
            let now = clock.now
            #expect(now >= last)
            last = now
        }
    }
}
