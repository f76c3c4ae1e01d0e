import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct ReplacementTests {
    private let stale = RequestLoss(
        connectionWasReused: true, requestWasStarted: true, bodyWasStarted: true, responseHasStarted: false)

    @Test func getOnAStaleConnectionIsSentAgain() {
        #expect(stale.allows(.get, .none))
        #expect(stale.allows(.delete, .none))
        #expect(stale.allows(.put, .bytes(ByteBuffer(string: "x"))))
    }

    @Test func postThatMayHaveBeenProcessedIsNotRepeated() {
        #expect(!stale.allows(.post, .none))
        #expect(!stale.allows(.patch, .bytes(ByteBuffer(string: "x"))))
        #expect(stale.mayHaveBeenProcessed)
    }

    @Test func writeWithAnIdempotencyKeyIsSentAgain() {
        #expect(stale.allows(.post, hasIdempotencyKey: true, .bytes(ByteBuffer(string: "x"))))
        #expect(!stale.allows(.post, hasIdempotencyKey: true, .stream(length: 3)))
    }

    @Test func unsentPostIsSentAgain() {
        var unsent = stale
        (unsent.requestWasStarted, unsent.bodyWasStarted) = (false, false)
        #expect(unsent.allows(.post, .stream(length: nil)))
        #expect(!unsent.mayHaveBeenProcessed)
    }

    @Test func connectionIsReplacedOnlyOnce() {
        var replacement = Replacement()
        let first = replacement.allows(after: stale, .get, hasIdempotencyKey: false, .none)
        let second = replacement.allows(after: stale, .get, hasIdempotencyKey: false, .none)
        #expect(first && !second)
    }

    @Test func newConnectionIsNotStale() {
        var first = stale
        first.connectionWasReused = false
        #expect(!first.allows(.get, .none))
    }

    @Test(arguments: [RequestLoss.Reason.connection, .goAway, .refused, .http11Required])
    func startedResponseIsNotRequestedAgain(reason: RequestLoss.Reason) {
        var started = stale
        (started.reason, started.responseHasStarted) = (reason, true)
        #expect(!started.allows(.get, .none))
        #expect(started.mayHaveBeenProcessed)
    }

    @Test func unrepeatableBodyIsNotRepeated() {
        #expect(!stale.allows(.put, .stream(length: 3)))
    }

    @Test(arguments: [(RequestLoss.Reason.goAway, 50), (.refused, 1), (.http11Required, 1)])
    func unprocessedRequestIsSentAgain(reason: RequestLoss.Reason, times: Int) {
        var loss = stale
        (loss.reason, loss.connectionWasReused) = (reason, false)
        #expect(!loss.mayHaveBeenProcessed)
        var replacement = Replacement()
        var count = 0
        while count <= times, replacement.allows(after: loss, .post, hasIdempotencyKey: false, .none) { count += 1 }
        #expect(count == times)
    }

    @Test func partOfAStreamedBodyIsNotLost() {
        var loss = stale
        loss.reason = .goAway
        #expect(!loss.allows(.post, .stream(length: 3)))
        loss.bodyWasStarted = false
        #expect(loss.allows(.post, .stream(length: 3)))
    }
}

extension RequestLoss {
    /// The first decision after the loss.
    fileprivate func allows(
        _ method: NightjarHTTP.Method, hasIdempotencyKey: Bool = false, _ body: RequestBody
    ) -> Bool {
        var replacement = Replacement()
        return replacement.allows(after: self, method, hasIdempotencyKey: hasIdempotencyKey, body)
    }
}
