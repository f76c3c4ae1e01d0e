import Testing

@testable import NightjarBase

@Suite struct AlarmTests {
    @Test func onlyAnEarlierDeadlineNeedsANewTimer() {
        var alarm = Alarm()
        let needsTimer = [100, 100, 200, 50].map { alarm.arm(at: $0) }
        #expect(needsTimer == [true, false, false, true])
    }

    @Test func supersededTimerDoesNotFire() {
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
