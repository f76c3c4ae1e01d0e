import NightjarHTTP
import Synchronization
import Testing

@testable import Nightjar

@Suite struct StepInboxTests {
    private final class Count: Sendable {
        let notifications = Mutex(0)
        var value: Int { notifications.withLock { $0 } }
        var inbox: StepInbox { StepInbox { [self] _ in notifications.withLock { $0 += 1 } } }
    }

    private func step(_ number: Int, isLast: Bool = false) -> CallObserver.Step {
        .init(isLast ? .ended(status: 200, .network) : .firstByte(status: 200), callID: number, attempt: 1, time: .zero)
    }

    @Test func receiverTakesAllStepsAfterOneNotification() {
        let count = Count()
        let inbox = count.inbox
        for number in 1...3 { inbox.add(step(number)) }
        #expect(count.value == 1)
        for number in 1...2 { #expect(inbox.take()?.callID == number) }
        inbox.add(step(4))
        #expect(count.value == 1)
        for number in 3...4 { #expect(inbox.take()?.callID == number) }
        #expect(inbox.take() == nil)
        inbox.add(step(5))
        #expect(count.value == 2)
    }

    @Test func stepsAreKeptWhenTheReceiverStops() {
        let count = Count()
        let inbox = count.inbox
        for number in 1...2 { inbox.add(step(number)) }
        inbox.stop()
        #expect(count.value == 1)
        inbox.add(step(3))
        #expect(count.value == 2)
        for number in 1...3 { #expect(inbox.take()?.callID == number) }
    }

    @Test func oldestStepsAreDroppedAndTheEndsOfCallsLast() {
        let inbox = Count().inbox
        for number in 1...10_000 { inbox.add(step(number, isLast: number == 1)) }
        let steps = Array(sequence(state: inbox) { $0.take() })
        #expect(steps.first?.callID == 1)
        #expect(steps.last?.callID == 10_000)
        #expect(steps.count <= 4096)
        #expect(steps.count + (steps.first?.dropped ?? 0) == 10_000)
    }
}
