import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct ExpectContinueTests {
    enum Event: Sendable { case headSent, status(Int), timer }

    /// The events and the expected action of each.
    static let conversations: [(String, replayable: Bool, [(Event, ExpectContinue.Action)])] = [
        (
            "asked for", false,
            [(.headSent, .startTimer(.seconds(1))), (.status(100), .sendBody), (.status(200), .nothing)]
        ),
        (
            "interim responses do not count", false,
            [
                (.headSent, .startTimer(.seconds(1))), (.status(103), .nothing), (.status(102), .nothing),
                (.status(100), .sendBody),
            ]
        ),
        (
            "a server that knows nothing of it", false,
            [(.headSent, .startTimer(.seconds(1))), (.timer, .sendBody), (.status(201), .nothing)]
        ),
        (
            "a late 100 is noise", false,
            [
                (.headSent, .startTimer(.seconds(1))), (.timer, .sendBody), (.status(100), .nothing),
                (.status(100), .nothing),
            ]
        ),
        (
            "a late timer too", false,
            [(.headSent, .startTimer(.seconds(1))), (.status(100), .sendBody), (.timer, .nothing), (.timer, .nothing)]
        ),
        (
            "refused", false,
            [
                (.headSent, .startTimer(.seconds(1))), (.status(401), .dropBody), (.timer, .nothing),
                (.status(100), .nothing),
            ]
        ),
        ("final response without 100", true, [(.headSent, .startTimer(.seconds(1))), (.status(200), .dropBody)]),
        (
            "not understood", false,
            [(.headSent, .startTimer(.seconds(1))), (.status(417), .repeatWithoutExpectation), (.timer, .nothing)]
        ),
        (
            "not understood, and part of the body is gone", false,
            [(.headSent, .startTimer(.seconds(1))), (.timer, .sendBody), (.status(417), .nothing)]
        ),
        (
            "not understood, late", true,
            [
                (.headSent, .startTimer(.seconds(1))), (.timer, .sendBody), (.status(417), .repeatWithoutExpectation),
                (.status(417), .nothing),
            ]
        ),
        (
            "requested, and the response is 417", true,
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
        #expect(!machine.letsBodyPass)
        #expect(machine.headSent() == .startTimer(.milliseconds(5)))
        #expect(!machine.letsBodyPass)
        _ = machine.timerFired()
        #expect(machine.letsBodyPass)
        _ = machine.received(status: 417)
        #expect(!machine.letsBodyPass)
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
