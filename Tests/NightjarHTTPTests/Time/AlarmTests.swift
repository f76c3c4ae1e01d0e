import Testing

@testable import NightjarHTTP

@Suite struct AlarmTests {
    @Test func onlyAnEarlierLimitNeedsANewTimer() {
        var alarm = Alarm()
        let needsTimer = [100, 100, 200, 50].map { alarm.arm(at: $0) }
        #expect(needsTimer == [true, false, false, true])
    }

    @Test func aTimerThatWasOvertakenDoesNotRing() {
        var alarm = Alarm()
        _ = alarm.arm(at: 100)
        _ = alarm.arm(at: 50)
        let rang = [50, 100].map { alarm.rang(at: $0) }
        #expect(rang == [true, false])
        _ = alarm.arm(at: 100)
        let rangAgain = alarm.rang(at: 100)
        #expect(rangAgain)
    }
}

@Suite struct DurationTests {
    @Test func lengthsThatCannotBeWaitedForAreRefused() {
        for seconds in [-1, .nan, .infinity, -.infinity, 1e300] { #expect(Duration(seconds: seconds) == nil) }
        #expect(Duration(seconds: 0.25) == .milliseconds(250))
        #expect(Duration(seconds: 0) == .zero)
    }

    @Test func nanosecondsAreClampedNotTrapped() {
        #expect(Duration.seconds(Int64.max).nanosecondsClamped == .max)
        #expect(Duration.seconds(Int64.min).nanosecondsClamped == .min)
        #expect(Duration.microseconds(3).nanosecondsClamped == 3000)
    }
}
