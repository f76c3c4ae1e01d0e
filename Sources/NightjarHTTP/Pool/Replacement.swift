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
        case .refused: return isFirst(&wasRefused)
        case .http11Required: return isFirst(&wasDowngraded)
        case .connection:
            let isSafe =
                !loss.requestWasStarted || loss.connectionWasReused && (method.isIdempotent || hasIdempotencyKey)
            return isSafe && isFirst(&wasReplaced)
        }
    }

    /// A server that is being restarted sends GOAWAY once or twice. But a server that closes connections after 100
    /// requests, as nginx does by default before 1.19.10, excludes about as many requests as it processes while many
    /// wait, also those that other connections have excluded.
    static let largestNumberOfMoves = 50

    private func isFirst(_ hasOccurred: inout Bool) -> Bool {
        defer { hasOccurred = true }
        return !hasOccurred
    }
}
