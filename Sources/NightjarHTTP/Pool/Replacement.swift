/// Decides whether a request whose connection closed is sent again on another connection without the retry policy.
///
/// A server may close an idle connection at any time, even while a request is in transit. The client then cannot
/// determine whether the server received the request (RFC 9112 section 9.3.1). A request that was at least partly sent
/// is therefore replaced only if the connection was reused, the method is idempotent or the request has an idempotency
/// key, and the body can be sent again. A request is replaced at most once, and never after the response has started.
public struct Replacement: Sendable {
    /// True if the connection had carried an earlier exchange.
    public var connectionWasReused: Bool
    /// True if at least one byte of the request was written to the connection.
    public var requestWasStarted: Bool
    public var responseHasStarted: Bool
    public var alreadyReplaced: Bool

    public init(
        connectionWasReused: Bool, requestWasStarted: Bool, responseHasStarted: Bool, alreadyReplaced: Bool
    ) {
        self.connectionWasReused = connectionWasReused
        self.requestWasStarted = requestWasStarted
        self.responseHasStarted = responseHasStarted
        self.alreadyReplaced = alreadyReplaced
    }

    public func isAllowed(for method: Method, hasIdempotencyKey: Bool, _ body: RequestBody) -> Bool {
        guard !alreadyReplaced, !responseHasStarted else { return false }
        if !requestWasStarted { return true }
        return connectionWasReused && (method.isIdempotent || hasIdempotencyKey) && body.isReplayable
    }
}
