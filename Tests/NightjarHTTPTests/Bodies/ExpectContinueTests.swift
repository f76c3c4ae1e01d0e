import NightjarHTTP
import Testing

@Suite struct ExpectContinueTests {
    private enum Event {
        case status(Int)
        case timer
    }

    /// A conversation: events, each with the action that follows.
    @Test(
        arguments: [
            [(Event.status(100), .sendBody), (.timer, .nothing), (.status(100), .nothing), (.status(200), .nothing)],
            [(.timer, .sendBody), (.status(100), .nothing), (.status(417), .nothing), (.status(500), .nothing)],
            [(.status(103), .nothing), (.status(102), .nothing), (.status(100), .sendBody)],
            [(.status(103), .nothing), (.timer, .sendBody), (.status(103), .nothing)],
            [(.status(401), .dropBody), (.timer, .nothing), (.status(100), .nothing)],
            [(.status(200), .dropBody), (.timer, .nothing)],
            [(.status(417), .repeatWithoutExpectation), (.timer, .nothing), (.status(200), .nothing)],
        ] as [[(Event, ExpectContinue.Action)]])
    private func theBodyIsSentOnceOrNotAtAll(_ conversation: [(Event, ExpectContinue.Action)]) {
        var expectation = ExpectContinue()
        #expect(expectation.isWaiting)
        for (event, action) in conversation {
            switch event {
            case .status(let status): #expect(expectation.received(status: status) == action)
            case .timer: #expect(expectation.timerFired() == action)
            }
            #expect(action == .nothing || !expectation.isWaiting)
        }
    }
}
