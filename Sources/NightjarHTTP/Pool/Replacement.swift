/// Decides whether a request whose connection closed may be sent again on another connection without consulting the
/// retry policy.
///
/// A server may close an idle connection at any time, even while a request is in transit. The client then cannot
/// determine whether the server received the request (RFC 9112 section 9.3.1). The request is therefore sent again only
/// if the connection was reused, no byte of a response arrived and the request is idempotent.
public struct Replacement: Sendable {
    /// True if the connection had carried another exchange before.
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

    public func isAllowed(for method: Method, _ body: RequestBody) -> Bool {
        guard !alreadyReplaced, !responseHasStarted else { return false }
        if !requestWasStarted { return true }
        return connectionWasReused && method.isIdempotent && body.isReplayable
    }
}
