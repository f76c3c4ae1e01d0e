/// The end of a request without a response.
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
