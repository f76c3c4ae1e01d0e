import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct ReplacementTests {
    private let stale = Replacement(
        connectionWasReused: true, requestWasStarted: true, bodyWasStarted: false, responseHasStarted: false,
        connectionIsClosing: false, earlierReplacements: 0)

    @Test func getOnAStaleConnectionIsSentAgain() {
        #expect(stale.allows(.get, .none))
        #expect(stale.allows(.delete, .none))
        #expect(stale.allows(.put, .bytes(ByteBuffer(string: "x"))))
    }

    @Test func postThatMayHaveBeenProcessedIsNotRepeated() {
        #expect(!stale.allows(.post, .none))
        #expect(!stale.allows(.patch, .bytes(ByteBuffer(string: "x"))))
    }

    @Test func writeWithAnIdempotencyKeyIsSentAgain() {
        #expect(stale.isAllowed(for: .post, hasIdempotencyKey: true, .bytes(ByteBuffer(string: "x"))))
        #expect(!stale.isAllowed(for: .post, hasIdempotencyKey: true, .stream(length: 3)))
    }

    @Test func unsentPostIsSentAgain() {
        var unsent = stale
        unsent.requestWasStarted = false
        #expect(unsent.allows(.post, .stream(length: nil)))
    }

    @Test func unprocessedPostIsSentAgainUnlessItsBodyCannotBe() {
        var unprocessed = stale
        (unprocessed.requestWasStarted, unprocessed.bodyWasStarted) = (false, true)
        #expect(unprocessed.allows(.post, .bytes(ByteBuffer(string: "x"))))
        #expect(unprocessed.allows(.post, .file(path: "/f")))
        #expect(!unprocessed.allows(.post, .stream(length: nil)))
    }

    @Test func requestThatMayHaveBeenProcessedIsReplacedOnlyOnce() {
        var again = stale
        again.earlierReplacements = 1
        #expect(!again.allows(.get, .none))
    }

    @Test func unprocessedRequestIsReplacedSeveralTimes() {
        var unprocessed = stale
        unprocessed.requestWasStarted = false
        for (count, isClosing, isAllowed) in [
            (0, false, true), (4, false, true), (5, false, false), (49, true, true), (50, true, false),
        ] {
            (unprocessed.earlierReplacements, unprocessed.connectionIsClosing) = (count, isClosing)
            #expect(unprocessed.allows(.post, .none) == isAllowed)
        }
    }

    @Test func newConnectionIsNotStale() {
        var first = stale
        first.connectionWasReused = false
        #expect(!first.allows(.get, .none))
    }

    @Test func startedResponseIsNotRequestedAgain() {
        var started = stale
        started.responseHasStarted = true
        #expect(!started.allows(.get, .none))
    }

    @Test func unrepeatableBodyIsNotRepeated() {
        #expect(!stale.allows(.put, .stream(length: 3)))
    }
}

extension Replacement {
    /// The decision for a request without an idempotency key.
    fileprivate func allows(_ method: NightjarHTTP.Method, _ body: RequestBody) -> Bool {
        isAllowed(for: method, hasIdempotencyKey: false, body)
    }
}
