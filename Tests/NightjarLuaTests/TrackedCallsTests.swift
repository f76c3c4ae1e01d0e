import Nightjar
import Testing

@testable import NightjarLua

@Suite struct TrackedCallsTests {
    private func progress(_ received: Int, of total: Int?) -> TaskHandlers.Progress {
        var progress = TaskHandlers.Progress()
        (progress.received, progress.receivedTotal) = (received, total)
        return progress
    }

    @Test func endedCallsAreCountedWhileOthersAreInFlight() {
        var followed = TrackedCalls()
        let (one, two) = (Future(), Future())
        #expect(!followed.isChanged)
        followed.begin(one)
        followed.begin(two)
        followed.update(one, progress(10, of: 10))
        followed.update(two, progress(5, of: 20))
        followed.end(one)
        #expect(followed.isChanged)
        let state = followed.take()
        #expect(state.calls == 1)
        #expect(state.sum.received == 15)
        #expect(state.sum.receivedTotal == 30)
        #expect(!followed.isChanged)
        followed.end(two)
        #expect(followed.take().calls == 0)
        followed.begin(one)
        followed.update(one, progress(1, of: 2))
        #expect(followed.take().sum.received == 1)
    }

    @Test func totalIsKnownIfAllCallsHaveOne() {
        var followed = TrackedCalls()
        let (one, two) = (Future(), Future())
        followed.begin(one)
        followed.begin(two)
        followed.update(one, progress(1, of: .max))
        #expect(followed.take().sum.receivedTotal == nil)
        followed.update(two, progress(1, of: .max))
        #expect(followed.take().sum.receivedTotal == .max)
    }

    @Test func untrackedCallsAreNotCounted() {
        var followed = TrackedCalls()
        let one = Future()
        followed.begin(one)
        followed.pauseTracking()
        #expect(followed.isChanged)
        #expect(followed.take().calls == 0)
        followed.update(one, progress(1, of: 2))
        followed.end(one)
        #expect(!followed.isChanged)
    }
}
