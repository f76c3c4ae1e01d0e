import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct ExpectContinueTests {
    enum Event: Sendable { case headSent, status(Int), timer }

    /// Conversations: a name, whether the body is replayable, and the events with the expected actions.
    static let conversations: [(String, replayable: Bool, [(Event, ExpectContinue.Action)])] = [
        (
            "100, then the final response", false,
            [(.headSent, .startTimer(.seconds(1))), (.status(100), .sendBody), (.status(200), .nothing)]
        ),
        (
            "other interim responses do not permit the body", false,
            [
                (.headSent, .startTimer(.seconds(1))), (.status(103), .nothing), (.status(102), .nothing),
                (.status(100), .sendBody),
            ]
        ),
        (
            "a server that ignores Expect", false,
            [(.headSent, .startTimer(.seconds(1))), (.timer, .sendBody), (.status(201), .nothing)]
        ),
        (
            "a late 100 is ignored", false,
            [
                (.headSent, .startTimer(.seconds(1))), (.timer, .sendBody), (.status(100), .nothing),
                (.status(100), .nothing),
            ]
        ),
        (
            "a late timer is ignored", false,
            [(.headSent, .startTimer(.seconds(1))), (.status(100), .sendBody), (.timer, .nothing), (.timer, .nothing)]
        ),
        (
            "rejected before the body", false,
            [
                (.headSent, .startTimer(.seconds(1))), (.status(401), .dropBody), (.timer, .nothing),
                (.status(100), .nothing),
            ]
        ),
        ("final response without 100", true, [(.headSent, .startTimer(.seconds(1))), (.status(200), .dropBody)]),
        (
            "417 before the body", false,
            [(.headSent, .startTimer(.seconds(1))), (.status(417), .repeatWithoutExpectation), (.timer, .nothing)]
        ),
        (
            "417 after a body that cannot be replayed", false,
            [(.headSent, .startTimer(.seconds(1))), (.timer, .sendBody), (.status(417), .nothing)]
        ),
        (
            "417 after a replayable body", true,
            [
                (.headSent, .startTimer(.seconds(1))), (.timer, .sendBody), (.status(417), .repeatWithoutExpectation),
                (.status(417), .nothing),
            ]
        ),
        (
            "417 after 100", true,
            [(.headSent, .startTimer(.seconds(1))), (.status(100), .sendBody), (.status(417), .nothing)]
        ),
        (
            "response before the head was sent", true,
            [(.status(103), .nothing), (.status(408), .dropBody), (.headSent, .nothing), (.timer, .nothing)]
        ),
    ]

    @Test(arguments: conversations.indices) func conversationFollowsTheRules(_ index: Int) {
        let (name, replayable, steps) = Self.conversations[index]
        var machine = ExpectContinue(bodyIsReplayable: replayable)
        for (step, (event, expected)) in steps.enumerated() {
            let action =
                switch event {
                case .headSent: machine.headSent()
                case .status(let status): machine.received(status: status)
                case .timer: machine.timerFired()
                }
            #expect(action == expected, "\(name), step \(step)")
        }
    }

    @Test func bodyIsSentOnlyAfterPermission() {
        var machine = ExpectContinue(continueTimeout: .milliseconds(5), bodyIsReplayable: true)
        #expect(!machine.allowsBody)
        #expect(machine.headSent() == .startTimer(.milliseconds(5)))
        #expect(!machine.allowsBody)
        _ = machine.timerFired()
        #expect(machine.allowsBody)
        _ = machine.received(status: 417)
        #expect(!machine.allowsBody)
    }

    @Test func onlyLargeContentUsesExpect() {
        #expect(!ExpectContinue.isWorthwhile(for: .none))
        #expect(!ExpectContinue.isWorthwhile(for: .bytes(ByteBuffer(string: "x"))))
        #expect(ExpectContinue.isWorthwhile(for: .bytes(ByteBuffer(repeating: 0, count: 1 << 20))))
        #expect(!ExpectContinue.isWorthwhile(for: .stream(length: (1 << 20) - 1)))
        #expect(ExpectContinue.isWorthwhile(for: .stream(length: 1 << 20)))
        #expect(ExpectContinue.isWorthwhile(for: .stream(length: nil)))
    }
}
