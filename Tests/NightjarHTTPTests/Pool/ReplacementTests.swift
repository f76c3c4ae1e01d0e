import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct ReplacementTests {
    private let stale = Replacement(
        connectionWasReused: true, requestWasStarted: true, responseHasStarted: false, alreadyReplaced: false)

    @Test func aGetOnAStaleConnectionIsSentAgain() {
        #expect(stale.isAllowed(for: .get, .none))
        #expect(stale.isAllowed(for: .delete, .none))
        #expect(stale.isAllowed(for: .put, .bytes(ByteBuffer(string: "x"))))
    }

    @Test func aPostThatMayHaveBeenSeenIsNeverSentTwice() {
        #expect(!stale.isAllowed(for: .post, .none))
        #expect(!stale.isAllowed(for: .patch, .bytes(ByteBuffer(string: "x"))))
    }

    @Test func aPostOfWhichNothingWasSentIsSent() {
        var unsent = stale
        unsent.requestWasStarted = false
        #expect(unsent.isAllowed(for: .post, .stream(length: nil)))
    }

    @Test func nothingIsReplacedTwice() {
        var again = stale
        again.alreadyReplaced = true
        #expect(!again.isAllowed(for: .get, .none))
    }

    @Test func aFirstUseIsNoProofOfStaleness() {
        var first = stale
        first.connectionWasReused = false
        #expect(!first.isAllowed(for: .get, .none))
    }

    @Test func anAnswerThatHasBegunIsNotAskedForAgain() {
        var started = stale
        started.responseHasStarted = true
        #expect(!started.isAllowed(for: .get, .none))
    }

    @Test func aBodyThatCannotBeRepeatedIsNotRepeated() {
        #expect(!stale.isAllowed(for: .put, .stream(length: 3)))
    }
}
