/// Decides whether a request whose connection closed is sent again on another connection without the retry policy.
///
/// A server may close an idle connection at any time, even while a request is in transit. The client then cannot
/// determine whether the server received the request (RFC 9112 section 9.3.1). A request that the server may have
/// processed is therefore replaced only if the connection was reused, the method is idempotent or the request has an
/// idempotency key, the body can be sent again, and the request was not replaced before. A request that was not processed
/// is replaced several times: a server of HTTP/2 that closes connections after a number of requests refuses the same
/// request again if many others wait (RFC 9113 section 8.7). A request is never replaced after the response has started.
public struct Replacement: Sendable {
    /// True if the connection had carried an earlier exchange.
    public var connectionWasReused: Bool
    /// True if the server may have processed the request: at least one byte was written to the connection, and the server
    /// did not refuse the request.
    public var requestWasStarted: Bool
    /// True if a part of a streamed body was requested from the caller.
    public var bodyWasStarted: Bool
    public var responseHasStarted: Bool
    /// True if the server closes the connection after the requests that it processes (GOAWAY).
    public var connectionIsClosing: Bool
    /// The number of earlier replacements of the request.
    public var earlierReplacements: Int

    public init(
        connectionWasReused: Bool, requestWasStarted: Bool, bodyWasStarted: Bool, responseHasStarted: Bool,
        connectionIsClosing: Bool, earlierReplacements: Int
    ) {
        self.connectionWasReused = connectionWasReused
        self.requestWasStarted = requestWasStarted
        self.bodyWasStarted = bodyWasStarted
        self.responseHasStarted = responseHasStarted
        self.connectionIsClosing = connectionIsClosing
        self.earlierReplacements = earlierReplacements
    }

    public func isAllowed(for method: Method, hasIdempotencyKey: Bool, _ body: RequestBody) -> Bool {
        guard !responseHasStarted, body.isReplayable || !bodyWasStarted else { return false }
        if !requestWasStarted {
            return earlierReplacements < (connectionIsClosing ? Replacement.closingLimit : Replacement.limit)
        }
        return earlierReplacements == 0 && connectionWasReused && (method.isIdempotent || hasIdempotencyKey)
            && body.isReplayable
    }

    /// The maximum number of replacements of a request that was not processed. A server that refuses a request more often
    /// is overloaded. The retry policy then waits before the next attempt.
    private static let limit = 5
    /// The same, if the last connection is closing. While many requests wait, a connection that the server closes after
    /// 100 requests, as nginx does by default before 1.19.10, excludes about as many as it accepts, also of those that
    /// others excluded before.
    private static let closingLimit = 50
}
