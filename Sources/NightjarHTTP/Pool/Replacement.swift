/// Whether a request whose connection died may be sent once more on another, without asking anybody.
///
/// A server may close an idle connection at any moment, also while a request is on its way to it; the client then
/// cannot know whether the request was seen (RFC 9112 section 9.3.1). So a repeat needs proof that the connection was
/// stale (it had served before, and not a byte of an answer came), and a request that is harmless when seen twice.
public struct Replacement: Sendable {
    /// The connection had served another exchange before.
    public var connectionWasReused: Bool
    /// Some byte of the request was handed to the connection.
    public var requestWasStarted: Bool
    public var answerHasBegun: Bool
    public var alreadyReplaced: Bool

    public init(
        connectionWasReused: Bool, requestWasStarted: Bool, answerHasBegun: Bool, alreadyReplaced: Bool
    ) {
        self.connectionWasReused = connectionWasReused
        self.requestWasStarted = requestWasStarted
        self.answerHasBegun = answerHasBegun
        self.alreadyReplaced = alreadyReplaced
    }

    public func isAllowed(for method: Method, _ body: RequestBody) -> Bool {
        guard !alreadyReplaced, !answerHasBegun else { return false }
        if !requestWasStarted { return true }
        return connectionWasReused && method.isIdempotent && body.isReplayable
    }
}
