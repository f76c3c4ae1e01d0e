/// How a request ended without a response.
public struct RequestLoss: Sendable {
    public enum Reason: Sendable {
        /// The connection closed, or the server reset the stream.
        case connection
        /// A GOAWAY frame of HTTP/2 excludes the request: the server has not processed it. RFC 9113 section 6.8.
        case goAway
        /// The server has refused the stream and has not processed the request. RFC 9113 section 8.7.
        case refused
        /// The server requires HTTP/1.1 for the request. RFC 9113 section 7.
        case http11Required
    }

    public var reason: Reason
    /// True if the connection had carried an earlier exchange.
    public var connectionWasReused: Bool
    /// True if at least one byte of the request was written to the connection.
    public var requestWasStarted: Bool
    /// True if a part of the body was requested from its source.
    public var bodyWasStarted: Bool
    public var responseHasStarted: Bool

    public init(
        _ reason: Reason = .connection, connectionWasReused: Bool, requestWasStarted: Bool, bodyWasStarted: Bool,
        responseHasStarted: Bool
    ) {
        self.reason = reason
        self.connectionWasReused = connectionWasReused
        self.requestWasStarted = requestWasStarted
        self.bodyWasStarted = bodyWasStarted
        self.responseHasStarted = responseHasStarted
    }

    /// Whether the server may have processed the request.
    public var mayHaveBeenProcessed: Bool {
        reason == .connection ? requestWasStarted : responseHasStarted
    }
}

/// Decides whether a request that was lost is sent again without the retry policy, on another connection or stream.
///
/// A server may close an idle connection at any time, even while a request is in transit. The client then cannot
/// determine whether the server received the request (RFC 9112 section 9.3.1). A request that was at least partly sent
/// is therefore replaced only if the connection was reused, the method is idempotent or the request has an idempotency
/// key, and the body can be sent again. This happens at most once, and never after the response has started.
///
/// With HTTP/2, a server can report that it has not processed a request. Such a request is sent again with any method: as
/// often as ``largestNumberOfMoves`` after GOAWAY, once after a refusal, and once if the server requires HTTP/1.1.
public struct Replacement: Sendable {
    private var wasReplaced = false
    private var wasRefused = false
    private var wasDowngraded = false
    private var moves = 0

    public init() {}

    /// Records a loss. Returns whether the request is sent again.
    public mutating func allows(
        after loss: RequestLoss, _ method: Method, hasIdempotencyKey: Bool, _ body: RequestBody
    ) -> Bool {
        guard !loss.responseHasStarted, body.isReplayable || !loss.bodyWasStarted else { return false }
        switch loss.reason {
        case .goAway:
            moves += 1
            return moves <= Replacement.largestNumberOfMoves
        case .refused: return !wasRefused.exchange(with: true)
        case .http11Required: return !wasDowngraded.exchange(with: true)
        case .connection:
            let isSafe =
                !loss.requestWasStarted || loss.connectionWasReused && (method.isIdempotent || hasIdempotencyKey)
            return isSafe && !wasReplaced.exchange(with: true)
        }
    }

    /// A server that is being restarted sends GOAWAY once or twice. But a server that closes connections after 100
    /// requests, as nginx does by default before 1.19.10, excludes about as many requests as it processes while many
    /// wait, also those that other connections have excluded.
    static let largestNumberOfMoves = 50
}

extension Bool {
    /// Stores a value and returns the previous one.
    fileprivate mutating func exchange(with value: Bool) -> Bool {
        defer { self = value }
        return self
    }
}
