/// Decides whether a request whose connection closed may be sent again on another connection without asking the retry
/// policy.
///
/// A server may close an idle connection at any time, even while a request is on its way. The client then cannot know
/// whether the server received the request (RFC 9112 section 9.3.1). Sending it again therefore requires that the
/// connection was stale (it was reused, and no byte of a response arrived) and that the request is idempotent.
package struct Replacement: Sendable {
    /// The connection had carried another exchange before.
    package var connectionWasReused: Bool
    /// At least one byte of the request was written to the connection.
    package var requestWasStarted: Bool
    package var responseHasStarted: Bool
    package var alreadyReplaced: Bool

    package init(
        connectionWasReused: Bool, requestWasStarted: Bool, responseHasStarted: Bool, alreadyReplaced: Bool
    ) {
        self.connectionWasReused = connectionWasReused
        self.requestWasStarted = requestWasStarted
        self.responseHasStarted = responseHasStarted
        self.alreadyReplaced = alreadyReplaced
    }

    package func isAllowed(for method: Method, _ body: RequestBody) -> Bool {
        guard !alreadyReplaced, !responseHasStarted else { return false }
        if !requestWasStarted { return true }
        return connectionWasReused && method.isIdempotent && body.isReplayable
    }
}
