import NightjarHTTP
import Synchronization
import Testing

@testable import Nightjar

@Suite struct StepDeliveryTests {
    private final class Seen: Sendable {
        let steps = Mutex<[CallObserver.Step]>([])
    }

    private func step(_ number: Int, isLast: Bool = false) -> CallObserver.Step {
        .init(isLast ? .ended(status: 200, .network) : .firstByte(status: 200), callID: number, attempt: 1, time: .zero)
    }

    @Test func stepsArriveInTheirOrder() {
        let seen = Seen()
        let delivery = StepDelivery(nil) { step in seen.steps.withLock { $0.append(step) } }
        for number in 1...3 { #expect(delivery.add(step(number))) }
        for _ in 1...3 { delivery.deliverNext() }
        #expect(seen.steps.withLock { $0.map(\.callID) } == [1, 2, 3])
        #expect(seen.steps.withLock { $0.allSatisfy { $0.dropped == 0 } })
    }

    @Test func oldestStepsAreDroppedAndTheEndsOfCallsLast() {
        let seen = Seen()
        let delivery = StepDelivery(nil) { step in seen.steps.withLock { $0.append(step) } }
        var events = 0
        for number in 1...10_000 where delivery.add(step(number, isLast: number == 1)) { events += 1 }
        #expect(events == 4096)
        for _ in 0..<events { delivery.deliverNext() }
        let steps = seen.steps.withLock { $0 }
        #expect(steps.first?.callID == 1)
        #expect(steps.last?.callID == 10_000)
        #expect(steps.count <= 4096)
        #expect(steps.count + (steps.first?.dropped ?? 0) == 10_000)
        #expect(steps.dropFirst().allSatisfy { $0.dropped == 0 })
        #expect(delivery.add(step(10_001)))
    }

    @Test func endsOfCallsAreBounded() {
        let seen = Seen()
        let delivery = StepDelivery(nil) { step in seen.steps.withLock { $0.append(step) } }
        var events = 0
        for number in 1...10_000 where delivery.add(step(number, isLast: true)) { events += 1 }
        for _ in 0..<events { delivery.deliverNext() }
        let steps = seen.steps.withLock { $0 }
        #expect(steps.count <= 4096)
        #expect(steps.count + (steps.first?.dropped ?? 0) == 10_000)
        #expect(steps.map(\.callID) == steps.map(\.callID).sorted())
    }
}
