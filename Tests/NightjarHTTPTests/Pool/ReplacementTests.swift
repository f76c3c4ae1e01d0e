import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct ReplacementTests {
    private let stale = Replacement(
        connectionWasReused: true, requestWasStarted: true, responseHasStarted: false, alreadyReplaced: false)

    @Test func getOnAStaleConnectionIsSentAgain() {
        #expect(stale.isAllowed(for: .get, .none))
        #expect(stale.isAllowed(for: .delete, .none))
        #expect(stale.isAllowed(for: .put, .bytes(ByteBuffer(string: "x"))))
    }

    @Test func postThatMayHaveBeenProcessedIsNotRepeated() {
        #expect(!stale.isAllowed(for: .post, .none))
        #expect(!stale.isAllowed(for: .patch, .bytes(ByteBuffer(string: "x"))))
    }

    @Test func unsentPostIsSentAgain() {
        var unsent = stale
        unsent.requestWasStarted = false
        #expect(unsent.isAllowed(for: .post, .stream(length: nil)))
    }

    @Test func connectionIsReplacedOnlyOnce() {
        var again = stale
        again.alreadyReplaced = true
        #expect(!again.isAllowed(for: .get, .none))
    }

    @Test func newConnectionIsNotStale() {
        var first = stale
        first.connectionWasReused = false
        #expect(!first.isAllowed(for: .get, .none))
    }

    @Test func startedResponseIsNotRequestedAgain() {
        var started = stale
        started.responseHasStarted = true
        #expect(!started.isAllowed(for: .get, .none))
    }

    @Test func unrepeatableBodyIsNotRepeated() {
        #expect(!stale.isAllowed(for: .put, .stream(length: 3)))
    }
}
