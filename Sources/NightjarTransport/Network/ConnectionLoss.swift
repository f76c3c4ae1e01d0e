/// The progress of a request whose connection was lost. It determines whether the request may be sent again.
struct ConnectionLoss {
    var wasReused: Bool
    var requestWasStarted: Bool
    /// Whether a part of a streamed body was requested from the receiver.
    var bodyWasStarted = false
    var responseHasStarted: Bool
    /// Whether the server closes the connection after the requests that it processes.
    var connectionIsClosing = false
}
